// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
)

func newGroupUpdate() *cobra.Command {
	var f clusterFlags
	var s groupSettings
	cmd := &cobra.Command{
		Use:     "update GROUP",
		Short:   "Change settings of a consumer group",
		Long:    "Change settings of a consumer group at every broker that has it. What is not given stays as it is.",
		Example: "  goddard group update billing --enable=false",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			return f.explain(updateGroup(cmd, a, &f, &s, args[0]))
		},
	}
	f.addTo(cmd)
	s.addTo(cmd.Flags())
	return cmd
}

// updateGroup changes each broker's own settings: they may differ.
func updateGroup(cmd *cobra.Command, a *admin.Admin, f *clusterFlags, s *groupSettings, group string) error {
	flags := cmd.Flags()
	if !slices.ContainsFunc(groupSettingFlags, flags.Changed) {
		return errors.New("nothing to change: give --" + strings.Join(groupSettingFlags, ", --"))
	}
	configs, err := a.Group(cmd.Context(), f.target, group)
	errs := []error{err}
	for _, broker := range slices.Sorted(maps.Keys(configs)) {
		cfg := configs[broker].Clone()
		if err := s.apply(flags, cfg); err != nil {
			return err
		}
		brokers, err := a.SetGroup(cmd.Context(), admin.Target{Broker: broker}, cfg)
		errs = append(errs, reportDone(cmd, f.output.value, "updated", group, brokers, ": "+groupText(cfg)), err)
	}
	return errors.Join(errs...)
}
