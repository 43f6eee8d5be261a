// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package faultfs

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"time"
)

const (
	pageSize   = 4096
	sectorSize = 512
)

// image is the content of a file: pages that were written; all others read as zero.
type image struct {
	size  int64
	pages map[int64]*[pageSize]byte
}

func (m *image) bytes() int64 { return int64(len(m.pages)) * pageSize }

func (m *image) clone() image {
	c := image{size: m.size, pages: make(map[int64]*[pageSize]byte, len(m.pages))}
	for i, p := range m.pages {
		page := *p
		c.pages[i] = &page
	}
	return c
}

// settled gives a node whose content is this image, all of it durable.
func (m *image) settled() *node {
	return &node{now: m.clone(), durable: m.clone(), modified: time.Now()}
}

func (m *image) read(p []byte, off int64) {
	for len(p) > 0 {
		n := min(len(p), int(pageSize-off%pageSize))
		if page := m.pages[off/pageSize]; page != nil {
			copy(p[:n], page[off%pageSize:])
		} else {
			clear(p[:n])
		}
		p, off = p[n:], off+int64(n)
	}
}

func (m *image) write(p []byte, off int64) {
	m.size = max(m.size, off+int64(len(p)))
	for len(p) > 0 {
		n := min(len(p), int(pageSize-off%pageSize))
		copy(m.page(off / pageSize)[off%pageSize:], p[:n])
		p, off = p[n:], off+int64(n)
	}
}

func (m *image) page(i int64) *[pageSize]byte {
	page := m.pages[i]
	if page == nil {
		page = new([pageSize]byte)
		m.pages[i] = page
	}
	return page
}

func (m *image) truncate(size int64) {
	if size < m.size {
		m.zero(size, m.size-size)
	}
	m.size = size
}

func (m *image) zero(off, n int64) {
	for n > 0 {
		part := min(n, pageSize-off%pageSize)
		if part == pageSize {
			delete(m.pages, off/pageSize)
		} else if page := m.pages[off/pageSize]; page != nil {
			clear(page[off%pageSize : off%pageSize+part])
		}
		off, n = off+part, n-part
	}
}

// newPages counts the pages that a write or allocation of [off, off+n) would add.
func (m *image) newPages(off, n int64) int64 {
	var add int64
	for i := off / pageSize; n > 0 && i <= (off+n-1)/pageSize; i++ {
		if m.pages[i] == nil {
			add++
		}
	}
	return add
}

// node is a file, whatever its names.
type node struct {
	now      image
	durable  image
	pending  []contentOp // since the last sync, in order
	modified time.Time
}

// contentOp is a change of content that was not synced yet.
type contentOp struct {
	kind   OpKind // OpWrite, OpTruncate or OpZero
	off, n int64
	data   []byte
}

func newNode() *node {
	return &node{now: image{pages: map[int64]*[pageSize]byte{}}, durable: image{pages: map[int64]*[pageSize]byte{}}, modified: time.Now()}
}

func (m *image) apply(op contentOp) {
	switch op.kind {
	case OpWrite:
		m.write(op.data, op.off)
	case OpTruncate:
		m.truncate(op.off)
	case OpZero:
		m.zero(op.off, op.n)
	}
}

// settle makes all of the content durable.
func (n *node) settle() {
	for _, op := range n.pending {
		n.durable.apply(op)
	}
	n.pending = nil
}

// survive gives what is left of the file after a power cut. Each sector keeps a prefix of the writes to it;
// changes of size and holes come through in order, up to a point of their own. How eager the disk was to write
// differs from file to file.
func (n *node) survive(rng *rand.Rand) *node {
	eager := []float64{0, 0.1, 0.5, 0.9, 1}[rng.IntN(5)]
	left := n.durable.clone()
	stuck := map[int64]bool{} // sectors that take no further writes
	shape := true             // size and holes still come through
	for _, op := range n.pending {
		if op.kind != OpWrite {
			shape = shape && rng.Float64() < max(eager, 0.5)
			if shape {
				left.apply(op)
			}
			continue
		}
		for at := op.off; at < op.off+int64(len(op.data)); {
			end := min(at-at%sectorSize+sectorSize, op.off+int64(len(op.data)))
			sector := at / sectorSize
			if !stuck[sector] && rng.Float64() < eager {
				left.writeInside(op.data[at-op.off:end-op.off], at)
			} else {
				stuck[sector] = true
			}
			at = end
		}
	}
	return left.settled()
}

