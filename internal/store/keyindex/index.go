// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package keyindex

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// Config of an index.
type Config struct {
	FS      faultfs.FS
	Dir     string
	Slots   int32 // hash slots of a file
	Entries int32 // numbers of entries of a file; number 0 is not used
	Tags    bool  // index the tags of messages, too, as RocketMQ 5.5 does
}

// Index is all index files of a store. Records are added by one goroutine; queries may run beside it.
type Index struct {
	cfg Config

	mu        sync.RWMutex
	files     []*file // ascending by name; the last one is the current one
	newNames  bool    // files were created or removed since the last sync
	unsettled bool    // see Unsettled
	lost      []int64 // names, as numbers, of files that Open could not use; see Whole
	scratch   []byte  // of whoever writes slots: the goroutine that adds
}

// Position is a state of the index that a checkpoint made durable.
type Position struct {
	File   int64 // name of the current file, as a number; 0: there is none
	Header Header
}

// Open lists the index files. What is no whole file, because of a crash while it was created or because it was cut, is
// removed.
func Open(cfg Config) (*Index, error) {
	x := &Index{cfg: cfg}
	entries, err := cfg.FS.ReadDir(cfg.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the key index: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || !isName(e.Name()) {
			continue
		}
		path := filepath.Join(cfg.Dir, e.Name())
		f, err := openFile(cfg.FS, path, e.Name(), cfg.Slots, cfg.Entries)
		if errors.Is(err, errNotWhole) {
			x.lost = append(x.lost, number(e.Name()))
			err = cfg.FS.Remove(path)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the key index: %w", err), x.Close())
		}
		if f != nil {
			x.files = append(x.files, f)
		}
	}
	return x, nil
}

// Whole tells whether there is what a checkpoint left at p: its file, and full ones before it. A first file that is missing
// is not seen here.
func (x *Index) Whole(p Position) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, lost := range x.lost {
		if lost <= p.File {
			return false
		}
	}
	for _, f := range x.files {
		if number(f.name) < p.File && f.head.Count < x.cfg.Entries {
			return false
		}
	}
	return p.File == 0 || slices.ContainsFunc(x.files, func(f *file) bool { return number(f.name) == p.File })
}

// Lost tells whether Open could not use some of the files.
func (x *Index) Lost() bool { return len(x.lost) > 0 }

// EndFits tells whether the last entry is that of the message added last, and is found by its slot: it is not when the
// end of the file was damaged. After Restore.
func (x *Index) EndFits() (bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.files) == 0 {
		return true, nil
	}
	f := x.files[len(x.files)-1]
	n := f.head.Count - 1
	if n < 1 {
		return true, nil
	}
	e, err := f.entry(n)
	if err != nil || e.Physical != f.head.EndPhysical || e.Hash < 0 || e.Before >= n {
		return false, err
	}
	newest, err := f.slot(e.Hash % f.slots)
	return newest == n, err
}

// Spans gives, file by file, the physical offsets of the first and the last message added.
func (x *Index) Spans() (spans [][2]int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, f := range x.files {
		spans = append(spans, [2]int64{f.head.BeginPhysical, f.head.EndPhysical})
	}
	return spans
}

const nameLayout = "20060102150405.000"

// nameDigits is the length of a file's name: the time of its creation, yyyyMMddHHmmssSSS.
const nameDigits = 17

func isName(name string) bool {
	_, err := strconv.ParseUint(name, 10, 63)
	return err == nil && len(name) == nameDigits
}

// Restore goes back to a position that a checkpoint made durable. What came later is added again from the log. clean:
// nothing did.
func (x *Index) Restore(p Position, clean bool) error {
	return x.keep(func(f *file) bool { return number(f.name) <= p.File }, &p, !clean)
}

// RestoreBefore goes back to the files whose last message was stored at ms or before: the rule for an index that
// another program was writing.
func (x *Index) RestoreBefore(ms int64) error {
	return x.keep(func(f *file) bool { return f.head.EndTime <= ms }, nil, true)
}

// Continue takes the index as it is.
func (x *Index) Continue() error { return x.keep(func(*file) bool { return true }, nil, false) }

// Clear removes everything.
func (x *Index) Clear() error { return x.keep(func(*file) bool { return false }, nil, false) }

