// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Save writes the units that are in memory to the files. They are durable after a sync. One goroutine saves a queue at
// a time; a second one returns at once.
func (q *Queue) Save() error {
	q.mu.Lock()
	if q.saving || q.removed || len(q.units) == 0 {
		q.mu.Unlock()
		return nil
	}
	q.saving = true
	units, from, first := q.units, q.saved, q.first
	var extra []byte
	var extraFrom int64
	if q.extras != nil {
		extra, extraFrom = q.extras.buf, q.extras.saved
	}
	q.mu.Unlock()

	err := q.saveExtras(extra, extraFrom) // first: no unit may be without
	if err == nil {
		err = q.write(units, from, first)
	}

	q.mu.Lock()
	defer q.mu.Unlock()
	q.saving = false
	if q.removed {
		q.forgetLocked()
		return nil
	}
	if err != nil {
		return fmt.Errorf("save queue %d of topic %s: %w", q.name.ID, q.name.Topic, err)
	}
	q.savedExtrasLocked(len(extra))
	q.saved += int64(len(units)) / q.set.unitSize
	q.set.unsaved.Add(-int64(len(units)))
	rest := q.units[len(units):]
	old := q.units
	q.units = nil
	if len(rest) > 0 {
		q.units = append(q.set.memory.take(len(rest)), rest...)
	}
	q.set.memory.give(old)
	return nil
}

// write writes units, the first of number from, file by file.
func (q *Queue) write(units []byte, from, first int64) error {
	for at := from * q.set.unitSize; len(units) > 0; {
		start := q.files.Start(at)
		if !q.files.Has(at) {
			if err := q.create(start); err != nil {
				return err
			}
			if at > start && from == first {
				if err := q.files.WriteAt(bytes.Repeat(q.set.layout.Append(nil, filler), int((at-start)/q.set.unitSize)), start); err != nil {
					return err
				}
			}
		}
		part := units[:min(int64(len(units)), start+q.set.fileSize-at)]
		if err := q.files.WriteAt(part, at); err != nil {
			return err
		}
		units = units[len(part):]
		at += int64(len(part))
	}
	return nil
}

func (q *Queue) create(start int64) error {
	q.mu.Lock()
	if q.removed {
		q.mu.Unlock()
		return ErrNoUnit
	}
	q.newNames = true
	q.mu.Unlock()
	return q.files.Create(start)
}

// Dirty tells whether the files hold something that is not known to be durable.
func (q *Queue) Dirty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.synced < q.saved || q.newNames || q.extras != nil && (q.extras.synced < q.extras.saved || q.extras.newNames)
}

// Sync makes durable what was saved.
func (q *Queue) Sync() error {
	q.mu.Lock()
	from, to, names := q.synced, q.saved, q.newNames
	if q.removed {
		q.mu.Unlock()
		return nil
	}
	q.newNames = false
	var e extras // as they are now
	if q.extras != nil {
		e.saved, e.synced, e.newNames = q.extras.saved, q.extras.synced, q.extras.newNames
		q.extras.newNames = false
	}
	q.mu.Unlock()

	var err error
	if e.synced < e.saved || e.newNames {
		err = q.syncExtras(e.synced, e.saved, e.newNames)
	}
	if err == nil {
		err = q.syncFiles(from, to, names)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil && !q.removed {
		q.newNames = q.newNames || names
		if q.extras != nil {
			q.extras.newNames = q.extras.newNames || e.newNames
		}
		return fmt.Errorf("sync queue %d of topic %s: %w", q.name.ID, q.name.Topic, err)
	}
	q.synced = max(q.synced, to)
	if q.extras != nil {
		q.extras.synced = max(q.extras.synced, e.saved)
	}
	return nil
}

func (q *Queue) syncFiles(from, to int64, names bool) error {
	for at := q.files.Start(from * q.set.unitSize); at < to*q.set.unitSize; at += q.set.fileSize {
		if !q.files.Has(at) {
			continue
		}
		if err := q.files.Datasync(at); err != nil {
			return err
		}
	}
	if !names {
		return nil
	}
	topic := filepath.Join(q.set.dir, q.name.Topic)
	for _, dir := range []string{filepath.Dir(q.files.Path(0)), topic, q.set.dir, filepath.Dir(q.set.dir)} {
		if err := q.set.handles.FS().SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Synced notes that the whole file system was synced after the last Save, by the goroutine that saves.
func (q *Queue) Synced() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.synced, q.newNames = q.saved, false
	if q.extras != nil {
		q.extras.synced, q.extras.newNames = q.extras.saved, false
	}
}

// Remove forgets all units; nothing is written any more. The files stay: see Set.RemoveTopic.
func (q *Queue) Remove() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.removed = true
	if !q.saving {
		q.forgetLocked()
	}
}

// Gone tells whether the queue was removed.
func (q *Queue) Gone() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.removed
}

// forgetLocked lets go of the memory of a removed queue.
func (q *Queue) forgetLocked() {
	q.set.unsaved.Add(-int64(len(q.units)))
	q.set.memory.give(q.units)
	q.saved = q.endLocked()
	q.units = nil
	if q.extras != nil {
		q.set.unsaved.Add(-int64(len(q.extras.buf)))
		q.extras.buf = nil
	}
}

// Shorten removes, durably, the files whose messages a log that begins at logMin has no more, but never the last file.
// It gives the number of units that were in them.
func (q *Queue) Shorten(logMin int64) (removed int64, err error) {
	starts := q.files.Starts()
	per := q.set.UnitsPerFile()
	for _, start := range starts[:max(len(starts)-1, 0)] {
		next := start/q.set.unitSize + per
		u, err := q.unit(next - 1)
		if err != nil || !u.Filler() && u.PhysicalOffset >= logMin {
			break
		}
		if u, err = q.unit(next); err != nil { // what the queue then begins with
			break
		}
		q.mu.Lock()
		if q.removed || q.saved < next {
			q.mu.Unlock()
			break
		}
		removed += next - q.firstInFileLocked()
		q.first = next
		q.base, _ = u.Offsets(next)
		q.mu.Unlock()
		if err := q.files.Remove(start); err != nil {
			return removed, fmt.Errorf("shorten queue %d of topic %s: %w", q.name.ID, q.name.Topic, err)
		}
	}
	if removed > 0 {
		err := q.files.SyncDirs()
		if err == nil {
			q.mu.Lock()
			first := q.first
			q.mu.Unlock()
			err = q.shortenExtras(first)
		}
		if err != nil {
			return removed, fmt.Errorf("shorten queue %d of topic %s: %w", q.name.ID, q.name.Topic, err)
		}
	}
	return removed, nil
}

// Files is the number of files that the queue has.
func (q *Queue) Files() int { return q.files.Len() }
