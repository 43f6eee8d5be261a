// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// CONSUMER_SEND_MSG_BACK (36): a consumer gives a message back. A copy goes through the delay queue of a level to the
// group's retry topic, or to its dead letters when it was consumed too often.
//
// Not done: forwarding to another broker's master (slaves acting as master).

import (
	"math/rand/v2"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// firstRetryLevel is the delay level of a first retry; each further one is a level higher.
const firstRetryLevel = 3

// viewer reads a message by its place in the log.
type viewer interface {
	View(physicalOffset int64) ([]byte, error)
}

// sendBackHandler serves 36, on the send lane.
type sendBackHandler struct {
	*sender
	log       viewer
	comebacks comebacks
}

func (h *sendBackHandler) serve(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.SendBackRequest
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	if err := h.admit(x.Arrived); err != nil {
		return nil, err
	}
	g := h.groups.Find(req.Group)
	if g == nil {
		return nil, groupMissing(req.Group)
	}
	identity := &h.cfg.Load().Identity
	if !protocol.CanWrite(identity.Perm) {
		return nil, sendForbidden(identity)
	}
	if g.RetryQueueNums <= 0 {
		return &remoting.Command{Code: protocol.Success}, nil // the group does not want retries
	}
	retry, err := h.retryTopic(g, req.UnitMode)
	if err != nil {
		return nil, err
	}
	if !protocol.CanWrite(retry.Perm) {
		return nil, protocol.Errorf(protocol.NoPermission, "the topic[%s] sending message is forbidden", retry.TopicName)
	}
	raw, err := h.log.View(req.Offset)
	var record message.Record
	if err == nil {
		_, err = message.DecodeRecord(raw, &record, false)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.SystemError, "look message by offset failed, %d", req.Offset)
	}
	m, err := h.comeback(&req, &record, g, retry, x.Request.Version)
	if err != nil {
		return nil, err
	}
	back := comeback{g.GroupName, req.Offset}
	now := time.Now()
	switch store, exists := h.comebacks.begin(back, now, x.ReplyTo()); {
	case exists:
		return &remoting.Command{Code: protocol.Success}, nil
	case !store:
		return nil, nil // the answer is that of the copy
	}
	h.stats.SendBack(g.GroupName, string(record.Topic))
	h.inFlight.Add(1)
	h.store.Append(m, &backWaiter{handler: h, back: back, until: now.Add(h.lives(m)), reply: x.ReplyTo(), message: *m})
	h.store.Commit()
	return nil, nil
}

// lives tells for how long a copy exists at least.
func (h *sendBackHandler) lives(m *store.Message) time.Duration {
	if m.Topic == protocol.TopicSchedule {
		return h.levels().Delay(int(m.QueueID) + 1)
	}
	return deadFor
}

// retryTopic gives the group's retry topic when it is on disk: recovery would leave the messages of a topic that it does
// not know out of their queues.
func (h *sendBackHandler) retryTopic(g *group.Config, unit bool) (*topic.Config, error) {
	t := h.topics.GetBytes([]byte(protocol.RetryTopic(g.GroupName)))
	if t == nil {
		flag := int32(0)
		if unit {
			flag = protocol.TopicFlagUnitSub
		}
		t = h.topics.EnsureRetry(g.GroupName, g.RetryQueueNums, g.ConsumeMessageOrderly, flag)
	}
	return t, h.topics.Await(t)
}

