// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package keyindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"

	"github.com/goddard-mq/goddard/internal/faultfs"
)

const (
	pieceSlots  = 1024     // slots in a piece of the table, a page on disk
	writeBytes  = 64 << 10 // of entries that wait to be written
	writePieces = 64       // pieces written together
)

// file is one index file. The current one is being filled; the others only read.
type file struct {
	path  string
	name  string
	f     faultfs.File
	size  int64
	slots int32 // in the table
	head  Header

	// Of the current file:
	durable int32     // entries below were there when it was opened: see settle
	pieces  [][]int32 // of the slot table, nil as long as nobody looked at them
	fresh   bool      // the table on disk is all zero
	dirty   []uint64  // a bit per piece that differs from the disk
	entries []byte    // not written yet, from number from on
	from    int32
}

func (f *file) entryAt(n int32) int64 {
	return HeaderSize + int64(f.slots)*slotSize + int64(n)*entrySize
}

// fill prepares a file to be filled from its header on.
func (f *file) fill(fresh bool) {
	n := (int(f.slots) + pieceSlots - 1) / pieceSlots
	f.pieces, f.dirty = make([][]int32, n), make([]uint64, (n+63)/64)
	f.fresh, f.durable, f.from = fresh, f.head.Count, f.head.Count
}

// full ends the filling: slots are read from the disk from now on. Everything was written.
func (f *file) full() { f.pieces, f.dirty, f.entries, f.from = nil, nil, nil, f.head.Count }

// put adds an entry for a key of the message at a physical offset. The seconds are counted from the begin that the
// header had before: for the first entry of a file that is the end of the file before, as RocketMQ does it.
func (f *file) put(hash int32, physical, storeTime int64) error {
	slot := hash % f.slots
	piece, err := f.piece(slot)
	if err != nil {
		return err
	}
	before := piece[slot%pieceSlots]
	e := Entry{Hash: hash, Physical: physical, Seconds: f.seconds(storeTime), Before: before}
	f.entries = e.Append(f.entries)
	piece[slot%pieceSlots] = f.head.Count
	f.dirty[slot/pieceSlots/64] |= 1 << (slot / pieceSlots % 64)

	h := &f.head
	if h.Count <= 1 {
		h.BeginPhysical, h.BeginTime = physical, storeTime
	}
	if before == 0 {
		h.Slots++
	}
	h.Count++
	h.EndPhysical, h.EndTime = physical, storeTime
	if len(f.entries) >= writeBytes {
		return f.writeEntries()
	}
	return nil
}

func (f *file) seconds(storeTime int64) int32 {
	if f.head.BeginTime <= 0 {
		return 0
	}
	return int32(min(max((storeTime-f.head.BeginTime)/1000, 0), math.MaxInt32))
}

// piece gives the piece of the slot table that holds a slot.
func (f *file) piece(slot int32) ([]int32, error) {
	i := slot / pieceSlots
	if f.pieces[i] == nil {
		piece := make([]int32, pieceSlots)
		if !f.fresh {
			if err := f.readPiece(piece, i); err != nil {
				return nil, err
			}
		}
		f.pieces[i] = piece
	}
	return f.pieces[i], nil
}

func (f *file) readPiece(piece []int32, i int32) error {
	n := min(f.slots-i*pieceSlots, pieceSlots)
	b := make([]byte, n*slotSize)
	if _, err := f.f.ReadAt(b, HeaderSize+int64(i)*pieceSlots*slotSize); err != nil {
		return fmt.Errorf("read the slots of index %s: %w", f.path, err)
	}
	for j := range n {
		if v := int32(binary.BigEndian.Uint32(b[j*slotSize:])); v > 0 && v < f.durable {
			piece[j] = v
		}
	}
	return nil
}

// settle brings all slots that lead to entries which a crash took back to those before them. It must be done before
// the first entry is added: then other entries come to lie there.
func (f *file) settle() error {
	b := make([]byte, writePieces*pieceSlots*slotSize)
	for first := int32(0); first < f.slots; first += writePieces * pieceSlots {
		part := b[:min(f.slots-first, writePieces*pieceSlots)*slotSize]
		if _, err := f.f.ReadAt(part, HeaderSize+int64(first)*slotSize); err != nil {
			return fmt.Errorf("read the slots of index %s: %w", f.path, err)
		}
		for j := 0; j < len(part); j += slotSize {
			v := int32(binary.BigEndian.Uint32(part[j:]))
			if v < f.durable {
				continue
			}
			before, err := f.known(v)
			if err != nil {
				return err
			}
			slot := first + int32(j/slotSize)
			piece, err := f.piece(slot)
			if err != nil {
				return err
			}
			piece[slot%pieceSlots] = before
			f.dirty[slot/pieceSlots/64] |= 1 << (slot / pieceSlots % 64)
		}
	}
	return nil
}

// known follows a chain back to an entry that counts.
func (f *file) known(n int32) (int32, error) {
	for n >= f.durable {
		e, err := f.entry(n)
		if err != nil {
			return 0, err
		}
		if e.Before >= n {
			return 0, nil
		}
		n = e.Before
	}
	return max(n, 0), nil
}

