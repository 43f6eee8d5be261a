// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package segment

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/goddard-mq/goddard/internal/faultfs"
)

// Handles keeps files open for reuse, and closes the ones that were not used for longest.
type Handles struct {
	fs    faultfs.FS
	limit int

	mu     sync.Mutex
	closed bool
	open   map[handleKey]*handle
	idle   handle // ring of handles nobody uses; idle.next was used last
	n      int    // length of that ring
}

type handleKey struct {
	files *Files
	start int64
}

// handle is one open file. refs, gone, prev and next are guarded by Handles.mu.
type handle struct {
	key        handleKey
	file       faultfs.File
	refs       int  // users now; 0: in the idle ring
	gone       bool // removed, or Handles closed: close with the last user
	prev, next *handle
}

// NewHandles keeps up to limit files open that nobody uses at the moment.
func NewHandles(fs faultfs.FS, limit int) *Handles {
	h := &Handles{fs: fs, limit: limit, open: make(map[handleKey]*handle)}
	h.idle.prev, h.idle.next = &h.idle, &h.idle
	return h
}

// FS is the file system that the files are on.
func (h *Handles) FS() faultfs.FS { return h.fs }

// acquire gives the open file, opening it if need be. Each handle is given back once, by release.
func (h *Handles) acquire(files *Files, start int64) (*handle, error) {
	key := handleKey{files, start}
	h.mu.Lock()
	if got := h.takeLocked(key); got != nil {
		h.mu.Unlock()
		return got, nil
	}
	h.mu.Unlock()

	file, err := h.fs.Open(files.path(start), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := h.takeLocked(key); got != nil { // somebody else was faster
		file.Close()
		return got, nil
	}
	if h.closed {
		file.Close()
		return nil, fs.ErrClosed
	}
	got := &handle{key: key, file: file, refs: 1}
	h.open[key] = got
	return got, nil
}

func (h *Handles) takeLocked(key handleKey) *handle {
	got := h.open[key]
	if got == nil {
		return nil
	}
	if got.refs == 0 {
		h.unlinkLocked(got)
	}
	got.refs++
	return got
}

func (h *Handles) unlinkLocked(x *handle) {
	x.prev.next, x.next.prev = x.next, x.prev
	x.prev, x.next = nil, nil
	h.n--
}

func (h *Handles) release(x *handle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x.refs--
	if x.refs > 0 {
		return
	}
	if x.gone {
		x.file.Close()
		return
	}
	x.prev, x.next = &h.idle, h.idle.next
	x.prev.next, x.next.prev = x, x
	for h.n++; h.n > h.limit; {
		oldest := h.idle.prev
		h.unlinkLocked(oldest)
		delete(h.open, oldest.key)
		oldest.file.Close()
	}
}

// drop forgets a file that was removed; users of it keep it until they release it.
func (h *Handles) drop(files *Files, start int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x := h.open[handleKey{files, start}]; x != nil {
		_ = h.dropLocked(x) // the file is gone: what closing it says is of no use
	}
}

func (h *Handles) dropLocked(x *handle) error {
	delete(h.open, x.key)
	x.gone = true
	if x.refs > 0 {
		return nil
	}
	h.unlinkLocked(x)
	return x.file.Close()
}

// Close closes all files and opens none any more; one that is in use is closed by its last user.
func (h *Handles) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	var errs []error
	for _, x := range h.open {
		errs = append(errs, h.dropLocked(x))
	}
	return errors.Join(errs...)
}
