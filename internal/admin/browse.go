// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// QueueSpan is a stretch of a queue at a broker.
type QueueSpan struct {
	Broker         Broker
	Topic          string
	QueueID        int32
	First, End     int64     // offsets of the first message and behind the last
	Oldest, Newest time.Time // when these two were stored; zero when there is none
}

// Count gives how many messages are in it.
func (s *QueueSpan) Count() int64 { return max(s.End-s.First, 0) }

// At gives a place in it.
func (s *QueueSpan) At(offset int64) Place { return Place{s.Broker.Name, s.QueueID, offset} }

// Spans gives all queues of a topic at the brokers of the target, sorted. ErrNoTopic when no broker has it. Beside
// another error are those of the brokers that answered.
func (a *Admin) Spans(ctx context.Context, t Target, topic string) ([]QueueSpan, error) {
	brokers, err := a.mastersOfTopic(ctx, topic)
	if err != nil {
		return nil, err
	}
	brokers = slices.DeleteFunc(brokers, func(b Broker) bool { return !t.has(b) })
	results, err := each("ask for the queues of topic "+topic, brokers, func(b Broker) ([]QueueSpan, error) { return a.spansAt(ctx, b, topic) })
	return slices.Concat(results...), err
}

func (a *Admin) spansAt(ctx context.Context, b Broker, topic string) ([]QueueSpan, error) {
	resp, err := a.ask(ctx, b.Addr, &remoting.Command{
		Code: protocol.GetTopicStatsInfo, Header: header.Of(&protocol.TopicHeader{Topic: topic}),
	})
	if isCode(err, protocol.TopicNotExist) {
		return nil, nil // deleted since
	}
	if err != nil {
		return nil, err
	}
	stats, err := read[protocol.TopicStats](resp, "the queues of topic "+topic)
	if err != nil {
		return nil, err
	}
	var spans []QueueSpan
	for q, o := range stats.OffsetTable {
		s := QueueSpan{Broker: b, Topic: topic, QueueID: q.QueueID, First: o.MinOffset, End: o.MaxOffset}
		if s.Count() > 0 {
			s.Newest = time.UnixMilli(o.LastUpdateTimestamp)
			if s.Oldest, err = a.oldest(ctx, &s); err != nil {
				return nil, err
			}
		}
		spans = append(spans, s)
	}
	slices.SortFunc(spans, func(s, o QueueSpan) int { return int(s.QueueID - o.QueueID) })
	return spans, nil
}

// oldest asks when the first message of a queue was stored.
func (a *Admin) oldest(ctx context.Context, s *QueueSpan) (time.Time, error) {
	resp, err := a.ask(ctx, s.Broker.Addr, &remoting.Command{
		Code: protocol.GetEarliestMsgStoreTime, Header: header.Of(&protocol.QueueHeader{Topic: s.Topic, QueueID: s.QueueID}),
	})
	if err != nil {
		return time.Time{}, err
	}
	var answer protocol.TimestampAnswer
	if err := header.Decode(resp.Fields, &answer); err != nil {
		return time.Time{}, fmt.Errorf("read the oldest time of queue %s: %w", s.At(s.First), err)
	}
	if answer.Timestamp <= 0 {
		return time.Time{}, nil
	}
	return time.UnixMilli(answer.Timestamp), nil
}

// offsetAt asks for the offset of the first message that was stored at a time or later.
func (a *Admin) offsetAt(ctx context.Context, s *QueueSpan, at time.Time) (int64, error) {
	resp, err := a.ask(ctx, s.Broker.Addr, &remoting.Command{
		Code:   protocol.SearchOffsetByTimestamp,
		Header: header.Of(&protocol.SearchOffsetHeader{Topic: s.Topic, QueueID: s.QueueID, Timestamp: at.UnixMilli()}),
	})
	if err != nil {
		return 0, fmt.Errorf("ask for the offset at %s in queue %s:%d: %w", at, s.Broker.Name, s.QueueID, err)
	}
	var answer struct {
		Offset int64 `header:"offset,required"`
	}
	if err := header.Decode(resp.Fields, &answer); err != nil {
		return 0, fmt.Errorf("read the offset at %s: %w", at, err)
	}
	return answer.Offset, nil
}

