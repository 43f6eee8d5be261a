// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Numbers for tools and dashboards: GET_TOPIC_STATS_INFO (202), GET_CONSUME_STATS (208), QUERY_CONSUME_TIME_SPAN (303),
// VIEW_BROKER_STATS_DATA (315), GET_BROKER_CONSUME_STATS (317).
//
// Not done: the commercial counters of 315, those of popped messages, and the moment values of how far pulls lag behind,
// which no request asks for.

import (
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// The parts that numbers come from.
type (
	statsTopics interface {
		Get(name string) *topic.Config
	}
	statsMembers interface {
		Consumers(group string) *group.Consumers
	}
	statsGroups interface {
		All() (protocol.DataVersion, []*group.Config)
	}
	statsOffsets interface {
		Query(topic, group string, queue int32) (int64, bool)
		Pulled(topic, group string, queue int32) (int64, bool)
		TopicsOf(group string) []string
	}
	statsStore interface {
		QueueRange(topic string, queueID int32) (min, max int64)
		EarliestTime(topic string, queueID int32) int64
		TimeOf(topic string, queueID int32, offset int64) int64
	}
	statsCounters interface {
		View(name, key string) (protocol.BrokerStatsData, bool)
		PutRate(topic string) float64
		GetRate(group, topic string) float64
	}
)

// statsHandler serves the codes above, on the admin lane: times of messages may be read from the disk.
type statsHandler struct {
	cfg     *config.Live[Config]
	topics  statsTopics
	groups  statsGroups
	members statsMembers
	offsets statsOffsets
	store   statsStore
	stats   statsCounters
}

// find gives a topic or says that there is none.
func (h *statsHandler) find(name string) (*topic.Config, error) {
	t := h.topics.Get(name)
	if t == nil {
		return nil, protocol.Errorf(protocol.TopicNotExist, "topic[%s] not exist", name)
	}
	return t, nil
}

func (h *statsHandler) queue(topic string, id int32) protocol.MessageQueue {
	return protocol.MessageQueue{BrokerName: h.cfg.Load().Identity.Name, QueueID: id, Topic: topic}
}

func (h *statsHandler) topic(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.TopicHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	t, err := h.find(req.Topic)
	if err != nil {
		return nil, err
	}
	body := protocol.TopicStats{OffsetTable: map[protocol.MessageQueue]protocol.TopicOffset{}, TopicPutTps: h.stats.PutRate(req.Topic)}
	for q := range listed(t.Queues()) {
		first, end := h.store.QueueRange(req.Topic, q)
		o := protocol.TopicOffset{MinOffset: max(first, 0), MaxOffset: max(end, 0)}
		if end > 0 {
			o.LastUpdateTimestamp = max(h.store.TimeOf(req.Topic, q, end-1), 0)
		}
		body.OffsetTable[h.queue(req.Topic, q)] = o
	}
	return jsonAnswer(body), nil
}

func (h *statsHandler) consume(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ConsumeStatsHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	var topics []string
	for t := range strings.SplitSeq(req.TopicList, ";") {
		if t != "" {
			topics = append(topics, t)
		}
	}
	if len(topics) == 0 && req.Topic != "" {
		topics = []string{req.Topic}
	}
	if len(topics) == 0 {
		topics = h.offsets.TopicsOf(req.ConsumerGroup)
	}
	body := protocol.ConsumeStats{OffsetTable: map[protocol.MessageQueue]protocol.OffsetWrapper{}}
	for _, name := range topics {
		t := h.topics.Get(name)
		if t == nil || !h.subscribes(req.ConsumerGroup, name) {
			continue
		}
		h.addProgress(&body, req.ConsumerGroup, t, t.ReadQueueNums)
	}
	return jsonAnswer(body), nil
}

// subscribes is false when the group has members and none wants the topic: its old progress says nothing.
func (h *statsHandler) subscribes(group, topic string) bool {
	c := h.members.Consumers(group)
	return c == nil || len(c.Subscriptions) == 0 || c.Subscriptions[topic] != nil
}

// addProgress adds how far the group has come in the queues of a topic.
func (h *statsHandler) addProgress(s *protocol.ConsumeStats, group string, t *topic.Config, queues int32) {
	name := t.TopicName
	for q := range listed(queues) {
		_, end := h.store.QueueRange(name, q)
		w := protocol.OffsetWrapper{BrokerOffset: max(end, 0)}
		w.ConsumerOffset, _ = h.offsets.Query(name, group, q)
		w.PullOffset = w.ConsumerOffset
		if pulled, ok := h.offsets.Pulled(name, group, q); ok {
			w.PullOffset = max(w.PullOffset, pulled)
		}
		if w.ConsumerOffset > 0 {
			w.LastTimestamp = max(h.store.TimeOf(name, q, w.ConsumerOffset-1), 0)
		}
		s.OffsetTable[h.queue(name, q)] = w
	}
	s.ConsumeTps += h.stats.GetRate(group, name)
}

// broker gives the progress of all groups, one list of topics each. Unlike RocketMQ's its pull offsets are those of 208, so
// that no sum is negative.
func (h *statsHandler) broker(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.BrokerConsumeStatsHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	body := protocol.ConsumeStatsList{BrokerAddr: h.cfg.Load().Identity.addr(), ConsumeStatsList: []map[string][]protocol.ConsumeStats{}}
	_, groups := h.groups.All()
	for _, g := range groups {
		list := []protocol.ConsumeStats{}
		for _, name := range h.offsets.TopicsOf(g.GroupName) {
			t := h.topics.Get(name)
			if t == nil || req.IsOrder && !t.Order || !h.subscribes(g.GroupName, name) {
				continue
			}
			s := protocol.ConsumeStats{OffsetTable: map[protocol.MessageQueue]protocol.OffsetWrapper{}}
			h.addProgress(&s, g.GroupName, t, t.WriteQueueNums)
			for _, w := range s.OffsetTable {
				body.TotalDiff += w.BrokerOffset - w.ConsumerOffset
				body.TotalInflightDiff += w.PullOffset - w.ConsumerOffset
			}
			list = append(list, s)
		}
		body.ConsumeStatsList = append(body.ConsumeStatsList, map[string][]protocol.ConsumeStats{g.GroupName: list})
	}
	return jsonAnswer(body), nil
}

func (h *statsHandler) timeSpan(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.GroupTopicHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	t, err := h.find(req.Topic)
	if err != nil {
		return nil, err
	}
	body := protocol.ConsumeTimeSpans{ConsumeTimeSpanSet: []protocol.QueueTimeSpan{}}
	for q := range listed(t.WriteQueueNums) {
		_, end := h.store.QueueRange(req.Topic, q)
		s := protocol.QueueTimeSpan{
			MessageQueue: h.queue(req.Topic, q), MinTimeStamp: h.store.EarliestTime(req.Topic, q),
			MaxTimeStamp: h.store.TimeOf(req.Topic, q, end-1),
		}
		s.ConsumeTimeStamp = s.MinTimeStamp
		committed, _ := h.offsets.Query(req.Topic, req.Group, q)
		if committed > 0 {
			s.ConsumeTimeStamp = h.store.TimeOf(req.Topic, q, committed-1)
		}
		if committed < end {
			if next := h.store.TimeOf(req.Topic, q, committed); next > 0 {
				s.DelayTime = time.Now().UnixMilli() - next
			}
		}
		s.ConsumeTimeStampStr, s.MaxTimeStampStr, s.MinTimeStampStr = timeText(s.ConsumeTimeStamp), timeText(s.MaxTimeStamp), timeText(s.MinTimeStamp)
		body.ConsumeTimeSpanSet = append(body.ConsumeTimeSpanSet, s)
	}
	return jsonAnswer(body), nil
}

// timeText gives a time in ms as tools show it: 2026-11-30#10:38:02:102, in the broker's time zone.
func timeText(ms int64) string {
	text := []byte(time.UnixMilli(ms).Format("2006-01-02#15:04:05.000"))
	text[len(text)-4] = ':'
	return string(text)
}

func (h *statsHandler) view(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.BrokerStatsHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	data, ok := h.stats.View(req.StatsName, req.StatsKey)
	if !ok {
		return nil, protocol.Errorf(protocol.SystemError, "The stats <%s> <%s> not exist", req.StatsName, req.StatsKey)
	}
	return jsonAnswer(data), nil
}
