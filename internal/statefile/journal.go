// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package statefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Suffixes of a table's journal files.
const (
	journalSuffix    = ".journal"     // changes since the file was written
	oldJournalSuffix = ".journal.old" // the changes between the generation before and the file
)

// ErrJournalClosed is what Append gives after Close.
var ErrJournalClosed = errors.New("statefile: journal is closed")

// Journal is a list of changes beside a state file, so that one change costs one
// short write and not the whole file: with 20,000 topics the difference between a
// millisecond and a quarter of a second for each new one.
//
//	topics.json               generation n
//	topics.json.journal       changes since generation n
//	topics.json.bak           generation n-1
//	topics.json.journal.old   changes between n-1 and n
//
// A table is read as the file, then both journals, the old one first; its owner
// skips the changes that the file already holds (they carry the table's version).
// So the generation before and the two journals are as good as the file.
//
// Each record is its length and CRC-32 (4 bytes each, big endian) and its bytes. A
// record that is cut short or does not match ends the journal: it was being written
// when the process died, and nobody was told that it was kept. If whole records
// follow it, it was whole once, too, and is damaged: it is passed over and told of.
type Journal struct {
	path    string // of the state file
	damaged error

	// mu is never held while the disk works: owners append with their table locked.
	mu     sync.Mutex
	cond   sync.Cond
	f      *os.File
	bytes  int64 // of whole records in f, synced
	buf    []byte
	spare  []byte
	queued uint64 // number of the last record given to Append
	busy   bool   // somebody works on the files just now, without the lock
	// err is what the disk said. From then on records are not taken: only a whole
	// file that holds the lost ones (up to number lost) ends this state.
	err    error
	lost   uint64
	closed bool

	// synced: records up to this number are on disk, here or in the file. Written with mu held.
	synced atomic.Uint64
}

// OpenJournal opens the journal beside the state file at path and gives each whole
// record of the old and of the current journal, in order, to replay.
func OpenJournal(path string, replay func(record []byte) error) (*Journal, error) {
	j := &Journal{path: path}
	j.cond.L = &j.mu
	for _, suffix := range []string{oldJournalSuffix, journalSuffix} {
		n, damaged, err := replayFile(path+suffix, replay)
		if err != nil {
			return nil, err
		}
		j.bytes = n
		j.damaged = errors.Join(j.damaged, damaged)
	}
	f, err := os.OpenFile(path+journalSuffix, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal of %s: %w", path, err)
	}
	if err := settle(f, j.bytes); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("cut journal of %s: %w", path, err)
	}
	j.f = f
	return j, nil
}

// settle cuts a journal behind its last whole record and makes it durable with its name. A process that was killed may
// have left records, and names of this folder, in memory only; now that they were read they count.
func settle(f *os.File, size int64) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.Name()))
}

// Damaged tells which parts of the journal could not be read though changes follow them: what they held is lost.
func (j *Journal) Damaged() error { return j.damaged }

// replayFile gives the length of the part that holds whole records, and what is damaged in it.
func replayFile(path string, replay func([]byte) error) (whole int64, damaged, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	for at := int64(0); ; {
		record, n := nextRecord(b[at:])
		if n == 0 {
			next := nextWhole(b, at+1)
			if next < 0 {
				return whole, damaged, nil
			}
			damaged = errors.Join(damaged, fmt.Errorf("%s: %d bytes from byte %d on are damaged", path, next-at, at))
			at = next
			continue
		}
		if err := replay(record); err != nil {
			return 0, nil, fmt.Errorf("%s, record at byte %d: %w", path, at, err)
		}
		at += int64(n)
		whole = at
	}
}

// mostLookedFor is the size of the largest record that is looked for behind damage. Topics and groups take less, and
// noise that reads like a size costs a checksum of so many bytes.
const mostLookedFor = 256 << 10

// nextWhole gives the place of the first whole record at or behind a place, -1 when there is none.
func nextWhole(b []byte, at int64) int64 {
	for ; at+recordHead < int64(len(b)); at++ {
		if binary.BigEndian.Uint32(b[at:]) > mostLookedFor {
			continue
		}
		if _, n := nextRecord(b[at:]); n > 0 {
			return at
		}
	}
	return -1
}

const recordHead = 8

// nextRecord gives the first record of b and how many bytes it takes, 0 when there
// is no whole one.
func nextRecord(b []byte) ([]byte, int) {
	if len(b) < recordHead {
		return nil, 0
	}
	size := int64(binary.BigEndian.Uint32(b))
	if size == 0 || size > int64(len(b)-recordHead) {
		return nil, 0
	}
	record := b[recordHead : recordHead+size]
	if crc32.ChecksumIEEE(record) != binary.BigEndian.Uint32(b[4:]) {
		return nil, 0
	}
	return record, recordHead + int(size)
}

func appendRecord(dst, record []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(record)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(record))
	return append(dst, record...)
}

// Append queues a record and gives its number for Wait; it does not wait itself. The
// change must have been made in memory before, or the owner holds a lock until it is
// that encode of Rewrite takes, too.
func (j *Journal) Append(record []byte) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.queued++
	if j.err != nil {
		j.lost = j.queued
		return j.queued
	}
	j.buf = appendRecord(j.buf, record)
	return j.queued
}

