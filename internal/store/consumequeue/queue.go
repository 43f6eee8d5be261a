// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/segment"
)

// Queue is one queue. Its units have numbers, by which they lie in the files. In a simple queue the number is the queue
// offset of the message; in a batch queue units say themselves which offsets they are for. Units are put by one goroutine at a time; everything else may happen at any time.
type Queue struct {
	name   Name
	set    *Set
	files  *segment.Files
	extras *extras // nil: none

	mu       sync.Mutex
	first    int64  // number of the first unit there is, fillers included
	base     int64  // queue offset that the first unit begins with; kept in batch queues only, as is next
	next     int64  // queue offset that the next message gets
	saved    int64  // units below are in the files
	units    []byte // from saved on
	physical int64  // end of the message that was put last: the log is in this queue up to there
	saving   bool   // somebody writes units to the files: their memory must stay
	removed  bool   // nothing is written any more

	// The number and the queue offset of the first unit that the log still has the message of, for a log that begins at
	// minFor.
	min, minOffset, minFor int64

	// synced: units below are durable. newNames: files or folders were created since the last sync.
	synced   int64
	newNames bool
}

// New gives a queue without units. Whether its folder has files is for Load to find out.
func (s *Set) New(name Name) (*Queue, error) {
	files, err := segment.OpenDerived(s.handles, s.fileSize, filepath.Join(s.dir, name.Topic, strconv.Itoa(int(name.ID))))
	if err != nil {
		return nil, fmt.Errorf("open queue %d of topic %s: %w", name.ID, name.Topic, err)
	}
	extras, err := s.openExtras(name)
	if err == nil && files.Len() == 0 {
		err = extras.forget()
	}
	if err != nil {
		return nil, err
	}
	return &Queue{name: name, set: s, files: files, extras: extras, minFor: -1}, nil
}

// Name of the queue.
func (q *Queue) Name() Name { return q.name }

// End is the offset that the next message gets.
func (q *Queue) End() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.nextLocked()
}

func (q *Queue) nextLocked() int64 {
	if q.set.layout == Batch {
		return q.next
	}
	return q.endLocked()
}

func (q *Queue) startLocked() int64 {
	if q.set.layout == Batch {
		return q.base
	}
	return q.first
}

// Layout of the queue's units.
func (q *Queue) Layout() Layout { return q.set.layout }

// UnitsPerFile is the number of units in a file.
func (q *Queue) UnitsPerFile() int64 { return q.set.UnitsPerFile() }

// EndNumber is the number that the next unit gets.
func (q *Queue) EndNumber() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.endLocked()
}

func (q *Queue) endLocked() int64 { return q.saved + int64(len(q.units))/q.set.unitSize }

// Len is the number of units that the files have, or will have: those of messages that the log does not have any more
// included, and fillers.
func (q *Queue) Len() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.endLocked() == 0 {
		return 0
	}
	return q.endLocked() - q.firstInFileLocked()
}

// firstInFileLocked is the number of the first unit of the first file.
func (q *Queue) firstInFileLocked() int64 {
	return q.first - q.first%q.set.UnitsPerFile()
}

// Physical is the end of the message that was put last, as a physical offset; 0 when there is none.
func (q *Queue) Physical() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.physical
}

// Place says how a unit fits to the ones before.
type Place uint8

// Places.
const (
	Next    Place = iota // it was put at the end
	Known                // it is in the queue already, or one of a later message is; nothing was done
	Ahead                // units before it are missing; nothing was done
	Restart              // there are units of earlier messages with this number and above; nothing was done
	Before               // the queue begins later; nothing was done
)

// Put puts the unit of the message with queue offset n at the end, if it belongs there. In a batch queue u.Base is n. A
// queue without units begins at any offset. pending is how many bytes the queue now has unsaved.
func (q *Queue) Put(n int64, u Unit) (place Place, pending int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if place = q.placeLocked(n, u); place == Next {
		q.appendLocked(n, u)
	}
	return place, q.pendingLocked()
}

