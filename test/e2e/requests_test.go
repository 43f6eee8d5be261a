// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

const (
	readWrite = protocol.PermReadWrite
	readers   = "e2e_readers" // the consumer group that reads where the group does not matter
)

// createTopic makes a topic with as many queues to read as to write.
func (w *wire) createTopic(topic string, queues int32) {
	w.t.Helper()
	w.must(protocol.UpdateAndCreateTopic, topicHeader(topic, queues), nil)
}

func topicHeader(topic string, queues int32) protocol.CreateTopicHeader {
	return protocol.CreateTopicHeader{
		Topic: topic, DefaultTopic: "TBW102", ReadQueueNums: queues, WriteQueueNums: queues, Perm: readWrite, TopicFilterType: "SINGLE_TAG",
	}
}

// outgoing is a message to send.
type outgoing struct {
	topic string
	queue int32
	body  []byte
	props string // as it travels
	batch bool
}

func (m outgoing) command() *remoting.Command {
	code := protocol.SendMessageV2
	if m.batch {
		code = protocol.SendBatchMessage
	}
	return request(code, &protocol.SendRequest{
		ProducerGroup: []byte("e2e_producers"), Topic: []byte(m.topic), DefaultTopic: []byte("TBW102"), DefaultTopicQueueNums: 4,
		QueueID: m.queue, BornTimestamp: time.Now().UnixMilli(), Properties: []byte(m.props), Batch: m.batch,
	}, m.body)
}

// stored is where a message came to lie.
type stored struct {
	queue    int32
	offset   int64 // in its queue
	id       string
	physical int64 // in the log
}

// storedOf reads the answer to a send.
func storedOf(answer *remoting.Command) (stored, error) {
	if answer.Code != 0 {
		return stored{}, &protocol.Error{Code: answer.Code, Remark: answer.Remark}
	}
	var h protocol.SendResponse
	if err := h.Decode(answer.Fields); err != nil {
		return stored{}, err
	}
	s := stored{queue: h.QueueID, offset: h.QueueOffset, id: string(h.MessageID)}
	first, _, _ := strings.Cut(s.id, ",")
	_, physical, err := message.ParseOffsetID(first)
	s.physical = physical
	return s, err
}

// send sends a message, which must be taken.
func (w *wire) send(m outgoing) stored {
	w.t.Helper()
	s, err := w.trySend(m)
	if err != nil {
		w.t.Fatalf("send to %s, queue %d: %v", m.topic, m.queue, err)
	}
	return s
}

// trySend gives a refusal as a *protocol.Error.
func (w *wire) trySend(m outgoing) (stored, error) {
	answer, err := w.ask(m.command())
	if err != nil {
		return stored{}, err
	}
	return storedOf(answer)
}

// pull is a request for messages. The zero values mean: the group readers, every tag, 32 messages, no waiting.
type pull struct {
	group  string
	topic  string
	queue  int32
	offset int64
	count  int32
	tags   string
	hold   time.Duration // how long the request may wait for a message
}

func (p pull) command() *remoting.Command {
	h := &protocol.PullRequest{
		Group: []byte(p.group), Topic: []byte(p.topic), QueueID: p.queue, QueueOffset: p.offset, MaxMessages: p.count,
		SysFlag: protocol.PullSubscription, Subscription: []byte(p.tags), SuspendTimeout: p.hold.Milliseconds(),
		SubVersion: time.Now().UnixMilli(),
	}
	if p.group == "" {
		h.Group = []byte(readers)
	}
	if p.tags == "" {
		h.Subscription = []byte("*")
	}
	if p.count == 0 {
		h.MaxMessages = 32
	}
	if p.hold > 0 {
		h.SysFlag |= protocol.PullSuspend
	}
	return request(protocol.PullMessage, h, nil)
}

// pulled is the answer.
type pulled struct {
	protocol.PullResponse
	code     int32
	remark   string
	messages []message.Record
}

