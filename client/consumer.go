// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// Handler does what is to be done with a message. nil means that it is done. With an
// error, or a panic, the message comes again later, to any member of the group; after
// too many attempts it becomes a dead letter. The error's text goes with it, cut to
// 512 bytes (property __FAILURE_REASON, see Received.FailureReason); brokers other than
// Goddard do not keep it. Handlers run concurrently and in no particular order. ctx ends with HandlerTimeout, and when Close waits no longer.
type Handler func(ctx context.Context, m *Received) error

// RetryError is an error of a Handler that says when the message is to come again.
type RetryError struct {
	// DelayLevel is the broker's delay level, 1 to 18; 0 lets the broker choose, by
	// the number of attempts; below zero there is no next time and the message
	// becomes a dead letter at once.
	DelayLevel int
	Err        error
}

// Error gives the cause.
func (e *RetryError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("again at delay level %d", e.DelayLevel)
	}
	return e.Err.Error()
}

// Unwrap gives the cause.
func (e *RetryError) Unwrap() error { return e.Err }

// ErrUnfinished is an error of a Handler that leaves its message as it is: neither
// done nor to be retried. The group's progress stays before it, and it comes again
// when the queue has another reader or the consumer starts anew. It is for handlers
// that are about to close their consumer.
var ErrUnfinished = errors.New("message left unfinished")

// Consumer is a member of a consumer group in clustering mode: each message of the
// group's topics goes to one of its members (RocketMQ: DefaultMQPushConsumer with
// MessageListenerConcurrently). A message comes at least once; after crashes and when
// queues change hands it may come again.
type Consumer struct {
	cfg     consumerConfig
	handler Handler
	s       *session
	pool    *pool
	tracer  *tracer       // nil without Trace
	wake    chan struct{} // asks for a rebalance
	paused  atomic.Bool

	ctx    context.Context // of pulls and rebalances; ends when Close begins
	cancel context.CancelFunc
	work   sync.WaitGroup

	handling     context.Context // of handlers; ends when Close waits no longer
	stopHandling context.CancelFunc

	// starting is held while Start and Close run.
	starting  sync.Mutex
	started   bool
	closed    bool
	startedAt time.Time

	// mu guards the fields below.
	mu            sync.Mutex
	subscriptions map[string]*protocol.SubscriptionData // by topic, the retry topic included; values are replaced, not changed
	queues        map[Queue]*groupQueue                 // held now
}

// NewConsumer makes a member of group; it does nothing before Start. The error names
// every option that is wrong. At least one Subscribe is required.
func NewConsumer(group string, handler Handler, options ...ConsumerOption) (*Consumer, error) {
	cfg := defaultConsumer()
	cfg.group = group
	for _, o := range options {
		o.applyConsumer(&cfg)
	}
	op := "new consumer of group " + group
	if handler == nil {
		return nil, invalid(op, errors.New("no handler"))
	}
	if err := cfg.validate(); err != nil {
		return nil, invalid(op, err)
	}
	c := &Consumer{
		cfg: cfg, handler: handler, wake: make(chan struct{}, 1), startedAt: time.Now(),
		subscriptions: map[string]*protocol.SubscriptionData{}, queues: map[Queue]*groupQueue{},
	}
	if err := c.subscribe(); err != nil {
		return nil, invalid(op, err)
	}
	s, err := newSession(cfg.cluster, roles{
		group: group, consumers: c.heartbeat, handler: asked{c},
		changed: func(*route.Route) { c.rebalanceSoon() },
	})
	if err != nil {
		return nil, invalid(op, err)
	}
	c.s = s
	if c.tracer, err = newTracer(cfg.cluster, cfg.traceTopic, group); err != nil {
		s.close()
		return nil, invalid(op, err)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.handling, c.stopHandling = context.WithCancel(context.Background())
	c.pool = newPool(cfg.concurrency)
	return c, nil
}

// subscribe makes the subscriptions: those of the options, and the retry topic, where
// messages come back whose handlers failed.
func (c *Consumer) subscribe() error {
	version := time.Now().UnixMilli()
	for topic, filter := range c.cfg.subscriptions {
		s, err := filter.subscription(topic, version)
		if err != nil {
			return fmt.Errorf("subscribe to topic %s: %w", topic, err)
		}
		c.subscriptions[topic] = s
	}
	retry := protocol.RetryTopic(c.cfg.group)
	s, err := Filter{}.subscription(retry, version)
	c.subscriptions[retry] = s
	return err
}

// Start joins the group and begins to consume; it returns when the first division of
// queues is done. A topic that does not exist is no error, it may come to be. After an
// error, such as no name server that answers, it may be called again.
func (c *Consumer) Start(ctx context.Context) error {
	op := "start consumer of group " + c.cfg.group
	c.starting.Lock()
	defer c.starting.Unlock()
	switch {
	case c.closed:
		return invalid(op, ErrClosed)
	case c.started:
		return invalid(op, errors.New("it is started already"))
	}
	for topic := range c.cfg.subscriptions {
		_, err := c.s.routes.Get(ctx, topic)
		switch code := protocol.CodeOf(err); {
		case err == nil:
		case code == protocol.TopicNotExist:
			c.s.cfg.logger.Warn("the topic does not exist yet", "topic", topic, "group", c.cfg.group)
		default:
			return c.s.failure(op, "", err)
		}
	}
	if err := c.checkFilters(ctx); err != nil {
		return err
	}
	c.s.beat(ctx)
	c.pool.start(c.run)
	balanced := c.rebalance(ctx)
	c.work.Go(func() { c.rebalanceLoop(balanced) })
	c.work.Go(c.commitLoop)
	c.started = true
	return nil
}

// checkFilters lets a broker compile what is not a tag expression: a mistake in it
// would otherwise show in nothing but silence.
func (c *Consumer) checkFilters(ctx context.Context) error {
	for topic, s := range c.subscriptionsNow() {
		if protocol.IsTagExpression(s.ExpressionType) {
			continue
		}
		r, ok := c.s.routes.Cached(topic)
		if !ok || len(r.Brokers) == 0 {
			continue
		}
		body := javajson.Append(nil, &protocol.CheckClientBody{ClientID: c.s.id, Group: c.cfg.group, SubscriptionData: s}, javajson.Bare)
		_, err := c.s.ask(ctx, "check the filter of topic "+topic, r.Brokers[0].Addr(protocol.MasterID),
			&remoting.Command{Code: protocol.CheckClientConfig, Body: body})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Consumer) subscriptionsNow() map[string]*protocol.SubscriptionData {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.subscriptions)
}

// Close takes no more messages, waits for handlers that run (DrainTimeout), stores
// the progress and leaves the group. The error says what could not be waited for or
// stored; the consumer is closed nevertheless.
func (c *Consumer) Close() error {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.mu.Lock()
	c.cancel() // under the lock: no goroutine is begun after this
	c.mu.Unlock()
	c.work.Wait()
	late := c.pool.drain(c.cfg.drain)
	c.stopHandling()
	errs := c.commitAll(c.s.ctx)
	if late > 0 {
		errs = append(errs, fmt.Errorf("%d handlers still run after %s: their messages come again", late, c.cfg.drain))
	}
	for _, q := range c.held() {
		q.drop()
	}
	c.tracer.close()
	c.s.close()
	if err := errors.Join(errs...); err != nil {
		return invalid("close consumer of group "+c.cfg.group, err)
	}
	return nil
}

// Pause stops asking for messages until Resume. Those at hand still go to handlers,
// and the queues are kept.
func (c *Consumer) Pause() { c.paused.Store(true) }

// Resume ends Pause.
func (c *Consumer) Resume() { c.paused.Store(false) }

// Queues gives the queues that this member has now, sorted.
func (c *Consumer) Queues() []Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.queues), func(a, b Queue) int { return a.wire().Compare(b.wire()) })
}

