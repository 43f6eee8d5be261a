// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func newTopicDescribe() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "describe TOPIC",
		Short: "Show a topic's settings, queues and consumer groups",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			d, err := describeTopic(cmd, a, args[0])
			if d == nil {
				return f.explain(err)
			}
			if f.output.value == "json" {
				return errors.Join(printJSON(cmd.OutOrStdout(), d), err)
			}
			return errors.Join(d.print(cmd), err)
		},
	}
	f.addTo(cmd)
	_ = cmd.Flags().MarkHidden("cluster")
	_ = cmd.Flags().MarkHidden("broker")
	return cmd
}

// topicDescription is all that is told of a topic.
type topicDescription struct {
	Topic   string          `json:"topic"`
	Brokers []topicAtBroker `json:"brokers"`
	Queues  []queueLine     `json:"queues"`
	Groups  []string        `json:"groups"`
}

type topicAtBroker struct {
	Broker      string            `json:"broker"`
	Cluster     string            `json:"cluster"`
	ReadQueues  int32             `json:"readQueues"`
	WriteQueues int32             `json:"writeQueues"`
	Perm        string            `json:"perm"`
	Order       bool              `json:"order"`
	Attributes  map[string]string `json:"attributes,omitempty"`
}

// queueLine is one queue: the offsets of its oldest message and of the next one.
type queueLine struct {
	Broker string `json:"broker"`
	Queue  int32  `json:"queue"`
	First  int64  `json:"first"`
	Next   int64  `json:"next"`
	LastAt string `json:"lastAt,omitempty"`
}

// describeTopic asks for everything; beside an error is what was answered, nil when
// there is no such topic.
func describeTopic(cmd *cobra.Command, a *admin.Admin, topic string) (*topicDescription, error) {
	ctx := cmd.Context()
	data, err := a.TopicRoute(ctx, topic)
	if err != nil {
		return nil, err
	}
	d := &topicDescription{Topic: topic, Brokers: []topicAtBroker{}, Queues: []queueLine{}, Groups: []string{}}
	configs, configErr := a.TopicConfigs(ctx, topic)
	for _, q := range data.QueueDatas {
		at := topicAtBroker{
			Broker: q.BrokerName, Cluster: clusterOf(data, q.BrokerName), ReadQueues: q.ReadQueueNums, WriteQueues: q.WriteQueueNums,
			Perm: strings.ToLower(protocol.PermText(q.Perm)),
		}
		if cfg := configs[q.BrokerName]; cfg != nil {
			at.Order, at.Attributes = cfg.Order, cfg.Attributes
		}
		d.Brokers = append(d.Brokers, at)
	}
	stats, statsErr := a.TopicStats(ctx, topic)
	for _, q := range slices.SortedFunc(maps.Keys(stats), protocol.MessageQueue.Compare) {
		s := stats[q]
		d.Queues = append(d.Queues, queueLine{Broker: q.BrokerName, Queue: q.QueueID, First: s.MinOffset, Next: s.MaxOffset, LastAt: timeText(s.LastUpdateTimestamp)})
	}
	groups, groupsErr := a.TopicGroups(ctx, topic)
	d.Groups = append(d.Groups, groups...)
	return d, errors.Join(configErr, statsErr, groupsErr)
}

func clusterOf(data *protocol.TopicRouteData, broker string) string {
	for _, b := range data.BrokerDatas {
		if b.BrokerName == broker {
			return b.Cluster
		}
	}
	return ""
}

// timeText is a time of a broker, "" for none.
func timeText(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return time.UnixMilli(ms).Format("2006-01-02T15:04:05.000Z07:00")
}

func (d *topicDescription) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	brokers := table{head: []string{"BROKER", "CLUSTER", "READ", "WRITE", "PERM", "ORDER", "ATTRIBUTES"}}
	for _, b := range d.Brokers {
		var attributes []string
		for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
			attributes = append(attributes, name+"="+b.Attributes[name])
		}
		brokers.add(b.Broker, b.Cluster, strconv.Itoa(int(b.ReadQueues)), strconv.Itoa(int(b.WriteQueues)), b.Perm,
			strconv.FormatBool(b.Order), strings.Join(attributes, " "))
	}
	queues := table{head: []string{"BROKER", "QUEUE", "FIRST", "NEXT", "MESSAGES", "LAST MESSAGE"}}
	total := int64(0)
	for _, q := range d.Queues {
		total += q.Next - q.First
		queues.add(q.Broker, strconv.Itoa(int(q.Queue)), strconv.FormatInt(q.First, 10), strconv.FormatInt(q.Next, 10),
			strconv.FormatInt(q.Next-q.First, 10), q.LastAt)
	}
	if _, err := fmt.Fprintf(out, "Topic %s: %d messages in %d queues\n\n", d.Topic, total, len(d.Queues)); err != nil {
		return err
	}
	if err := brokers.print(out); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	if err := queues.print(out); err != nil {
		return err
	}
	groups := "none"
	if len(d.Groups) > 0 {
		groups = strings.Join(d.Groups, ", ")
	}
	_, err := fmt.Fprintf(out, "\nConsumer groups: %s\n", groups)
	return err
}
