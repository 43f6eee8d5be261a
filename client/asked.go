// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// asked serves what brokers ask a consumer: NOTIFY_CONSUMER_IDS_CHANGED (40),
// RESET_CONSUMER_CLIENT_OFFSET (220), GET_CONSUMER_STATUS_FROM_CLIENT (221),
// GET_CONSUMER_RUNNING_INFO (307), CONSUME_MESSAGE_DIRECTLY (309).
type asked struct{ c *Consumer }

var _ remoting.Handler = asked{}

// ServeCommand runs on a connection's reader and must not wait.
func (a asked) ServeCommand(x *remoting.Exchange) {
	var answer func(x *remoting.Exchange) (*remoting.Command, error)
	switch x.Request.Code {
	case protocol.NotifyConsumerIDsChanged:
		a.c.rebalanceSoon()
		return
	case protocol.ResetConsumerClientOffset:
		answer = a.resetOffsets
	case protocol.GetConsumerStatusFromClient:
		answer = a.status
	case protocol.GetConsumerRunningInfo:
		answer = a.runningInfo
	case protocol.ConsumeMessageDirectly:
		answer = a.consumeDirectly
	default:
		x.ReplyTo().Send(refusal(protocol.Errorf(protocol.RequestCodeNotSupported, "request type %d not supported", x.Request.Code)))
		return
	}
	x = x.Clone()
	started := a.c.background(func() {
		resp, err := answer(x)
		if err != nil {
			resp = refusal(err)
		}
		if resp != nil {
			x.ReplyTo().Send(resp)
		}
	})
	if !started {
		x.ReplyTo().Send(refusal(errors.New("the consumer is closing")))
	}
}

func refusal(err error) *remoting.Command {
	resp := &remoting.Command{Code: protocol.CodeOf(err), Remark: err.Error()}
	if answer := (*protocol.Error)(nil); errors.As(err, &answer) {
		resp.Remark = answer.Remark
	}
	return resp
}

// background runs f so that Close waits for it; false when the consumer is closing.
func (c *Consumer) background(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.work.Go(f)
	return true
}

// checkGroup refuses questions about groups of others.
func (a asked) checkGroup(group string) error {
	if group == a.c.cfg.group {
		return nil
	}
	return protocol.Errorf(protocol.SystemError, "The Consumer Group <%s> not exist in this consumer", group)
}

// resetOffsets puts the group elsewhere in the queues that this member has; the other
// members are told, too.
func (a asked) resetOffsets(x *remoting.Exchange) (*remoting.Command, error) {
	var h protocol.ResetOffsetHeader
	if err := header.Decode(x.Request.Fields, &h); err != nil {
		return nil, err
	}
	var body protocol.ResetOffsetBody
	if err := javajson.Unmarshal(x.Request.Body, &body); err != nil {
		a.c.s.cfg.logger.Warn("offset reset not understood", "group", h.Group, "topic", h.Topic, "err", err)
		return nil, err
	}
	if err := a.checkGroup(h.Group); err != nil {
		return nil, err
	}
	for _, q := range a.c.held() {
		if offset, ok := body.OffsetTable[q.queue.wire()]; ok {
			q.reset(offset)
		}
	}
	return nil, nil
}

// status tells the progress in the queues that this member has.
func (a asked) status(x *remoting.Exchange) (*remoting.Command, error) {
	var h protocol.ConsumerStatusHeader
	if err := header.Decode(x.Request.Fields, &h); err != nil {
		return nil, err
	}
	if err := a.checkGroup(h.Group); err != nil {
		return nil, err
	}
	var status protocol.ConsumerStatus
	status.JSONDefaults()
	for _, q := range a.c.held() {
		if q.queue.Topic == h.Topic {
			status.MessageQueueTable[q.queue.wire()] = q.progress()
		}
	}
	return &remoting.Command{Body: javajson.Append(nil, &status, javajson.Bare)}, nil
}

// directResult is the answer to CONSUME_MESSAGE_DIRECTLY (RocketMQ:
// ConsumeMessageDirectlyResult).
type directResult struct {
	AutoCommit     bool   `json:"autoCommit"`
	ConsumeResult  string `json:"consumeResult"`
	Order          bool   `json:"order"`
	Remark         string `json:"remark,omitempty"`
	SpentTimeMills int64  `json:"spentTimeMills"`
}

// consumeDirectly gives the handler one message out of turn: no progress, no retry.
func (a asked) consumeDirectly(x *remoting.Exchange) (*remoting.Command, error) {
	var h struct {
		ConsumerGroup string `header:"consumerGroup,required"`
		BrokerName    string `header:"brokerName"`
	}
	if err := header.Decode(x.Request.Fields, &h); err != nil {
		return nil, err
	}
	if err := a.checkGroup(h.ConsumerGroup); err != nil {
		return nil, err
	}
	var record message.Record
	if _, err := message.DecodeRecord(x.Request.Body, &record, false); err != nil {
		return nil, fmt.Errorf("read the message: %w", err)
	}
	m, err := readRecord(&record, h.BrokerName)
	if err != nil {
		return nil, err
	}
	restoreTopic(m)
	begin := time.Now()
	result := directResult{AutoCommit: true, ConsumeResult: "CR_SUCCESS"}
	if err := a.c.handle(m); err != nil {
		result.ConsumeResult, result.Remark = "CR_LATER", err.Error()
		if errors.Is(err, errPanic) {
			result.ConsumeResult = "CR_THROW_EXCEPTION"
		}
	}
	result.SpentTimeMills = time.Since(begin).Milliseconds()
	return &remoting.Command{Body: javajson.Append(nil, &result, javajson.Bare)}, nil
}
