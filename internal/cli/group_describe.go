// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func newGroupDescribe() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "describe GROUP",
		Short: "Show a consumer group's settings, members and progress",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			d, err := describeGroup(cmd, a, &f, args[0])
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
	return cmd
}

// groupDescription is all that is told of a group.
type groupDescription struct {
	Group         string            `json:"group"`
	Brokers       []groupAtBroker   `json:"brokers"`
	Model         string            `json:"model,omitempty"`
	Members       []memberLine      `json:"members"`
	Subscriptions map[string]string `json:"subscriptions"`
	Progress      []progressLine    `json:"progress"`
	Lag           int64             `json:"lag"`
}

type groupAtBroker struct {
	Broker      string `json:"broker"`
	Enabled     bool   `json:"enabled"`
	Broadcast   bool   `json:"broadcast"`
	Orderly     bool   `json:"orderly"`
	RetryMax    int32  `json:"retryMax"`
	RetryQueues int32  `json:"retryQueues"`
}

type memberLine struct {
	Client   string `json:"client"`
	Addr     string `json:"addr"`
	Language string `json:"language"`
	Version  string `json:"version"`
}

// progressLine is how far the group has come in a queue.
type progressLine struct {
	Topic  string `json:"topic"`
	Broker string `json:"broker"`
	Queue  int32  `json:"queue"`
	Offset int64  `json:"offset"` // of the next message to consume
	Next   int64  `json:"next"`   // of the next message to be written
	Lag    int64  `json:"lag"`
	LastAt string `json:"lastAt,omitempty"` // store time of the last message consumed
}

// describeGroup asks for everything; beside an error is what was answered, nil when
// there is no such group.
func describeGroup(cmd *cobra.Command, a *admin.Admin, f *clusterFlags, group string) (*groupDescription, error) {
	ctx := cmd.Context()
	configs, configErr := a.Group(ctx, f.target, group)
	if configs == nil {
		return nil, configErr
	}
	d := &groupDescription{
		Group: group, Brokers: []groupAtBroker{}, Members: []memberLine{}, Subscriptions: map[string]string{}, Progress: []progressLine{},
	}
	for _, broker := range slices.Sorted(maps.Keys(configs)) {
		c := configs[broker]
		d.Brokers = append(d.Brokers, groupAtBroker{broker, c.ConsumeEnable, c.ConsumeBroadcastEnable, c.ConsumeMessageOrderly, c.RetryMaxTimes, c.RetryQueueNums})
	}
	members, membersErr := a.Members(ctx, f.target, group)
	if members != nil {
		d.addMembers(members)
	}
	progress, progressErr := a.Progress(ctx, f.target, group)
	d.addProgress(progress)
	return d, errors.Join(configErr, membersErr, progressErr)
}

func (d *groupDescription) addMembers(m *admin.Members) {
	d.Model = string(m.Model)
	for _, id := range slices.Sorted(maps.Keys(m.Clients)) {
		c := m.Clients[id]
		d.Members = append(d.Members, memberLine{id, c.ClientAddr, c.Language, protocol.VersionName(c.Version)})
	}
	for topic, s := range m.Subscriptions {
		d.Subscriptions[topic] = s.SubString
	}
}

// addProgress adds the queues. A group that never was in a queue has all of it before
// it; a broker that counts while others consume may tell less than nothing.
func (d *groupDescription) addProgress(progress map[protocol.MessageQueue]protocol.OffsetWrapper) {
	for _, q := range slices.SortedFunc(maps.Keys(progress), protocol.MessageQueue.Compare) {
		p := progress[q]
		lag := max(0, p.BrokerOffset-p.ConsumerOffset)
		d.Lag += lag
		d.Progress = append(d.Progress, progressLine{
			Topic: q.Topic, Broker: q.BrokerName, Queue: q.QueueID,
			Offset: p.ConsumerOffset, Next: p.BrokerOffset, Lag: lag, LastAt: timeText(p.LastTimestamp),
		})
	}
}

func (d *groupDescription) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	brokers := table{head: []string{"BROKER", "ENABLED", "BROADCAST", "ORDERLY", "RETRIES", "RETRY QUEUES"}}
	for _, b := range d.Brokers {
		brokers.add(b.Broker, strconv.FormatBool(b.Enabled), strconv.FormatBool(b.Broadcast), strconv.FormatBool(b.Orderly),
			strconv.Itoa(int(b.RetryMax)), strconv.Itoa(int(b.RetryQueues)))
	}
	members := table{head: []string{"MEMBER", "ADDRESS", "LANGUAGE", "VERSION"}}
	for _, m := range d.Members {
		members.add(m.Client, m.Addr, m.Language, m.Version)
	}
	subscriptions := table{head: []string{"TOPIC", "FILTER"}}
	for _, topic := range slices.Sorted(maps.Keys(d.Subscriptions)) {
		subscriptions.add(topic, d.Subscriptions[topic])
	}
	progress := table{head: []string{"TOPIC", "BROKER", "QUEUE", "OFFSET", "NEXT", "LAG", "LAST CONSUMED"}}
	for _, p := range d.Progress {
		progress.add(p.Topic, p.Broker, strconv.Itoa(int(p.Queue)), strconv.FormatInt(p.Offset, 10), strconv.FormatInt(p.Next, 10),
			strconv.FormatInt(p.Lag, 10), p.LastAt)
	}
	_, err := fmt.Fprintf(out, "Group %s: %d members, %s, %d messages behind\n", d.Group, len(d.Members), cmp.Or(d.Model, "nobody connected"), d.Lag)
	for _, t := range []table{brokers, members, subscriptions, progress} {
		if err == nil && len(t.rows) > 0 {
			_, err = fmt.Fprintln(out)
		}
		if err == nil {
			err = t.print(out)
		}
	}
	return err
}
