// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/route"
)

// Producer sends messages. It may be used by many goroutines (RocketMQ:
// DefaultMQProducer).
type Producer struct {
	cfg      producerConfig
	s        *session
	rotation *rotation
	faults   *faults
	slots    chan struct{} // one for each SendAsync in flight
	tracer   *tracer       // nil without Trace

	// mu guards closed; sends are counted while it is held for reading, so that none
	// begins after Close began to wait.
	mu     sync.RWMutex
	closed bool
	sends  sync.WaitGroup
}

// NewProducer makes a producer; nothing is sent yet, and no server is asked. The
// error names every option that is wrong.
func NewProducer(options ...ProducerOption) (*Producer, error) {
	cfg := defaultProducer()
	for _, o := range options {
		o.applyProducer(&cfg)
	}
	if err := cfg.validate(); err != nil {
		return nil, invalid("new producer", err)
	}
	p, err := newProducer(cfg)
	if err != nil {
		return nil, invalid("new producer", err)
	}
	return p, nil
}

func newProducer(cfg producerConfig) (*Producer, error) {
	s, err := newSession(cfg.cluster, roles{producer: cfg.group})
	if err != nil {
		return nil, err
	}
	t, err := newTracer(cfg.cluster, cfg.traceTopic, cfg.group)
	if err != nil {
		s.close()
		return nil, err
	}
	return &Producer{
		cfg: cfg, s: s, tracer: t,
		rotation: newRotation(), faults: newFaults(), slots: make(chan struct{}, cfg.inFlight),
	}, nil
}

// Close waits for the sends that are under way, which SendTimeout bounds, and ends
// the producer. Sends after it fail with ErrClosed.
func (p *Producer) Close() error {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	p.sends.Wait()
	if !closed {
		p.tracer.close()
		p.s.close()
	}
	return nil
}

// begin counts a send; end must follow when it is no error.
func (p *Producer) begin(op string) (end func(), err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return nil, invalid(op, ErrClosed)
	}
	p.sends.Add(1)
	return p.sends.Done, nil
}

// Send sends a message and waits until a broker has stored it. When a broker can not
// be reached or refuses for the time being, others are tried, all within SendTimeout.
// After a timeout the message may be stored all the same.
//
// A message with a ShardingKey goes to the queue of its key, and only there.
func (p *Producer) Send(ctx context.Context, m *Message) (SendResult, error) {
	o, err := p.cfg.outgoing(m, time.Now())
	if err != nil {
		return SendResult{}, invalid(opSend(m), err)
	}
	return p.send(ctx, o, m.ShardingKey)
}

// SendBatch sends messages of one topic that are stored together, one after another in
// one queue, or not at all.
func (p *Producer) SendBatch(ctx context.Context, batch []*Message) (SendResult, error) {
	o, err := p.cfg.outgoingBatch(batch, time.Now())
	if err != nil {
		return SendResult{}, invalid("send a batch", err)
	}
	return p.send(ctx, o, batch[0].ShardingKey)
}

// SendTo sends a message to the given queue, with one try.
func (p *Producer) SendTo(ctx context.Context, q Queue, m *Message) (SendResult, error) {
	o, err := p.cfg.outgoing(m, time.Now())
	if err == nil && q.Topic != "" && q.Topic != m.Topic {
		err = fmt.Errorf("queue %s is not one of topic %s", q, m.Topic)
	}
	if err != nil {
		return SendResult{}, invalid(opSend(m), err)
	}
	end, err := p.begin(opSend(m))
	if err != nil {
		return SendResult{}, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.sendTimeout)
	defer cancel()
	r, failed := p.route(ctx, o.topic)
	if failed != nil {
		return SendResult{}, failed
	}
	q.Topic = m.Topic
	return p.result(p.try(ctx, o, r, q.wire()))
}

// Queues gives the queues of a topic that take messages.
func (p *Producer) Queues(ctx context.Context, topic string) ([]Queue, error) {
	end, err := p.begin("queues of topic " + topic)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.sendTimeout)
	defer cancel()
	r, failed := p.route(ctx, topic)
	if failed != nil {
		return nil, failed
	}
	return queuesOf(r.Write), nil
}

func opSend(m *Message) string {
	if m == nil {
		return "send"
	}
	return "send to topic " + m.Topic
}

// send is one send with its tries.
func (p *Producer) send(ctx context.Context, o *outgoing, shardingKey string) (SendResult, error) {
	end, err := p.begin("send to topic " + o.topic)
	if err != nil {
		return SendResult{}, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.sendTimeout)
	defer cancel()
	r, failed := p.route(ctx, o.topic)
	if failed != nil {
		return SendResult{}, failed
	}
	if shardingKey != "" {
		return p.result(p.try(ctx, o, r, byKey(shardingKey, r.Write)))
	}
	return p.result(p.tries(ctx, o, r))
}