func pulledOf(answer *remoting.Command) (pulled, error) {
	p := pulled{code: answer.Code, remark: answer.Remark}
	if err := p.Decode(answer.Fields); err != nil {
		return p, err
	}
	var err error
	if answer.Code == protocol.Success {
		p.messages, err = message.DecodeAll(answer.Body)
	}
	return p, err
}

func (w *wire) pull(p pull) pulled {
	w.t.Helper()
	answer, err := w.ask(p.command())
	if err != nil {
		w.t.Fatalf("pull from %s, queue %d at %d: %v", p.topic, p.queue, p.offset, err)
	}
	got, err := pulledOf(answer)
	if err != nil {
		w.t.Fatalf("pull from %s, queue %d at %d: %v", p.topic, p.queue, p.offset, err)
	}
	return got
}

// readFrom reads a queue from an offset to its end. The offsets of what it reads follow one another without a gap, and
// the checksum of each body is right.
func (w *wire) readFrom(topic string, queue int32, offset int64) []message.Record {
	w.t.Helper()
	var all []message.Record
	for {
		got := w.pull(pull{topic: topic, queue: queue, offset: offset})
		switch got.code {
		case protocol.Success:
		case protocol.PullNotFound:
			return all
		case protocol.PullRetryImmediately: // the queue knows more than is readable at this moment
			continue
		default:
			w.t.Fatalf("pull from %s, queue %d at %d: answered %d %s", topic, queue, offset, got.code, got.remark)
		}
		for i := range got.messages {
			m := &got.messages[i]
			if m.QueueOffset != offset || m.QueueID != queue || string(m.Topic) != topic {
				w.t.Fatalf("read %s, queue %d at %d: got %s, queue %d at %d", topic, queue, offset, m.Topic, m.QueueID, m.QueueOffset)
			}
			if message.BodyCRC(m.Body) != m.BodyCRC {
				w.t.Fatalf("read %s, queue %d at %d: the body's checksum is wrong", topic, queue, offset)
			}
			offset++
		}
		all = append(all, got.messages...)
	}
}

// read reads a whole queue.
func (w *wire) read(topic string, queue int32) []message.Record {
	w.t.Helper()
	return w.readFrom(topic, queue, 0)
}

func (w *wire) maxOffset(topic string, queue int32) int64 {
	w.t.Helper()
	return w.offset(protocol.GetMaxOffset, protocol.QueueHeader{Topic: topic, QueueID: queue})
}

// offsetAt is the first offset at or after a time, or with upper the last at or before it.
func (w *wire) offsetAt(topic string, queue int32, ms int64, upper bool) int64 {
	w.t.Helper()
	h := protocol.SearchOffsetHeader{Topic: topic, QueueID: queue, Timestamp: ms, BoundaryType: "lower"}
	if upper {
		h.BoundaryType = "upper"
	}
	return w.offset(protocol.SearchOffsetByTimestamp, h)
}

// offset asks for something whose answer is an offset.
func (w *wire) offset(code int32, h any) int64 {
	w.t.Helper()
	return w.number(w.must(code, h, nil), "offset")
}

func (w *wire) number(answer *remoting.Command, field string) int64 {
	w.t.Helper()
	n, err := strconv.ParseInt(answer.Fields.Text(field), 10, 64)
	if err != nil {
		w.t.Fatalf("field %s of the answer: %v", field, err)
	}
	return n
}

// commit commits a group's progress.
func (w *wire) commit(group, topic string, queue int32, offset int64) {
	w.t.Helper()
	w.must(protocol.UpdateConsumerOffset, &protocol.UpdateOffsetHeader{
		ConsumerGroup: []byte(group), Topic: []byte(topic), QueueID: queue, CommitOffset: offset,
	}, nil)
}