// placeLocked tells where a unit belongs. In a queue without units it belongs to the beginning, wherever that then is.
func (q *Queue) placeLocked(n int64, u Unit) Place {
	end := q.nextLocked()
	switch {
	case q.removed:
		return Known
	case n < q.startLocked() && u.end() <= q.physical:
		return Before
	case u.end() <= q.physical:
		return Known
	case q.set.layout == Batch && q.endLocked() == 0:
		q.base, q.minFor = n, -1
	case end == 0 && n > 0:
		q.first, q.saved, q.synced = n, n, n
		q.minFor = -1
	case n > end:
		return Ahead
	case n < end:
		return Restart
	}
	return Next
}

// appendLocked puts a unit at the end.
func (q *Queue) appendLocked(n int64, u Unit) {
	q.putLocked(u)
	q.physical = u.end()
	q.next = n + int64(u.Messages())
}

// pendingLocked is the number of bytes that are not saved.
func (q *Queue) pendingLocked() int {
	switch {
	case q.removed:
		return 0
	case q.extras == nil:
		return len(q.units)
	}
	return len(q.units) + len(q.extras.buf)
}

func (q *Queue) putLocked(u Unit) {
	if size := int(q.set.unitSize); len(q.units)+size > cap(q.units) {
		grown := append(q.set.memory.take(2*len(q.units)+size), q.units...)
		if !q.saving {
			q.set.memory.give(q.units)
		}
		q.units = grown
	}
	q.units = q.set.layout.Append(q.units, u)
	q.set.unsaved.Add(q.set.unitSize)
}

// Fill puts fillers up to, not including, offset n, for messages that are lost. A batch queue needs none: its units say
// where they belong.
func (q *Queue) Fill(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.set.layout == Batch {
		q.next = max(q.next, n)
		return
	}
	for q.endLocked() < n {
		q.putLocked(filler)
	}
}

// Range gives the lowest offset of a message that a log beginning at logMin still has, and the end. Both are equal
// when there is none.
func (q *Queue) Range(logMin int64) (low, end int64) {
	q.mu.Lock()
	if q.minFor == logMin {
		low, end = q.minOffset, q.nextLocked()
		q.mu.Unlock()
		return min(low, end), end
	}
	q.mu.Unlock()
	number, _ := q.numbers(logMin)
	low = q.OffsetOf(number)
	end = q.End()
	return min(low, end), end
}

// numbers is Range in numbers of units.
func (q *Queue) numbers(logMin int64) (low, end int64) {
	q.mu.Lock()
	end = q.endLocked()
	if q.minFor == logMin {
		low = q.min
		q.mu.Unlock()
		return min(low, end), end
	}
	low = max(q.first, q.min)
	q.mu.Unlock()

	first, err := q.search(low, end, func(u Unit) bool { return u.PhysicalOffset >= logMin })
	if err != nil { // where the log begins in this queue is not known now; nothing is passed over
		return low, end
	}
	low = first
	offset := q.OffsetOf(low)
	q.mu.Lock()
	defer q.mu.Unlock()
	// A queue without messages may get one that the search did not see, at end, which is then the right answer, too.
	if q.minFor < logMin {
		q.min, q.minOffset, q.minFor = low, offset, logMin
	}
	return low, end
}

// OffsetOf gives the queue offset that the unit of a number begins with; the queue's end when there is no such unit.
func (q *Queue) OffsetOf(number int64) int64 {
	if q.set.layout == Simple {
		return number
	}
	u, err := q.unit(number)
	if err != nil {
		return q.End()
	}
	return u.Base
}

// Locate gives the number of the unit that a queue offset belongs to or, where messages are missing, of the next one.
func (q *Queue) Locate(offset int64) int64 {
	if q.set.layout == Simple {
		return offset
	}
	q.mu.Lock()
	low, end, next := q.first, q.endLocked(), q.next
	q.mu.Unlock()
	if offset >= next {
		return end
	}
	n, err := q.search(low, end, func(u Unit) bool { return u.Base+int64(u.Count) > offset })
	if err != nil {
		return low
	}
	return n
}

// search gives the first number in [low, end) whose unit is right, all behind it being so, too; end when none is. Units
// whose files are gone count as not right. Those that are lost, damaged or stand for no message tell nothing, and the
// next one that does is asked; but the answer is none that stands for no message. With an error nothing is known.
func (q *Queue) search(low, end int64, right func(Unit) bool) (int64, error) {
	if u, err := q.unit(low); low < end && err == nil && q.tells(u) && right(u) {
		return low, nil // the usual case
	}
	last := end
	for low < end {
		mid := low + (end-low)/2
		n, u, err := q.firstOf(mid, end, q.tells)
		switch {
		case errors.Is(err, ErrNoUnit), err == nil && n < end && !right(u):
			low = n + 1
		case err != nil:
			return 0, err
		default:
			end = mid
		}
	}
	n, _, err := q.firstOf(low, last, func(u Unit) bool { return !u.Filler() })
	if errors.Is(err, ErrNoUnit) {
		return low, nil
	}
	return n, err
}

