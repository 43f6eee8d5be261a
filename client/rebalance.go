// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/assign"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/route"
)

// rebalanceAgain is how soon a division that was not complete is tried again.
const rebalanceAgain = time.Second

// rebalanceSoon asks for a rebalance out of turn.
func (c *Consumer) rebalanceSoon() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// rebalanceLoop divides the queues again when asked to, regularly, and soon after a
// division that was not complete.
func (c *Consumer) rebalanceLoop(balanced bool) {
	for {
		wait := c.cfg.rebalance
		if !balanced {
			wait = min(rebalanceAgain, wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-c.ctx.Done():
			timer.Stop()
			return
		case <-c.wake:
			timer.Stop()
		case <-timer.C:
		}
		balanced = c.rebalance(c.ctx)
	}
}

// rebalance takes the share of this member in each topic. It tells whether all of it
// could be taken.
func (c *Consumer) rebalance(ctx context.Context) bool {
	balanced, changed := true, false
	for topic := range c.subscriptionsNow() {
		complete, moved := c.rebalanceTopic(ctx, topic)
		balanced, changed = balanced && complete, changed || moved
	}
	if changed && ctx.Err() == nil {
		c.s.beatSoon()
	}
	return balanced
}

// rebalanceTopic is rebalance of one topic. When it can not be told what the share
// is, what is held is kept.
func (c *Consumer) rebalanceTopic(ctx context.Context, topic string) (complete, changed bool) {
	log := c.s.cfg.logger.With("topic", topic, "group", c.cfg.group)
	r, err := c.s.routes.Get(ctx, topic)
	if err != nil {
		log.Debug("no route, queues stay as they are", "err", err)
		return false, false
	}
	members, err := c.membersOf(ctx, r)
	if err != nil {
		log.Warn("members unknown, queues stay as they are", "err", err)
		return false, false
	}
	queues := slices.Clone(r.Read)
	assign.Sort(queues, members)
	share := queuesOf(c.cfg.strategy.Share(c.s.id, queues, members))
	complete, changed = c.hold(ctx, topic, share)
	if changed {
		log.Info("queues divided", "members", len(members), "queues", len(queues), "own", len(share))
	}
	return complete, changed
}

// membersOf asks the brokers of a topic, from a random one on, until one answers. A
// broker that does not know this member or group, because it was started a moment
// ago, is told and asked again.
func (c *Consumer) membersOf(ctx context.Context, r *route.Route) ([]string, error) {
	c.s.greet(ctx)
	errs := []error{errors.New("the topic has no broker")}
	first := 0
	if len(r.Brokers) > 0 {
		first, errs = rand.IntN(len(r.Brokers)), nil
	}
	for i := range r.Brokers {
		b := r.Brokers[(first+i)%len(r.Brokers)]
		members, err := c.members(ctx, b)
		if err == nil && !slices.Contains(members, c.s.id) || CodeOf(err) == CodeSystemError {
			c.s.beat(ctx)
			members, err = c.members(ctx, b)
		}
		if err == nil {
			return members, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// hold gives up the queues of a topic that are not in the share and takes those that
// are.
func (c *Consumer) hold(ctx context.Context, topic string, share []Queue) (complete, changed bool) {
	for _, q := range c.held() {
		if q.queue.Topic == topic && !slices.Contains(share, q.queue) {
			c.release(ctx, q)
			changed = true
		}
	}
	var missing []Queue
	c.mu.Lock()
	for _, q := range share {
		if c.queues[q] == nil {
			missing = append(missing, q)
		}
	}
	subscription := c.subscriptions[topic]
	c.mu.Unlock()
	taken := make([]bool, len(missing))
	inParallel(missing, func(i int, q Queue) { taken[i] = c.take(ctx, q, subscription) })
	return !slices.Contains(taken, false), changed || slices.Contains(taken, true)
}

// release gives a queue up: no more of its messages go to handlers, and its progress
// is stored for whoever has it next.
func (c *Consumer) release(ctx context.Context, q *groupQueue) {
	q.drop()
	if err := q.commit(ctx); err != nil {
		c.s.cfg.logger.Warn("progress not stored, messages will come again", "topic", q.queue.Topic,
			"broker", q.queue.Broker, "queue", q.queue.ID, "group", c.cfg.group, "err", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues[q.queue] == q {
		delete(c.queues, q.queue)
	}
}

// take begins to consume a queue, where the group left off. Without knowing where
// that is it does not begin.
func (c *Consumer) take(ctx context.Context, q Queue, subscription *protocol.SubscriptionData) bool {
	offset, err := c.groupStart(ctx, q)
	if err != nil {
		c.s.cfg.logger.Warn("place to begin unknown, queue not taken", "topic", q.Topic, "broker", q.Broker,
			"queue", q.ID, "group", c.cfg.group, "err", err)
		return false
	}
	g := newGroupQueue(c, q, subscription, offset)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil || c.queues[q] != nil {
		return false
	}
	c.queues[q] = g
	c.work.Go(g.pullLoop)
	return true
}

// groupStart is where the group begins in a queue: where it left off, or where StartAt
// says. Messages that came back from a failed handler are never skipped.
func (c *Consumer) groupStart(ctx context.Context, q Queue) (int64, error) {
	offset, found, err := c.s.committed(ctx, c.cfg.group, q, true)
	if err != nil || found {
		return offset, err
	}
	start := c.cfg.pull.start
	if protocol.IsRetryTopic(q.Topic) {
		start = Beginning()
	}
	return c.s.startOffset(ctx, c.cfg.group, q, start)
}
