// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func newTopicDelete() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "delete TOPIC...",
		Short: "Delete topics and their messages",
		Long: "Delete topics from all brokers of a cluster and from the name servers. Their messages cannot be read any more.\n" +
			"A producer that still sends to one creates it again where brokers allow that (autoCreateTopicEnable).",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, topics []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			var errs []error
			for _, topic := range topics {
				brokers, err := a.DeleteTopic(cmd.Context(), f.target, topic)
				errs = append(errs, reportDone(cmd, f.output.value, "deleted", topic, brokers, ""), f.explain(err))
			}
			return errors.Join(errs...)
		},
	}
	f.addTo(cmd)
	return cmd
}
