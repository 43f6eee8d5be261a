// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"errors"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
)

// manualRounds is how many rounds remove expired files after somebody asked for it.
const manualRounds = 20

// CleanLog lets the next rounds remove expired log files whatever the hour (RocketMQ: DELETE_EXPIRED_COMMITLOG).
func (s *Store) CleanLog() { s.disk.manual.Store(manualRounds) }

// retain is one round of retention: log files that are expired, or for which there is no space, then what the queues
// and the index have beyond the log's beginning.
func (s *Store) retain(ctx context.Context) {
	cfg := s.config()
	r := &cfg.Retention
	expired, clean, _ := r.levels()
	used := usedPercent(s.disk.logUse.Load())
	manual := s.disk.manual.Load()
	if manual > 0 {
		s.disk.manual.Add(-1)
	}
	hours, _ := deleteHours(r.DeleteWhen)
	force := r.CleanForcibly && used > clean
	if force && !s.cleaningHelps(clean) {
		force = false
		if used > clean {
			s.logger.Warn("the disk is filled by other data than the log: no messages are removed for it", "used_percent", used)
		}
	}
	if force || manual > 0 || hours[time.Now().Hour()] || used > expired {
		s.removeLogFiles(ctx, force)
	}
	if err := s.cleanDerived(ctx); err != nil {
		s.logger.Warn("cannot remove old files", "err", err)
	}
}

// cleaningHelps tells whether removing log files can bring the disk below the level at which it is forced. When the
// disk is full of something else, to remove messages would be for nothing.
func (s *Store) cleaningHelps(level int) bool {
	u := s.disk.logUse.Load()
	files := s.log.Files()
	if u == nil || files.Len() < 2 {
		return false
	}
	gain := int64(files.Len()-1) * files.FileSize()
	after := faultfs.Usage{Total: u.Total, Free: u.Free + gain, Available: u.Available + gain}
	return usedPercent(&after) <= level
}

// removeLogFiles removes files from the oldest on, the last one never: those whose newest message is older than the
// time that messages are kept or, with force, whatever their age until the disk is below its level.
func (s *Store) removeLogFiles(ctx context.Context, force bool) {
	cfg := s.config()
	files := s.log.Files()
	for range int(cfg.Retention.BatchMax) {
		starts := files.Starts()
		if len(starts) < 2 || starts[1] > s.log.Confirmed() {
			return
		}
		if !s.expired(starts[0], starts[1]) && !(force && s.stillTooFull()) {
			return
		}
		path := files.Path(starts[0])
		if err := s.log.RemoveFirst(); err != nil {
			s.logger.Warn("cannot remove an old log file", "err", err)
			return
		}
		s.logger.Info("an old log file was removed", "file", path, "forced", force)
		if !pause(ctx, cfg.Retention.LogPause) {
			return
		}
	}
}

// stillTooFull measures the disks again.
func (s *Store) stillTooFull() bool {
	s.lookAtDisks()
	_, clean, _ := s.config().Retention.levels()
	return usedPercent(s.disk.logUse.Load()) > clean
}

// expired tells whether all messages of a log file are old enough. The first message of the next file is younger than
// all of them, and its time does not change when files are copied.
func (s *Store) expired(start, next int64) bool {
	newest, err := s.log.FirstStoreTime(next)
	if err != nil {
		if newest, err = s.log.Files().Modified(start); err != nil {
			return false
		}
	}
	return time.Since(time.UnixMilli(newest)) >= s.config().Retention.Reserved
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
