// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
)

func newDLQList() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "list [GROUP]",
		Short: "List the groups that have dead letters, and how many",
		Long:  "List the consumer groups that have dead letters, a line for each queue that has some: how many, and when the oldest and\nthe newest one became one.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			var all []admin.DeadLetters
			if len(args) == 0 {
				all, err = a.AllDeadLetters(cmd.Context(), f.target)
			} else if one, failed := a.DeadLetters(cmd.Context(), f.target, args[0]); failed != nil {
				err = failed
			} else {
				all = append(all, *one)
			}
			return errors.Join(printDeadLetters(cmd, f.output.value, all), f.explain(err))
		},
	}
	f.addTo(cmd)
	return cmd
}

// deadLettersLine are those of a group as JSON.
type deadLettersLine struct {
	Group  string          `json:"group"`
	Count  int64           `json:"count"`
	Queues []deadQueueLine `json:"queues"`
}

type deadQueueLine struct {
	Broker string `json:"broker"`
	Queue  int32  `json:"queue"`
	Count  int64  `json:"count"`
	First  int64  `json:"first"` // offsets
	Next   int64  `json:"next"`
	Oldest string `json:"oldest,omitempty"`
	Newest string `json:"newest,omitempty"`
}

func printDeadLetters(cmd *cobra.Command, format string, all []admin.DeadLetters) error {
	rows := table{head: []string{"GROUP", "QUEUE", "COUNT", "FROM", "OLDEST", "NEWEST"}}
	total := int64(0)
	for i := range all {
		d := &all[i]
		total += d.Count()
		line := deadLettersLine{Group: d.Group, Count: d.Count(), Queues: []deadQueueLine{}}
		for j := range d.Spans {
			s := &d.Spans[j]
			if s.Count() == 0 {
				continue
			}
			line.Queues = append(line.Queues, deadQueueLine{s.Broker.Name, s.QueueID, s.Count(), s.First, s.End, momentJSON(s.Oldest), momentJSON(s.Newest)})
			rows.add(d.Group, fmt.Sprintf("%s:%d", s.Broker.Name, s.QueueID), strconv.FormatInt(s.Count(), 10),
				strconv.FormatInt(s.First, 10), momentText(s.Oldest), momentText(s.Newest))
		}
		if format == "json" {
			if err := printJSON(cmd.OutOrStdout(), line); err != nil {
				return err
			}
		}
	}
	if format == "json" || len(all) == 0 {
		return nil
	}
	if err := rows.print(cmd.OutOrStdout()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", counted(total, "dead letter"))
	return err
}

// counted is "1 thing" or "n things".
func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// momentText and momentJSON give "-" and "" for a time that is not known.
func momentText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("2006-01-02 15:04:05.000")
}

func momentJSON(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return jsonTime(t)
}
