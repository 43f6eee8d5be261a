// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/client"
)

// consumeFlags of the command consume.
type consumeFlags struct {
	nameServers []string
	from        string
	follow      bool
	group       string
	filter      string
	sql         string
	queues      []string
	max         int
	output      outputFormat
}

// What flags mean that message browse has, too.
const (
	fromUsage   = "where to begin: beginning, latest, an OFFSET, a time (2026-01-31T08:00:00, @MILLISECONDS),\nor how long ago (10m)"
	filterUsage = "tags to print: 'A || B'"
	sqlUsage    = "condition on properties to print by: \"price > 3\" (broker setting enablePropertyFilter)"
	queueUsage  = "read only this queue, BROKER:NUMBER; may be given again"
)

func newConsume() *cobra.Command {
	var f consumeFlags
	cmd := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Print the messages of a topic",
		Long: "Print the messages of a topic: those that are there, or with --follow also those that come.\n\n" +
			"Without --group the queues are only read; nobody's progress changes. With --group this becomes a member\n" +
			"of that consumer group: it shares the queues with the other members, goes on where the group left off,\n" +
			"and runs until it is interrupted or has printed --max messages.",
		Example: "  goddard consume orders\n" +
			"  goddard consume orders --follow --filter 'created || paid' --output json\n" +
			"  goddard consume orders --from 2026-01-31T08:00:00 --max 10\n" +
			"  goddard consume orders --group billing",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	nameServerFlag(cmd, &f.nameServers)
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.from, "from", "", fromUsage+" (default: beginning; with --follow latest)")
	flags.BoolVarP(&f.follow, "follow", "f", false, "do not stop at the end, wait for more")
	flags.StringVarP(&f.group, "group", "g", "", "be a member of this consumer group")
	flags.StringVar(&f.filter, "filter", "", filterUsage)
	flags.StringVar(&f.sql, "sql", "", sqlUsage)
	flags.StringArrayVar(&f.queues, "queue", nil, queueUsage)
	flags.IntVarP(&f.max, "max", "m", 0, "stop after so many messages (default: no limit)")
	f.output.addTo(cmd, "text", "json", "body")
	return cmd
}

// run reads or consumes, and prints.
func (f *consumeFlags) run(cmd *cobra.Command, topic string) error {
	start, err := f.start(time.Now())
	if err != nil {
		return err
	}
	filter := client.Tags(f.filter)
	if f.sql != "" {
		filter = client.SQL(f.sql)
	}
	switch {
	case f.max < 0:
		return fmt.Errorf("--max=%d: want 0 or more", f.max)
	case f.sql != "" && f.filter != "":
		return errors.New("--filter and --sql are two ways to choose: give one")
	case f.group != "" && len(f.queues) > 0:
		return errors.New("--queue does not go with --group: the group decides who reads which queue")
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer func() { _ = out.Flush() }()
	p := &printer{out: out, format: f.output.value, left: f.max, limited: f.max > 0}
	if f.group != "" {
		err = f.member(cmd, topic, start, filter, p)
	} else {
		err = f.read(cmd, topic, start, filter, p)
	}
	return explain(err, f.nameServers)
}

// start reads --from.
func (f *consumeFlags) start(now time.Time) (client.Start, error) {
	switch text := strings.ToLower(strings.TrimSpace(f.from)); text {
	case "":
		if f.follow {
			return client.Latest(), nil
		}
		return client.Beginning(), nil
	case "beginning", "earliest", "start":
		return client.Beginning(), nil
	case "latest", "end":
		return client.Latest(), nil
	}
	if n, err := strconv.ParseInt(f.from, 10, 64); err == nil {
		if n < 0 {
			return client.Start{}, fmt.Errorf("--from %s: an offset is not below zero", f.from)
		}
		return client.AtOffset(n), nil
	}
	at, err := parseTime(f.from, now)
	if errors.Is(err, errNoTime) {
		err = errors.New("want beginning, latest, an offset, a time such as 2026-01-31T08:00:00, or how long ago such as 10m")
	}
	if err != nil {
		return client.Start{}, fmt.Errorf("--from %s: %w", f.from, err)
	}
	return client.AtTime(at), nil
}

var errNoTime = errors.New("want a time such as 2026-01-31T08:00:00, @MILLISECONDS, or how long ago such as 10m")

// parseTime reads a time: a date with or without the time of day, milliseconds since 1970 behind an @, or how long before now.
func parseTime(text string, now time.Time) (time.Time, error) {
	if ms, found := strings.CutPrefix(text, "@"); found {
		n, err := strconv.ParseInt(ms, 10, 64)
		if err != nil {
			return time.Time{}, errors.New("want milliseconds since 1970 behind the @")
		}
		return time.UnixMilli(n), nil
	}
	if ago, err := time.ParseDuration(strings.TrimPrefix(text, "-")); err == nil {
		return now.Add(-ago), nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errNoTime
}

// timeLayouts are the forms of a time; without a zone it is local. The last is that of
// RocketMQ's tools.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999", "2006-01-02 15:04:05.999", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	"2006-01-02#15:04:05:000",
}

// read prints without being a member of a group.
func (f *consumeFlags) read(cmd *cobra.Command, topic string, start client.Start, filter client.Filter, p *printer) error {
	options := []client.ReaderOption{client.NameServers(f.nameServers...), client.StartAt(start), client.ReadFilter(filter)}
	for _, text := range f.queues {
		q, err := parseQueue(topic, text)
		if err != nil {
			return err
		}
		options = append(options, client.ReadQueues(q))
	}
	if !f.follow {
		options = append(options, client.UntilEnd())
	}
	r, err := client.NewReader(topic, options...)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	ctx := cmd.Context()
	reached := false // the cluster answered
	for {
		messages, err := r.Poll(ctx)
		switch {
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case err != nil && f.follow && reached:
			cmd.PrintErrf("goddard: %v; still trying\n", err)
			continue
		case err != nil:
			return err
		}
		reached = true
		for _, m := range messages {
			if more, err := p.print(m); err != nil || !more {
				return err
			}
		}
		if err := p.out.Flush(); err != nil {
			return err
		}
	}
}

// member prints as a member of a group.
func (f *consumeFlags) member(cmd *cobra.Command, topic string, start client.Start, filter client.Filter, p *printer) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	var mu sync.Mutex // guards p and printErr
	var printErr error
	handler := func(_ context.Context, m *client.Received) error {
		mu.Lock()
		defer mu.Unlock()
		if printErr != nil || ctx.Err() != nil {
			return client.ErrUnfinished
		}
		more, err := p.print(m)
		if err == nil {
			err = p.out.Flush()
		}
		if printErr = err; err != nil || !more {
			cancel()
		}
		if err != nil {
			return client.ErrUnfinished
		}
		return nil
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	c, err := client.NewConsumer(f.group, handler, client.NameServers(f.nameServers...), client.Logger(log),
		client.Subscribe(topic, filter), client.StartAt(start), client.Concurrency(1))
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return errors.Join(err, c.Close())
	}
	<-ctx.Done()
	err = c.Close()
	mu.Lock()
	defer mu.Unlock()
	return errors.Join(printErr, err)
}