// keep removes the files from the first one on that is not good, and prepares the last one to be filled.
func (x *Index) keep(good func(*file) bool, p *Position, crashed bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for n < len(x.files) && good(x.files[n]) {
		n++
	}
	for _, f := range slices.Backward(x.files[n:]) {
		if err := x.removeLocked(f); err != nil {
			return err
		}
	}
	x.files = x.files[:n]
	if n == 0 {
		return nil
	}
	last := x.files[n-1]
	if p != nil && number(last.name) == p.File {
		last.head = p.Header
	}
	last.fill(false)
	if x.unsettled = crashed; crashed {
		return last.settle()
	}
	return nil
}

// Unsettled tells whether the disk still holds what a restore took back; a checkpoint ends that.
func (x *Index) Unsettled() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.unsettled
}

func (x *Index) removeLocked(f *file) error {
	x.newNames = true
	f.f.Close()
	if err := x.cfg.FS.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove index %s: %w", f.path, err)
	}
	return nil
}

// Limit notes that the log was cut at end: messages at that place will be others.
func (x *Index) Limit(end int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.files); n > 0 {
		h := &x.files[n-1].head
		h.EndPhysical = min(h.EndPhysical, max(end-1, 0))
	}
}

// Empty tells whether there are no files.
func (x *Index) Empty() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.files) == 0
}

func number(name string) int64 {
	n, _ := strconv.ParseInt(name, 10, 64)
	return n
}

// Last gives the store time and physical offset of the message that was added last; zeros when there is none.
func (x *Index) Last() (storeTime, physical int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.files) == 0 {
		return 0, 0
	}
	h := &x.files[len(x.files)-1].head
	return h.EndTime, h.EndPhysical
}

var indexed = [...]string{message.PropUniqueKey, message.PropKeys, message.PropTags}

// Add adds the keys of a record: the unique one first, then each word of KEYS, then the tags. Records of rolled back
// transactions, and those before the last one added, are passed over.
func (x *Index) Add(r *message.Record) error {
	unique, keys, tags := x.wanted(r)
	if len(unique) == 0 && len(keys) == 0 && len(tags) == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.files); n > 0 && r.PhysicalOffset < x.files[n-1].head.EndPhysical {
		return nil
	}
	if len(unique) > 0 {
		if err := x.putLocked(r, unique, false); err != nil {
			return err
		}
	}
	for len(keys) > 0 {
		key, rest, _ := bytes.Cut(keys, []byte{' '})
		if keys = rest; len(key) == 0 {
			continue
		}
		if err := x.putLocked(r, key, false); err != nil {
			return err
		}
	}
	if len(tags) > 0 {
		return x.putLocked(r, tags, true)
	}
	return nil
}

// wanted gives what of a record is added.
func (x *Index) wanted(r *message.Record) (unique, keys, tags []byte) {
	if message.Transaction(r.SysFlag) == message.TransactionRollback {
		return nil, nil, nil
	}
	var values [len(indexed)][]byte
	message.FindProperties(r.Properties, indexed[:], values[:])
	unique, keys, tags = values[0], bytes.Trim(values[1], " "), values[2]
	if !x.cfg.Tags {
		tags = nil
	}
	return unique, keys, tags
}

// Wants tells whether Add would add something of a record.
func (x *Index) Wants(r *message.Record) bool {
	unique, keys, tags := x.wanted(r)
	return len(unique) > 0 || len(keys) > 0 || len(tags) > 0
}

func (x *Index) putLocked(r *message.Record, key []byte, tags bool) error {
	f, err := x.currentLocked()
	if err != nil {
		return err
	}
	return f.put(keyHash(r.Topic, key, tags), r.PhysicalOffset, r.StoreTimestamp)
}

// currentLocked gives the file to put into, a new one when the last one is full.
func (x *Index) currentLocked() (*file, error) {
	var last *file
	if n := len(x.files); n > 0 {
		last = x.files[n-1]
		if last.head.Count < x.cfg.Entries {
			return last, nil
		}
		if err := x.finishLocked(last); err != nil {
			return nil, err
		}
	}
	if err := x.cfg.FS.MkdirAll(x.cfg.Dir); err != nil {
		return nil, fmt.Errorf("create an index file: %w", err)
	}
	name := x.nextName(last)
	f, err := createFile(x.cfg.FS, filepath.Join(x.cfg.Dir, name), name, x.cfg.Slots, x.cfg.Entries)
	if err != nil {
		return nil, fmt.Errorf("create an index file: %w", err)
	}
	if last != nil {
		if last.head.EndPhysical > 0 {
			f.head.BeginPhysical, f.head.EndPhysical = last.head.EndPhysical, last.head.EndPhysical
		}
		if last.head.EndTime > 0 {
			f.head.BeginTime, f.head.EndTime = last.head.EndTime, last.head.EndTime
		}
	}
	x.files = append(x.files, f)
	x.newNames = true
	return f, nil
}

