// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func newTopicUpdate() *cobra.Command {
	var f clusterFlags
	var s topicSettings
	cmd := &cobra.Command{
		Use:   "update TOPIC",
		Short: "Change settings of a topic",
		Long: "Change settings of a topic at every broker that has it. What is not given stays as it is.\n" +
			"An attribute is removed by --attribute=-NAME.",
		Example: "  goddard topic update orders --queues 32\n  goddard topic update orders --perm r\n" +
			"  goddard topic update orders --attribute reserve.time=24",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			return f.explain(updateTopic(cmd, a, &f, &s, args[0]))
		},
	}
	f.addTo(cmd)
	s.addTo(cmd.Flags())
	return cmd
}

// updateTopic changes each broker's own settings: they may differ.
func updateTopic(cmd *cobra.Command, a *admin.Admin, f *clusterFlags, s *topicSettings, topic string) error {
	flags := cmd.Flags()
	if !slices.ContainsFunc([]string{"queues", "read-queues", "write-queues", "perm", "order", "attribute"}, flags.Changed) {
		return errors.New("nothing to change: give --queues, --read-queues, --write-queues, --perm, --order or --attribute")
	}
	masters, err := a.Masters(cmd.Context(), f.target)
	if err != nil {
		return err
	}
	configs, err := a.TopicConfigs(cmd.Context(), topic)
	errs := []error{err}
	changed := false
	for _, broker := range slices.Sorted(maps.Keys(configs)) {
		i := slices.IndexFunc(masters, func(b admin.Broker) bool { return b.Name == broker })
		if i < 0 {
			continue // not in the target
		}
		cfg := configs[broker].Clone()
		if err := s.apply(flags, cfg, false); err != nil {
			return err
		}
		cfg.TopicFilterType = cmp.Or(cfg.TopicFilterType, protocol.SingleTag)
		brokers, err := a.SetTopic(cmd.Context(), admin.Target{Broker: broker}, cfg)
		errs = append(errs, reportDone(cmd, f.output.value, "updated", topic, brokers, ": "+topicText(cfg)), err)
		changed = true
	}
	if !changed && errors.Join(errs...) == nil {
		return fmt.Errorf("topic %s is at none of the brokers chosen by --cluster and --broker", topic)
	}
	return errors.Join(errs...)
}
