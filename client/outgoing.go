// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/trace"
)

// zlibFlag marks a body compressed with zlib in the words of RocketMQ 5; older
// clients read the first bit only and mean zlib, too.
const zlibFlag = message.FlagCompressed | 0x300

// outgoing is what is sent of a message or a batch, the same at every try but for the
// queue.
type outgoing struct {
	topic  string
	id     string // of the message; of a batch those of its messages, joined by commas
	code   int32
	header protocol.SendRequest
	body   []byte
	events []trace.Event // to tell when it is sent: one for each message
}

// command is the request for one queue.
func (o *outgoing) command(q Queue) *remoting.Command {
	h := o.header
	h.QueueID = int32(q.ID)
	h.BrokerName = []byte(q.Broker)
	return &remoting.Command{Code: o.code, Header: &h, Body: o.body}
}

// checkMessage says what is wrong with m before anything is sent.
func (c *producerConfig) checkMessage(m *Message) error {
	if m == nil {
		return errors.New("no message")
	}
	if err := protocol.CheckTopic(m.Topic); err != nil {
		return err
	}
	if protocol.IsNotSendable(m.Topic) {
		return protocol.SendForbidden(m.Topic)
	}
	switch {
	case len(m.Body) == 0:
		return illegal(m, "the body is empty: RocketMQ stores no empty messages")
	case len(m.Body) > c.maxBytes:
		return illegal(m, "the body has %d bytes: at most %d are allowed", len(m.Body), c.maxBytes)
	case m.DelayLevel < 0:
		return fmt.Errorf("delay level %d is below zero", m.DelayLevel)
	case m.DelayLevel > 0 && !m.DeliverAt.IsZero():
		return errors.New("both a delay level and a delivery time are set: choose one")
	}
	return checkProperties(m)
}

// illegal is the refusal that the broker would give.
func illegal(m *Message, format string, a ...any) error {
	return &Error{Code: CodeMessageIllegal, Op: opSend(m), Err: fmt.Errorf(format, a...)}
}

// outgoing prepares one message.
func (c *producerConfig) outgoing(m *Message, now time.Time) (*outgoing, error) {
	if err := c.checkMessage(m); err != nil {
		return nil, err
	}
	o := &outgoing{topic: m.Topic, id: message.NewUniqueID(), code: protocol.SendMessageV2, body: m.Body}
	o.header = c.header(m.Topic, now)
	o.header.Flag = m.Flag
	if c.traceTopic != "" {
		o.events = []trace.Event{pubEvent(m, o.id)}
	}
	o.header.Properties = appendProperties(nil, m, o.id)
	if len(m.Body) >= c.compressOver {
		packed, err := message.Compress(m.Body)
		if err != nil {
			return nil, fmt.Errorf("compress the body: %w", err)
		}
		if len(packed) < len(m.Body) {
			o.body, o.header.SysFlag = packed, zlibFlag
		}
	}
	return o, nil
}

func (c *producerConfig) header(topic string, now time.Time) protocol.SendRequest {
	return protocol.SendRequest{
		ProducerGroup:         []byte(c.group),
		Topic:                 []byte(topic),
		DefaultTopic:          []byte(c.template),
		DefaultTopicQueueNums: int32(c.templateQueues),
		BornTimestamp:         now.UnixMilli(),
	}
}

// outgoingBatch prepares several messages to be stored together.
func (c *producerConfig) outgoingBatch(batch []*Message, now time.Time) (*outgoing, error) {
	if len(batch) == 0 {
		return nil, errors.New("the batch is empty")
	}
	first := batch[0]
	var ids, body []byte
	var events []trace.Event
	for i, m := range batch {
		if err := c.checkBatched(m, first); err != nil {
			return nil, fmt.Errorf("message %d of the batch: %w", i, err)
		}
		id := message.NewUniqueID()
		if i > 0 {
			ids = append(ids, ',')
		}
		ids = append(ids, id...)
		if c.traceTopic != "" {
			events = append(events, pubEvent(m, id))
		}
		properties := appendProperties(nil, m, id)
		if len(properties) > maxPropertiesBytes {
			return nil, fmt.Errorf("message %d of the batch: %d bytes of properties: at most %d are allowed", i, len(properties), maxPropertiesBytes)
		}
		body = message.AppendBatchItem(body, message.BatchItem{Flag: m.Flag, Body: m.Body, Properties: properties})
	}
	if len(body) > c.maxBytes {
		return nil, fmt.Errorf("the batch has %d bytes with properties: at most %d are allowed, split it", len(body), c.maxBytes)
	}
	o := &outgoing{topic: first.Topic, id: string(ids), code: protocol.SendBatchMessage, body: body, events: events}
	o.header = c.header(first.Topic, now)
	o.header.Batch = true
	o.header.Properties = appendProperties(nil, &Message{NoWait: first.NoWait}, message.NewUniqueID())
	return o, nil
}

// maxPropertiesBytes is what the length field of a record can say.
const maxPropertiesBytes = 32767

// checkBatched says why m can not be in a batch that begins with first.
func (c *producerConfig) checkBatched(m, first *Message) error {
	if err := c.checkMessage(m); err != nil {
		return err
	}
	switch {
	case m.Topic != first.Topic:
		return fmt.Errorf("topic %s: all must have the topic of the first, %s", m.Topic, first.Topic)
	case m.NoWait != first.NoWait:
		return errors.New("NoWait differs from that of the first")
	case m.ShardingKey != first.ShardingKey:
		return errors.New("ShardingKey differs from that of the first: a batch goes to one queue")
	case m.DelayLevel > 0 || !m.DeliverAt.IsZero():
		return errors.New("delayed messages can not be in a batch")
	case protocol.IsRetryTopic(m.Topic):
		return errors.New("messages of a retry topic can not be in a batch")
	}
	return nil
}
