// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Rounds that one caller of Commit writes for others before somebody else has to.
const commitRounds = 8

// Commit writes what was appended so far, or leaves it to whoever is writing at the moment and will look again.
// With sync flush it wakes the goroutine that does it.
func (l *Log) Commit() {
	if l.cfg.Sync {
		if l.waiting.Load() > 0 {
			notify(l.kick)
		}
		return
	}
	// Who finds the lock taken may leave: its holder looks for pending records once more after it let go. What was
	// appended before that look is seen by it, what is appended later has its own Commit to come.
	for round := 0; l.waiting.Load() > 0; round++ {
		if round == commitRounds {
			notify(l.hand)
			return
		}
		if !l.writing.TryLock() {
			return
		}
		if g := l.take(); g != nil {
			l.finish(g)
		}
		l.writing.Unlock()
	}
}

// finish writes a group, dispatches it and tells its waiters. Log.writing is held.
func (l *Log) finish(g *group) {
	if err := l.write(g); err != nil {
		l.writeFailed(g, err)
		return
	}
	l.deliver(g, OK)
	if !l.flushing.Load() && l.flushing.CompareAndSwap(false, true) {
		notify(l.flush)
	}
}

// deliver makes a group visible and tells who waits for it.
func (l *Log) deliver(g *group, status Status) {
	l.confirmed.Store(g.end)
	l.cfg.Dispatch(g.entries, g.end)
	l.tell(g, status, nil)
	l.delivered.Store(g.end)
	l.giveBack(g)
}

// write brings the bytes of a group into the files.
func (l *Log) write(g *group) error {
	l.writeFrom.Store(max(int64(time.Since(l.epoch)), 1))
	defer l.writeFrom.Store(0)
	if g.end > l.reserved.Load() {
		if err := l.reserve(g.end); err != nil {
			return err
		}
	}
	if g.end > l.reserved.Load()-l.cfg.Ahead/2 {
		notify(l.extend)
	}
	for _, s := range g.spans {
		if err := l.files.WriteAt(s.chunk.mem[s.from:s.to], s.chunk.base.Load()+int64(s.from)); err != nil {
			return fmt.Errorf("write the commit log at %d: %w", s.chunk.base.Load()+int64(s.from), err)
		}
	}
	for _, s := range g.spans {
		s.chunk.n.Store(int64(s.to))
	}
	l.written.Store(g.end)
	l.lastTime.Store(g.entries[len(g.entries)-1].StoreTimestamp)
	return nil
}

// writeFailed answers a group that could not be written. When the disk is full the group, and what was appended since,
// is taken back: nobody was told of it, nothing of it is visible.
func (l *Log) writeFailed(g *group, err error) {
	if !noSpace(err) {
		l.fail(err)
		l.tell(g, ServiceNotAvailable, err)
		return
	}
	full := fmt.Errorf("%w: %w", ErrNoSpace, err)
	l.mu.Lock()
	late := l.takeLocked()
	if l.refuse == nil {
		l.refuse = full
	}
	for _, undo := range []*group{late, g} {
		if undo == nil {
			continue
		}
		for i := len(undo.entries) - 1; i >= 0; i-- {
			e := &undo.entries[i]
			if !e.Queued {
				continue
			}
			e.Counter.next = e.QueueOffset
			if e.Lights != nil {
				e.Lights.takeBackLocked()
			}
		}
	}
	l.pos = g.begin
	l.chunk = l.tail.rewind(g.begin)
	l.mu.Unlock()
	l.cfg.Logger.Error("the disk is full: messages are refused until there is space", "err", err)
	l.tell(g, ServiceNotAvailable, full)
	if late != nil {
		l.tell(late, ServiceNotAvailable, full)
	}
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// tell tells all waiters of a group that were not told yet.
func (l *Log) tell(g *group, status Status, err error) {
	g.tell.Lock()
	defer g.tell.Unlock()
	l.tellSome(g, status, err, func(*Entry) bool { return true })
	g.told = true
}

// tellSome tells the waiters that which chooses. The group's tell lock is held.
func (l *Log) tellSome(g *group, status Status, err error, which func(*Entry) bool) {
	now := time.Since(l.epoch)
	for i := range g.entries {
		e := &g.entries[i]
		if e.waiter == nil || !which(e) {
			continue
		}
		a := &g.answer
		*a = Appended{Status: status, Err: err, Together: len(g.entries)}
		if status == OK || status == FlushDiskTimeout {
			a.PhysicalOffset, a.QueueOffset, a.StoreTimestamp, a.Count = e.PhysicalOffset, e.QueueOffset, e.StoreTimestamp, int(max(e.count, e.Messages))
			if e.count > 1 {
				a.PhysicalOffsets = g.physical(i, int(e.count))
			}
			l.Stats.stored(a.Count, g.bytes(i, int(e.count)), now-e.start)
		} else {
			l.Stats.Failed.Add(1)
		}
		e.waiter.Appended(a)
	}
	for i := range g.entries {
		e := &g.entries[i]
		if e.waiter == nil || !which(e) {
			continue
		}
		e.waiter.Flush()
		e.waiter = nil
	}
}

func (g *group) physical(i, count int) []int64 {
	g.offsets = g.offsets[:0]
	for _, e := range g.entries[i : i+count] {
		g.offsets = append(g.offsets, e.PhysicalOffset)
	}
	return g.offsets
}

func (g *group) bytes(i, count int) int64 {
	var n int64
	for _, e := range g.entries[i : i+count] {
		n += int64(len(e.Record))
	}
	return n
}

// tickEvery is how long a record may wait for a Commit that its appender forgot.
const tickEvery = 5 * time.Millisecond

// tickLoop commits what nobody commits. It sleeps while nothing is appended.
func (l *Log) tickLoop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-l.hand:
			l.Commit()
			continue
		case <-l.tick:
		}
		timer.Reset(tickEvery)
		select {
		case <-l.done:
			return
		case <-l.hand:
		case <-timer.C:
		}
		l.ticking.Store(false) // what is appended from here on wakes the loop again
		l.Commit()
	}
}

// Drain returns when all that was appended before is dispatched and its waiters are told.
func (l *Log) Drain() {
	if l.cfg.Sync {
		l.syncAll()
		l.awaitDeliveries()
		return
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if g := l.take(); g != nil {
		l.finish(g)
	}
}
