// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bufio"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
)

func newDLQShow() *cobra.Command {
	var f clusterFlags
	var choice choiceFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "show GROUP",
		Short: "Show the dead letters of a group",
		Long: "Show the dead letters of a consumer group, the oldest of each queue first: where each lies, the topic and id it had,\n" +
			"how often it failed, why (where its consumer told, as those made with Goddard's Go client do), and its body.\n" +
			"Nobody's progress changes.",
		Example: "  goddard dlq show billing\n" +
			"  goddard dlq show billing --from 2h --limit 10\n" +
			"  goddard dlq show billing --id 7F0000010EBB18B4AAC216E8B7B10000 --output json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := choice.selection(time.Now())
			if err != nil {
				return err
			}
			if limit < 0 {
				return fmt.Errorf("--limit=%d: want 0 or more", limit)
			}
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			return f.explain(showDeadLetters(cmd, a, &f, args[0], &sel, limit))
		},
	}
	f.addWith(cmd, "text", "json", "body")
	choice.addTo(cmd)
	cmd.Flags().IntVarP(&limit, "limit", "m", 0, "stop after so many (default: no limit)")
	return cmd
}

func showDeadLetters(cmd *cobra.Command, a *admin.Admin, f *clusterFlags, group string, sel *admin.Selection, limit int) error {
	ctx := cmd.Context()
	d, err := a.DeadLetters(ctx, f.target, group)
	if err != nil {
		return err
	}
	spans, err := a.Narrow(ctx, d, sel)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	shown := 0
	for _, s := range spans {
		for m, err := range a.Chosen(ctx, s, sel) {
			if ctx.Err() != nil {
				return out.Flush()
			}
			if err == nil {
				err = printStored(out, f.output.value, m)
			}
			if err != nil {
				_ = out.Flush()
				return err
			}
			if shown++; shown == limit {
				return out.Flush()
			}
		}
	}
	if shown == 0 && f.output.value == "text" {
		if _, err := fmt.Fprintf(out, "group %s has no such dead letters, of %d\n", group, d.Count()); err != nil {
			return err
		}
	}
	return out.Flush()
}
