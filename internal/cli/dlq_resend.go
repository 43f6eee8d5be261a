// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// resendFlags of the command dlq resend.
type resendFlags struct {
	clusterFlags
	choice           choiceFlags
	all              bool
	toTopic, toGroup bool
	rate             float64
	dryRun           bool
}

func newDLQResend() *cobra.Command {
	var f resendFlags
	cmd := &cobra.Command{
		Use:   "resend GROUP (--all | --id ID | --offset PLACE | --from FROM) (--to-group | --to-topic)",
		Short: "Send dead letters of a group again",
		Long: "Send dead letters of a consumer group again, and say of each where its copy went.\n\n" +
			"With --to-group only the group gets it again, by its retry topic. With --to-topic it goes to the topic that it came\n" +
			"from, where every group gets it. In both cases attempts begin anew. The copy keeps body, tag, keys, flag, the\n" +
			"application's properties and the id of the message; DLQ_ORIGIN_TOPIC and DLQ_ORIGIN_MESSAGE_ID say where it was from.\n\n" +
			"A resend leaves the dead letter where it is: retention removes it. Nothing remembers that it was resent, so the same\n" +
			"command given twice sends everything twice. What becomes a dead letter while it runs is not resent; to resend only\n" +
			"what came since, give the --from that the command printed at its end.\n\n" +
			"A dead letter that its broker does not take (its topic is gone, say) is reported and passed over. When a broker\n" +
			"does not answer, or at Ctrl-C, it stops and says where to go on.",
		Example: "  goddard dlq resend billing --all --to-group --rate 50\n" +
			"  goddard dlq resend billing --id 7F0000010EBB18B4AAC216E8B7B10000 --to-topic\n" +
			"  goddard dlq resend billing --from 2h --to-group --dry-run",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := f.check(time.Now())
			if err != nil {
				return err
			}
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			return f.run(cmd, a, args[0], sel)
		},
	}
	f.addTo(cmd)
	f.choice.addTo(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "all that are there")
	flags.BoolVar(&f.toGroup, "to-group", false, "to this group only")
	flags.BoolVar(&f.toTopic, "to-topic", false, "to the topic each came from, for all groups")
	flags.Float64Var(&f.rate, "rate", 0, "at most so many a second (default: no limit)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "send nothing, say what would be sent")
	return cmd
}

func (f *resendFlags) check(now time.Time) (*admin.Selection, error) {
	sel, err := f.choice.selection(now)
	chosen := sel.ID != "" || len(sel.Only) > 0 || len(sel.From) > 0 || !sel.Since.IsZero() || !sel.Until.IsZero()
	switch {
	case err != nil:
		return nil, err
	case !chosen && !f.all:
		return nil, errors.New("which dead letters? Give --id, --offset, --from or --until, or --all")
	case chosen && f.all:
		return nil, errors.New("--all does not go with --id, --offset, --from and --until: it means every dead letter there is")
	case f.toTopic == f.toGroup:
		return nil, errors.New("where to? Give either --to-group, for this group only, or --to-topic, for all groups of the topic")
	case f.rate < 0 || math.IsNaN(f.rate):
		return nil, fmt.Errorf("--rate=%g: want more than 0 messages a second", f.rate)
	}
	return &sel, nil
}

func (f *resendFlags) run(cmd *cobra.Command, a *admin.Admin, group string, sel *admin.Selection) error {
	ctx := cmd.Context()
	d, err := a.DeadLetters(ctx, f.target, group)
	if err != nil {
		return f.explain(err)
	}
	spans, err := a.Narrow(ctx, d, sel)
	if err != nil {
		return f.explain(err)
	}
	if sel.ID != "" {
		if spans, err = f.newest(cmd, a, group, spans, sel); err != nil {
			return f.explain(err)
		}
	}
	job := &admin.ResendJob{Group: group, Spans: spans, Choice: *sel, ToTopic: f.toTopic, Rate: f.rate, DryRun: f.dryRun}
	summary, err := a.Resend(ctx, job, func(r admin.Resent) error { return f.report(cmd, &r) })
	return f.outcome(cmd, job, summary, err)
}

