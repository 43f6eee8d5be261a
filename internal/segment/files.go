// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package segment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// ErrGone: no file holds the offset. Either it was removed, or the run never got there.
var ErrGone = errors.New("no file at this offset")

// SizeError tells that a file has another size than configured. A store cannot be opened with another file size than
// it was written with; nor when a file in its middle was cut.
type SizeError struct {
	Path       string
	Size, Want int64
}

func (e *SizeError) Error() string {
	if e.Size < e.Want {
		return fmt.Sprintf("%s has %d bytes, configured are %d: the file size of a store must not change; if the file was cut, restore it, or give it its size back to go on without what it held: truncate -s %d %s",
			e.Path, e.Size, e.Want, e.Want, e.Path)
	}
	return fmt.Sprintf("%s has %d bytes, configured are %d: the file size of a store must not change", e.Path, e.Size, e.Want)
}

// Files is a run of files of one size. Its methods may be called at the same time; to write where others read or
// remove is the caller's affair.
type Files struct {
	handles *Handles
	dirs    []string // a new file that begins at s belongs into dirs[s/size%turns]
	turns   int      // of the folders, the first ones; no files are made in the others
	size    int64

	mu     sync.RWMutex
	starts []int64       // of the files that are there, ascending
	where  map[int64]int // with several folders: which one holds a file
}

// Open lists the files of a run. A folder that does not exist is empty. An empty file at the end of the run, left by
// a crash while it was created, is removed. The last one that something was written to gets its size back if it is too
// short, because the size was not durable yet or because somebody cut it; what it lacked reads as zero. Names that are
// no offsets, and folders, are left alone.
func Open(handles *Handles, size int64, dirs ...string) (*Files, error) {
	return open(handles, size, false, dirs, nil)
}

// OpenBeside is Open for a run that has files in further folders, too, in which none are made any more.
func OpenBeside(handles *Handles, size int64, dirs, old []string) (*Files, error) {
	return open(handles, size, false, dirs, old)
}

// OpenDerived is Open for what can be made again: it removes files that are empty or were cut wherever they are, which may
// leave holes or take away what lies behind.
func OpenDerived(handles *Handles, size int64, dirs ...string) (*Files, error) {
	return open(handles, size, true, dirs, nil)
}

func open(handles *Handles, size int64, derived bool, dirs, old []string) (*Files, error) {
	f := &Files{handles: handles, dirs: slices.Concat(dirs, old), turns: len(dirs), size: size}
	dirs = f.dirs
	if len(dirs) > 1 {
		f.where = make(map[int64]int)
	}
	odd := make(map[int64]int64)
	for i, dir := range dirs {
		if err := f.list(i, dir, odd); err != nil {
			return nil, err
		}
	}
	slices.Sort(f.starts)
	whole := len(odd) < len(f.starts)
	for _, start := range slices.Backward(slices.Sorted(maps.Keys(odd))) {
		if !f.Has(start) {
			continue // removed with one before it
		}
		if err := f.mend(start, odd[start], derived, whole); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// mend removes an empty file or gives one that was cut its size back, if it is the last one that is used. Of a derived
// run a file that was cut is removed with those behind it; whole says that some have the right size.
func (f *Files) mend(start, bytes int64, derived, whole bool) error {
	wrong := &SizeError{f.path(start), bytes, f.size}
	if bytes > f.size {
		return wrong
	}
	if bytes == 0 && derived {
		return f.Remove(start)
	}
	later, used := false, false
	for _, other := range f.starts {
		if other <= start {
			continue
		}
		later = true
		var err error
		if used, err = f.used(other); err != nil {
			return err
		}
		if used {
			break
		}
	}
	switch {
	case used && derived && whole:
		_, err := f.RemoveFrom(start)
		return err
	case used:
		return wrong
	case bytes == 0 && !later:
		return f.Remove(start)
	}
	return f.lengthen(start)
}

// usedBytes at the start of a file tell whether something was written to it: no record and no unit of a queue begins
// with so many zeros.
const usedBytes = 16

func (f *Files) used(start int64) (bool, error) {
	file, err := f.handles.fs.Open(f.path(start), os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer file.Close()
	var b [usedBytes]byte
	if _, err := file.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return b != [usedBytes]byte{}, nil
}

// lengthen gives a file that was cut its size back.
func (f *Files) lengthen(start int64) error {
	path := f.path(start)
	file, err := f.handles.fs.Open(path, os.O_RDWR)
	if err != nil {
		return err
	}
	err = file.Truncate(f.size)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("give %s its size back: %w", path, err)
	}
	return nil
}

// list adds the files of one folder; odd gets the sizes of those that have another one than configured.
func (f *Files) list(i int, dir string, odd map[int64]int64) error {
	entries, err := f.handles.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, e := range entries {
		start, ok := ParseName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
		switch {
		case start%f.size != 0:
			return fmt.Errorf("%s: its name is no multiple of the configured file size %d", path, f.size)
		case info.Size() != f.size:
			odd[start] = info.Size()
		}
		if slices.Contains(f.starts, start) && len(f.dirs) > 1 {
			return fmt.Errorf("%s: a file of this name is in %s, too", path, f.dirs[f.where[start]])
		}
		f.starts = append(f.starts, start)
		if f.where != nil {
			f.where[start] = i
		}
	}
	return nil
}

// FileSize is the size of each file, bytes.
func (f *Files) FileSize() int64 { return f.size }

// Start is the offset of the file that holds off.
func (f *Files) Start(off int64) int64 { return off - off%f.size }

// Range gives the first offset of the first file and the end of the last one; ok is false when there are none.
func (f *Files) Range() (first, end int64, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if len(f.starts) == 0 {
		return 0, 0, false
	}
	return f.starts[0], f.starts[len(f.starts)-1] + f.size, true
}

// Len is the number of files.
func (f *Files) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.starts)
}

