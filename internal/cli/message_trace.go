// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// traceFlags of the command message trace.
type traceFlags struct {
	clusterFlags
	key, topic   string
	since, until string
	limit        int
}

func newMessageTrace() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace (ID | --key KEY)",
		Short: "Show who sent a message and who consumed it",
		Long: "Show what clients told of a message: who sent it and when, who consumed it, how long that took and how it ended.\n\n" +
			"Clients tell only if they are asked to (Java: enableMsgTrace, enableTrace; Goddard's Go client: Trace), some seconds\n" +
			"later, and to a trace topic, which brokers make at their start with traceTopicEnable=true. The id is the one that the\n" +
			"sender's client made, as 'goddard produce' prints it.",
		Example: "  goddard message trace 7F0000010EBB18B4AAC216E8B7B10000\n" +
			"  goddard message trace --key 4711 --output json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.query(args, time.Now())
			if err != nil {
				return err
			}
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			traces, err := a.Trace(cmd.Context(), f.target, q)
			if errors.Is(err, admin.ErrNoTopic) {
				return fmt.Errorf("there is no trace topic %s: give brokers traceTopicEnable=true, or the name that your clients use by --trace-topic",
					cmp.Or(f.topic, protocol.TopicTrace))
			}
			if traces == nil {
				return f.explain(err)
			}
			for _, fault := range traces.Faults {
				cmd.PrintErrf("goddard: left out: %v\n", fault)
			}
			for _, l := range traces.Lives {
				if err := f.print(cmd.OutOrStdout(), l); err != nil {
					return err
				}
			}
			if err == nil && len(traces.Lives) == 0 {
				err = fmt.Errorf("nothing was told of %s: do its clients trace? They tell some seconds later", cmp.Or(q.ID, q.Key))
			}
			return f.explain(err)
		},
	}
	f.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.key, "key", "k", "", "all messages that have this key")
	flags.StringVar(&f.topic, "trace-topic", "", "topic that clients tell to (default "+protocol.TopicTrace+")")
	flags.StringVar(&f.since, "from", "", "leave out what was told before: a time (2026-01-31T08:00:00, @MILLISECONDS) or how long ago (10m)")
	flags.StringVar(&f.until, "until", "", "leave out what was told after this time")
	flags.IntVarP(&f.limit, "limit", "m", 0, "at most so many trace messages of each broker, the newest (default 64)")
	return cmd
}

func (f *traceFlags) query(args []string, now time.Time) (admin.TraceQuery, error) {
	q := admin.TraceQuery{Topic: f.topic, Key: f.key, Max: f.limit}
	if len(args) > 0 {
		q.ID = args[0]
	}
	if (q.ID == "") == (q.Key == "") {
		return q, errors.New("which message? Give its ID, or --key")
	}
	if f.limit < 0 {
		return q, fmt.Errorf("--limit=%d: want 0 or more", f.limit)
	}
	var err error
	q.Since, q.Until, err = parseBounds(f.since, f.until, now)
	return q, err
}

// parseBounds reads --from and --until where they are times.
func parseBounds(since, until string, now time.Time) (from, to time.Time, err error) {
	if since != "" {
		if from, err = parseTime(since, now); err != nil {
			return from, to, fmt.Errorf("--from %s: %w", since, err)
		}
	}
	if until != "" {
		if to, err = parseTime(until, now); err != nil {
			return from, to, fmt.Errorf("--until %s: %w", until, err)
		}
	}
	return from, to, nil
}

// traceLine is an event of a message as JSON.
type traceLine struct {
	ID      string `json:"id"`
	Event   string `json:"event"` // sent, consumed, transaction, recalled
	At      string `json:"at,omitempty"`
	Topic   string `json:"topic,omitempty"`
	Group   string `json:"group,omitempty"`
	Client  string `json:"client,omitempty"`
	Broker  string `json:"broker,omitempty"` // that it was sent to, its address
	CostMS  *int64 `json:"costMs,omitempty"`
	Retries *int32 `json:"retries,omitempty"` // before this attempt
	Status  string `json:"status"`
	Type    string `json:"type,omitempty"`
	Tags    string `json:"tags,omitempty"`
	Keys    string `json:"keys,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Region  string `json:"region,omitempty"`

	OffsetID      string `json:"offsetId,omitempty"`
	TransactionID string `json:"transactionId,omitempty"`

	ms int64
}

// traceLines are all events of a message, in the order of what happens to one.
func traceLines(l *admin.Life) []traceLine {
	var lines []traceLine
	told := func(event, status string, e *admin.Told) *traceLine {
		lines = append(lines, traceLine{
			ID: l.ID, Event: event, Status: status, At: msJSON(e.Time), ms: e.Time, Topic: e.Topic, Group: e.Group, Client: e.Client, Broker: e.StoreHost,
			Tags: e.Tags, Keys: e.Keys, Region: e.Region,
		})
		return &lines[len(lines)-1]
	}
	for i := range l.Sent {
		e := &l.Sent[i]
		line := told("sent", statusText(e.Success, e.HasSuccess), e)
		line.CostMS, line.Type, line.Bytes, line.OffsetID = &e.Cost, e.Type.String(), e.Bytes, e.OffsetID
	}
	for i := range l.Ends {
		e := &l.Ends[i]
		line := told("transaction", e.State, e)
		line.Type, line.TransactionID = e.Type.String(), e.TransactionID
		if e.FromCheck {
			line.Status += " when asked by the broker"
		}
	}
	for i := range l.Recalls {
		e := &l.Recalls[i]
		told("recalled", statusText(e.Success, e.HasSuccess), e)
	}
	for i := range l.Handled {
		h := &l.Handled[i]
		line := traceLine{ID: l.ID, Event: "consumed", Topic: l.Topic, At: msJSON(h.Began), ms: h.Began, Group: h.Group, Client: h.Client, Retries: &h.Retries, Status: "no end told"}
		if h.Ended {
			line.CostMS, line.Status = &h.Cost, statusText(h.Success, true)
			if h.HasCode && !h.Success {
				line.Status = h.ReturnCode.String()
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func statusText(success, known bool) string {
	switch {
	case !known:
		return "not told"
	case success:
		return "success"
	}
	return "failed"
}

func (f *traceFlags) print(w io.Writer, l *admin.Life) error {
	lines := traceLines(l)
	if f.output.value == "json" {
		for i := range lines {
			if err := printJSON(w, &lines[i]); err != nil {
				return err
			}
		}
		return nil
	}
	title := l.ID
	for _, part := range []struct{ name, value string }{{"topic", l.Topic}, {"tag", l.Tags}, {"keys", l.Keys}} {
		if part.value != "" {
			title += "  " + part.name + "=" + readable(part.value)
		}
	}
	if _, err := fmt.Fprintln(w, title); err != nil {
		return err
	}
	rows := table{head: []string{"EVENT", "AT", "GROUP", "CLIENT", "TOOK", "ATTEMPT", "STATUS", "BROKER"}}
	for _, line := range lines {
		took, attempt := "-", "-"
		if line.CostMS != nil {
			took = fmt.Sprintf("%d ms", *line.CostMS)
		}
		if line.Retries != nil {
			attempt = fmt.Sprint(*line.Retries + 1)
		}
		at := "-"
		if line.ms > 0 {
			at = msText(line.ms)
		}
		rows.add(line.Event, at, cmp.Or(readable(line.Group), "-"), cmp.Or(line.Client, "-"), took, attempt, readable(line.Status), cmp.Or(line.Broker, "-"))
	}
	return rows.print(w)
}
