// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"errors"

	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// Room for what records have beside the bodies, in the limit of a whole batch (RocketMQ: MessageExtEncoder).
const batchRoom = 64 << 10

var errBatchTooLarge = errors.New("batch is too large")

// prepareBatch checks a client batch. Its items are stored as they are: what the broker adds to single messages they do
// not get, what they wish (a delay, a transaction) is not looked at, as in RocketMQ. A batch too large or without items
// has the code of the exception that RocketMQ's broker meets here. In a topic of batch queues a batch with a key of its
// own (UNIQ_KEY) is stored as one message, an inner batch; consumers' clients take it apart.
func (h *sendHandler) prepareBatch(s *sending, t *topic.Config) error {
	p, m := &s.sent, &s.message
	if len(t.TopicName) > protocol.MaxTopicLength {
		return protocol.Errorf(protocol.MessageIllegal, "message topic length too long %d", len(t.TopicName))
	}
	if t.IsRetry() {
		return protocol.Errorf(protocol.MessageIllegal, "batch request does not support retry group %s", t.TopicName)
	}
	level, err := p.delayLevel()
	if err != nil {
		return protocol.Errorf(protocol.SystemError, "delay level %.64q is not a number", p.delay)
	}
	m.InnerBatch = t.QueueType == topic.BatchQueue && len(p.unique) > 0
	flagged := p.innerNum || m.SysFlag&message.FlagInnerBatch != 0
	if level > 0 || message.Transaction(m.SysFlag) != 0 || flagged && !m.InnerBatch {
		return h.illegal(s.cfg)
	}
	if t.TopicFilterType == protocol.MultiTag {
		m.SysFlag |= message.FlagMultiTags
	}
	if len(m.Body) == 0 {
		return errNoMessageBody
	}
	limit := int(s.cfg.Store.MaxMessageBytes)
	if m.InnerBatch {
		if len(m.Body) > limit {
			return h.illegal(s.cfg)
		}
		m.NoWait = p.noWait
		return s.writeProperties()
	}
	switch err := checkItems(m.Body, recordOverhead+len(t.TopicName), limit+batchRoom); {
	case errors.Is(err, errBatchTooLarge) || len(m.Body) > limit:
		return protocol.Errorf(protocol.SystemError, "the batch is larger than a message may be: %d bytes, and %d for what each stored message has beside its body", limit, batchRoom)
	case err != nil:
		return &protocol.Error{Code: protocol.MessageIllegal, Remark: err.Error()}
	}
	m.NoWait = p.noWait
	s.uniqueID = append(s.uniqueID[:0], p.unique...)
	return nil
}

// recordOverhead is at most what a record has beside topic, body and properties.
const recordOverhead = 91 + 1 + 2*12

// checkItems walks through a batch and sums up the records it becomes.
func checkItems(body []byte, overhead, limit int) error {
	total := 0
	return message.EachBatchItem(body, func(it message.BatchItem) error {
		if total += overhead + len(it.Body) + len(it.Properties); total > limit {
			return errBatchTooLarge
		}
		return nil
	})
}
