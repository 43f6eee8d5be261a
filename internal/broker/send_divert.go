// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"

	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// divert decides where a message goes that was sent to t, and whether it goes anywhere, in RocketMQ's order: dead letter,
// transaction, limits, timer, delay level.
func (h *sendHandler) divert(s *sending, t *topic.Config, x *remoting.Exchange) error {
	p := &s.sent
	if t.IsRetry() {
		dead, err := h.diesOf(s, x)
		if err != nil {
			return err
		}
		if dead != nil {
			t, s.dead = dead, true
			s.message.Topic, s.message.QueueID = dead.TopicName, 0
		}
	}
	if t.TopicFilterType == protocol.MultiTag {
		s.message.SysFlag |= message.FlagMultiTags
	}
	if t.CleanupPolicy == topic.Compaction && p.keys == nil {
		return &protocol.Error{Code: protocol.MessageIllegal, Remark: "Required message key is missing"}
	}
	level, err := p.delayLevel()
	if s.dead {
		level, err = 0, nil
	}
	if err != nil {
		return protocol.Errorf(protocol.SystemError, "delay level %.64q is not a number", p.delay)
	}
	s.message.NoWait = p.noWait
	if p.transaction && !(s.req.ReconsumeTimes > 0 && level > 0) {
		return refuseTransaction(s.cfg)
	}
	if err := h.checkLimits(s); err != nil {
		return err
	}
	switch message.Transaction(s.message.SysFlag) {
	case message.TransactionPrepared, message.TransactionRollback:
		return nil // what is no message yet is not delayed
	}
	if p.timer && level <= 0 {
		return &protocol.Error{Code: protocol.SystemError,
			Remark: "messages with a delivery time (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS) are not supported yet; use a delay level"}
	}
	s.level = max(h.levels().Clamp(level), 0)
	return nil
}

// diesOf gives the dead-letter topic for a message sent to a retry topic when it was consumed too often, or when ordered
// consumers hold queues of the group: they retry on the spot and send away only what they gave up. Otherwise nil.
func (h *sendHandler) diesOf(s *sending, x *remoting.Exchange) (*topic.Config, error) {
	name := protocol.GroupOfRetryTopic(s.message.Topic)
	g := h.groups.Find(name)
	if g == nil {
		return nil, groupMissing(name)
	}
	limit := g.RetryMaxTimes
	if x.Request.Version >= protocol.V3_4_9 && s.req.HasMaxReconsumeTimes {
		limit = s.req.MaxReconsumeTimes
	}
	if s.req.ReconsumeTimes <= limit && h.locks.AllExpired(name, x.Arrived) {
		return nil, nil
	}
	h.died(name, s.message.Topic)
	return h.topics.EnsureDLQ(name)
}

// errNoMessageBody has the code of the exception that RocketMQ's broker meets here.
var errNoMessageBody = &protocol.Error{Code: protocol.SystemError, Remark: "the message has no body"}

// died counts a message that goes to a group's dead letters.
func (h *sender) died(group, topic string) {
	h.metrics.deadLetters.Inc()
	h.stats.Dead(group, topic)
}

// checkLimits is what the store would refuse, found before it is asked.
func (h *sender) checkLimits(s *sending) error {
	m := &s.message
	if len(m.Body) == 0 {
		return errNoMessageBody
	}
	if len(m.Body) > int(s.cfg.Store.MaxMessageBytes) || s.sent.innerNum || m.SysFlag&message.FlagInnerBatch != 0 {
		return h.illegal(s.cfg)
	}
	if s.sent.lights != nil && s.cfg.Store.Light.Enable {
		return h.checkLights(s)
	}
	return nil
}

// checkLights looks at what a message says of light queues: once it is stored, or waits for its delay, it is too late. The
// record of such a message may be no larger than the body of others.
func (h *sender) checkLights(s *sending) error {
	m := &s.message
	err := store.CheckLights(m.Topic, s.sent.lights)
	if size := len(m.Body) + len(s.req.Properties); err == nil && size > int(s.cfg.Store.MaxMessageBytes) {
		err = fmt.Errorf("%d bytes of body and properties for light queues, %d are allowed (maxMessageSize)", size, s.cfg.Store.MaxMessageBytes)
	}
	if err != nil {
		e := h.illegal(s.cfg)
		e.Remark += ": " + err.Error()
		return e
	}
	return nil
}

func refuseTransaction(c *Config) *protocol.Error {
	if c.Send.RejectTransactions {
		return protocol.Errorf(protocol.NoPermission, "the broker[%s] sending transaction message is forbidden", c.Identity.IP)
	}
	return protocol.Errorf(protocol.NoPermission, "the broker[%s] does not support transaction messages yet", c.Identity.IP)
}

// groupMissing is the refusal of the paths by which messages come back.
func groupMissing(name string) *protocol.Error {
	return protocol.Errorf(protocol.SubscriptionGroupNotExist, "subscription group not exist, %s%s", name, helpSuffix)
}