// finishLocked makes a full file durable, so that a checkpoint has to care for the current one only.
func (x *Index) finishLocked(f *file) error {
	if err := f.writeEntries(); err != nil {
		return err
	}
	if err := f.sync(); err != nil {
		return err
	}
	for {
		run, at := f.nextRun(x.scratch)
		if x.scratch = run; len(run) == 0 {
			break
		}
		if err := f.writeSlots(run, at); err != nil {
			f.remark(run, at)
			return err
		}
	}
	if err := f.writeHeader(f.head); err != nil {
		return err
	}
	if err := f.sync(); err != nil {
		return err
	}
	f.full()
	return nil
}

// nextName is the present time, or what comes after the last name when clocks or speed make that no larger.
func (x *Index) nextName(last *file) string {
	name := time.Now().Format(nameLayout)
	name = name[:14] + name[15:]
	if last != nil && name <= last.name {
		name = fmt.Sprintf("%0*d", nameDigits, number(last.name)+1)
	}
	return name
}

// Checkpoint makes everything that was added durable. It runs on the goroutine that adds: nothing is added meanwhile.
func (x *Index) Checkpoint() (Position, error) {
	x.mu.Lock()
	if len(x.files) == 0 {
		x.unsettled = false
		x.mu.Unlock()
		return Position{}, x.syncNames()
	}
	f := x.files[len(x.files)-1]
	err := f.writeEntries()
	x.mu.Unlock()
	if err == nil {
		err = f.sync()
	}
	if err == nil {
		err = x.writeTables(f)
	}
	if err == nil {
		err = x.syncNames()
	}
	if err != nil {
		return Position{}, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unsettled = false
	return Position{File: number(f.name), Header: f.head}, nil
}

// writeTables brings slots and header into the file, durably; the entries that they lead to are.
func (x *Index) writeTables(f *file) error {
	for {
		x.mu.Lock() // against queries, which read parts of the table in
		run, at := f.nextRun(x.scratch)
		x.scratch = run
		x.mu.Unlock()
		if len(run) == 0 {
			break
		}
		if err := f.writeSlots(run, at); err != nil {
			x.mu.Lock()
			f.remark(run, at)
			x.mu.Unlock()
			return err
		}
	}
	if err := f.writeHeader(f.head); err != nil {
		return err
	}
	return f.sync()
}

// syncNames makes created and removed names durable.
func (x *Index) syncNames() error {
	x.mu.Lock()
	names := x.newNames
	x.newNames = false
	x.mu.Unlock()
	if !names {
		return nil
	}
	for _, dir := range []string{x.cfg.Dir, filepath.Dir(x.cfg.Dir)} {
		if err := x.cfg.FS.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			x.mu.Lock()
			x.newNames = true
			x.mu.Unlock()
			return fmt.Errorf("sync the folder of the key index: %w", err)
		}
	}
	return nil
}

// Shorten removes files whose messages a log that begins at logMin has no more, but never the last one.
func (x *Index) Shorten(logMin int64) (removed int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.files) > 1 && x.files[0].head.EndPhysical < logMin {
		if err := x.removeLocked(x.files[0]); err != nil {
			return removed, err
		}
		x.files = slices.Delete(x.files, 0, 1)
		removed++
	}
	return removed, nil
}

// Bytes is about how much the files take on disk.
func (x *Index) Bytes() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	bytes := int64(0)
	for _, f := range x.files {
		bytes += HeaderSize + int64(f.slots)*slotSize + int64(f.head.Count)*entrySize
	}
	return bytes
}

// Close closes the files. What was added since the last checkpoint is added again at the next start.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for _, f := range x.files {
		errs = append(errs, f.f.Close())
	}
	x.files = nil
	return errors.Join(errs...)
}
