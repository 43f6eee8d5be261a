// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
)

// manualRounds is how many rounds remove expired files after somebody asked for it.
const manualRounds = 20

// CleanLog lets the next rounds remove expired log files whatever the hour (RocketMQ: DELETE_EXPIRED_COMMITLOG).
func (s *Store) CleanLog() { s.disk.manual.Store(manualRounds) }

// retention is what rounds of cleaning know from the rounds before. Only the goroutine that does them uses it.
type retention struct {
	clock ageClock
	times map[int64]int64          // store time, ms, of the first record of log files by their offset; 0: not known
	cuts  map[time.Duration]cut    // for times of Deps.Reserved
	state retentionState           // as on disk
	held  *queue                   // kept the first log file from being removed in the last round
	told  map[string]time.Duration // when something was logged that each round would say again, by the steady clock
}

// round is one round of cleaning.
type round struct {
	s        *Store
	cfg      *RetentionConfig
	day      time.Time // by which messages grow old
	stamps   []stamp   // of log files, by that day
	reserved map[string]time.Duration
	removed  bool // Deps.Removed was told something
}

// retain is one round of cleaning: messages of topics that keep them for a shorter time, log files that are expired or
// for which there is no space, then what the queues and the index have beyond the log's beginning.
func (s *Store) retain(ctx context.Context) {
	cfg := s.config()
	r := &round{s: s, cfg: &cfg.Retention, day: s.ageDay()}
	if s.deps.Reserved != nil {
		r.reserved = s.deps.Reserved()
	}
	r.stamps = s.stampsOf(r.day)
	r.expireTopics()

	r.removeLogFiles(ctx)
	if err := s.cleanDerived(ctx); err != nil {
		s.logger.Warn("cannot remove old files", "err", err)
	}
	if r.removed && s.deps.Cleaned != nil {
		s.deps.Cleaned()
	}
}

// ageDay is the time of day that messages grow old by.
func (s *Store) ageDay() time.Time {
	day, news := s.ages.clock.look(s.deps.Clock())
	switch news {
	case clockJumped:
		level := slog.LevelInfo // as after a start, when there was no message for some time
		if s.ages.clock.ahead >= s.config().Retention.Reserved {
			level = slog.LevelWarn
		}
		s.logger.Log(context.Background(), level,
			"the clock is ahead of the time that passed since the last look, or since the newest message: by so much messages count as younger for the time being",
			"ahead", s.ages.clock.ahead.Round(time.Second), "for", clockSettles)
	case clockSettled:
		s.logger.Info("the clock that was ahead has stayed there: messages grow old by it from now on", "day", day)
	case clockSetBack:
		s.logger.Warn("the clock was set back: messages with later times are kept until younger ones are old enough", "day", day)
	case clockGoesOn:
	}
	return day
}

// removeLogFiles removes files from the oldest on, the last one never: those whose newest message is older than the
// time that messages are kept, if it is time for it, and those for which there is no space.
func (r *round) removeLogFiles(ctx context.Context) {
	s := r.s
	expire := r.mayExpire()
	var before []lowest
	for range int(r.cfg.BatchMax) {
		starts := s.log.Files().Starts()
		if len(starts) < 2 || starts[1] > s.log.Confirmed() {
			return
		}
		why := r.cause(starts[0], starts[1], expire)
		if why == "" {
			return
		}
		if err := s.markBelow(starts[1]); err != nil && why != CauseDisk {
			s.logger.Warn("cannot remove an old log file: its messages are not noted in their queues", "err", err)
			return
		}
		if before == nil {
			before = s.lowestOf(s.allQueues())
		}
		path := s.log.Files().Path(starts[0])
		err := s.log.RemoveFirst()
		before = r.tell(before, why)
		if err != nil {
			s.logger.Warn("cannot remove an old log file", "err", err)
			return
		}
		s.logger.Info("an old log file was removed", "file", path, "why", why)
		delete(s.ages.times, starts[0])
		if !pause(ctx, r.cfg.LogPause) {
			return
		}
	}
}

// markBelow makes a checkpoint if there is none yet of the messages below an offset. Without, a crash would leave queues
// that have no message behind it as if they had never had any: their offsets would begin at 0 again.
func (s *Store) markBelow(off int64) error {
	if off <= s.keeper.marked.Load() {
		return nil
	}
	return s.checkpoint(false)
}

// mayExpire tells whether it is time to remove expired files: the hour has come, the disk fills up, or somebody asked for
// it. Who asks means the time that the machine's clock shows.
func (r *round) mayExpire() bool {
	s := r.s
	day, _ := s.deps.Clock()
	if s.disk.manual.Load() > 0 {
		s.disk.manual.Add(-1)
		r.day, r.stamps = day, s.stampsOf(day)
		return true
	}
	hours, _ := deleteHours(r.cfg.DeleteWhen)
	level, _, _ := r.cfg.levels()
	return hours[day.Hour()] || s.usedPercent() > level
}

