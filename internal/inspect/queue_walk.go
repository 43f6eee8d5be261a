// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"context"
	"fmt"

	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// UnitsKind says what lies at a place of a queue.
type UnitsKind uint8

// Kinds of places.
const (
	OneUnit      UnitsKind = iota
	Fillers                // units that stand for no message
	UnusedUnits            // zeros up to the end of the last file: never written
	DamagedUnits           // no units, though the queue goes on behind
	MissingUnits           // their file, or the end of it, is not there
)

// Units are one unit, or several of which there is nothing to tell one by one.
type Units struct {
	Kind   UnitsKind
	Path   string // of the file they begin in
	At     int64  // in the file, bytes
	First  int64  // number of the first one: the queue offset of its message
	Count  int64
	Unit   consumequeue.Unit // OneUnit
	Reason string            // of damage
}

// Extended tells whether a unit has the address of something beside the queue in place of a tags code.
func (u *Units) Extended() bool { return u.Kind == OneUnit && consumequeue.IsAddress(u.Unit.TagsCode) }

// queueWalk is what Walk keeps between blocks.
type queueWalk struct {
	q    *Queue
	f    func(*Units) error
	pend Units // a run that may go on; Count 0: none
}

// Walk calls f for the units from queue offset from on, below to, in order, until it returns an error.
func (q *Queue) Walk(ctx context.Context, from, to int64, f func(*Units) error) error {
	w := &queueWalk{q: q, f: f}
	for i := range q.Files {
		file := &q.Files[i]
		next := int64(-1)
		if i+1 < len(q.Files) {
			next = q.Files[i+1].Start
		}
		if err := w.file(ctx, file, next, from, to); err != nil {
			return err
		}
	}
	return w.flush(true)
}

func (w *queueWalk) file(ctx context.Context, file *RunFile, next, from, to int64) error {
	size := w.q.UnitBytes()
	begin, end := file.Start/size, file.end()/size
	if next >= 0 && end*size > next {
		end = next / size
	}
	if file.Start%size != 0 {
		return w.put(Units{Kind: DamagedUnits, Path: file.Path, First: begin, Count: max(end-begin, 1), Reason: fmt.Sprintf("the name is no multiple of %d", size)})
	}
	if begin < to && end > from {
		if err := w.units(ctx, file, max(begin, from), min(end, to)); err != nil {
			return err
		}
	}
	if missing := next/size - end; next >= 0 && missing > 0 && end < to && end+missing > from {
		u := Units{Kind: MissingUnits, Path: file.Path, At: file.Size, First: end, Count: missing, Reason: fmt.Sprintf("the file has %d bytes, the next one begins %d behind its start", file.Size, next-file.Start)}
		if file.Size == w.q.FileSize {
			u.Path, u.At = w.q.place(end)
			u.Reason = "files are missing"
		}
		return w.put(u)
	}
	return nil
}

// unitsBlock is how many units are read at a time.
const unitsBlock = 1024

func (w *queueWalk) units(ctx context.Context, file *RunFile, from, to int64) error {
	src, err := openSource(file.Path)
	if err != nil {
		return err
	}
	defer src.close()
	size := w.q.UnitBytes()
	block := make([]byte, min(unitsBlock, to-from)*size)
	for n := from; n < to; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if at := n*size - file.Start; w.pend.Kind == UnusedUnits && w.pend.Count > 0 {
			used, err := src.used(at, to*size-file.Start)
			if err != nil {
				return fmt.Errorf("read %s: %w", file.Path, err)
			}
			if skip := (used - at) / size; skip > 0 {
				w.pend.Count += skip
				n += skip
				continue
			}
		}
		got, err := src.read(block[:min(int64(len(block)), (to-n)*size)], n*size-file.Start)
		if err != nil {
			return fmt.Errorf("read %s: %w", file.Path, err)
		}
		b := block[:got]
		if int64(got) < size {
			return nil // it was cut meanwhile
		}
		zeros := false
		for ; int64(len(b)) >= size && !zeros; b, n = b[size:], n+1 {
			u := w.decode(b)
			u.Path, u.At, u.First = file.Path, n*size-file.Start, n
			if err := w.put(u); err != nil {
				return err
			}
			zeros = u.Kind == UnusedUnits // there may be many: do not read them
		}
	}
	return nil
}

func (w *queueWalk) decode(b []byte) Units {
	u := Units{Kind: OneUnit, Count: 1, Unit: w.q.Layout.Decode(b)}
	switch {
	case allZero(b[:w.q.UnitBytes()]):
		u.Kind = UnusedUnits
	case u.Unit.Filler():
		u.Kind = Fillers
	case !w.q.valid(u.Unit):
		u.Kind, u.Reason = DamagedUnits, invalid(w.q, u.Unit)
	}
	return u
}

// invalid tells why a unit cannot be one.
func invalid(q *Queue, u consumequeue.Unit) string {
	if q.Batch() {
		return fmt.Sprintf("physical offset %d, size %d, queue offset %d, %d messages", u.PhysicalOffset, u.Size, u.Base, u.Count)
	}
	return fmt.Sprintf("physical offset %d, size %d", u.PhysicalOffset, u.Size)
}

// put passes units on, those of which there are many in a row as one.
func (w *queueWalk) put(u Units) error {
	p := &w.pend
	if p.Count > 0 && p.Kind == u.Kind && p.First+p.Count == u.First && u.Kind != OneUnit && u.Kind != MissingUnits {
		p.Count += u.Count
		return nil
	}
	if err := w.flush(false); err != nil {
		return err
	}
	if u.Kind == OneUnit || u.Kind == MissingUnits {
		return w.f(&u)
	}
	*p = u
	return nil
}

// flush passes on what was held back. Zeros are the end of the queue if nothing follows.
func (w *queueWalk) flush(last bool) error {
	u := w.pend
	if u.Count == 0 {
		return nil
	}
	w.pend = Units{}
	if u.Kind == UnusedUnits && !last {
		u.Kind, u.Reason = DamagedUnits, "they are zero, though others follow"
	}
	return w.f(&u)
}