// Wait returns when record number n is on disk. Those who wait at the same time
// share one write and one sync. An error says that the change may not survive a
// crash.
func (j *Journal) Wait(n uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.synced.Load() < n {
		switch {
		case j.err != nil:
			return j.err
		case j.closed:
			return ErrJournalClosed
		case j.busy:
			j.cond.Wait()
		default:
			j.flushLocked()
		}
	}
	return nil
}

// Kept tells whether record number n is on disk. It takes no lock.
func (j *Journal) Kept(n uint64) bool { return n <= j.synced.Load() }

// Flush waits until everything queued so far is on disk.
func (j *Journal) Flush() error {
	j.mu.Lock()
	n := j.queued
	j.mu.Unlock()
	return j.Wait(n)
}

// flushLocked writes and syncs what is queued; the lock is free meanwhile.
func (j *Journal) flushLocked() {
	out, f, at, upTo := j.buf, j.f, j.bytes, j.queued
	j.buf, j.spare = j.spare[:0], nil
	j.busy = true
	j.mu.Unlock()
	_, err := f.WriteAt(out, at)
	if err == nil {
		err = f.Sync()
	}
	j.mu.Lock()
	j.busy = false
	j.spare = out[:0]
	if err == nil {
		j.bytes += int64(len(out))
		j.synced.Store(upTo)
	} else {
		j.failLocked(fmt.Errorf("write journal of %s: %w", j.path, err))
	}
	j.cond.Broadcast()
}

// failLocked gives up what is queued: only a whole file can hold it now.
func (j *Journal) failLocked(err error) {
	j.err = err
	j.buf, j.lost = j.buf[:0], j.queued
}

// Rewrite replaces the state file by what encode gives and drops the changes that
// it holds from the journal. Changes are made in memory first and appended then;
// encode is called after the journal's place was noted, so whatever stands before
// that place is in what encode sees. What is appended meanwhile stays.
// One Rewrite at a time.
func (j *Journal) Rewrite(encode func() []byte) error {
	upTo, place := j.mark()
	if err := Write(j.path, encode()); err != nil {
		return err
	}
	j.mu.Lock()
	j.synced.Store(max(j.synced.Load(), upTo))
	if j.lost <= upTo {
		j.err = nil
	}
	j.cond.Broadcast()
	j.mu.Unlock()
	return j.cut(place)
}

// mark gives the number of a record and the place in the journal behind it, such
// that this record and those before it are made in memory.
func (j *Journal) mark() (upTo uint64, place int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.busy {
		j.cond.Wait()
	}
	if len(j.buf) > 0 && j.err == nil && !j.closed {
		j.flushLocked()
	}
	if j.err != nil {
		return j.queued, j.bytes
	}
	return j.synced.Load(), j.bytes
}

// cut makes the journal up to place the old one and begins a new one with the rest. There is a journal at any moment;
// one that holds too much does no harm. What is appended meanwhile waits for the new one.
func (j *Journal) cut(place int64) error {
	j.mu.Lock()
	for j.busy {
		j.cond.Wait()
	}
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	old, size := j.f, j.bytes
	j.busy = true
	j.mu.Unlock()

	next, err := j.begin(old, place, size)
	if err != nil {
		err = fmt.Errorf("begin journal of %s: %w", j.path, err)
	}
	j.mu.Lock()
	j.busy = false
	if next != nil {
		j.f, j.bytes = next, size-place
		if err != nil {
			j.failLocked(err)
		}
	}
	j.cond.Broadcast()
	j.mu.Unlock()
	if next != nil {
		_ = old.Close()
	}
	return err
}

// begin makes a journal of the bytes of old from place to size and puts it in the place of old, which becomes the old
// one. A file and an error together: it is there, but a crash may leave the old one in its place.
func (j *Journal) begin(old *os.File, place, size int64) (*os.File, error) {
	rest := make([]byte, size-place)
	if _, err := old.ReadAt(rest, place); err != nil {
		return nil, err
	}
	current, before := j.path+journalSuffix, j.path+oldJournalSuffix
	if err := writeSynced(current+tempSuffix, rest); err != nil {
		return nil, err
	}
	next, err := os.OpenFile(current+tempSuffix, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	// A file system without links keeps no old journal; then only a damaged file
	// costs what was changed since the generation before.
	os.Remove(before + tempSuffix)
	if os.Link(current, before+tempSuffix) == nil {
		err = os.Rename(before+tempSuffix, before)
	} else {
		os.Remove(before)
	}
	if err == nil {
		err = os.Rename(current+tempSuffix, current)
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, syncDir(filepath.Dir(j.path))
}

// Bytes tells how long the journal is.
func (j *Journal) Bytes() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bytes + int64(len(j.buf))
}

// Close waits for what is queued and closes the journal; waiters are released.
func (j *Journal) Close() error {
	err := j.Flush()
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.busy {
		j.cond.Wait()
	}
	if j.closed {
		return nil
	}
	j.closed = true
	j.cond.Broadcast()
	return errors.Join(err, j.f.Close())
}