// committed is a group's progress, -1 when it has none.
func (w *wire) committed(group, topic string, queue int32) int64 {
	w.t.Helper()
	answer := w.call(protocol.QueryConsumerOffset, &protocol.QueryOffsetHeader{
		ConsumerGroup: []byte(group), Topic: []byte(topic), QueueID: queue,
	}, nil)
	switch answer.Code {
	case protocol.Success:
		return w.number(answer, "offset")
	case protocol.QueryNotFound:
		return -1
	}
	w.t.Fatalf("progress of %s: answered %d: %s", group, answer.Code, answer.Remark)
	return 0
}

// query finds messages by key.
func (w *wire) query(topic, key string, most int32) []message.Record {
	w.t.Helper()
	answer := w.call(protocol.QueryMessage, protocol.QueryRequest{
		Topic: topic, Key: key, MaxNum: most, BeginTimestamp: 0, EndTimestamp: time.Now().Add(time.Hour).UnixMilli(),
	}, nil)
	switch answer.Code {
	case protocol.Success:
		found, err := message.DecodeAll(answer.Body)
		if err != nil {
			w.t.Fatalf("query %s for %q: %v", topic, key, err)
		}
		return found
	case protocol.QueryNotFound:
		return nil
	}
	w.t.Fatalf("query %s for %q: answered %d: %s", topic, key, answer.Code, answer.Remark)
	return nil
}

// view reads a message by its place in the log.
func (w *wire) view(physical int64) message.Record {
	w.t.Helper()
	answer := w.must(protocol.ViewMessageByID, protocol.ViewRequest{Offset: physical}, nil)
	all, err := message.DecodeAll(answer.Body)
	if err != nil || len(all) != 1 {
		w.t.Fatalf("view at %d: %d messages, %v", physical, len(all), err)
	}
	return all[0]
}

// route asks a name server where a topic is; TopicNotExist gives code 17 and nothing else.
func (w *wire) route(topic string) (int32, protocol.TopicRouteData) {
	w.t.Helper()
	var route protocol.TopicRouteData
	answer := w.call(protocol.GetRouteInfoByTopic, protocol.RouteRequest{Topic: topic}, nil)
	if answer.Code == 0 {
		w.decode(answer, &route)
	}
	return answer.Code, route
}

// topics are those that the broker has.
func (w *wire) topics() map[string]*protocol.TopicConfig {
	w.t.Helper()
	var all protocol.TopicConfigWrapper
	w.decode(w.must(protocol.GetAllTopicConfig, nil, nil), &all)
	return all.TopicConfigTable
}

func (w *wire) decode(answer *remoting.Command, into any) {
	w.t.Helper()
	if err := javajson.Unmarshal(answer.Body, into); err != nil {
		w.t.Fatalf("read the answer's body: %v: %.300s", err, answer.Body)
	}
}

func jsonOf(v any) []byte { return javajson.Marshal(v, javajson.Standard) }

// properties writes pairs of name and value as they travel, with or without the separator at the end.
func properties(closed bool, pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "%s\x01%s\x02", pairs[i], pairs[i+1])
	}
	if closed {
		return b.String()
	}
	return strings.TrimSuffix(b.String(), "\x02")
}

// property is the value of a stored message's property.
func property(m *message.Record, name string) string {
	value, _ := message.FindProperty(m.Properties, name)
	return string(value)
}

// sendAll sends messages many at a time and gives where each came to lie. All must be taken.
func (w *wire) sendAll(messages []outgoing) []stored {
	w.t.Helper()
	places := make([]stored, len(messages))
	faults := make([]error, len(messages))
	window := make(chan struct{}, 64)
	for i, m := range messages {
		window <- struct{}{}
		w.c.Go(m.command(), patience, func(answer *remoting.Command, err error) {
			if err == nil {
				places[i], err = storedOf(answer)
			}
			faults[i] = err
			<-window
		})
	}
	for range cap(window) { // all answers are there when the window is empty
		window <- struct{}{}
	}
	for i, err := range faults {
		if err != nil {
			w.t.Fatalf("send message %d of %d: %v", i, len(messages), err)
		}
	}
	return places
}