// result makes an error of what may be a nil pointer.
func (p *Producer) result(res SendResult, err *Error) (SendResult, error) {
	if err != nil {
		return res, err
	}
	return res, nil
}

// tries sends o until a broker takes it. A status other than Stored is kept when it
// is a reason to try again: it is better news than the failure of later tries.
func (p *Producer) tries(ctx context.Context, o *outgoing, r *route.Route) (SendResult, *Error) {
	var kept *SendResult
	last := &Error{Code: CodeTimeout, Op: "send to topic " + o.topic, Err: context.DeadlineExceeded}
	var tried []string
	n := 0
	for ; n <= p.cfg.retries && ctx.Err() == nil; n++ {
		q := p.pick(o.topic, r, tried)
		tried = append(tried, q.BrokerName)
		res, err := p.tryBounded(ctx, o, r, q, n == p.cfg.retries)
		switch {
		case err != nil && (!err.retryable() || errors.Is(err, context.Canceled)):
			return orKept(kept, err)
		case err != nil:
			last = err
		case res.Status != Stored && p.cfg.retryNotStored:
			kept = &res
		default:
			return res, nil
		}
	}
	if n > 1 {
		last.Op = fmt.Sprintf("send to topic %s, tried %d times, at last %s", o.topic, n, last.Op)
	}
	return orKept(kept, last)
}

func orKept(kept *SendResult, err *Error) (SendResult, *Error) {
	if kept != nil {
		return *kept, nil
	}
	return SendResult{}, err
}

// tryBounded is a try of which TryTimeout bounds all but the last.
func (p *Producer) tryBounded(ctx context.Context, o *outgoing, r *route.Route, q protocol.MessageQueue, last bool) (SendResult, *Error) {
	if p.cfg.tryTimeout > 0 && !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.cfg.tryTimeout)
		defer cancel()
	}
	return p.try(ctx, o, r, q)
}

// try sends o to one queue.
func (p *Producer) try(ctx context.Context, o *outgoing, r *route.Route, wire protocol.MessageQueue) (SendResult, *Error) {
	q := queueOf(wire)
	addr, failed := p.master(r, q)
	if failed != nil {
		return SendResult{}, failed
	}
	begin := time.Now()
	resp, err := p.s.exchange(ctx, addr, o.command(q))
	took := time.Since(begin)
	var res SendResult
	if err != nil {
		failed = p.s.failure(opQueue(q), addr, err)
	} else if res, failed = sendResult(addr, o, q, resp); failed == nil {
		p.tracer.sent(o, addr, took, resp, &res)
	}
	p.faults.note(q.Broker, took, failed, time.Now())
	return res, failed
}

// master finds where messages for a queue go.
func (p *Producer) master(r *route.Route, q Queue) (string, *Error) {
	b, ok := r.Broker(q.Broker)
	if !ok {
		b, ok = p.s.routes.Broker(q.Broker)
	}
	if !ok || b.Master() == "" {
		return "", &Error{Code: CodeNoBroker, Op: opQueue(q), Err: fmt.Errorf("broker %s has no master now", q.Broker)}
	}
	return b.Master(), nil
}

func opQueue(q Queue) string { return "send to queue " + q.String() }

// pick chooses the queue of a try, after those at the brokers tried. All brokers have their turn before one is tried
// again, and none twice in a row while there is another.
func (p *Producer) pick(topic string, r *route.Route, tried []string) protocol.MessageQueue {
	avoid := ""
	if len(tried) > 0 {
		avoid = tried[len(tried)-1]
	}
	if !p.cfg.avoidSlow {
		return p.rotation.pick(topic, r.Write, avoid,
			func(b string) bool { return !slices.Contains(tried, b) }, func(string) bool { return true })
	}
	if len(tried) > 0 {
		p.rotation.reset(topic) // many that failed together shall not move on together
	}
	now := time.Now()
	return p.rotation.pick(topic, r.Write, avoid,
		func(b string) bool { return p.faults.available(b, now) }, p.faults.reachable)
}

// route finds the queues of a topic, those it would get when it does not exist yet.
func (p *Producer) route(ctx context.Context, topic string) (*route.Route, *Error) {
	op := "find topic " + topic
	r, err := p.s.routes.GetOrTemplate(ctx, topic, p.cfg.template, int32(p.cfg.templateQueues))
	if err != nil {
		return nil, p.s.noRoute(op, err)
	}
	if len(r.Write) > 0 {
		return r, nil
	}
	// What is known has no place to write to; it may be better by now.
	r, err = p.s.routes.Refresh(ctx, topic)
	if err != nil || len(r.Write) == 0 {
		return nil, &Error{Code: CodeNoRoute, Op: op, Err: errors.New("no queue of it takes messages now")}
	}
	return r, nil
}
