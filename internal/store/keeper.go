// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

// keeper saves queues and makes checkpoints: states from which recovery can start.
type keeper struct {
	pulse  pulse
	marked atomic.Int64 // records below are durable in their queues, and the checkpoint says so
	enough atomic.Int64 // bytes of log above marked that make a checkpoint due

	mu       sync.Mutex // one checkpoint at a time; guards what follows
	file     *checkpoint
	last     time.Time           // of the last checkpoint
	unsynced map[*queue]struct{} // saved since they were synced
	confirm  int64               // start of the last record at the start; 0: there was none
	failed   time.Time           // when a failure was logged
}

const (
	keepEvery    = time.Second
	saveAllAt    = 8 << 20  // bytes of unsaved units that are all right; after twice as many all queues are saved,
	refuseAt     = 64 << 20 // and after which nothing is accepted: they cannot be saved
	syncSingly   = 64       // files synced one by one; for more the whole file system is
	scanBack     = 16 << 20 // bytes below a checkpoint that recovery looks at again
	perQueue     = 64 << 10 // bytes of log that each queue to be saved is worth waiting for
	mostUnmarked = 1 << 30  // but not more than this
)

// touch is called after each group of records, with the log's end.
func (k *keeper) touch(s *Store, end int64) {
	if end-k.marked.Load() >= k.enough.Load() || s.unsaved() >= 2*saveAllAt {
		k.pulse.parked.Store(false)
		k.pulse.hurry()
		return
	}
	k.pulse.touch()
}

func (k *keeper) run(ctx context.Context, s *Store) {
	k.pulse.run(ctx, func() time.Duration { return k.work(s) })
}

// work saves what is worth it, and makes a checkpoint when one is due.
func (k *keeper) work(s *Store) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.save(s, s.takeLarge())
	due := k.due(s)
	if err == nil && !due && s.unsaved() >= 2*saveAllAt {
		err = k.save(s, s.takeDirty())
	}
	if err == nil && due {
		err = k.checkpoint(s, false)
	} else if err == nil {
		err = k.note(s)
	}
	s.refuseFor(&s.disk.queues, k.unsaved(s, err))
	if err != nil && time.Since(k.failed) > 10*time.Second {
		k.failed = time.Now()
		s.logger.Warn("cannot save consume queues; messages are safe in the log", "err", err)
	}
	if err == nil && k.settled(s) {
		return 0
	}
	return keepEvery
}

// unsaved is the reason to refuse messages when queues cannot be saved and memory runs out.
func (k *keeper) unsaved(s *Store, err error) error {
	if err == nil || s.unsaved() < refuseAt {
		return nil
	}
	return fmt.Errorf("consume queues cannot be saved: %w", err)
}

// due tells whether it is time for a checkpoint: so much was written that reading it again would take long, or so
// much time has passed. With many queues to save it is worth waiting for more.
func (k *keeper) due(s *Store) bool {
	s.dispatching.Lock()
	end, dirty := s.dispatched.end, len(s.dispatched.dirty)
	s.dispatched.saveAt = max(min(saveAllAt/max(dirty, 1), mostSaveAt), leastSaveAt)
	s.dispatching.Unlock()
	cfg := s.config()
	behind := end - k.marked.Load()
	enough := max(cfg.Flushing.CheckpointBytes, min(int64(dirty)*perQueue, mostUnmarked))
	k.enough.Store(enough)
	return behind >= enough || behind > 0 && time.Since(k.last) >= cfg.Flushing.QueueThorough
}

// settled tells whether the checkpoint says all there is to say.
func (k *keeper) settled(s *Store) bool {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	flushed, _ := s.log.Flushed()
	return s.dispatched.end == k.marked.Load() && flushed == k.file.mark.Flushed
}

// note writes down how far the log is durable, so that damage below is told from a torn end.
func (k *keeper) note(s *Store) error {
	flushed, _ := s.log.Flushed()
	if flushed == k.file.mark.Flushed || k.file.mark.Number == 0 {
		return nil
	}
	m := k.file.mark
	m.Flushed, m.Clean = flushed, false
	return k.file.note(m)
}

// save saves queues; those that fail are listed again.
func (k *keeper) save(s *Store, list []*queue) error {
	var first error
	for _, q := range list {
		if first == nil {
			if first = q.Save(); first == nil {
				k.unsynced[q] = struct{}{}
				continue
			}
		}
		s.dispatching.Lock()
		s.listLocked(q, mostSaveAt)
		s.dispatching.Unlock()
	}
	return first
}

// takeDirty takes the list of all queues with units to save.
func (s *Store) takeDirty() []*queue {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	return s.takeDirtyLocked()
}

func (s *Store) takeDirtyLocked() []*queue {
	d := &s.dispatched
	list := d.dirty
	d.dirty, d.large = nil, nil
	for _, q := range list {
		q.listed, q.large = false, false
	}
	return list
}

// checkpoint makes a checkpoint now; with final it is the last one, of a store that is closed.
func (s *Store) checkpoint(final bool) error {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	return s.keeper.checkpoint(s, final)
}