func (c *Consumer) held() []*groupQueue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.queues))
}

// heartbeat is what brokers are told of this member.
func (c *Consumer) heartbeat() []protocol.ConsumerData {
	subscriptions := c.subscriptionsNow()
	data := protocol.ConsumerData{
		GroupName: c.cfg.group, ConsumeType: protocol.ConsumePassively,
		MessageModel: protocol.Clustering, ConsumeFromWhere: fromWhere(c.cfg.pull.start),
	}
	for _, topic := range slices.Sorted(maps.Keys(subscriptions)) {
		data.SubscriptionDataSet = append(data.SubscriptionDataSet, subscriptions[topic])
	}
	return []protocol.ConsumerData{data}
}

func fromWhere(s Start) protocol.ConsumeFromWhere {
	switch s.kind {
	case startLatest:
		return protocol.ConsumeFromLastOffset
	case startTime:
		return protocol.ConsumeFromTimestamp
	}
	return protocol.ConsumeFromFirstOffset
}

// commitLoop stores the progress from time to time.
func (c *Consumer) commitLoop() {
	tick := time.NewTicker(c.cfg.commitEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			for _, err := range c.commitAll(c.ctx) {
				if c.ctx.Err() == nil {
					c.s.cfg.logger.Warn("progress not stored, it is tried again", "group", c.cfg.group, "err", err)
				}
			}
		}
	}
}

// commitAll stores the progress of all queues held.
func (c *Consumer) commitAll(ctx context.Context) []error {
	queues := c.held()
	errs := make([]error, len(queues))
	inParallel(queues, func(i int, q *groupQueue) { errs[i] = q.commit(ctx) })
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// members asks a broker of the topic for the client ids of the group.
func (c *Consumer) members(ctx context.Context, b route.Broker) ([]string, error) {
	op := fmt.Sprintf("members of group %s", c.cfg.group)
	addr := b.Addr(protocol.MasterID)
	resp, err := c.s.ask(ctx, op, addr, &remoting.Command{
		Code:   protocol.GetConsumerListByGroup,
		Header: header.Of(&protocol.ConsumerGroupHeader{ConsumerGroup: c.cfg.group}),
	})
	if err != nil {
		return nil, err
	}
	var list protocol.ConsumerIDList
	if err := javajson.Unmarshal(resp.Body, &list); err != nil {
		return nil, wrap(op, addr, err)
	}
	return list.ConsumerIDList, nil
}