// slot gives the newest entry of a slot.
func (f *file) slot(slot int32) (int32, error) {
	if f.pieces != nil {
		if f.pieces[slot/pieceSlots] == nil && f.fresh {
			return 0, nil
		}
		piece, err := f.piece(slot)
		if err != nil {
			return 0, err
		}
		return piece[slot%pieceSlots], nil
	}
	var b [slotSize]byte
	if _, err := f.f.ReadAt(b[:], HeaderSize+int64(slot)*slotSize); err != nil {
		return 0, fmt.Errorf("read a slot of index %s: %w", f.path, err)
	}
	return int32(binary.BigEndian.Uint32(b[:])), nil
}

// entry gives entry n; one outside the file is empty.
func (f *file) entry(n int32) (Entry, error) {
	if n <= 0 {
		return Entry{}, nil
	}
	if at := int(n-f.from) * entrySize; n >= f.from && at+entrySize <= len(f.entries) {
		return DecodeEntry(f.entries[at:]), nil
	}
	if f.entryAt(n)+entrySize > f.size {
		return Entry{}, nil
	}
	var b [entrySize]byte
	if _, err := f.f.ReadAt(b[:], f.entryAt(n)); err != nil {
		return Entry{}, fmt.Errorf("read an entry of index %s: %w", f.path, err)
	}
	return DecodeEntry(b[:]), nil
}

// writeEntries brings the entries that wait into the file.
func (f *file) writeEntries() error {
	if len(f.entries) == 0 {
		return nil
	}
	if _, err := f.f.WriteAt(f.entries, f.entryAt(f.from)); err != nil {
		return fmt.Errorf("write entries of index %s: %w", f.path, err)
	}
	f.from += int32(len(f.entries) / entrySize)
	f.entries = f.entries[:0]
	return nil
}

// nextRun encodes the next pieces of the slot table that changed and lie together into b, at most writePieces, and
// takes their marks off. It gives their place in the file; b is empty when there are none.
func (f *file) nextRun(b []byte) (run []byte, at int64) {
	b = b[:0]
	for w, word := range f.dirty {
		if word == 0 {
			continue
		}
		i := w*64 + bits.TrailingZeros64(word)
		at = HeaderSize + int64(i)*pieceSlots*slotSize
		for n := 0; n < writePieces && i < len(f.pieces) && f.dirty[i/64]&(1<<(i%64)) != 0; n++ {
			for _, v := range f.pieces[i][:min(int(f.slots)-i*pieceSlots, pieceSlots)] {
				b = binary.BigEndian.AppendUint32(b, uint32(v))
			}
			f.dirty[i/64] &^= 1 << (i % 64)
			i++
		}
		return b, at
	}
	return b, 0
}

func (f *file) writeSlots(b []byte, at int64) error {
	if _, err := f.f.WriteAt(b, at); err != nil {
		return fmt.Errorf("write the slots of index %s: %w", f.path, err)
	}
	return nil
}

// remark marks pieces again that could not be written.
func (f *file) remark(b []byte, at int64) {
	first := int((at - HeaderSize) / (pieceSlots * slotSize))
	for i := first; i <= first+(len(b)-1)/(pieceSlots*slotSize); i++ {
		f.dirty[i/64] |= 1 << (i % 64)
	}
}

func (f *file) writeHeader(h Header) error {
	if _, err := f.f.WriteAt(h.Append(nil), 0); err != nil {
		return fmt.Errorf("write the header of index %s: %w", f.path, err)
	}
	return nil
}

func (f *file) sync() error {
	if err := f.f.Datasync(); err != nil {
		return fmt.Errorf("sync index %s: %w", f.path, err)
	}
	return nil
}

func openFile(fs faultfs.FS, path, name string, slots, entries int32) (*file, error) {
	f, err := fs.Open(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	want := fileSize(slots, entries)
	if err == nil && size < want {
		err = errNotWhole
	}
	if err == nil && size > want {
		err = fmt.Errorf("%s has %d bytes; maxHashSlotNum and maxIndexNum make %d: they must not change, or remove the folder to have it made anew", path, size, want)
	}
	var b [HeaderSize]byte
	if err == nil {
		_, err = f.ReadAt(b[:], 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	x := &file{path: path, name: name, f: f, size: size, slots: slots, head: DecodeHeader(b[:])}
	if x.head.Count > entries {
		f.Close()
		return nil, errNotWhole
	}
	if x.head.Count < 1 { // a new one, whose header was not written yet
		x.head = Header{Count: 1}
	}
	x.from = x.head.Count
	return x, nil
}

// errNotWhole: a file is shorter than configured, or its header is none.
var errNotWhole = errors.New("not a whole index file")

func fileSize(slots, entries int32) int64 {
	return HeaderSize + int64(slots)*slotSize + int64(entries)*entrySize
}

func createFile(fs faultfs.FS, path, name string, slots, entries int32) (*file, error) {
	f, err := fs.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	size := fileSize(slots, entries)
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, err
	}
	x := &file{path: path, name: name, f: f, size: size, slots: slots, head: Header{Count: 1}}
	x.fill(true)
	return x, nil
}
