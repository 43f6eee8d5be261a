// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Queues on disk: QUERY_CONSUME_QUEUE (321), CLEAN_EXPIRED_CONSUMEQUEUE (306), CLEAN_UNUSED_TOPIC (316),
// DELETE_EXPIRED_COMMITLOG (329).

import (
	"fmt"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// The parts that are asked.
type (
	queueTopics interface {
		Get(name string) *topic.Config
		IsSystem(name string) bool
	}
	queueMembers interface {
		Consumers(group string) *group.Consumers
	}
	queueFilters interface {
		Describe(topic, group string) string
	}
	queueStore interface {
		QueueRange(topic string, queueID int32) (min, max int64)
		Entries(topic string, queueID int32, from int64, count int) []store.QueueEntry
		CleanUnused(keep func(topic string) bool) error
		CleanExpired() error
		CleanLog()
	}
)

// queueHandler serves the codes above, on the admin lane.
type queueHandler struct {
	topics  queueTopics
	members queueMembers
	filters queueFilters
	store   queueStore
}

// maxEntries bounds the entries in one answer.
const maxEntries = 10_000

// entries shows entries of a queue. Eval tells whether the group's members want the message, as far as its tags tell:
// where they say by an expression what they want, it may be every one.
func (h *queueHandler) entries(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.QueryConsumeQueueHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	t := h.topics.Get(req.Topic)
	if t == nil || req.QueueID < 0 || req.QueueID >= t.Queues() {
		return nil, protocol.Errorf(protocol.SystemError, "%d@%s is not exist!", req.QueueID, req.Topic)
	}
	var body protocol.ConsumeQueueData
	body.MinQueueIndex, body.MaxQueueIndex = h.store.QueueRange(req.Topic, req.QueueID)
	if req.ConsumerGroup != "" {
		text := fmt.Sprintf("%s@%s is not online!", req.ConsumerGroup, req.Topic)
		if c := h.members.Consumers(req.ConsumerGroup); c != nil && c.Subscriptions[req.Topic] != nil {
			body.SubscriptionData = c.Subscriptions[req.Topic]
			text = h.filters.Describe(req.Topic, req.ConsumerGroup)
		}
		body.FilterData = &text
	}
	s := body.SubscriptionData
	body.QueueData = []protocol.ConsumeQueueEntry{}
	for _, e := range h.store.Entries(req.Topic, req.QueueID, req.Index, int(min(req.Count, maxEntries))) {
		body.QueueData = append(body.QueueData, protocol.ConsumeQueueEntry{
			PhysicOffset: e.PhysicalOffset, PhysicSize: e.Size, TagsCode: e.TagsCode,
			Eval: s != nil && (!protocol.IsTagExpression(s.ExpressionType) || s.MatchesCode(e.TagsCode)),
		})
	}
	return jsonAnswer(body), nil
}

func (h *queueHandler) cleanExpired(*remoting.Exchange) (*remoting.Command, error) {
	if err := h.store.CleanExpired(); err != nil {
		return nil, fmt.Errorf("clean expired queue files: %w", err)
	}
	return okAnswer, nil
}

// cleanLog lets expired log files go whatever the hour, over the next rounds of cleaning.
func (h *queueHandler) cleanLog(*remoting.Exchange) (*remoting.Command, error) {
	h.store.CleanLog()
	return okAnswer, nil
}

// cleanUnused removes the queues of topics that are no more.
func (h *queueHandler) cleanUnused(*remoting.Exchange) (*remoting.Command, error) {
	keep := func(name string) bool {
		return h.topics.Get(name) != nil || h.topics.IsSystem(name) || protocol.IsLMQ(name)
	}
	if err := h.store.CleanUnused(keep); err != nil {
		return nil, fmt.Errorf("clean unused queues: %w", err)
	}
	return okAnswer, nil
}