// checkpoint saves and syncs everything that was derived from the records dispatched so far and writes down that it
// did. k.mu is held.
func (k *keeper) checkpoint(s *Store, final bool) error {
	k.last = time.Now()
	if final && s.index != nil {
		if err := s.index.close(); err != nil {
			return err
		}
	}
	s.dispatching.Lock()
	d := s.dispatched
	m := mark{Dispatched: d.end, Clean: final}
	m.Queues, m.Units = s.countUnits()
	dirty := s.takeDirtyLocked()
	s.dispatching.Unlock()

	if err := k.persist(s, dirty, d.end); err != nil {
		return err
	}
	f := k.file.foreign
	var logTime int64
	if m.Flushed, logTime = s.log.Flushed(); logTime > 0 {
		f.LogTime = logTime
	}
	f.Confirm = max(f.Confirm, k.confirm)
	if d.time > 0 {
		f.QueueTime, f.QueuePhysical = d.time, d.last
	}
	if s.index != nil {
		m.Index, m.IndexPos = s.index.durable()
		f.IndexTime = m.Index.Header.EndTime
	} else {
		m.Index, m.IndexPos = k.file.mark.Index, d.end
	}
	m.ScanFrom = s.scanFrom(d.end)
	if err := k.file.write(f, m); err != nil {
		return err
	}
	k.marked.Store(d.end)
	return nil
}

// persist makes the log durable up to end and saves and syncs queues.
func (k *keeper) persist(s *Store, dirty []*queue, end int64) error {
	if err := s.log.SyncTo(end); err != nil {
		return errors.Join(err, k.save(s, dirty))
	}
	if err := k.save(s, dirty); err != nil {
		return err
	}
	if len(k.unsynced) > syncSingly {
		if err := k.syncAll(s); err != nil {
			return fmt.Errorf("sync the consume queues: %w", err)
		}
		for q := range k.unsynced {
			q.Synced()
		}
	} else {
		for q := range k.unsynced {
			if err := q.Sync(); err != nil {
				return err
			}
		}
	}
	clear(k.unsynced)
	return nil
}

// syncAll syncs the whole file systems of the queues.
func (k *keeper) syncAll(s *Store) error {
	var used [len(s.sets)]bool
	for q := range k.unsynced {
		used[q.Layout()] = true
	}
	for layout, set := range s.sets {
		if !used[layout] {
			continue
		}
		if err := s.fs.SyncAll(set.Dir()); err != nil {
			return err
		}
		if dir := set.ExtraDir(); dir != "" {
			if err := s.fs.SyncAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// countUnits counts the queues with messages, and their units: sums that tell at the next start whether any is missing
// or short. No group is being dispatched.
func (s *Store) countUnits() (queues, units int64) {
	s.queuesMu.RLock()
	defer s.queuesMu.RUnlock()
	for _, q := range s.queues {
		if n := q.Len(); n > 0 {
			queues++
			units += n
		}
	}
	return queues, units
}

// shorten removes files of a queue whose messages the log does not have any more, and takes their units off the mark:
// the next start would miss them.
func (k *keeper) shorten(q *queue, logMin int64) (removed int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if removed, err = q.Shorten(logMin); removed == 0 || k.file.mark.Number == 0 {
		return removed, err
	}
	m := k.file.mark
	m.Units -= removed
	return removed, errors.Join(err, k.file.note(m), k.file.file.Datasync())
}

// scanFrom chooses where a recovery that starts from a checkpoint at end begins to look at the log: some way back, so
// that damage of the last records is seen though they are in the queues already.
func (s *Store) scanFrom(end int64) int64 {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	d := &s.dispatched
	for len(d.start) > 1 && d.start[1] <= end-scanBack {
		d.start = d.start[1:]
	}
	if len(d.start) == 0 {
		return end
	}
	return max(d.start[0], s.log.Min())
}

// restart makes a checkpoint at end, before the store takes messages, that replaces all that came before.
func (k *keeper) restart(s *Store, end int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.dispatching.Lock()
	d := s.dispatched
	m := mark{Dispatched: end, Flushed: end}
	m.Queues, m.Units = s.countUnits()
	dirty := s.takeDirtyLocked()
	s.dispatching.Unlock()
	if err := k.persist(s, dirty, 0); err != nil {
		return err
	}
	f := k.file.foreign
	f.QueueTime, f.QueuePhysical, f.Confirm = d.time, d.last, k.confirm
	if s.index != nil {
		// The index is what it was; records that it has are not added twice.
		m.IndexPos = s.index.pos.Load()
		var err error
		if m.Index, err = s.index.x.Checkpoint(); err != nil {
			return err
		}
		s.index.begin(m.IndexPos, m.Index)
		f.IndexTime = m.Index.Header.EndTime
	} else {
		m.IndexPos = end
	}
	m.ScanFrom = s.scanFrom(end)
	if err := k.file.writeBoth(f, m); err != nil {
		return err
	}
	k.marked.Store(end)
	return nil
}