// firstOf gives the first unit in [n, end) that is one of those asked for, and its number; end when there is none. Units
// that the disk has lost read as zeros.
func (q *Queue) firstOf(n, end int64, wanted func(Unit) bool) (number int64, u Unit, err error) {
	var block [firstOfUnits * BatchUnitSize]byte
	size := int(q.set.unitSize)
	for count := 1; n < end; count = firstOfUnits {
		b, err := q.Read(block[:0], n, int(min(int64(count), end-n)))
		if faultfs.Lost(err) && count > 1 {
			b, err = q.Read(block[:0], n, 1)
		}
		if faultfs.Lost(err) {
			b, err = append(block[:0], make([]byte, size)...), nil
		}
		if err != nil {
			return n, u, err
		}
		for ; len(b) >= size && n < end; b = b[size:] {
			if u = q.set.layout.Decode(b); wanted(u) {
				return n, u, nil
			}
			n++
		}
	}
	return end, u, nil
}

// firstOfUnits are read at a time where one is not the one wanted.
const firstOfUnits = 200

// tells is false for units that stand for no message, or are damaged.
func (q *Queue) tells(u Unit) bool { return !u.Filler() && q.set.layout.Valid(u) }

// ErrNoUnit: the queue has no unit of this number, or not any more.
var ErrNoUnit = errors.New("no unit of this number")

// Unit gives the unit of the message with a queue offset.
func (q *Queue) Unit(offset int64) (Unit, error) {
	u, err := q.unit(q.Locate(offset))
	if err == nil && u.Count > 0 && offset < u.Base {
		return Unit{}, ErrNoUnit
	}
	return u, err
}

// unit gives the unit of a number.
func (q *Queue) unit(n int64) (Unit, error) {
	var one [BatchUnitSize]byte
	b, err := q.Read(one[:0], n, 1)
	if err != nil {
		return Unit{}, err
	}
	return q.set.layout.Decode(b), nil
}

// Read appends up to count units from number n on to dst, encoded, at least one; they come from one file or from
// memory, so there may be more.
func (q *Queue) Read(dst []byte, n int64, count int) ([]byte, error) {
	q.mu.Lock()
	end := q.endLocked()
	if n < q.first || n >= end || count <= 0 {
		q.mu.Unlock()
		return dst, ErrNoUnit
	}
	if n >= q.saved {
		b := q.units[(n-q.saved)*q.set.unitSize:]
		dst = append(dst, b[:min(len(b), count*int(q.set.unitSize))]...)
		q.mu.Unlock()
		return dst, nil
	}
	count = int(min(int64(count), q.saved-n))
	q.mu.Unlock()
	return q.readFile(dst, n, count)
}

// readFile reads units that were saved.
func (q *Queue) readFile(dst []byte, n int64, count int) ([]byte, error) {
	had := len(dst)
	at := n * q.set.unitSize
	want := int(min(int64(count)*q.set.unitSize, q.set.fileSize-at%q.set.fileSize))
	if cap(dst)-had < want {
		dst = append(make([]byte, 0, had+want), dst...)
	}
	dst = dst[:had+want]
	if _, err := q.files.ReadAt(dst[had:], at); errors.Is(err, segment.ErrGone) {
		return dst[:had], ErrNoUnit
	} else if err != nil && !errors.Is(err, io.EOF) {
		return dst[:had], fmt.Errorf("read queue %d of topic %s: %w", q.name.ID, q.name.Topic, err)
	}
	return dst, nil
}

// Place is where unit n lies, or is going to: a file, and the byte in it.
func (q *Queue) Place(n int64) (path string, at int64) {
	at = n * q.set.unitSize
	return q.files.Path(at), at - q.files.Start(at)
}

// Recent tells whether unit n is in memory.
func (q *Queue) Recent(n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return n >= q.saved && n < q.endLocked()
}
