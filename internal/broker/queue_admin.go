// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Queues on disk: QUERY_CONSUME_QUEUE (321), CLEAN_EXPIRED_CONSUMEQUEUE (306), CLEAN_UNUSED_TOPIC (316),
// DELETE_EXPIRED_COMMITLOG (329).

import (
	"fmt"
	"strings"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
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
		Get(topic, group string) *group.Filter
	}
	queueStore interface {
		QueueRange(topic string, queueID int32) (min, max int64)
		Entries(topic string, queueID int32, from int64, count int) []store.QueueEntry
		Extra(topic string, queueID int32, offset int64) (x store.Extra, ok bool)
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
	registered := h.filters.Get(req.Topic, req.ConsumerGroup)
	for i, e := range h.store.Entries(req.Topic, req.QueueID, req.Index, int(min(req.Count, maxEntries))) {
		entry := protocol.ConsumeQueueEntry{
			PhysicOffset: e.PhysicalOffset, PhysicSize: e.Size, TagsCode: e.TagsCode,
			Eval: s != nil && (!protocol.IsTagExpression(s.ExpressionType) || s.MatchesCode(e.TagsCode)),
		}
		if x, ok := h.store.Extra(req.Topic, req.QueueID, req.Index+int64(i)); ok {
			entry.ExtendDataJSON = extraText(&x)
			if len(x.Bits) > 0 {
				entry.BitMap = bitsText(x.Bits)
			}
			if entry.Eval && registered != nil && !protocol.IsTagExpression(s.ExpressionType) {
				entry.Eval = registered.MatchBits(e.PhysicalOffset, x.StoreTimestamp, x.Bits)
			}
		}
		body.QueueData = append(body.QueueData, entry)
	}
	return jsonAnswer(body), nil
}

// extraText is what is kept of a message beside its queue, as Java writes it.
func extraText(x *store.Extra) string {
	var extra struct {
		FilterBitMap []int8 `json:"filterBitMap,omitempty"`
		MsgStoreTime int64  `json:"msgStoreTime"`
		Size         int    `json:"size"`
		TagsCode     int64  `json:"tagsCode"`
	}
	for _, b := range x.Bits {
		extra.FilterBitMap = append(extra.FilterBitMap, int8(b))
	}
	extra.MsgStoreTime, extra.Size, extra.TagsCode = x.StoreTimestamp, x.Size(), x.TagsCode
	return string(javajson.Marshal(extra, javajson.Bare))
}

// bitsText is a bit map as Java prints it: the highest bit first, a line for each eight bytes from the first one on.
func bitsText(bits []byte) string {
	var text strings.Builder
	for i := len(bits) - 1; i >= 0; i-- {
		fmt.Fprintf(&text, "%08b", bits[i])
		if i%8 == 0 {
			text.WriteByte('\n')
		}
	}
	return text.String()
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