// Starts lists where the files begin, ascending.
func (f *Files) Starts() []int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Clone(f.starts)
}

// Has tells whether there is a file that holds off.
func (f *Files) Has(off int64) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, ok := slices.BinarySearch(f.starts, f.Start(off))
	return ok
}

// Holes lists the first missing offset of each gap between files. A healthy run has none.
func (f *Files) Holes() []int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var holes []int64
	for i := 1; i < len(f.starts); i++ {
		if end := f.starts[i-1] + f.size; end != f.starts[i] {
			holes = append(holes, end)
		}
	}
	return holes
}

func (f *Files) dir(start int64) string {
	if f.where == nil {
		return f.dirs[0]
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if i, ok := f.where[start]; ok {
		return f.dirs[i]
	}
	return f.dirs[start/f.size%int64(f.turns)]
}

func (f *Files) path(start int64) string { return filepath.Join(f.dir(start), Name(start)) }

// Path is where the file that holds off is, or would be.
func (f *Files) Path(off int64) string { return f.path(f.Start(off)) }

// with calls use with the open file that holds off.
func (f *Files) with(off int64, use func(h *handle, at int64) error) error {
	h, err := f.hold(off)
	if err != nil {
		return err
	}
	defer f.handles.release(h)
	return use(h, off-h.key.start)
}

func (f *Files) hold(off int64) (*handle, error) {
	if off < 0 || !f.Has(off) {
		return nil, ErrGone
	}
	h, err := f.handles.acquire(f, f.Start(off))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	return h, err
}

// ReadAt fills p from off. What reaches past the end of the file that holds off is not read: n is less than len(p),
// and the error io.EOF. ErrGone: no file holds off.
func (f *Files) ReadAt(p []byte, off int64) (n int, err error) {
	h, err := f.hold(off)
	if err != nil {
		return 0, err
	}
	defer f.handles.release(h)
	at := off - h.key.start
	if rest := f.size - at; int64(len(p)) > rest {
		n, err = h.file.ReadAt(p[:rest], at)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return h.file.ReadAt(p, at)
}

// WriteAt writes p at off; it must lie within one file that is there.
func (f *Files) WriteAt(p []byte, off int64) error {
	return f.with(off, func(h *handle, at int64) error {
		if at+int64(len(p)) > f.size {
			return fmt.Errorf("write %d bytes at %d of %s: past its end", len(p), at, f.path(h.key.start))
		}
		_, err := h.file.WriteAt(p, at)
		return err
	})
}

// Create makes the file that holds off, in its final size, and its folder. It syncs neither the file nor the folder.
func (f *Files) Create(off int64) error {
	start := f.Start(off)
	if f.Has(start) {
		return nil
	}
	dir := f.dir(start)
	if err := f.handles.fs.MkdirAll(dir); err != nil {
		return err
	}
	file, err := f.handles.fs.Open(filepath.Join(dir, Name(start)), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	err = file.Truncate(f.size)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i, ok := slices.BinarySearch(f.starts, start); !ok {
		f.starts = slices.Insert(f.starts, i, start)
		if f.where != nil {
			f.where[start] = slices.Index(f.dirs, dir)
		}
	}
	return nil
}

// SyncDirs makes created and removed names durable.
func (f *Files) SyncDirs() error {
	for _, dir := range f.dirs {
		if err := f.handles.fs.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Allocate reserves the blocks of [off, off+n), which must lie within one file.
func (f *Files) Allocate(off, n int64) error {
	return f.with(off, func(h *handle, at int64) error { return h.file.Allocate(at, n) })
}

// Zero makes [off, off+n), within one file, read as zero.
func (f *Files) Zero(off, n int64) error {
	return f.with(off, func(h *handle, at int64) error { return h.file.Zero(at, n) })
}

// DataEnd is the offset of the first hole in the file that holds off; its end when it has none.
func (f *Files) DataEnd(off int64) (end int64, err error) {
	err = f.with(off, func(h *handle, _ int64) error {
		n, err := h.file.DataEnd()
		end = h.key.start + min(n, f.size)
		return err
	})
	return end, err
}

// Datasync makes the contents of the file that holds off durable.
func (f *Files) Datasync(off int64) error {
	return f.with(off, func(h *handle, _ int64) error { return h.file.Datasync() })
}

// Modified is when the file that holds off was written last, ms since 1970, by the file system's word.
func (f *Files) Modified(off int64) (ms int64, err error) {
	info, err := f.handles.fs.Stat(f.Path(off))
	if err != nil {
		return 0, err
	}
	return info.ModTime().UnixMilli(), nil
}

// Remove removes the file that holds off. It does not sync the folder.
func (f *Files) Remove(off int64) error {
	start := f.Start(off)
	path := f.path(start)
	f.mu.Lock()
	if i, ok := slices.BinarySearch(f.starts, start); ok {
		f.starts = slices.Delete(f.starts, i, i+1)
	}
	f.mu.Unlock()
	f.handles.drop(f, start)
	if err := f.handles.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.where != nil {
		f.mu.Lock()
		delete(f.where, start)
		f.mu.Unlock()
	}
	return nil
}

// RemoveFrom removes all files that begin at off or above, the last one first, so that a crash leaves no gap.
func (f *Files) RemoveFrom(off int64) (removed int, err error) {
	for _, start := range slices.Backward(f.Starts()) {
		if start < off {
			break
		}
		if err := f.Remove(start); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