// comeback makes the copy that comes back of the record. It waits for the disk, although its property WAIT says, as in
// RocketMQ, that it does not: the consumer moves its offset over the original as soon as it is answered.
func (h *sendBackHandler) comeback(req *protocol.SendBackRequest, r *message.Record, g *group.Config, retry *topic.Config, version int32) (*store.Message, error) {
	limit := g.RetryMaxTimes
	if version >= protocol.V3_4_9 && req.MaxReconsumeTimes != nil {
		limit = *req.MaxReconsumeTimes
	}
	m := &store.Message{
		Topic: retry.TopicName, QueueID: rand.Int32N(max(g.RetryQueueNums, 1)), Flag: r.Flag, SysFlag: r.SysFlag,
		BornTimestamp: r.BornTimestamp, BornHost: r.BornHost, StoreHost: h.storeHost,
		ReconsumeTimes: r.ReconsumeTimes + 1, Body: r.Body,
	}
	level := 0
	if r.ReconsumeTimes >= limit || req.DelayLevel < 0 {
		dead, err := h.topics.EnsureDLQ(g.GroupName)
		if err != nil {
			return nil, err
		}
		h.died(g.GroupName, string(r.Topic))
		m.Topic, m.QueueID = dead.TopicName, 0
	} else {
		level = int(req.DelayLevel)
		if level == 0 {
			level = firstRetryLevel + int(r.ReconsumeTimes)
		}
		level = h.levels().Clamp(level)
	}
	m.Properties = comebackProperties(r, m, level, message.CleanReason(req.FailureReason))
	if len(m.Properties) > message.MaxProperties {
		m.Properties = comebackProperties(r, m, level, "") // a reason is not worth a message
	}
	if level > 0 {
		m.Topic, m.QueueID = protocol.TopicSchedule, int32(level-1)
	}
	if len(m.Properties) > message.MaxProperties {
		return nil, h.illegal(h.cfg.Load())
	}
	return m, nil
}

// Names that a copy gets anew, and further those of one that waits. The reason of an earlier failure says nothing about
// this one.
var (
	dropComeback = []string{message.PropDelay, message.PropWait, message.PropRetryTopic, message.PropOriginID, message.PropFailureReason}
	dropWaiting  = append(dropComeback[:len(dropComeback):len(dropComeback)], message.PropRealTopic, message.PropRealQueueID,
		message.PropTimerDelaySec, message.PropTimerDelayMs, message.PropTimerDeliverMs)
)

func comebackProperties(r *message.Record, m *store.Message, level int, reason string) []byte {
	drop := dropComeback
	if level > 0 {
		drop = dropWaiting
	}
	p := message.NormalizeProperties(make([]byte, 0, len(r.Properties)+256), r.Properties, drop...)
	topic, found := message.FindProperty(r.Properties, message.PropRetryTopic)
	if !found {
		topic = r.Topic
	}
	p = appendProperty(p, message.PropRetryTopic, topic)
	origin, found := message.FindProperty(r.Properties, message.PropOriginID)
	if !found {
		origin = message.AppendOffsetID(nil, r.StoreHost, r.PhysicalOffset)
	}
	p = appendProperty(p, message.PropOriginID, origin)
	p = message.AppendProperty(p, message.PropWait, "false")
	p = appendNumber(p, message.PropDelay, int64(level))
	if reason != "" {
		p = message.AppendProperty(p, message.PropFailureReason, reason)
	}
	if level > 0 {
		p = message.AppendProperty(p, message.PropRealTopic, m.Topic)
		p = appendNumber(p, message.PropRealQueueID, int64(m.QueueID))
	}
	return message.AppendInMapOrder(nil, p, nil)
}

// backWaiter answers when the copy is stored.
type backWaiter struct {
	handler *sendBackHandler
	back    comeback
	until   time.Time          // that the copy exists
	waiting []remoting.ReplyTo // who gave the message back meanwhile
	reply   remoting.ReplyTo
	message store.Message
}

// Appended queues the answer (store.Waiter). Anything but OK makes the client send the message to its retry topic itself.
func (w *backWaiter) Appended(a *store.Appended) {
	w.handler.inFlight.Add(-1)
	w.handler.count(&w.message, a)
	answer, until := &remoting.Command{Code: protocol.Success}, w.until
	if a.Status != store.OK {
		until = time.Time{}
		answer.Code, answer.Remark = protocol.SystemError, a.Status.String()
		if a.Err != nil {
			answer.Remark += ": " + a.Err.Error()
		}
	}
	w.reply.Queue(answer)
	w.waiting = w.handler.comebacks.ended(w.back, time.Now(), until)
	for _, reply := range w.waiting {
		reply.Queue(answer)
	}
}

// Flush writes the connections (store.Waiter).
func (w *backWaiter) Flush() {
	w.reply.Conn().Flush()
	for _, reply := range w.waiting {
		reply.Conn().Flush()
	}
}
