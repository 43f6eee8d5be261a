// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// groupQueue is a queue that a consumer holds: it pulls messages ahead of the
// handlers and knows which of them are done (RocketMQ: ProcessQueue).
//
// Progress is the offset before which everything is done. Handlers finish in any
// order, so one slow message keeps it back, and after a crash those behind it come
// again; it never passes a message that is not done.
type groupQueue struct {
	c            *Consumer
	queue        Queue
	subscription *protocol.SubscriptionData
	start        int64
	ctx          context.Context // of pulls
	stop         context.CancelFunc

	// committing is held while progress is stored, so that it does not go backwards.
	committing sync.Mutex
	stored     int64 // progress that the broker has, < 0: none yet

	// mu guards the fields below.
	mu      sync.Mutex
	ahead   []*task // pulled, from the first that is not done on, by offset
	bytes   int     // of their bodies
	next    int64   // offset behind everything that was pulled
	dropped bool
	frozen  bool // progress is fixed by a reset and no longer follows ahead

	pulledAt, finishedAt time.Time // for people who ask
}

// task is a message and whether it is done.
type task struct {
	q    *groupQueue
	m    *Received
	done bool
}

func newGroupQueue(c *Consumer, q Queue, subscription *protocol.SubscriptionData, start int64) *groupQueue {
	g := &groupQueue{c: c, queue: q, subscription: subscription, start: start, next: start, stored: -1}
	g.ctx, g.stop = context.WithCancel(c.ctx)
	return g
}

// drop ends the queue: its messages that no handler has begun are let go, and what
// handlers finish later does not count.
func (q *groupQueue) drop() {
	q.stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped = true
}

func (q *groupQueue) isDropped() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// pullLoop pulls until the queue is given up.
func (q *groupQueue) pullLoop() {
	defer q.stop()
	req := &pullRequest{queue: q.queue, group: q.c.cfg.group, offset: q.start, subscription: q.subscription}
	if !sleep(q.ctx, firstPullDelay) {
		return
	}
	for q.ctx.Err() == nil {
		if q.c.paused.Load() || q.full() {
			sleep(q.ctx, pullFullDelay)
			continue
		}
		req.commit = -1
		if p := q.progress(); p > 0 {
			req.commit = p
		}
		a, err := q.c.s.pull(q.ctx, &q.c.cfg.pull, req)
		switch {
		case q.ctx.Err() != nil:
			return
		case err != nil:
			q.pullFailed(err)
		case a.status == pullOffsetIllegal:
			q.reset(a.next)
			return
		default:
			req.offset, req.brokerID = a.next, a.suggested
			q.add(a)
		}
	}
}

func (q *groupQueue) pullFailed(err *Error) {
	delay := pullErrorDelay
	switch int32(err.Code) {
	case protocol.SubscriptionNotExist, protocol.SubscriptionNotLatest:
		q.c.s.beatSoon() // the broker does not know us, or not well enough: it was started anew
	}
	if err.Code == Code(protocol.FlowControl) {
		delay = pullFlowDelay
	} else {
		q.c.s.cfg.logger.Warn("pull failed, it is tried again", "topic", q.queue.Topic, "broker", q.queue.Broker,
			"queue", q.queue.ID, "group", q.c.cfg.group, "err", err)
	}
	sleep(q.ctx, delay)
}

// full tells whether enough messages wait.
func (q *groupQueue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	cfg := &q.c.cfg
	return len(q.ahead) > cfg.cachedCount || q.bytes > cfg.cachedBytes ||
		len(q.ahead) > 0 && q.next-q.ahead[0].m.Offset > cfg.maxSpan
}

// add takes in what a pull brought and hands it to the handlers.
func (q *groupQueue) add(a *pullAnswer) {
	tasks := make([]*task, len(a.messages))
	q.mu.Lock()
	for i, m := range a.messages {
		tasks[i] = &task{q: q, m: m}
		q.bytes += len(m.Body)
	}
	q.ahead = append(q.ahead, tasks...)
	q.next = a.next
	q.pulledAt = time.Now()
	q.mu.Unlock()
	q.c.pool.add(tasks)
}

// finish marks a task done. It changes nothing once the queue was given up: its
// progress belongs to somebody else then.
func (q *groupQueue) finish(t *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped {
		return
	}
	t.done = true
	q.finishedAt = time.Now()
	n := 0
	for n < len(q.ahead) && q.ahead[n].done {
		q.bytes -= len(q.ahead[n].m.Body)
		q.ahead[n] = nil
		n++
	}
	q.ahead = q.ahead[n:]
}

// progress is the offset before which everything is done.
func (q *groupQueue) progress() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ahead) > 0 && !q.frozen {
		return q.ahead[0].m.Offset
	}
	return q.next
}

// commit stores the progress at the broker when it has another one.
func (q *groupQueue) commit(ctx context.Context) error {
	q.committing.Lock()
	defer q.committing.Unlock()
	p := q.progress()
	if p == q.stored {
		return nil
	}
	if err := q.c.s.commit(ctx, q.c.cfg.group, q.queue, p); err != nil {
		return err
	}
	q.stored = p
	return nil
}

// reset ends the queue and makes offset the group's progress: the broker has no
// message where the pull looked, or was told to put the group elsewhere. What
// handlers are at does not count any more. The queue is taken again at once.
func (q *groupQueue) reset(offset int64) {
	q.c.s.cfg.logger.Warn("offset moved", "topic", q.queue.Topic, "broker", q.queue.Broker, "queue", q.queue.ID,
		"group", q.c.cfg.group, "from", q.progress(), "offset", offset)
	q.freeze(offset)
	q.c.release(q.c.ctx, q)
	q.c.rebalanceSoon()
}

// freeze drops the queue with a progress that nothing changes any more.
func (q *groupQueue) freeze(offset int64) {
	q.drop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.frozen, q.next = true, offset
}
