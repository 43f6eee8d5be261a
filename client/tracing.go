// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/trace"
)

// TraceOption configures whatever tells of messages: a Producer or a Consumer.
type TraceOption interface {
	ProducerOption
	ConsumerOption
}

type traceOption string

func (o traceOption) applyProducer(c *producerConfig) { c.traceTopic = string(o) }
func (o traceOption) applyConsumer(c *consumerConfig) { c.traceTopic = string(o) }

// Trace tells of each message that is sent or handled, in the background and some moments later, by messages to the
// given topic; "" is RMQ_SYS_TRACE_TOPIC, which brokers have with traceTopicEnable=true. What cannot be told in time is
// left out and logged: tracing never holds up a send or a handler (RocketMQ: enableMsgTrace, customizedTraceTopic).
func Trace(topic string) TraceOption {
	if topic == "" {
		topic = protocol.TopicTrace
	}
	return traceOption(topic)
}

const (
	traceGroup = "_INNER_TRACE_PRODUCER"
	// traceWaiting is how many events may wait; more are left out.
	traceWaiting = 2048
	// The first three bound the events of one trace message, traceEvery how long they wait for others.
	traceBatch    = 64
	traceBytes    = 64 << 10
	traceKeyBytes = 16 << 10 // of ids and keys, which are a property
	traceEvery    = time.Second
	// traceFarewell bounds how long a client that is closed tells what it has not told yet.
	traceFarewell = 3 * time.Second
)

// tracer tells of messages. A nil tracer tells nothing.
type tracer struct {
	topic, group string
	p            *Producer
	events       chan trace.Event
	lost         atomic.Int64
	stop, done   chan struct{}
}

// newTracer makes the tracer of a client in a group; nil when topic is "".
func newTracer(cluster clusterConfig, topic, group string) (*tracer, error) {
	if topic == "" {
		return nil, nil
	}
	cfg := defaultProducer()
	cfg.cluster, cfg.group = cluster, traceGroup
	if cfg.cluster.instance != "" {
		cfg.cluster.instance += "-trace" // client ids must differ
	}
	p, err := newProducer(cfg)
	if err != nil {
		return nil, err
	}
	t := &tracer{
		topic: topic, group: group, p: p,
		events: make(chan trace.Event, traceWaiting), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go t.run()
	return t, nil
}

// close tells what is left, as far as traceFarewell allows. Events that come later are lost.
func (t *tracer) close() {
	if t == nil {
		return
	}
	close(t.stop)
	<-t.done
	_ = t.p.Close()
}

// tell never waits.
func (t *tracer) tell(e trace.Event) {
	select {
	case t.events <- e:
	default:
		t.lost.Add(1)
	}
}

func (t *tracer) run() {
	defer close(t.done)
	var waiting []trace.Event
	flush := func(ctx context.Context) {
		t.flush(ctx, waiting)
		waiting = waiting[:0]
	}
	soon := time.NewTimer(traceEvery)
	defer soon.Stop()
	for {
		select {
		case e := <-t.events:
			if waiting = append(waiting, e); len(waiting) == 1 {
				soon.Reset(traceEvery)
			}
			if len(waiting) == traceBatch {
				flush(context.Background())
			}
		case <-soon.C:
			flush(context.Background())
		case <-t.stop:
			ctx, cancel := context.WithTimeout(context.Background(), traceFarewell)
			defer cancel()
			for n := len(t.events); n > 0; n-- {
				if waiting = append(waiting, <-t.events); len(waiting) == traceBatch {
					flush(ctx)
				}
			}
			flush(ctx)
			return
		}
	}
}

// flush sends events, in as many messages as they need.
func (t *tracer) flush(ctx context.Context, events []trace.Event) {
	if lost := t.lost.Swap(0); lost > 0 {
		t.p.s.cfg.logger.Warn("events of messages are not told: too many wait", "topic", t.topic, "group", t.group, "count", lost)
	}
	for len(events) > 0 {
		m, n := &Message{Topic: t.topic}, 0
		known := map[string]bool{}
		for keyBytes := 0; n < len(events) && len(m.Body) < traceBytes && keyBytes < traceKeyBytes; n++ {
			e := &events[n]
			m.Body = trace.Append(m.Body, e)
			for _, key := range append(strings.Fields(e.Keys), e.MessageID) {
				if key != "" && !known[key] {
					known[key] = true
					m.Keys = append(m.Keys, key)
					keyBytes += len(key) + 1
				}
			}
		}
		if _, err := t.p.Send(ctx, m); err != nil {
			t.p.s.cfg.logger.Warn("events of messages are not told", "topic", t.topic, "group", t.group, "count", n, "err", err)
		}
		events = events[n:]
	}
}

// pubEvent is what can be told of a message before it is sent.
func pubEvent(m *Message, id string) trace.Event {
	e := trace.Event{Kind: trace.Pub, Topic: m.Topic, MessageID: id, Tags: m.Tag, Keys: strings.Join(m.Keys, " "), Bytes: int64(len(m.Body)), HasSuccess: true}
	if m.DelayLevel > 0 || !m.DeliverAt.IsZero() {
		e.Type = trace.Delay
	}
	return e
}

// sent tells of what a broker stored, unless its answer says that it does not want that. (Java does not tell of sends that
// failed either.)
func (t *tracer) sent(o *outgoing, addr string, took time.Duration, resp *remoting.Command, res *SendResult) {
	if t == nil || o.topic == t.topic || resp.Fields.Text(message.PropTraceOn) == "false" {
		return
	}
	ids := strings.Split(res.OffsetID, ",") // of a batch one for each, but for those that are stored as one
	for i, e := range o.events {
		e.Time, e.Region, e.Group, e.StoreHost = time.Now().Add(-took).UnixMilli(), res.Region, t.group, addr
		e.Cost, e.Success, e.OffsetID = took.Milliseconds(), res.Status == Stored, ids[min(i, len(ids)-1)]
		t.tell(e)
	}
}

// began tells that a handler gets a message, and gives what its end needs.
func (t *tracer) began(m *Received) *trace.Event {
	if t == nil || m.System[message.PropTraceOn] == "false" {
		return nil
	}
	e := trace.Event{
		Kind: trace.SubBefore, Time: time.Now().UnixMilli(), Region: m.System[message.PropRegion], Group: t.group,
		RequestID: message.NewUniqueID(), MessageID: m.ID, Retries: int32(m.Attempts), Keys: strings.Join(m.Keys, " "),
	}
	t.tell(e)
	return &e
}

// ended tells how it ended. A message that is left unfinished has no end.
func (t *tracer) ended(before *trace.Event, err error) {
	if before == nil || errors.Is(err, ErrUnfinished) {
		return
	}
	e := *before
	e.Kind, e.Time, e.Success, e.HasSuccess, e.HasCode = trace.SubAfter, time.Now().UnixMilli(), err == nil, true, true
	e.Cost = max(e.Time-before.Time, 0)
	switch {
	case errors.Is(err, errPanic):
		e.ReturnCode = trace.Threw
	case errors.Is(err, context.DeadlineExceeded):
		e.ReturnCode = trace.TimedOut
	case err != nil:
		e.ReturnCode = trace.Failed
	}
	t.tell(e)
}
