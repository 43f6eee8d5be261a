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

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func newGroupCreate() *cobra.Command {
	var f clusterFlags
	var s groupSettings
	var ifNotExists bool
	cmd := &cobra.Command{
		Use:     "create GROUP...",
		Short:   "Create consumer groups on all brokers of a cluster",
		Example: "  goddard group create billing --retry-max 5",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, groups []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			var errs []error
			for _, group := range groups {
				errs = append(errs, f.explain(createGroup(cmd, a, &f, &s, group, ifNotExists)))
			}
			return errors.Join(errs...)
		},
	}
	f.addTo(cmd)
	s.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&ifNotExists, "if-not-exists", false, "a group that is there already is no error, and stays as it is")
	return cmd
}

func createGroup(cmd *cobra.Command, a *admin.Admin, f *clusterFlags, s *groupSettings, group string, ifNotExists bool) error {
	if err := protocol.CheckGroup(group); err != nil {
		return err
	}
	cfg := protocol.NewSubscriptionGroupConfig(group)
	if err := s.apply(cmd.Flags(), cfg); err != nil {
		return err
	}
	there, err := a.Group(cmd.Context(), f.target, group)
	switch {
	case errors.Is(err, admin.ErrNoGroup):
	case err != nil:
		return err
	case ifNotExists:
		return nil
	default:
		return fmt.Errorf("group %s exists already at %s: change it with 'goddard group update', or see it with 'goddard group describe'",
			group, strings.Join(slices.Sorted(maps.Keys(there)), ", "))
	}
	brokers, err := a.SetGroup(cmd.Context(), f.target, cfg)
	return errors.Join(reportDone(cmd, f.output.value, "created", group, brokers, ": "+groupText(cfg)), err)
}