// cause is why the first log file, [start, next), is to go, "" when it stays.
func (r *round) cause(start, next int64, expire bool) Cause {
	s := r.s
	_, clean, _ := r.cfg.levels()
	switch {
	case expire && r.expired(next) && !r.needed(next):
		return CauseAge
	case r.cfg.ReservedBytes > 0 && s.bytes() > r.cfg.ReservedBytes:
		return CauseSize
	case r.cfg.CleanForcibly && s.usedPercent() > clean && s.tooFull(clean):
		if s.cleaningHelps(clean) {
			return CauseDisk
		}
		if s.mayTell("full of other data") {
			s.logger.Warn("the disk is filled by other data than messages: none are removed for it", "used_percent", s.usedPercent())
		}
	}
	return ""
}

// mayTell tells whether something is to be logged that the next rounds would say again and again.
func (s *Store) mayTell(what string) bool {
	_, steady := s.deps.Clock()
	if last, ok := s.ages.told[what]; ok && steady-last < tellEvery {
		return false
	}
	s.ages.told[what] = steady
	return true
}

const tellEvery = 10 * time.Minute

// usedPercent is how full the fuller one is of the disks that log and queues are on.
func (s *Store) usedPercent() int {
	return max(usedPercent(s.disk.logUse.Load()), usedPercent(s.disk.queueUse.Load()))
}

// tooFull measures the disks again, after removing from the queues what their messages' files no longer justify.
func (s *Store) tooFull(level int) bool {
	if usedPercent(s.disk.queueUse.Load()) > level {
		if err := s.cleanDerived(context.Background()); err != nil {
			s.logger.Warn("cannot remove old files", "err", err)
		}
	}
	s.lookAtDisks()
	return s.usedPercent() > level
}

// cleaningHelps tells whether removing log files, with what belongs to them, can bring the disks to the level. When one
// is full of something else, to remove messages would be for nothing.
func (s *Store) cleaningHelps(level int) bool {
	log, queues := s.disk.logUse.Load(), s.disk.queueUse.Load()
	files := s.log.Files()
	gain, derived := int64(files.Len()-1)*files.FileSize(), s.derivedBytes()
	if log == nil || queues == nil || *log == *queues { // one disk
		return helps(log, gain+derived, level)
	}
	return helps(log, gain, level) && helps(queues, derived, level)
}

func helps(u *faultfs.Usage, gain int64, level int) bool {
	if u == nil {
		return true
	}
	gain = min(gain, u.Total-u.Free)
	after := faultfs.Usage{Total: u.Total, Free: u.Free + gain, Available: u.Available + gain}
	return usedPercent(&after) <= level
}

// bytes is about how much the store takes on disk.
func (s *Store) bytes() int64 { return s.log.Max() - s.log.Min() + s.derivedBytes() }

// derivedBytes is about how much queues and index take.
func (s *Store) derivedBytes() int64 {
	bytes := int64(0)
	for _, q := range s.allQueues() {
		bytes += q.Len() * int64(q.Layout().UnitSize())
	}
	if s.index != nil {
		bytes += s.index.x.Bytes()
	}
	return bytes
}

// lowest is the lowest offset of a queue that can be read.
type lowest struct {
	q      *queue
	offset int64
}

func (s *Store) lowestOf(queues []*queue) []lowest {
	list := make([]lowest, len(queues))
	for i, q := range queues {
		low, _ := q.Range(s.begin(q))
		list[i] = lowest{q, low}
	}
	return list
}

// tell tells of messages that could be read before and cannot now. It gives what can be read now.
func (r *round) tell(before []lowest, why Cause) []lowest {
	s := r.s
	var gone []Removal
	for i, b := range before {
		low, _ := b.q.Range(s.begin(b.q))
		if low > b.offset {
			gone = append(gone, Removal{b.q.name.Topic, b.q.name.QueueID, b.offset, low})
			before[i].offset = low
		}
	}
	if len(gone) > 0 && s.deps.Removed != nil {
		s.deps.Removed(gone, why)
		r.removed = true
	}
	return before
}

// CleanExpired removes files of queues and index whose messages the log does not have any more.
func (s *Store) CleanExpired() error { return s.cleanDerived(context.Background()) }

func (s *Store) cleanDerived(ctx context.Context) error {
	logMin := s.log.Min()
	var errs []error
	for _, q := range s.allQueues() {
		if q.Files() < 2 {
			continue
		}
		removed, err := s.keeper.shorten(q, logMin)
		errs = append(errs, err)
		if removed > 0 && !pause(ctx, s.config().Retention.QueuePause) {
			break
		}
	}
	if s.index != nil {
		_, err := s.index.x.Shorten(logMin)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// pause waits; it tells whether ctx lasts.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
