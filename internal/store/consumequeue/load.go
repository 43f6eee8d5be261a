// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"fmt"
	"slices"
)

// Trust says how much of the files Load looks at.
type Trust uint8

// Trusts.
const (
	// Whole: the store was closed properly. The end is searched by halves, and nothing is expected behind it.
	Whole Trust = iota
	// Below: the units of messages below the limit are durable, what lies behind may be anything and is zeroed.
	Below
	// Doubtful: nothing is known. The last three files are read unit by unit.
	Doubtful
)

// Load finds the end of the queue in its files: the first unit that is not valid, or belongs to a message at limit or
// above. Units and files behind the end are removed, if trust says that there may be any.
func (q *Queue) Load(limit int64, trust Trust) error {
	starts := q.files.Starts()
	if holes := q.files.Holes(); len(holes) > 0 { // what lies behind a missing file is put again from the log
		if _, err := q.files.RemoveFrom(holes[0]); err != nil {
			return q.loadError(err)
		}
		starts = q.files.Starts()
	}
	good := func(u Unit) bool { return q.set.layout.Valid(u) && (u.Filler() || u.PhysicalOffset < limit) }
	end, more := int64(0), trust != Whole
	if len(starts) > 0 {
		q.mu.Lock()
		q.first = starts[0] / q.set.unitSize
		q.saved = starts[len(starts)-1]/q.set.unitSize + q.set.UnitsPerFile() // so that all can be read
		q.mu.Unlock()
		var err error
		if trust == Doubtful {
			end, err = q.walk(starts, good)
		} else {
			end, err = q.halve(starts, good)
		}
		if err != nil {
			return q.loadError(err)
		}
		if u, err := q.unit(end); err == nil && u != (Unit{}) {
			more = true
		}
	}
	return q.settle(end, more)
}

func (q *Queue) loadError(err error) error {
	return fmt.Errorf("load queue %d of topic %s: %w", q.name.ID, q.name.Topic, err)
}

// halve finds the end, all units below it being good and none behind.
func (q *Queue) halve(starts []int64, good func(Unit) bool) (int64, error) {
	for _, start := range slices.Backward(starts) {
		low := start / q.set.unitSize
		u, err := q.unit(low)
		if err != nil {
			return 0, err
		}
		if good(u) {
			return q.halveFile(start, low+1, good)
		}
	}
	return starts[0] / q.set.unitSize, nil
}

// endBlock is how many units are read at once near the end: about a block of a disk.
const endBlock = 4096/UnitSize + 2

// halveFile finds the end in one file, the units below low being good. The end is most often in the last block that the
// file system has data of.
func (q *Queue) halveFile(start, low int64, good func(Unit) bool) (int64, error) {
	dataEnd, err := q.files.DataEnd(start)
	if err != nil {
		return 0, err
	}
	high := max((dataEnd+q.set.unitSize-1)/q.set.unitSize, low) // units from here on were never written
	for probe := max(high-endBlock, low); low < high; probe = low + (high-low)/2 {
		u, err := q.unit(probe)
		if err != nil {
			return 0, err
		}
		if !good(u) {
			high = probe
			continue
		}
		low = probe + 1
		if high-low > endBlock {
			continue
		}
		var block [endBlock * BatchUnitSize]byte
		b, err := q.Read(block[:0], low, int(high-low))
		if err != nil && low < high {
			return 0, err
		}
		for size := int(q.set.unitSize); len(b) >= size && good(q.set.layout.Decode(b)); b = b[size:] {
			low++
		}
		return low, nil
	}
	return low, nil
}

// walk finds the end by reading unit by unit, from the third last file on. Offsets that do not grow end it, too.
func (q *Queue) walk(starts []int64, good func(Unit) bool) (int64, error) {
	size := int(q.set.unitSize)
	from := starts[max(len(starts)-3, 0)] / q.set.unitSize
	end := starts[len(starts)-1]/q.set.unitSize + q.set.UnitsPerFile()
	var block []byte
	last := int64(-1)
	for n := from; n < end; {
		var err error
		if block, err = q.Read(block[:0], n, 4096); err != nil {
			return 0, err
		}
		for b := block; len(b) >= size; b = b[size:] {
			u := q.set.layout.Decode(b)
			if !good(u) || !u.Filler() && u.PhysicalOffset <= last {
				return n, nil
			}
			if !u.Filler() {
				last = u.PhysicalOffset
			}
			n++
		}
	}
	return end, nil
}

// settle makes end the end, removing what lies behind when there may be more.
func (q *Queue) settle(end int64, more bool) error {
	var physical, base, next int64
	if end > 0 {
		if u, err := q.unit(end - 1); err == nil {
			if _, next = u.Offsets(end - 1); !u.Filler() {
				physical = u.end()
			}
		}
	}
	q.mu.Lock()
	first := q.first
	q.mu.Unlock()
	if u, err := q.unit(first); err == nil {
		base, _ = u.Offsets(first)
	}
	q.mu.Lock()
	q.saved, q.synced, q.physical, q.base, q.next = end, end, physical, base, next
	if end <= q.first {
		q.first, q.saved, q.synced, q.physical, q.base, q.next = 0, 0, 0, 0, 0, 0
		end = 0
	}
	q.min, q.minOffset, q.minFor = 0, 0, -1
	q.mu.Unlock()
	if err := q.settleExtras(end, more); err != nil {
		return err
	}
	if end == 0 { // no message at all: the queue begins anew, wherever the log says
		if _, err := q.files.RemoveFrom(0); err != nil {
			return q.loadError(err)
		}
		return nil
	}
	if !more {
		return nil
	}
	if _, err := q.files.RemoveFrom(end * q.set.unitSize); err != nil {
		return q.loadError(err)
	}
	at := end * q.set.unitSize
	if !q.files.Has(at) {
		return nil
	}
	if err := q.files.Zero(at, q.files.Start(at)+q.set.fileSize-at); err != nil {
		return q.loadError(err)
	}
	q.mu.Lock()
	q.newNames = true // what was zeroed is to be durable before new units are
	q.mu.Unlock()
	return nil
}

// Reset takes back all units, to begin anew.
func (q *Queue) Reset() error {
	q.mu.Lock()
	q.set.unsaved.Add(-int64(len(q.units)))
	q.set.memory.give(q.units)
	q.units = nil
	q.mu.Unlock()
	return q.settle(0, true)
}

// Truncate takes back all units from an offset on, where the next message is to be put: their messages were replaced.
func (q *Queue) Truncate(offset int64) error {
	n := q.Locate(offset)
	q.mu.Lock()
	keep := len(q.units)
	switch {
	case n <= q.first:
		q.mu.Unlock()
		return q.Reset()
	case n >= q.saved:
		keep = min(int((n-q.saved)*q.set.unitSize), keep)
	default:
		keep = 0
	}
	q.set.unsaved.Add(-int64(len(q.units) - keep))
	q.units = q.units[:keep]
	q.next = offset
	saved := q.saved
	q.mu.Unlock()
	if n >= saved {
		return nil
	}
	if err := q.settle(n, true); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.endLocked() > 0 {
		q.next = offset
	}
	return nil
}
