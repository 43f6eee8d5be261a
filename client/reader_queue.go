// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// readQueue reads one queue for a Reader. Its goroutine pulls, hands the messages to
// Poll, and pulls again; so at most one pull's messages wait per queue. Seek ends the
// goroutine and begins another: an epoch.
type readQueue struct {
	r     *Reader
	queue Queue
	end   int64 // offset to stop before, < 0: none

	// The fields below are guarded by the reader's mu.
	position int64 // behind what Poll gave
	epoch    int
	ended    bool
	stop     context.CancelFunc // of the goroutine
}

// goFromLocked begins an epoch at offset. The reader must not be closed.
func (q *readQueue) goFromLocked(offset int64) {
	if q.stop != nil {
		q.stop()
	}
	ctx, stop := context.WithCancel(q.r.ctx)
	q.stop = stop
	q.epoch++
	q.position, q.ended = offset, false
	epoch := q.epoch
	q.r.work.Go(func() {
		defer stop()
		q.run(ctx, epoch, offset)
	})
}

// take accepts a delivery unless its epoch is over.
func (q *readQueue) take(d delivery) bool {
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	if d.epoch != q.epoch {
		return false
	}
	if d.err == nil {
		q.position = d.next
	}
	q.ended = d.end
	return true
}

// deliver hands d over; false when the epoch ended before Poll came.
func (q *readQueue) deliver(ctx context.Context, d delivery) bool {
	select {
	case q.r.deliveries <- d:
		return true
	case <-ctx.Done():
		return false
	}
}

// run is one epoch.
func (q *readQueue) run(ctx context.Context, epoch int, offset int64) {
	req := &pullRequest{
		queue: q.queue, group: q.r.cfg.group, offset: offset, commit: -1,
		inline: true, subscription: q.r.subscription,
	}
	failures, end := 0, q.end
	for ctx.Err() == nil {
		if end >= 0 && req.offset >= end {
			q.deliver(ctx, delivery{q: q, epoch: epoch, next: req.offset, end: true})
			return
		}
		a, err := q.r.s.pull(ctx, &q.r.cfg.pull, req)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failures++
			if !q.failed(ctx, epoch, err, failures) {
				return
			}
			continue
		}
		failures = 0
		if a.status == pullOffsetIllegal {
			end = min(end, a.max) // the queue was cut off
		}
		req.brokerID = a.suggested
		moved := a.next != req.offset
		req.offset = a.next
		msgs := upToEnd(a.messages, end)
		if (moved || len(msgs) > 0) && !q.deliver(ctx, delivery{q: q, epoch: epoch, next: a.next, msgs: msgs}) {
			return
		}
	}
}

// upToEnd leaves out messages that came after reading began.
func upToEnd(msgs []*Received, end int64) []*Received {
	if end < 0 {
		return msgs
	}
	for i, m := range msgs {
		if m.Offset >= end {
			return msgs[:i]
		}
	}
	return msgs
}

// failed waits before the next try. A failure that lasts, or that waiting does not
// change, is told to Poll; a connection that broke once is not worth it.
func (q *readQueue) failed(ctx context.Context, epoch int, err *Error, failures int) bool {
	if err.final() || failures > 1 {
		if !q.deliver(ctx, delivery{q: q, epoch: epoch, err: err}) {
			return false
		}
	}
	delay := pullErrorDelay
	if err.Code == Code(protocol.FlowControl) {
		delay = pullFlowDelay
	}
	return sleep(ctx, delay)
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
