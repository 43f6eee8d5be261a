// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package delay

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// Store is what the scheduler reads from and writes to.
type Store interface {
	QueueRange(topic string, queueID int32) (min, max int64)
	Entries(topic string, queueID int32, from int64, count int) []store.QueueEntry
	View(physicalOffset int64) ([]byte, error)
	Append(m *store.Message, w store.Waiter)
	Commit()
}

// Config of a Scheduler.
type Config struct {
	Path          string               // of delayOffset.json
	Levels        func() Levels        // read at each use
	FlushInterval func() time.Duration // how long progress may stay unwritten
	VersionStep   func() int64         // deliveries per data version
	Logger        *slog.Logger
	// Delivered is told of each message that was put where it was sent; it must not block. nil: nobody asks.
	Delivered func(level int, m *store.Message)
}

// Scheduler moves messages from the staging topic to where they were sent, when they are due. One goroutine per level
// that was ever used; it sleeps until its first message is due or one arrives.
type Scheduler struct {
	cfg      Config
	progress *progress

	mu     sync.Mutex
	levels map[int]*level // those with a goroutine, or an arrival before there was one
	start  func(*level)   // nil while Run does not run
}

// Open reads the progress. Nothing is delivered before Run.
func Open(cfg Config) (*Scheduler, error) {
	p, from, err := openProgress(cfg.Path, cfg.VersionStep)
	if err != nil {
		return nil, err
	}
	if from != "" && from != cfg.Path {
		cfg.Logger.Warn("progress of delayed messages was damaged: messages delivered since the generation before come twice", "read", from)
	}
	return &Scheduler{cfg: cfg, progress: p, levels: map[int]*level{}}, nil
}

// Delay of a level: what the store adds to the store time of a message in the staging topic.
func (s *Scheduler) Delay(level int) time.Duration { return s.cfg.Levels().Delay(level) }

// Arrived tells that a message came into a queue of the staging topic. It does not block.
func (s *Scheduler) Arrived(queueID int32) {
	if queueID < 0 {
		return
	}
	s.mu.Lock()
	l := s.levelLocked(int(queueID) + 1)
	s.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (s *Scheduler) levelLocked(n int) *level {
	l := s.levels[n]
	if l == nil {
		l = &level{n: n, news: make(chan struct{}, 1), scheduler: s}
		s.levels[n] = l
		if s.start != nil {
			s.start(l)
		}
	}
	return l
}

// Run delivers until ctx ends; deliveries that began are finished, and progress is written.
func (s *Scheduler) Run(ctx context.Context, st Store) error {
	var running sync.WaitGroup
	s.mu.Lock()
	s.start = func(l *level) {
		l.store = st
		running.Go(func() { l.run(ctx) })
	}
	for _, l := range s.levels {
		s.start(l)
	}
	var behind []int
	for _, n := range s.progress.levels(s.cfg.Levels().Max()) {
		_, end := st.QueueRange(protocol.TopicSchedule, int32(n-1))
		switch offset := s.progress.offset(n); {
		case offset > end: // the log lost its tail; what comes now must not be taken for delivered
			s.cfg.Logger.Warn("delayed messages: progress lies beyond the queue and is set back", "level", n, "offset", offset, "end", end)
			s.progress.set(n, end)
		case offset < end:
			behind = append(behind, n)
		}
	}
	s.mu.Unlock()
	running.Go(func() { s.begin(ctx, behind) })

	s.persistUntil(ctx)
	s.mu.Lock()
	s.start = nil
	s.mu.Unlock()
	running.Wait()
	if err := s.progress.persist(); err != nil {
		return fmt.Errorf("stop delivering delayed messages: %w", err)
	}
	return nil
}

// firstDelivery is how long messages that were there at the start wait in any case, so that consumers can come back first
// (RocketMQ: ScheduleMessageService.FIRST_DELAY_TIME).
const firstDelivery = time.Second

// begin starts levels that are behind at the start.
func (s *Scheduler) begin(ctx context.Context, levels []int) {
	if len(levels) == 0 || !sleep(ctx, firstDelivery) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range levels {
		if s.start != nil {
			s.levelLocked(n)
		}
	}
}

// persistUntil writes progress a while after it changed, until ctx ends.
func (s *Scheduler) persistUntil(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.progress.changed:
		}
		if !sleep(ctx, s.cfg.FlushInterval()) {
			return
		}
		if err := s.progress.persist(); err != nil {
			s.cfg.Logger.Error("progress of delayed messages is not written; after a crash some come twice", "err", err)
		}
	}
}

// Offset is the next offset of a level to be delivered.
func (s *Scheduler) Offset(level int) int64 { return s.progress.offset(level) }

// Encode gives the progress as JSON, as GET_ALL_DELAY_OFFSET (45) answers.
func (s *Scheduler) Encode() []byte { return s.progress.encode() }

// sleep waits for d or the end of ctx; it tells whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