// writeInside writes what lies below the size: data past a size that did not come through are lost with it.
func (m *image) writeInside(p []byte, off int64) {
	if room := m.size - off; room < int64(len(p)) {
		p = p[:max(room, 0)]
	}
	if len(p) > 0 {
		m.write(p, off)
	}
}

// diskFile is an open file of a Disk.
type diskFile struct {
	d      *Disk
	node   *node
	name   string
	closed bool
}

func (f *diskFile) usable() error {
	switch {
	case f.d.off:
		return ErrPowerCut
	case f.closed:
		return &fs.PathError{Op: "use", Path: f.name, Err: fs.ErrClosed}
	}
	return nil
}

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable(); err != nil {
		return 0, err
	}
	n := int64(len(p))
	if err := f.d.mayRead(Op{Kind: OpRead, Path: f.name, Off: off, N: n}); err != nil {
		return 0, err
	}
	if off+n > f.node.now.size {
		n = max(f.node.now.size-off, 0)
	}
	f.node.now.read(p[:n], off)
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable(); err != nil {
		return 0, err
	}
	cut, err := f.d.begin(Op{OpWrite, f.name, off, int64(len(p))})
	if err != nil {
		return 0, err
	}
	if err := f.take(off, int64(len(p))); err != nil {
		return 0, err
	}
	f.change(contentOp{kind: OpWrite, off: off, data: append([]byte(nil), p...)})
	return len(p), answer(cut)
}

// take reserves pages.
func (f *diskFile) take(off, n int64) error {
	add := f.node.now.newPages(off, n) * pageSize
	if f.d.room >= 0 && add > 0 && f.d.taken+add > f.d.room {
		return &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	f.d.taken += add
	for i := off / pageSize; n > 0 && i <= (off+n-1)/pageSize; i++ {
		f.node.now.page(i)
	}
	return nil
}

func (f *diskFile) change(op contentOp) {
	before := f.node.now.bytes()
	f.node.now.apply(op)
	f.d.taken += f.node.now.bytes() - before
	f.node.pending = append(f.node.pending, op)
	f.node.modified = time.Now()
}

func (f *diskFile) shape(op Op, change contentOp) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	cut, err := f.d.begin(op)
	if err != nil {
		return err
	}
	f.change(change)
	return answer(cut)
}

func (f *diskFile) Truncate(size int64) error {
	return f.shape(Op{OpTruncate, f.name, size, 0}, contentOp{kind: OpTruncate, off: size})
}

func (f *diskFile) Zero(off, n int64) error {
	if n <= 0 {
		return nil
	}
	return f.shape(Op{OpZero, f.name, off, n}, contentOp{kind: OpZero, off: off, n: n})
}

func (f *diskFile) Allocate(off, n int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	cut, err := f.d.begin(Op{OpAllocate, f.name, off, n})
	if err != nil {
		return err
	}
	if err := f.take(off, n); err != nil {
		return err
	}
	return answer(cut)
}

func (f *diskFile) Datasync() error { return f.Sync() }

func (f *diskFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	cut, err := f.d.begin(Op{OpSync, f.name, 0, 0})
	if err != nil {
		// The pages are clean from now on, as Linux leaves them: a later sync says nothing about these writes.
		f.node.pending = nil
		return err
	}
	if cut {
		return ErrPowerCut
	}
	f.node.settle()
	return nil
}

func (f *diskFile) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable(); err != nil {
		return 0, err
	}
	return f.node.now.size, nil
}

func (f *diskFile) DataEnd() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.usable(); err != nil {
		return 0, err
	}
	end := int64(0)
	for f.node.now.pages[end/pageSize] != nil {
		end += pageSize
	}
	return min(end, f.node.now.size), nil
}

func (f *diskFile) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.closed = true
	return nil
}
