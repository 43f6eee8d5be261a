// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func newGroupDelete() *cobra.Command {
	var f clusterFlags
	var keepOffsets bool
	cmd := &cobra.Command{
		Use:   "delete GROUP...",
		Short: "Delete consumer groups with their progress, retry and dead-letter topics",
		Long: "Delete consumer groups from all brokers of a cluster, with their progress and their retry and dead-letter topics.\n" +
			"A member that is still connected creates its group again where brokers allow that (autoCreateSubscriptionGroup).",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, groups []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			var errs []error
			for _, group := range groups {
				brokers, err := a.DeleteGroup(cmd.Context(), f.target, group, !keepOffsets)
				errs = append(errs, reportDone(cmd, f.output.value, "deleted", group, brokers, ""), f.explain(err))
			}
			return errors.Join(errs...)
		},
	}
	f.addTo(cmd)
	cmd.Flags().BoolVar(&keepOffsets, "keep-offsets", false, "keep the progress, so that a group of the same name goes on there")
	return cmd
}
