// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
)

// diskWatch is what is known of the disks, and the reasons why messages are refused.
type diskWatch struct {
	mu     sync.Mutex
	full   error // the disk is too full
	queues error // queues cannot be saved

	logUse   atomic.Pointer[faultfs.Usage] // of the log's file system; of several the one with most space
	queueUse atomic.Pointer[faultfs.Usage]

	manual     atomic.Int32                       // rounds in which expired files are removed at any hour
	lastRound  time.Time                          // of retention; used by the watching goroutine only
	minute     time.Time                          // when the counts below were taken; used by the watching goroutine only
	putsBefore [commitlog.PutBuckets]atomic.Int64 // appends by the time they took, up to then
}

// watchEvery is how often the disks are looked at, and one that was full is tried again.
const watchEvery = time.Second

// watchDisk looks after the disks until ctx ends: it refuses messages on full ones and removes old files.
func (s *Store) watchDisk(ctx context.Context) {
	s.lookAtDisks()
	s.disk.lastRound, s.disk.minute = time.Now(), time.Now()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.lookAtDisks()
		s.log.Retry()
		if time.Since(s.disk.minute) >= time.Minute {
			s.disk.minute = time.Now()
			for i := range s.disk.putsBefore {
				s.disk.putsBefore[i].Store(s.log.Stats.PutTimes[i].Load())
			}
		}
		if time.Since(s.disk.lastRound) >= s.config().Retention.Interval {
			s.disk.lastRound = time.Now()
			s.retain(ctx)
		}
	}
}

// usedPercent is the part of a file system in use, rounded up to whole percent as RocketMQ does.
func usedPercent(u *faultfs.Usage) int {
	if u == nil {
		return 0
	}
	return int(math.Ceil(u.Ratio()*100 - 1e-9))
}

// levels are the percentages at which something happens, within the bounds that RocketMQ sets.
func (c *RetentionConfig) levels() (expired, clean, warning int) {
	clamp := func(v int32, low, high int) int { return min(max(int(v), low), high) }
	return clamp(c.MaxUsedPercent, 10, 95), clamp(c.CleanPercent, 30, 85), clamp(c.WarningPercent, 35, 90)
}

// lookAtDisks measures the disks and begins or ends to refuse messages. It ends at a lower level than it begins.
func (s *Store) lookAtDisks() {
	w := &s.disk
	cfg := s.config()
	var best *faultfs.Usage
	for _, dir := range cfg.logDirs() {
		u, err := s.fs.Usage(dir)
		if err != nil {
			s.logger.Warn("cannot tell how full the disk is", "dir", dir, "err", err)
			continue
		}
		if best == nil || u.Ratio() < best.Ratio() {
			best = &u
		}
	}
	if best != nil {
		w.logUse.Store(best)
	}
	if u, err := s.fs.Usage(cfg.Root); err == nil {
		w.queueUse.Store(&u)
	}
	_, clean, warning := cfg.Retention.levels()
	used := max(usedPercent(w.logUse.Load()), usedPercent(w.queueUse.Load()))
	w.mu.Lock()
	full := w.full
	w.mu.Unlock()
	switch {
	case used > warning && full == nil:
		full = fmt.Errorf("the disk is %d %% full, above %d %% nothing is written", used, warning)
		s.logger.Error("messages are refused", "err", full)
	case used <= clean && full != nil:
		full = nil
		s.logger.Info("the disk has space again, messages are accepted", "used_percent", used)
	}
	s.refuseFor(&w.full, full)
}

// refuseFor sets or clears one of the reasons to refuse messages.
func (s *Store) refuseFor(reason *error, err error) {
	w := &s.disk
	w.mu.Lock()
	defer w.mu.Unlock()
	*reason = err
	switch {
	case w.full != nil:
		full := w.full
		s.refused.Store(&full)
	case w.queues != nil:
		queues := w.queues
		s.refused.Store(&queues)
	default:
		s.refused.Store(nil)
	}
}

// Writable is nil, or why messages are refused at the moment.
func (s *Store) Writable() error {
	if err := s.log.Writable(); err != nil {
		return err
	}
	if refused := s.refused.Load(); refused != nil {
		return *refused
	}
	return nil
}
