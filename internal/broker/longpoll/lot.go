// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package longpoll

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Refusals of Park.
var (
	ErrFull   = errors.New("too many pulls are held")
	ErrClosed = errors.New("no pulls are held any more")
)

// DefaultMissDelay is how long after an unwanted arrival a pull is resumed. RocketMQ looks every 5 s, so 2.5 s after it on average.
const DefaultMissDelay = 3 * time.Second

// tick is how exactly deadlines are kept: all that are over within one are resumed together.
const tick = int64(10 * time.Millisecond)

const shardCount = 32 // a power of two

// Config of a Lot.
type Config struct {
	Capacity  func() int    // most pulls held, read at each Park
	Workers   int           // most resumed pulls that run at once
	MissDelay time.Duration // 0: DefaultMissDelay
}

// Lot is where pulls are parked. Its methods may be called from any goroutine.
//
// Locks: a shard's, then runner's; neither is held while a pull is resumed.
type Lot struct {
	cfg    Config
	seed   maphash.Seed
	shards [shardCount]shard
	held   atomic.Int64

	nextDue atomic.Int64  // when Run looks next, ns
	kick    chan struct{} // tells Run that nextDue became sooner
	runner  runner
}

type queueKey struct {
	topic string
	id    int32
}

type shard struct {
	mu     sync.Mutex
	queues map[queueKey]*Pull // first of a ring
	due    dueHeap
	closed bool
}

// NewLot makes an empty lot. Deadlines are kept while Run runs.
func NewLot(cfg Config) *Lot {
	if cfg.MissDelay <= 0 {
		cfg.MissDelay = DefaultMissDelay
	}
	l := &Lot{cfg: cfg, seed: maphash.MakeSeed(), kick: make(chan struct{}, 1)}
	l.nextDue.Store(math.MaxInt64)
	l.runner.limit = max(cfg.Workers, 1)
	for i := range l.shards {
		l.shards[i].queues = map[queueKey]*Pull{}
	}
	return l
}

// Held is how many pulls are parked.
func (l *Lot) Held() int { return int(l.held.Load()) }

func (l *Lot) shard(topic string, queueID int32) *shard {
	h := maphash.String(l.seed, topic) + uint64(uint32(queueID))
	return &l.shards[h%shardCount]
}

// Park holds p. What arrives from now on resumes it; the caller must look once more whether something arrived before,
// and call Wake if so.
func (l *Lot) Park(p *Pull) error {
	if int(l.held.Add(1)) > l.cfg.Capacity() {
		l.held.Add(-1)
		return ErrFull
	}
	due := p.Deadline // once linked, p may change under another goroutine
	p.due, p.missed = due, false
	s := l.shard(p.Topic, p.QueueID)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		l.held.Add(-1)
		return ErrClosed
	}
	s.link(p)
	s.due.push(p)
	s.mu.Unlock()
	l.expect(due)
	return nil
}

// Arrived tells that the end of a queue is now next, by a message with that code of tags and text of properties, which is
// not kept. It does not block.
func (l *Lot) Arrived(topic string, queueID int32, next, tagsCode int64, properties []byte) {
	if l.held.Load() == 0 {
		return
	}
	s := l.shard(topic, queueID)
	soonest := int64(math.MaxInt64)
	s.mu.Lock()
	if first := s.queues[queueKey{topic, queueID}]; first != nil {
		last := first.prev
		for p := first; ; {
			following := p.next // p may leave the ring
			switch {
			case p.Quiet || next <= p.Offset:
			case p.Filter == nil || p.Filter.MatchTags(tagsCode) && p.Filter.MatchProperties(properties):
				l.takeLocked(s, p)
			case !p.missed:
				soonest = min(soonest, l.missLocked(s, p))
			}
			if p == last {
				break
			}
			p = following
		}
	}
	s.mu.Unlock()
	if soonest != math.MaxInt64 {
		l.expect(soonest)
	}
}

// missLocked notes that p was passed over, and gives the time at which it is resumed therefore.
func (l *Lot) missLocked(s *shard, p *Pull) int64 {
	p.missed = true
	if at := time.Now().UnixNano() + int64(l.cfg.MissDelay); at < p.due {
		p.due = at
		s.due.fix(p.heapIndex)
	}
	return p.due
}

// Wake resumes p if it is still parked.
func (l *Lot) Wake(p *Pull) {
	s := l.shard(p.Topic, p.QueueID)
	s.mu.Lock()
	if p.heapIndex >= 0 && p.heapIndex < len(s.due) && s.due[p.heapIndex] == p {
		l.takeLocked(s, p)
	}
	s.mu.Unlock()
}

// WakeTopic resumes all pulls of a topic.
func (l *Lot) WakeTopic(topic string) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for key := range s.queues {
			for key.topic == topic && s.queues[key] != nil {
				l.takeLocked(s, s.queues[key])
			}
		}
		s.mu.Unlock()
	}
}

// takeLocked takes p out of its shard and has it resumed.
func (l *Lot) takeLocked(s *shard, p *Pull) {
	s.unlink(p)
	s.due.remove(p)
	l.held.Add(-1)
	l.runner.add(p)
}

// expect has Run look at due.
func (l *Lot) expect(due int64) {
	for {
		old := l.nextDue.Load()
		if due >= old {
			return
		}
		if l.nextDue.CompareAndSwap(old, due) {
			select {
			case l.kick <- struct{}{}:
			default:
			}
			return
		}
	}
}

// Run resumes pulls whose time is over, until ctx ends. It sleeps as long as none is due.
func (l *Lot) Run(ctx context.Context) error {
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.kick:
		case <-timer.C:
		}
		now := time.Now().UnixNano()
		if due := l.nextDue.Load(); due > now {
			timer.Reset(untilTick(due, now))
			continue
		}
		// First forget when to look, then look: whoever parks behind our back sets it again and kicks.
		l.nextDue.Store(math.MaxInt64)
		if due := l.expire(now); due != math.MaxInt64 {
			l.expect(due)
		}
	}
}

func untilTick(due, now int64) time.Duration { return time.Duration((due-now)/tick*tick + tick) }

// expire resumes what is due at now and gives the earliest due that is left.
func (l *Lot) expire(now int64) int64 {
	next := int64(math.MaxInt64)
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for len(s.due) > 0 && s.due[0].due <= now {
			l.takeLocked(s, s.due[0])
		}
		if len(s.due) > 0 {
			next = min(next, s.due[0].due)
		}
		s.mu.Unlock()
	}
	return next
}

// Close refuses to hold more pulls, resumes all that are held and waits for them.
func (l *Lot) Close() {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		s.closed = true
		for len(s.due) > 0 {
			l.takeLocked(s, s.due[len(s.due)-1])
		}
		s.mu.Unlock()
	}
	l.runner.wait()
}
