// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func newTopicList() *cobra.Command {
	var f clusterFlags
	var all, long bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List topics",
		Long:  "List the topics of the cluster, one a line. Retry and dead-letter topics and those of the system are shown with --all.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			topics, err := listTopics(cmd.Context(), a, f.target.Cluster, all)
			if err != nil {
				return f.explain(err)
			}
			return f.explain(printTopics(cmd, a, &f, topics, long))
		},
	}
	f.addTo(cmd)
	_ = cmd.Flags().MarkHidden("broker")
	cmd.Flags().BoolVar(&all, "all", false, "show also retry and dead-letter topics and those of the system")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "show brokers, queues and permissions")
	return cmd
}

func listTopics(ctx context.Context, a *admin.Admin, cluster string, all bool) ([]string, error) {
	info, err := a.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	var topics []string
	if cluster != "" {
		if _, ok := info.ClusterAddrTable[cluster]; !ok {
			_, err := a.Masters(ctx, admin.Target{Cluster: cluster}) // says which there are
			return nil, err
		}
		topics, err = a.TopicsOf(ctx, cluster)
	} else {
		topics, err = a.Topics(ctx)
	}
	if err != nil || all {
		return topics, err
	}
	var own []string
	for _, topic := range topics {
		if !ofSystem(topic, info) {
			own = append(own, topic)
		}
	}
	return own, nil
}

// ofSystem tells topics that nobody created on purpose.
func ofSystem(topic string, info *protocol.ClusterInfo) bool {
	if protocol.IsSystemTopic(topic) || strings.HasPrefix(topic, "RMQ_SYS_") || protocol.IsRetryTopic(topic) || protocol.IsDeadLetterTopic(topic) {
		return true
	}
	if _, ok := info.BrokerAddrTable[topic]; ok {
		return true
	}
	for cluster := range info.ClusterAddrTable {
		if topic == cluster || topic == protocol.ReplyTopic(cluster) {
			return true
		}
	}
	return false
}

// topicLine is a topic at one broker as JSON.
type topicLine struct {
	Topic       string `json:"topic"`
	Broker      string `json:"broker,omitempty"`
	ReadQueues  int32  `json:"readQueues,omitempty"`
	WriteQueues int32  `json:"writeQueues,omitempty"`
	Perm        string `json:"perm,omitempty"`
}

func printTopics(cmd *cobra.Command, a *admin.Admin, f *clusterFlags, topics []string, long bool) error {
	out := cmd.OutOrStdout()
	rows := table{head: []string{"TOPIC", "BROKER", "READ", "WRITE", "PERM"}}
	for _, topic := range topics {
		lines := []topicLine{{Topic: topic}}
		if long {
			data, err := a.TopicRoute(cmd.Context(), topic)
			if err != nil {
				return err
			}
			lines = topicLines(topic, data)
		}
		for _, line := range lines {
			var err error
			switch {
			case f.output.value == "json":
				err = printJSON(out, line)
			case long:
				rows.add(line.Topic, line.Broker, strconv.Itoa(int(line.ReadQueues)), strconv.Itoa(int(line.WriteQueues)), line.Perm)
			default:
				_, err = fmt.Fprintln(out, line.Topic)
			}
			if err != nil {
				return err
			}
		}
	}
	return rows.print(out)
}

func topicLines(topic string, data *protocol.TopicRouteData) []topicLine {
	var lines []topicLine
	for _, q := range data.QueueDatas {
		lines = append(lines, topicLine{
			Topic: topic, Broker: q.BrokerName, ReadQueues: q.ReadQueueNums, WriteQueues: q.WriteQueueNums,
			Perm: strings.ToLower(protocol.PermText(q.Perm)),
		})
	}
	return lines
}
