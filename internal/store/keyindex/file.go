// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package keyindex

import (
	"encoding/binary"
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
	slots int32 // in the table
	head  Header

	// Of the current file:
	durable int32     // entries below were there when it was opened: slots on disk that lead further are followed back
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
		v, err := f.known(int32(binary.BigEndian.Uint32(b[j*slotSize:])))
		if err != nil {
			return err
		}
		piece[j] = v
	}
	return nil
}

// known follows a chain back to an entry that counts. Slots may have been written for entries that a crash took back.
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
	var b [entrySize]byte
	size, err := f.f.Size()
	if err == nil && f.entryAt(n)+entrySize > size {
		return Entry{}, nil
	}
	if err == nil {
		_, err = f.f.ReadAt(b[:], f.entryAt(n))
	}
	if err != nil {
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

// tables is what a checkpoint writes after the entries are durable: the pieces of the slot table that changed, and the
// header that goes with them.
type tables struct {
	pieces []tablePiece
	head   Header
}

type tablePiece struct {
	at   int64
	data []byte
}

// takeTables copies what has to be written.
func (f *file) takeTables() tables {
	t := tables{head: f.head}
	for w, word := range f.dirty {
		for ; word != 0; word &= word - 1 {
			i := int32(w*64 + bits.TrailingZeros64(word))
			n := min(f.slots-i*pieceSlots, pieceSlots)
			at := HeaderSize + int64(i)*pieceSlots*slotSize
			last := len(t.pieces) - 1
			if last < 0 || t.pieces[last].at+int64(len(t.pieces[last].data)) != at || len(t.pieces[last].data) >= writePieces*pieceSlots*slotSize {
				t.pieces = append(t.pieces, tablePiece{at: at})
				last++
			}
			p := &t.pieces[last]
			for _, v := range f.pieces[i][:n] {
				p.data = binary.BigEndian.AppendUint32(p.data, uint32(v))
			}
		}
		f.dirty[w] = 0
	}
	return t
}

// write brings the tables into the file, the header last.
func (f *file) writeTables(t tables) error {
	for _, p := range t.pieces {
		if _, err := f.f.WriteAt(p.data, p.at); err != nil {
			return fmt.Errorf("write the slots of index %s: %w", f.path, err)
		}
	}
	if _, err := f.f.WriteAt(t.head.Append(nil), 0); err != nil {
		return fmt.Errorf("write the header of index %s: %w", f.path, err)
	}
	return nil
}

func openFile(fs faultfs.FS, path, name string, slots, entries int32) (*file, error) {
	f, err := fs.Open(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if want := fileSize(slots, entries); err == nil && size != want {
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
	x := &file{path: path, name: name, f: f, slots: slots, head: DecodeHeader(b[:])}
	x.from = x.head.Count
	return x, nil
}

func fileSize(slots, entries int32) int64 {
	return HeaderSize + int64(slots)*slotSize + int64(entries)*entrySize
}

func createFile(fs faultfs.FS, path, name string, slots, entries int32) (*file, error) {
	f, err := fs.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(fileSize(slots, entries)); err != nil {
		f.Close()
		return nil, err
	}
	x := &file{path: path, name: name, f: f, slots: slots, head: Header{Count: 1}}
	x.fill(true)
	return x, nil
}
