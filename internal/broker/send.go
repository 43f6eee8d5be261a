// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// SEND_MESSAGE (10), SEND_MESSAGE_V2 (310), SEND_BATCH_MESSAGE (320): all versions, single messages and batches.
//
// Runs on the goroutine that read the request: decode, check, divert, hand to the store with a waiter that answers when
// the promise of the flush holds. What may have to create a topic or wait for the disk runs on the send lane instead.
//
// Not done: transactions (TRAN_MSG), timer messages (TIMER_*), static topics. The first two are refused with a remark that
// says so.

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/delay"
	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// topicTable is what sending needs of the topics.
type topicTable interface {
	GetBytes(name []byte) *topic.Config
	AutoCreate(s topic.FirstSend) (*topic.Config, error)
	EnsureRetry(group string, queues int32, order bool, sysFlag int32) *topic.Config
	EnsureDLQ(group string) (*topic.Config, error)
	Kept(c *topic.Config) bool
	Await(c *topic.Config) error
}

// groupTable is what sending needs of the groups' settings.
type groupTable interface {
	Find(name string) *group.Config
}

// lockTable tells of ordered consumers.
type lockTable interface {
	AllExpired(group string, now time.Time) bool
}

// appender is what sending needs of the store.
type appender interface {
	Append(m *store.Message, w store.Waiter)
	Commit()
	Info() store.Info
}

// sender has what all handlers share that put messages into the store.
type sender struct {
	cfg       *config.Live[Config]
	topics    topicTable
	groups    groupTable
	locks     lockTable
	store     appender
	levels    func() delay.Levels
	storeHost netip.AddrPort // where clients reach this broker; part of message ids
	metrics   *metrics
	stats     sendStats

	inFlight  atomic.Int64 // handed to the store, not yet answered
	busyCheck atomic.Int64 // when busy was last looked at, ns
	busy      atomic.Bool
}

// sendStats counts what was stored, given back and given up.
type sendStats interface {
	Put(topic string, messages, bytes int)
	PutTook(topic string, queue int32, took time.Duration)
	Delay(topic string, queue int32, messages, bytes int)
	SendBack(group, topic string)
	Dead(group, topic string)
}

// sendHandler serves the requests that bring new messages.
type sendHandler struct {
	*sender
	// lane serves again, on a lane, what must not run on a reader's goroutine.
	lane remoting.Handler
}

// serveInline handles a request on the goroutine that read it.
func (h *sendHandler) serveInline(x *remoting.Exchange) (*remoting.Command, error) {
	return h.serve(x, true)
}

// serveOnLane handles a request that was put off.
func (h *sendHandler) serveOnLane(x *remoting.Exchange) (*remoting.Command, error) {
	return h.serve(x, false)
}

func (h *sendHandler) serve(x *remoting.Exchange, inline bool) (*remoting.Command, error) {
	s := newSending(h.sender, x, inline)
	defer s.done()
	if err := s.decode(&x.Request); err != nil {
		return nil, err
	}
	if inline && h.mustNotRunInline(&s.req) {
		h.lane.ServeCommand(x)
		return nil, nil
	}
	if err := h.admit(x.Arrived); err != nil {
		return nil, err
	}
	s.cfg = h.cfg.Load()
	if err := h.prepare(s, x); err != nil {
		return s.refuse(err), nil
	}
	h.append(s)
	return nil, nil
}

