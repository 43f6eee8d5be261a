// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package delay

import (
	"context"
	"math"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

const (
	batchCount = 256              // messages delivered together
	batchBytes = 8 << 20          // their records, at most (or one record)
	longSleep  = 10 * time.Second // then the clock is looked at again: it may have been set
	retryAfter = 100 * time.Millisecond
	faultAfter = 10 * time.Second // after an entry could not be read
)

// level delivers the messages of one delay. All but news belongs to its goroutine.
type level struct {
	n         int
	news      chan struct{} // a message came in; at most one note
	scheduler *Scheduler
	store     Store

	// A message is due at the time in its queue entry. An entry that says more than one delay from now was written under
	// another clock or another table of levels: it and all others there were by then are due one delay after it was seen.
	seenEnd int64 // they lie below this offset
	seenAt  int64 // ms
}

func (l *level) queueID() int32 { return int32(l.n - 1) }

func (l *level) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := l.step(ctx)
		if wait < 0 {
			wait = math.MaxInt64
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-l.news:
		case <-t.C:
		}
		t.Stop()
	}
}

// step delivers what is due and tells how long to wait; < 0: until a message comes in.
func (l *level) step(ctx context.Context) time.Duration {
	offset := l.scheduler.progress.offset(l.n)
	begin, end := l.store.QueueRange(protocol.TopicSchedule, l.queueID())
	if at := min(max(offset, begin), end); at != offset {
		l.scheduler.cfg.Logger.Warn("delayed messages: progress lies outside the queue and is moved into it",
			"level", l.n, "offset", offset, "begin", begin, "end", end)
		offset = at
		l.scheduler.progress.set(l.n, offset)
	}
	if offset == end {
		return -1
	}
	entries := l.store.Entries(protocol.TopicSchedule, l.queueID(), offset, batchCount)
	if len(entries) == 0 {
		return retryAfter // not readable yet, or its file is being removed
	}
	ready, wait := l.due(offset, end, entries, time.Now().UnixMilli())
	if ready == 0 {
		return wait
	}
	done, wait := l.deliver(ctx, offset, entries[:ready])
	if done > 0 {
		l.scheduler.progress.set(l.n, offset+int64(done))
	}
	return wait
}

// due tells how many of the entries from offset on are due at now (ms), or else how long the first has to wait.
func (l *level) due(offset, end int64, entries []store.QueueEntry, now int64) (ready int, wait time.Duration) {
	delay := l.scheduler.Delay(l.n).Milliseconds()
	l.seenAt = min(l.seenAt, now)
	for i, e := range entries {
		at, place := e.TagsCode, offset+int64(i)
		if at > now+delay && place >= l.seenEnd {
			l.seenEnd, l.seenAt = end, now
		}
		if place < l.seenEnd {
			at = min(at, l.seenAt+delay)
		}
		if at > now {
			return i, min(time.Duration(at-now)*time.Millisecond, longSleep)
		}
	}
	return len(entries), 0
}