// newest narrows to the newest dead letter with the id: a message that was resent and failed again is there more than once.
func (f *resendFlags) newest(cmd *cobra.Command, a *admin.Admin, group string, spans []admin.QueueSpan, sel *admin.Selection) ([]admin.QueueSpan, error) {
	var span *admin.QueueSpan
	var found *admin.Stored
	count := 0
	for i := range spans {
		for m, err := range a.Chosen(cmd.Context(), spans[i], sel) {
			if err != nil {
				return nil, err
			}
			count++
			if found == nil || m.StoreTimestamp >= found.StoreTimestamp {
				span, found = &spans[i], m
			}
		}
	}
	if found == nil {
		return nil, fmt.Errorf("group %s has no such dead letter with the id %s", group, sel.ID)
	}
	if count > 1 && f.output.value == "text" {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has become a dead letter %d times; this is the last time:\n", sel.ID, count); err != nil {
			return nil, err
		}
	}
	one := *span
	one.First, one.End = found.QueueOffset, found.QueueOffset+1
	return []admin.QueueSpan{one}, nil
}

// resentLine is what became of a dead letter as JSON.
type resentLine struct {
	Broker   string `json:"broker"`
	Queue    int32  `json:"queue"`
	Offset   int64  `json:"offset"`
	ID       string `json:"id"`
	Topic    string `json:"topic"`
	Done     string `json:"done"` // resent, failed, would be resent
	ToBroker string `json:"toBroker,omitempty"`
	ToQueue  *int32 `json:"toQueue,omitempty"`
	ToOffset *int64 `json:"toOffset,omitempty"`
	Warning  string `json:"warning,omitempty"`
	Error    string `json:"error,omitempty"`
}

func (f *resendFlags) report(cmd *cobra.Command, r *admin.Resent) error {
	line := resentLine{Broker: r.Broker, Queue: r.QueueID, Offset: r.QueueOffset, ID: r.ID(), Topic: r.Topic, Done: "resent"}
	text := fmt.Sprintf("%s  %s  resent to %s", r.Place(), r.ID(), r.Topic)
	if f.toGroup {
		text += " for the group alone"
	}
	switch {
	case r.Err != nil:
		line.Done, line.Error = "failed", r.Err.Error()
		text = fmt.Sprintf("%s  %s  NOT resent: %v", r.Place(), r.ID(), r.Err)
	case f.dryRun:
		line.Done = "would be resent"
		text = strings.Replace(text, "resent to", "would be resent to", 1)
	default:
		line.ToBroker, line.ToQueue, line.ToOffset = r.To.Broker, &r.To.QueueID, &r.To.Offset
		text += "  " + r.To.String()
	}
	if r.Code != protocol.Success {
		line.Warning = protocol.ResponseName(r.Code)
		text += "  stored, but " + line.Warning
	}
	if f.output.value == "json" {
		return printJSON(cmd.OutOrStdout(), line)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

// outcome sums up, and says where to go on.
func (f *resendFlags) outcome(cmd *cobra.Command, job *admin.ResendJob, s admin.ResendSummary, err error) error {
	verb := "resent"
	if f.dryRun {
		verb = "would be resent"
	}
	if f.output.value == "text" {
		if _, failed := fmt.Fprintf(cmd.OutOrStdout(), "%s %s; they stay where they are until retention removes them\n",
			counted(int64(s.Sent), "dead letter"), verb); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	if err == nil && f.output.value == "text" && !f.dryRun && !single(job) && s.Sent > 0 {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "those that come later:%s\n", fromFlags("--from", s.Behind)); err != nil {
			return err
		}
	}
	if err == nil && s.Failed > 0 {
		return fmt.Errorf("%s could not be resent", counted(int64(s.Failed), "dead letter"))
	}
	if err == nil {
		return nil
	}
	what := f.explain(err).Error()
	if errors.Is(err, context.Canceled) {
		what = "interrupted"
	}
	if s.Unknown {
		what += "; whether the one at " + s.Next[0].String() + " was resent is not known"
	}
	if len(s.Next) == 0 {
		return errors.New(what)
	}
	return fmt.Errorf("%s; to go on: %s", what, goOn(job, s.Next))
}

// single tells whether dead letters were chosen one by one.
func single(job *admin.ResendJob) bool { return len(job.Choice.Only) > 0 || job.Choice.ID != "" }

// fromFlags gives a flag for each place.
func fromFlags(flag string, places []admin.Place) string {
	text := ""
	for _, p := range places {
		text += " " + flag + " " + p.String()
	}
	return text
}

// goOn is the command that does the rest.
func goOn(job *admin.ResendJob, next []admin.Place) string {
	flag := "--from"
	if single(job) {
		flag = "--offset"
	}
	text := "goddard dlq resend " + job.Group + fromFlags(flag, next)
	if until := job.Choice.Until; !until.IsZero() {
		text += fmt.Sprintf(" --until @%d", until.UnixMilli())
	}
	if job.ToTopic {
		text += " --to-topic"
	} else {
		text += " --to-group"
	}
	if job.Rate > 0 {
		text += fmt.Sprintf(" --rate %g", job.Rate)
	}
	return text
}
