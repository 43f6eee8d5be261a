// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func newGroupCheck() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "check [GROUP]",
		Short: "Show what is wrong with consumer groups",
		Long: `Show what is wrong with one consumer group, or with all that have members, as each broker's last look found it:

  unequal_subscriptions  members subscribe to different topics or expressions, so that messages are missed
  shared_client_id       two processes have one client id, so that each gets only part of its messages
  unconsumed_queue       messages wait in a queue that no member pulls (unconsumedQueueTimeout, 2 minutes)
  stuck_member           messages wait in queues whose member commits no progress (stuckConsumerTimeout, 5 minutes):
                         its handler hangs, it is paused, or it does not commit

Brokers look every 10 seconds (consumerGroupCheckInterval). Groups in broadcasting mode keep their progress themselves
and are only checked for the first two. The exit code is 1 when something is wrong.`,
		Example: "  goddard group check\n  goddard group check billing -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			group := ""
			if len(args) > 0 {
				group = args[0]
				if _, err := a.Group(cmd.Context(), f.target, group); err != nil {
					return f.explain(err)
				}
			}
			checks, err := a.CheckGroups(cmd.Context(), f.target, group)
			return errors.Join(printCheck(cmd, f.output.value, group, checks), f.explain(err))
		},
	}
	f.addTo(cmd)
	return cmd
}

// brokerCheck is what one broker found.
type brokerCheck struct {
	Broker string `json:"broker"`
	*protocol.GroupCheck
}

// printCheck prints the faults, a line each, or with json a line per broker. The error says how many there are.
func printCheck(cmd *cobra.Command, format, group string, checks map[string]*protocol.GroupCheck) error {
	out := cmd.OutOrStdout()
	faults, groups, unseen := 0, 0, []string{}
	list := table{head: []string{"BROKER", "GROUP", "KIND", "SINCE", "WHAT"}}
	for _, broker := range slices.Sorted(maps.Keys(checks)) {
		c := checks[broker]
		faults, groups = faults+len(c.Faults)+c.More, groups+c.Groups
		if c.CheckedAt == 0 {
			unseen = append(unseen, broker)
		}
		if format == "json" {
			if err := printJSON(out, brokerCheck{broker, c}); err != nil {
				return err
			}
			continue
		}
		for _, fault := range c.Faults {
			list.add(broker, fault.Group, fault.Kind, timeText(fault.Since), fault.Text)
		}
	}
	if err := list.print(out); err != nil {
		return err
	}
	switch {
	case len(unseen) > 0:
		return fmt.Errorf("%s: consumer groups were not looked at yet, or consumerGroupCheckInterval is 0", strings.Join(unseen, ", "))
	case faults == 1:
		return errors.New("1 fault of consumer groups")
	case faults > 1:
		return fmt.Errorf("%d faults of consumer groups", faults)
	case format == "json" || len(checks) == 0:
		return nil
	case group != "":
		_, err := fmt.Fprintf(out, "nothing is wrong with group %s\n", group)
		return err
	}
	_, err := fmt.Fprintf(out, "nothing is wrong with the consumer groups (%d with members)\n", groups)
	return err
}