// Messages gives the messages of a span in order. It is no member of a group and changes nothing. An error is the last
// thing it gives.
//
// A topic that may not be read, as dead-letter topics of brokers before RocketMQ 4.9.2, is read all the same: by the
// entries of its queues and the places in the log that they name.
func (a *Admin) Messages(ctx context.Context, s QueueSpan) iter.Seq2[*Stored, error] {
	return func(yield func(*Stored, error) bool) {
		read := a.pull
		for at := s.First; at < s.End; {
			msgs, next, err := read(ctx, &s, at)
			if isCode(err, protocol.NoPermission) {
				read = a.readByEntries
				msgs, next, err = read(ctx, &s, at)
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s of topic %s: %w", s.At(at), s.Topic, err))
				return
			}
			for _, m := range msgs {
				if m.QueueOffset >= s.End || !yield(m, nil) {
					return
				}
			}
			if next <= at {
				return // the queue ends earlier than it was
			}
			at = next
		}
	}
}

// readAtATime is how many messages are asked for at once.
const readAtATime = 32

func (a *Admin) pull(ctx context.Context, s *QueueSpan, at int64) (msgs []*Stored, next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	resp, err := a.conns.Call(ctx, s.Broker.Addr, &remoting.Command{Code: protocol.PullMessage, Header: &protocol.PullRequest{
		Group: []byte(protocol.GroupTools), Topic: []byte(s.Topic), QueueID: s.QueueID, QueueOffset: at,
		MaxMessages: readAtATime, SysFlag: protocol.PullSubscription, Subscription: []byte("*"), RequestSource: -1,
		BrokerName: []byte(s.Broker.Name),
	}})
	if err != nil {
		return nil, 0, err
	}
	var h protocol.PullResponse
	switch resp.Code {
	case protocol.Success, protocol.PullRetryImmediately, protocol.PullOffsetMoved, protocol.PullNotFound:
		if err := h.Decode(resp.Fields); err != nil {
			return nil, 0, err
		}
	default:
		return nil, 0, &protocol.Error{Code: resp.Code, Remark: resp.Remark}
	}
	if resp.Code == protocol.Success {
		msgs, err = readStored(resp.Body, s.Broker.Name)
	}
	return msgs, h.NextBeginOffset, err
}

// readByEntries reads what may not be pulled.
func (a *Admin) readByEntries(ctx context.Context, s *QueueSpan, at int64) (msgs []*Stored, next int64, err error) {
	resp, err := a.ask(ctx, s.Broker.Addr, &remoting.Command{
		Code:   protocol.QueryConsumeQueue,
		Header: header.Of(&protocol.QueryConsumeQueueHeader{Topic: s.Topic, QueueID: s.QueueID, Index: at, Count: readAtATime}),
	})
	if err != nil {
		return nil, 0, err
	}
	entries, err := read[protocol.ConsumeQueueData](resp, "the entries of the queue")
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries.QueueData {
		m, err := a.view(ctx, s.Broker, s.Topic, e.PhysicOffset)
		if isCode(err, protocol.SystemError) {
			continue // its log file has gone meanwhile
		}
		if err != nil {
			return msgs, 0, err
		}
		msgs = append(msgs, m)
	}
	return msgs, at + int64(len(entries.QueueData)), nil
}

// view reads the message at a place in a broker's log. SYSTEM_ERROR is the answer of a broker that has none there.
func (a *Admin) view(ctx context.Context, b Broker, topic string, physicalOffset int64) (*Stored, error) {
	resp, err := a.ask(ctx, b.Addr, &remoting.Command{
		Code: protocol.ViewMessageByID, Header: header.Of(&protocol.ViewRequest{Offset: physicalOffset, Topic: topic}),
	})
	if err != nil {
		return nil, err
	}
	msgs, err := readStored(resp.Body, b.Name)
	switch {
	case err != nil:
		return nil, err
	case len(msgs) == 0:
		return nil, &protocol.Error{Code: protocol.SystemError, Remark: "the broker gave no message"}
	}
	return msgs[0], nil
}
