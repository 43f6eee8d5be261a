// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"sync/atomic"
)

// maxChunk is the size of the tail's pieces, unless a file or a record is smaller or larger.
const maxChunk = 1 << 20

// chunk is a piece of the tail: bytes of the log from base on. Records never lie in two chunks, and a chunk never
// in two files. Below n its bytes never change, until it is used again for another place.
type chunk struct {
	base atomic.Int64 // physical offset of the first byte
	n    atomic.Int64 // bytes that readers may read
	refs atomic.Int32 // readers now; retired: nobody may become one
	mem  []byte
	used int // bytes that were appended; guarded by Log.mu
}

const retired = -1

// acquire keeps the chunk from being used again, if it still is the one that begins at base.
func (c *chunk) acquire(base int64) bool {
	for {
		refs := c.refs.Load()
		if refs == retired {
			return false
		}
		if c.refs.CompareAndSwap(refs, refs+1) {
			break
		}
	}
	if c.base.Load() != base {
		c.release()
		return false
	}
	return true
}

func (c *chunk) release() { c.refs.Add(-1) }

// tailRef is a chunk in the index of the tail.
type tailRef struct {
	base int64
	c    *chunk
}

// tail is the end of the log in memory. Its list is guarded by Log.mu; readers take the index, a copy of it.
type tail struct {
	size  int // of ordinary chunks
	limit int // chunks kept
	list  []tailRef
	free  []*chunk
	index atomic.Pointer[[]tailRef]
}

func newTail(bytes, fileSize int64) *tail {
	t := &tail{size: int(min(maxChunk, fileSize))}
	t.limit = max(int(bytes/int64(t.size)), 2)
	t.index.Store(new([]tailRef))
	return t
}

// publish shows the list to readers.
func (t *tail) publish() {
	list := append([]tailRef(nil), t.list...)
	t.index.Store(&list)
}

// grow begins a chunk at base with room for need bytes. delivered is the offset below which nobody but readers needs
// the tail.
func (t *tail) grow(base int64, need int, delivered int64) *chunk {
	for len(t.list) >= t.limit {
		oldest := t.list[0].c
		if t.list[0].base+int64(oldest.used) > delivered {
			break // not written yet: the bound on what is pending bounds this
		}
		t.list = append(t.list[:0], t.list[1:]...)
		t.recycle(oldest)
	}
	c := t.take(need)
	c.used = 0
	c.n.Store(0)
	c.base.Store(base)
	c.refs.Store(0)
	t.list = append(t.list, tailRef{base, c})
	t.publish()
	return c
}

func (t *tail) take(need int) *chunk {
	if last := len(t.free) - 1; need <= t.size && last >= 0 {
		c := t.free[last]
		t.free = t.free[:last]
		return c
	}
	return &chunk{mem: make([]byte, max(need, t.size))}
}

// recycle takes a chunk that is in no list any more for later use, unless somebody still reads it or it has an odd
// size: then the garbage collector gets it.
func (t *tail) recycle(c *chunk) {
	if len(c.mem) == t.size && len(t.free) < 4 && c.refs.CompareAndSwap(0, retired) {
		t.free = append(t.free, c)
	}
}

// rewind takes back what was appended at pos and above.
func (t *tail) rewind(pos int64) *chunk {
	n := len(t.list)
	for n > 0 && t.list[n-1].base >= pos {
		n--
		t.recycle(t.list[n].c)
	}
	t.list = t.list[:n]
	t.publish()
	if n == 0 {
		return nil
	}
	last := t.list[n-1]
	last.c.used = int(min(int64(last.c.used), pos-last.base))
	if last.base+int64(last.c.used) != pos {
		return nil // a blank lies between
	}
	return last.c
}

// view calls use with the bytes of the log from off on that one chunk holds, at least need of them; it tells whether
// there are that many. The bytes are valid during the call.
func (t *tail) view(off int64, need int, use func([]byte)) bool {
	c, at := t.acquire(off)
	if c == nil {
		return false
	}
	defer c.release()
	b := c.mem[at:c.n.Load()]
	if len(b) < need {
		return false
	}
	use(b)
	return true
}

// acquire finds the chunk that holds off; it is to be released. nil: off is not in the tail.
func (t *tail) acquire(off int64) (c *chunk, at int64) {
	list := *t.index.Load()
	low, high := 0, len(list) // the last one that begins at or below off
	for low < high {
		mid := int(uint(low+high) / 2)
		if list[mid].base <= off {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return nil, 0
	}
	ref := list[low-1]
	at = off - ref.base
	if at >= int64(len(ref.c.mem)) || !ref.c.acquire(ref.base) {
		return nil, 0
	}
	if at >= ref.c.n.Load() {
		ref.c.release()
		return nil, 0
	}
	return ref.c, at
}

// holds tells whether off is in the tail.
func (t *tail) holds(off int64) bool {
	c, _ := t.acquire(off)
	if c == nil {
		return false
	}
	c.release()
	return true
}
