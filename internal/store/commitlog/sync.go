// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"errors"
	"fmt"
	"runtime"
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
		// Readers that are ready to run append first. On busy cores that makes the group larger, and a sync costs as
		// much work as a dozen messages; on idle ones it costs nothing.
		runtime.Gosched()
		g := l.take()
		if g == nil {
			return
		}
		l.inFlight.Store(g)
		err := l.syncGroup(g)
		l.inFlight.Store(nil)
		if err == nil {
			l.pass(g)
		}
	}
}

// syncGroup writes and syncs a group. With an error its waiters were told. Log.writing is held.
func (l *Log) syncGroup(g *group) error {
	if err := l.write(g); err != nil {
		l.writeFailed(g, err)
		return err
	}
	g.tell.Lock()
	l.tellSome(g, OK, nil, func(e *Entry) bool { return e.noWait })
	g.tell.Unlock()
	if err := l.SyncTo(g.end); err != nil {
		l.tell(g, ServiceNotAvailable, err)
		return err
	}
	return nil
}

// delivery is a synced group to be dispatched and told, or only a mark to be reached.
type delivery struct {
	g       *group
	reached chan struct{}
}

// handOver is from how many records on telling their senders takes longer than a sync.
const handOver = 256

// pass delivers a synced group. While there is more to sync another goroutine delivers a large group, so that the disk
// does not idle while sockets are written. A small one is delivered before the next sync, which then finds more to take
// along. Log.writing is held: groups pass in order.
func (l *Log) pass(g *group) {
	if l.passing.Load() == 0 && (l.waiting.Load() == 0 || len(g.entries) < handOver) {
		l.deliver(g, OK)
		return
	}
	l.passing.Add(1)
	l.deliveries <- delivery{g: g}
}

// deliverLoop delivers what pass gives it, until Close.
func (l *Log) deliverLoop() {
	for d := range l.deliveries {
		if d.g != nil {
			l.deliver(d.g, OK)
			l.passing.Add(-1)
		}
		if d.reached != nil {
			close(d.reached)
		}
	}
}

// awaitDeliveries waits until all groups that passed are delivered.
func (l *Log) awaitDeliveries() {
	d := delivery{reached: make(chan struct{})}
	l.deliveries <- d
	<-d.reached
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

// errNotWritten is told to those whose record had not even been written when their time was over.
var errNotWritten = errors.New("the disk did not take the message in time; it may still be stored")

// expire tells those who have been waiting for the disk for too long, and looks again while it hangs. A record that was
// written is in the log and will be delivered: FlushDiskTimeout. One that was not may never be, if the write fails: its
// sender must not take it for stored.
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
			if g.end <= l.written.Load() {
				l.tellSome(g, FlushDiskTimeout, nil, overdue)
			} else {
				l.tellSome(g, UnknownError, errNotWritten, overdue)
			}
		}
		g.tell.Unlock()
	}
	l.mu.Lock()
	var waiters []Waiter
	if l.pending != nil {
		for i := range l.pending.entries {
			if e := &l.pending.entries[i]; e.waiter != nil && overdue(e) {
				waiters = append(waiters, e.waiter)
				e.waiter = nil
			}
		}
	}
	l.mu.Unlock()
	for _, w := range waiters {
		l.Stats.Failed.Add(1)
		w.Appended(&Appended{Status: UnknownError, Err: errNotWritten})
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