// mustNotRunInline tells whether the request may have to create a topic, or to wait until one that is new is on disk.
func (h *sendHandler) mustNotRunInline(req *protocol.SendRequest) bool {
	if hasPrefix(req.Topic, protocol.RetryPrefix) {
		return true
	}
	t := h.topics.GetBytes(req.Topic)
	return t == nil || !h.topics.Kept(t)
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// admit refuses while the store cannot keep up: too many sends wait for it, or one append takes too long (RocketMQ: send
// queue full; page cache busy).
func (h *sender) admit(now time.Time) error {
	c := h.cfg.Load()
	if waiting := h.inFlight.Load(); waiting >= int64(c.Lanes.SendCapacity) {
		return protocol.Errorf(protocol.SystemBusy,
			"[OVERLOAD]system busy, start flow control for a while, lane send has %d waiting", waiting)
	}
	if h.storeBusy(now, c.Send.BusyAfter) {
		return &protocol.Error{Code: protocol.SystemBusy,
			Remark: "[REJECTREQUEST]system busy, start flow control for a while, an append to the store is stuck"}
	}
	return nil
}

// storeBusy looks every 10 ms whether an append is stuck; only while sends wait, so that it costs nothing otherwise.
func (h *sender) storeBusy(now time.Time, limit time.Duration) bool {
	if h.inFlight.Load() == 0 {
		return false
	}
	last := h.busyCheck.Load()
	if t := now.UnixNano(); t-last > int64(10*time.Millisecond) && h.busyCheck.CompareAndSwap(last, t) {
		h.busy.Store(h.store.Info().LockHeld > limit)
	}
	return h.busy.Load()
}

// prepare checks the request and makes the message to store of it.
func (h *sendHandler) prepare(s *sending, x *remoting.Exchange) error {
	t, err := h.check(s, x)
	if err != nil {
		return err
	}
	s.queueID = s.req.QueueID
	if s.queueID < 0 {
		if t.WriteQueueNums <= 0 {
			return illegalQueue(s.req.QueueID, t, x.Conn.RemoteAddr())
		}
		s.queueID = rand.Int32N(t.WriteQueueNums)
	}
	s.message = store.Message{
		Topic: t.TopicName, QueueID: s.queueID, Flag: s.req.Flag, SysFlag: s.req.SysFlag,
		BornTimestamp: s.req.BornTimestamp, BornHost: x.Conn.RemoteAddrPort(), StoreHost: h.storeHost,
		ReconsumeTimes: s.req.ReconsumeTimes, Body: x.Request.Body, Batch: s.req.Batch,
	}
	s.sent.read(s.req.Properties, &s.all)
	if s.req.Batch {
		return h.prepareBatch(s, t)
	}
	if err := h.divert(s, t, x); err != nil {
		return err
	}
	return s.writeProperties()
}

// check is RocketMQ's msgCheck, in its order.
func (h *sendHandler) check(s *sending, x *remoting.Exchange) (*topic.Config, error) {
	req, identity := &s.req, &s.cfg.Identity
	if identity.Accept > 0 && x.Arrived.UnixMilli() < identity.Accept {
		return nil, protocol.Errorf(protocol.SystemError, "broker unable to service, until %s",
			time.UnixMilli(identity.Accept).Format("2006-01-02 15:04:05,000"))
	}
	t := h.topics.GetBytes(req.Topic)
	if !protocol.CanWrite(identity.Perm) && t != nil && t.Order {
		return nil, sendForbidden(identity)
	}
	name := ""
	if t != nil {
		name = t.TopicName
	} else {
		name = string(req.Topic)
		if err := protocol.CheckTopic(name); err != nil {
			return nil, err
		}
	}
	// rmq_sys_wheel_timer may be written in RocketMQ, where a message without TIMER_OUT_MS stops all timers for good.
	if protocol.IsNotSendable(name) || name == protocol.TopicWheelTimer {
		return nil, protocol.SendForbidden(name)
	}
	if t == nil {
		var err error
		if t, err = h.create(req, x.Conn.RemoteAddr()); err != nil {
			return nil, err
		}
	}
	if err := h.topics.Await(t); err != nil {
		return nil, err
	}
	if req.QueueID >= t.Queues() {
		return nil, illegalQueue(req.QueueID, t, x.Conn.RemoteAddr())
	}
	return t, nil
}

// create makes the topic of a first send.
func (h *sendHandler) create(req *protocol.SendRequest, addr string) (*topic.Config, error) {
	name := string(req.Topic)
	retry := protocol.IsRetryTopic(name)
	flag := int32(0)
	if req.UnitMode {
		flag = protocol.TopicFlagUnit
		if retry {
			flag = protocol.TopicFlagUnitSub
		}
	}
	t, err := h.topics.AutoCreate(topic.FirstSend{
		Topic: name, Template: string(req.DefaultTopic), Queues: req.DefaultTopicQueueNums, SysFlag: flag, Addr: addr,
	})
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", name, err)
	}
	if t == nil && retry {
		t = h.topics.EnsureRetry(protocol.GroupOfRetryTopic(name), 1, false, flag)
	}
	if t == nil {
		return nil, topicMissing(name)
	}
	return t, nil
}

// append hands the message to the store, which answers through s.
func (h *sender) append(s *sending) {
	h.inFlight.Add(1)
	s.hold() // for the store: given back in Flush
	h.store.Append(&s.message, s)
	if !s.inline {
		h.store.Commit()
	}
}

func topicMissing(name string) *protocol.Error {
	return protocol.Errorf(protocol.TopicNotExist, "topic[%s] not exist, apply first please!%s", name, helpSuffix)
}

func sendForbidden(identity *IdentityConfig) *protocol.Error {
	return protocol.Errorf(protocol.NoPermission, "the broker[%s] sending message is forbidden", identity.IP)
}

// illegalQueue repeats the topic's settings, as Java's TopicConfig.toString writes them.
func illegalQueue(queueID int32, t *topic.Config, addr string) *protocol.Error {
	return protocol.Errorf(protocol.InvalidParameter, "request queueId[%d] is illegal, %s Producer: %s", queueID, topicText(t), addr)
}

func topicText(t *topic.Config) string {
	attributes := make([]string, 0, len(t.Attributes))
	for k, v := range t.Attributes {
		attributes = append(attributes, k+"="+v)
	}
	slices.Sort(attributes)
	return fmt.Sprintf("TopicConfig [topicName=%s, readQueueNums=%d, writeQueueNums=%d, perm=%s, topicFilterType=%s, topicSysFlag=%d, order=%t, attributes={%s}]",
		t.TopicName, t.ReadQueueNums, t.WriteQueueNums, protocol.PermText(t.Perm), t.TopicFilterType, t.TopicSysFlag, t.Order,
		strings.Join(attributes, ", "))
}
