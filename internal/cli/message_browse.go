// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newMessageBrowse is consume without anything that concerns groups.
func newMessageBrowse() *cobra.Command {
	var f consumeFlags
	cmd := &cobra.Command{
		Use:   "browse TOPIC",
		Short: "Print the messages of a topic that are there",
		Long: "Print the messages of a topic that are there now, as 'goddard consume' does without a group: nobody's progress\n" +
			"changes, and consumers do not notice.",
		Example: "  goddard message browse orders --from 10m --limit 20\n" +
			"  goddard message browse orders --queue broker-a:2 --from 1000 --output json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.max < 0 {
				return fmt.Errorf("--limit=%d: want 0 or more", f.max)
			}
			return f.run(cmd, args[0])
		},
	}
	nameServerFlag(cmd, &f.nameServers)
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.from, "from", "", fromUsage+" (default: beginning)")
	flags.StringArrayVar(&f.queues, "queue", nil, queueUsage)
	flags.StringVar(&f.filter, "filter", "", filterUsage)
	flags.StringVar(&f.sql, "sql", "", sqlUsage)
	flags.IntVarP(&f.max, "limit", "m", 0, "stop after so many messages (default: no limit)")
	f.output.addTo(cmd, "text", "json", "body")
	return cmd
}
