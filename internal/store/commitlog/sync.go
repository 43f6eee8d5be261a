// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"fmt"
	"time"
)

// syncLoop writes and syncs group after group: all that was appended during one sync is the next group.
func (l *Log) syncLoop() {
	late := time.AfterFunc(time.Hour, l.expire)
	late.Stop()
	defer late.Stop()
	for {
		select {
		case <-l.kick:
			late.Reset(l.cfg.SyncTimeout)
			l.syncAll()
			late.Stop()
		case <-l.done:
			return
		}
	}
}

func (l *Log) syncAll() {
	l.writing.Lock()
	defer l.writing.Unlock()
	for {
		g := l.take()
		if g == nil {
			return
		}
		l.inFlight.Store(g)
		l.finishSynced(g)
		l.inFlight.Store(nil)
	}
}

// finishSynced writes and syncs a group, dispatches it and tells its waiters. Log.writing is held.
func (l *Log) finishSynced(g *group) {
	if err := l.write(g); err != nil {
		l.writeFailed(g, err)
		return
	}
	g.tell.Lock()
	l.tellSome(g, OK, nil, func(e *Entry) bool { return e.noWait })
	g.tell.Unlock()
	if err := l.SyncTo(g.end); err != nil {
		l.tell(g, ServiceNotAvailable, err)
		return
	}
	l.deliver(g, OK)
}

// SyncTo makes the log durable up to off, which must be written. An error is final for the log.
func (l *Log) SyncTo(off int64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if err := l.Err(); err != nil {
		return err
	}
	end, newest := l.written.Load(), l.lastTime.Load()
	off = min(off, end)
	for at := l.flushed.Load(); at < off; {
		if err := l.files.Datasync(at); err != nil {
			err = fmt.Errorf("sync %s: %w", l.files.Path(at), err)
			l.fail(err)
			return err
		}
		// Everything written to this file before is durable, what the caller did not ask for, too.
		at = min(l.files.Start(at)+l.cfg.FileSize, end)
		l.flushed.Store(at)
		if at == end {
			l.flushTime.Store(newest)
		}
	}
	return nil
}

// expire tells those who have been waiting for the disk for too long, and looks again while it hangs.
func (l *Log) expire() {
	select {
	case <-l.done:
		return
	default:
	}
	limit := time.Since(l.epoch) - l.cfg.SyncTimeout
	overdue := func(e *Entry) bool { return e.start <= limit }
	if g := l.inFlight.Load(); g != nil && g.tell.TryLock() {
		if !g.told && l.inFlight.Load() == g {
			l.tellSome(g, FlushDiskTimeout, nil, overdue)
		}
		g.tell.Unlock()
	}
	l.mu.Lock()
	var waiters []Waiter
	var told []Appended
	if l.pending != nil {
		for i := range l.pending.entries {
			if e := &l.pending.entries[i]; e.waiter != nil && overdue(e) {
				waiters = append(waiters, e.waiter)
				told = append(told, Appended{Status: FlushDiskTimeout, PhysicalOffset: e.PhysicalOffset, QueueOffset: e.QueueOffset,
					StoreTimestamp: e.StoreTimestamp, Count: int(e.count), PhysicalOffsets: append([]int64(nil), l.pending.physical(i, int(e.count))...)})
				e.waiter = nil
			}
		}
	}
	l.mu.Unlock()
	for i, w := range waiters {
		w.Appended(&told[i])
	}
	for _, w := range waiters {
		w.Flush()
	}
	if l.inFlight.Load() != nil {
		time.AfterFunc(l.cfg.SyncTimeout/10, l.expire)
	}
}

// flushLoop syncs the log now and then (async flush). It sleeps while nothing is written.
func (l *Log) flushLoop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	last := time.Now() // of the last sync
	for {
		select {
		case <-l.done:
			return
		case <-l.flush:
		}
		for {
			timer.Reset(l.cfg.FlushInterval)
			select {
			case <-l.done:
				return
			case <-timer.C:
			}
			end := l.written.Load()
			if end-l.flushed.Load() < l.cfg.FlushLeast && time.Since(last) < l.cfg.FlushThorough {
				continue
			}
			l.flushing.Store(false) // what is written from here on wakes the loop again
			if l.SyncTo(end) != nil {
				return
			}
			last = time.Now()
			break
		}
	}
}
