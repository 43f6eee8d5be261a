// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// CHECK_CONSUMER_GROUPS (900001, Goddard's own): what is wrong with consumer groups, as room trouble found it; and what that
// room is shown of groups, topics and offsets.

import (
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/broker/trouble"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// groupFaults knows what is wrong.
type groupFaults interface {
	Faults(group string) protocol.GroupCheck
}

// checkHandler serves 900001.
type checkHandler struct{ faults groupFaults }

func (h *checkHandler) check(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.CheckGroupsHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	return jsonAnswer(h.faults.Faults(req.Group)), nil
}

// The parts that are looked at.
type (
	checkedMembers interface {
		EachConsumers(f func(*group.Consumers))
		Discord(group string) group.Discord
	}
	checkedGroups interface {
		Get(name string) *group.Config
		Readable(group, topic []byte) bool
	}
	checkedTopics interface {
		Get(name string) *topic.Config
	}
	checkedOffsets interface {
		Progress(dst []offset.Progress, topic, group string, queues int32) []offset.Progress
	}
	checkedLocks interface {
		Holder(group string, queue protocol.MessageQueue, now time.Time) string
	}
	checkedStore interface {
		QueueRange(topic string, queueID int32) (min, max int64)
	}
)

// groupSource shows the groups to the watch. It is used by one look at a time.
type groupSource struct {
	cfg     *config.Live[Config]
	members checkedMembers
	groups  checkedGroups
	topics  checkedTopics
	offsets checkedOffsets
	locks   checkedLocks
	store   checkedStore

	group    trouble.Group // all this is reused
	queues   []trouble.Queue
	progress []offset.Progress
}

// each calls f with each group that has members (trouble.Source).
func (s *groupSource) each(f func(*trouble.Group)) {
	s.members.EachConsumers(func(c *group.Consumers) {
		if protocol.IsPredefinedGroup(c.Group) || protocol.IsSystemGroup(c.Group) {
			return
		}
		s.show(c)
		f(&s.group)
	})
}

func (s *groupSource) show(c *group.Consumers) {
	g := &s.group
	*g = trouble.Group{
		Name: c.Group, Members: g.Members[:0], Topics: g.Topics[:0], Pulls: c.Type == protocol.ConsumeActively,
		Holder: g.Holder,
	}
	if g.Holder == nil {
		g.Holder = s.holder
	}
	for _, m := range c.Members {
		g.Members = append(g.Members, trouble.Member{Client: m.ID, Conn: m.Conn.ID()})
	}
	if len(c.Members) > 1 {
		s.discord(g, s.members.Discord(c.Group))
	}
	// Clients in broadcasting mode keep their progress themselves, popped messages are acknowledged one by one.
	settings := s.groups.Get(c.Group)
	g.Judged = settings != nil && settings.ConsumeEnable && c.Model == protocol.Clustering && c.Type != protocol.ConsumePop
	if !g.Judged {
		return
	}
	s.queues = s.queues[:0]
	for name := range c.Subscriptions {
		t := s.topics.Get(name)
		if t == nil || !protocol.CanRead(t.Perm) || !s.groups.Readable([]byte(c.Group), []byte(name)) {
			continue
		}
		g.Topics = append(g.Topics, trouble.Topic{Name: name, Queues: s.progressIn(c.Group, t)})
	}
}

func (s *groupSource) holder(group, topic string, queue int32) string {
	q := protocol.MessageQueue{BrokerName: s.cfg.Load().Identity.Name, QueueID: queue, Topic: topic}
	return s.locks.Holder(group, q, time.Now())
}

func (s *groupSource) progressIn(group string, t *topic.Config) []trouble.Queue {
	queues := min(t.ReadQueueNums, maxListed)
	s.progress = s.offsets.Progress(s.progress[:0], t.TopicName, group, queues)
	from := len(s.queues)
	for q, p := range s.progress {
		first, end := s.store.QueueRange(t.TopicName, int32(q))
		s.queues = append(s.queues, trouble.Queue{
			First: first, End: end, Committed: p.Committed, Known: p.Known, PulledAt: p.PulledAt, PulledBy: p.PulledBy,
		})
	}
	return s.queues[from:len(s.queues):len(s.queues)]
}

// discord puts what the members do not agree on in a fixed order.
func (s *groupSource) discord(g *trouble.Group, d group.Discord) {
	for topic, wants := range d.Topics {
		difference := trouble.Difference{Topic: topic}
		for expression, clients := range wants {
			difference.Wants = append(difference.Wants, trouble.Want{Expression: expression, Clients: clients})
		}
		slices.SortFunc(difference.Wants, func(a, b trouble.Want) int { return slices.Compare(a.Clients, b.Clients) })
		g.Differences = append(g.Differences, difference)
	}
	for client, addrs := range d.Shared {
		g.Shared = append(g.Shared, trouble.Shared{Client: client, Addrs: addrs})
	}
}
