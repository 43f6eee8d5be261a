// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func newTopicCreate() *cobra.Command {
	var f clusterFlags
	var s topicSettings
	var ifNotExists bool
	cmd := &cobra.Command{
		Use:   "create TOPIC...",
		Short: "Create topics on all brokers of a cluster",
		Example: "  goddard topic create orders --queues 16\n" +
			"  goddard topic create jobs --attribute message.type=FIFO --cluster DefaultCluster",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, topics []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			var errs []error
			for _, topic := range topics {
				errs = append(errs, f.explain(createTopic(cmd, a, &f, &s, topic, ifNotExists)))
			}
			return errors.Join(errs...)
		},
	}
	f.addTo(cmd)
	s.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&ifNotExists, "if-not-exists", false, "a topic that is there already is no error, and stays as it is")
	return cmd
}

func createTopic(cmd *cobra.Command, a *admin.Admin, f *clusterFlags, s *topicSettings, topic string, ifNotExists bool) error {
	cfg := protocol.NewTopicConfig(topic)
	if err := s.apply(cmd.Flags(), cfg, true); err != nil {
		return err
	}
	if err := protocol.CheckTopic(topic); err != nil {
		return err
	}
	where, err := topicBrokers(cmd, a, f, topic)
	if err != nil {
		return err
	}
	if len(where) > 0 {
		if ifNotExists {
			return nil
		}
		return fmt.Errorf("topic %s exists already at %s: change it with 'goddard topic update', or see it with 'goddard topic describe'",
			topic, strings.Join(where, ", "))
	}
	brokers, err := a.SetTopic(cmd.Context(), f.target, cfg)
	return errors.Join(reportDone(cmd, f.output.value, "created", topic, brokers, ": "+topicText(cfg)), err)
}

// topicBrokers gives the brokers of the target that have the topic.
func topicBrokers(cmd *cobra.Command, a *admin.Admin, f *clusterFlags, topic string) ([]string, error) {
	data, err := a.TopicRoute(cmd.Context(), topic)
	if errors.Is(err, admin.ErrNoTopic) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	masters, err := a.Masters(cmd.Context(), f.target)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, q := range data.QueueDatas {
		if slices.ContainsFunc(masters, func(b admin.Broker) bool { return b.Name == q.BrokerName }) {
			names = append(names, q.BrokerName)
		}
	}
	slices.Sort(names)
	return names, nil
}
