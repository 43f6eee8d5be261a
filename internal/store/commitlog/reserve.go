// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"errors"
	"fmt"
)

// reserve makes files and reserves their blocks up to off at least, so that a write below cannot meet a full disk
// (where the file system can promise that).
func (l *Log) reserve(off int64) error {
	l.reserving.Lock()
	defer l.reserving.Unlock()
	for at := l.reserved.Load(); at < off; at = l.reserved.Load() {
		if !l.files.Has(at) {
			if err := l.create(at); err != nil {
				return err
			}
		}
		end := min(at+max(l.cfg.Ahead, 1), l.files.Start(at)+l.cfg.FileSize)
		if err := l.files.Allocate(at, end-at); err != nil {
			return fmt.Errorf("reserve %d bytes in %s: %w", end-at, l.files.Path(at), err)
		}
		l.reserved.Store(end)
	}
	return nil
}

// create makes the log file that holds off, durable under its name and in its size: a record in a file that a power cut
// forgets is lost however often its bytes were synced.
func (l *Log) create(off int64) error {
	err := l.files.Create(off)
	if err == nil {
		err = l.files.Datasync(off)
	}
	if err == nil {
		err = l.files.SyncDirs()
	}
	if err != nil {
		return fmt.Errorf("create log file %s: %w", l.files.Path(off), err)
	}
	return nil
}

// allocateLoop keeps blocks reserved ahead of the log's end, one file ahead at most, and finds out when a full disk
// has space again.
func (l *Log) allocateLoop() {
	for {
		select {
		case <-l.done:
			return
		case <-l.extend:
		}
		end := l.written.Load()
		next := l.files.Start(end) + 2*l.cfg.FileSize
		if err := l.reserve(min(end+l.cfg.Ahead, next)); err != nil && !noSpace(err) {
			l.cfg.Logger.Warn("cannot prepare the next log file", "err", err)
		}
	}
}

// Retry tries whether a disk that was full has space now, and takes records again if so.
func (l *Log) Retry() {
	if !errors.Is(l.Writable(), ErrNoSpace) {
		return
	}
	// As much as one full group can need, so that the next one does not fail at once.
	if err := l.reserve(l.written.Load() + min(l.cfg.Ahead, l.cfg.PendingBytes)); err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.refuse, ErrNoSpace) {
		l.refuse = nil
		l.cfg.Logger.Info("there is space on the disk again: messages are accepted")
	}
}
