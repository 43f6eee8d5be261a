// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

const (
	sendBackTimeout = 5 * time.Second
	// localRetryDelay is when a message is handled again that could not be sent back.
	localRetryDelay = 5 * time.Second
	// defaultAttempts is told to brokers when MaxAttempts says nothing.
	defaultAttempts = 16
	// firstRetryLevel is the delay level of a message's first retry when the client
	// has to choose it; each further one takes the next.
	firstRetryLevel = 3
)

// run is what a goroutine of the pool does with a task.
func (c *Consumer) run(t *task) {
	if t.q.isDropped() {
		return
	}
	restoreTopic(t.m)
	told := c.tracer.began(t.m)
	err := c.handle(t.m)
	if c.handling.Err() == nil { // or Close stopped the handler: it has no end
		c.tracer.ended(told, err)
	}
	if t.q.isDropped() {
		return // whoever has the queue now gets the message, too
	}
	switch {
	case err == nil:
		t.q.finish(t)
		return
	case errors.Is(err, ErrUnfinished), c.handling.Err() != nil:
		// It stays the first that is not done: at its handler's wish, or because
		// Close stopped the handler, which says nothing against the message.
		return
	}
	if failed := c.sendBack(t.m, err); failed != nil {
		c.s.cfg.logger.Warn("message not sent back, it is handled again here", "topic", t.m.Topic, "queue", t.m.Queue.ID,
			"offset", t.m.Offset, "group", c.cfg.group, "id", t.m.ID, "err", failed)
		t.m.Attempts++
		time.AfterFunc(localRetryDelay, func() { c.pool.add([]*task{t}) })
		return
	}
	t.q.finish(t)
}

// restoreTopic gives a message that came back the topic it was sent to.
func restoreTopic(m *Received) {
	if topic := m.System[message.PropRetryTopic]; topic != "" && protocol.IsRetryTopic(m.Topic) {
		m.Topic = topic
	}
}

var errPanic = errors.New("handler panicked")

// handle calls the handler. A panic is an error, and a line in the log.
func (c *Consumer) handle(m *Received) (err error) {
	ctx, cancel := context.WithTimeout(c.handling, c.cfg.handlerTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
			c.s.cfg.logger.Error("handler panicked, the message comes again", "topic", m.Topic, "queue", m.Queue.ID,
				"offset", m.Offset, "group", c.cfg.group, "id", m.ID, "err", p, "stack", string(debug.Stack()))
		}
	}()
	return c.handler(ctx, m)
}

// attempts is what brokers are told of MaxAttempts.
func (c *Consumer) attempts() int32 {
	if c.cfg.maxAttempts < 0 {
		return defaultAttempts
	}
	return int32(c.cfg.maxAttempts)
}

// sendBack has a message that failed delivered again: by its broker, which has it; or
// when that refuses, by sending it anew to the group's retry topic.
func (c *Consumer) sendBack(m *Received, cause error) error {
	level := 0
	if again := (*RetryError)(nil); errors.As(cause, &again) {
		level = again.DelayLevel
	}
	ctx, cancel := context.WithTimeout(c.s.ctx, sendBackTimeout)
	defer cancel()
	b, _ := c.s.broker(m.Queue)
	limit, reason := c.attempts(), reasonOf(cause)
	_, err := c.s.call(ctx, "send back message "+m.ID, b.Master(), forBroker(protocol.ConsumerSendMsgBack, m.Queue.Broker,
		header.Of(&protocol.SendBackRequest{
			Offset: m.physicalOffset, Group: c.cfg.group, DelayLevel: int32(level),
			OriginMessageID: m.ID, OriginTopic: m.Topic, MaxReconsumeTimes: &limit, FailureReason: reason,
		})))
	if err == nil {
		return nil
	}
	if resent := c.resend(m, level, reason); resent != nil {
		return errors.Join(err, resent)
	}
	return nil
}

// reasonOf is what of an error goes with a message that comes again, for whoever looks at it later. Asking for a delay
// level is none.
func reasonOf(cause error) string {
	if again := (*RetryError)(nil); errors.As(cause, &again) && again.Err == nil {
		return ""
	}
	return message.CleanReason(cause.Error())
}

// resend sends a copy of m to the retry topic, as its broker would have stored it.
func (c *Consumer) resend(m *Received, level int, reason string) error {
	ctx, cancel := context.WithTimeout(c.s.ctx, sendBackTimeout)
	defer cancel()
	retry := protocol.RetryTopic(c.cfg.group)
	op := "send to topic " + retry
	r, err := c.s.routes.Get(ctx, retry)
	if err != nil {
		return c.s.failure(op, "", err)
	}
	o := c.retryCopy(m, level, reason)
	errs := []error{&Error{Code: CodeNoRoute, Op: op}}
	for i, q := range r.Write {
		if i == 0 {
			errs = nil
		}
		addr := ""
		if b, ok := r.Broker(q.BrokerName); ok {
			addr = b.Master()
		}
		if _, err = c.s.call(ctx, op, addr, o.command(queueOf(q))); err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// retryCopy is m as a message to the retry topic.
func (c *Consumer) retryCopy(m *Received, level int, reason string) *outgoing {
	if level <= 0 {
		level = firstRetryLevel + m.Attempts
	}
	properties := maps.Clone(m.System)
	if properties == nil {
		properties = map[string]string{}
	}
	maps.Copy(properties, m.Properties)
	delete(properties, message.PropTransaction)
	properties[message.PropRetryTopic] = m.Topic
	if properties[message.PropOriginID] == "" {
		properties[message.PropOriginID] = m.ID
	}
	properties[propReconsume] = strconv.Itoa(m.Attempts + 1)
	properties[propMaxReconsume] = strconv.Itoa(int(c.attempts()))
	properties[message.PropDelay] = strconv.Itoa(level)
	delete(properties, message.PropFailureReason)
	if reason != "" {
		properties[message.PropFailureReason] = reason
	}
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		text = message.AppendProperty(text, name, properties[name])
	}
	return &outgoing{
		topic: protocol.RetryTopic(c.cfg.group), code: protocol.SendMessageV2, body: m.Body,
		header: protocol.SendRequest{
			ProducerGroup: []byte(protocol.GroupInnerProducer), Topic: []byte(protocol.RetryTopic(c.cfg.group)),
			DefaultTopic: []byte(protocol.TopicDefault), DefaultTopicQueueNums: 4,
			BornTimestamp: m.BornAt.UnixMilli(), Flag: m.Flag, Properties: text,
			ReconsumeTimes: int32(m.Attempts + 1), MaxReconsumeTimes: c.attempts(), HasMaxReconsumeTimes: true,
		},
	}
}
