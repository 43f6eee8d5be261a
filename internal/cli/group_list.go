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

func newGroupList() *cobra.Command {
	var f clusterFlags
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List consumer groups",
		Long:  "List the consumer groups of the cluster, one a line. Those of the system are shown with --all.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			groups, err := a.Groups(cmd.Context(), f.target)
			errs := []error{f.explain(err)}
			for _, group := range slices.Sorted(maps.Keys(groups)) {
				if !all && (protocol.IsPredefinedGroup(group) || strings.HasPrefix(group, protocol.SystemGroupPrefix)) {
					continue
				}
				errs = append(errs, printGroup(cmd, &f, group, slices.Sorted(maps.Keys(groups[group]))))
			}
			return errors.Join(errs...)
		},
	}
	f.addTo(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "show also groups of the system")
	return cmd
}

func printGroup(cmd *cobra.Command, f *clusterFlags, group string, brokers []string) error {
	if f.output.value == "json" {
		return printJSON(cmd.OutOrStdout(), struct {
			Group   string   `json:"group"`
			Brokers []string `json:"brokers"`
		}{group, brokers})
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), group)
	return err
}
