// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// Bounds of what a reader may ask for in one read, bytes.
const (
	leastReadBytes = 100
	mostReadBytes  = 128 << 20
)

// readStats count reads since the start.
type readStats struct {
	gets, found, miss, transferred atomic.Int64
	longest                        atomic.Int64 // ns
}

func (t *readStats) count(r *ReadResult, took time.Duration) {
	t.gets.Add(1)
	if r.Status == Found {
		t.found.Add(1)
		t.transferred.Add(int64(r.Count))
	} else {
		t.miss.Add(1)
	}
	for old := t.longest.Load(); int64(took) > old; old = t.longest.Load() {
		if t.longest.CompareAndSwap(old, int64(took)) {
			break
		}
	}
}

// Read appends the records found to dst. Status and next offset are RocketMQ's (DefaultMessageStore.getMessage).
func (s *Store) Read(dst []byte, r *ReadRequest) ([]byte, ReadResult) {
	began := time.Now()
	var res ReadResult
	if q := s.lookup(r.Topic, r.QueueID); q == nil {
		res.Status = NoMessageInQueue
	} else {
		res.Min, res.Max = q.Range(s.begin(q))
		if place(&res, r.Offset) {
			dst = s.readQueue(dst, q, r, &res)
		}
	}
	s.reads.count(&res, time.Since(began))
	return dst, res
}

// place answers offsets that nothing can be read at; it tells whether something can.
func place(res *ReadResult, offset int64) bool {
	switch {
	case res.Max == 0:
		res.Status, res.Next = NoMessageInQueue, 0
	case offset < res.Min:
		res.Status, res.Next = OffsetTooSmall, res.Min
	case offset == res.Max:
		res.Status, res.Next = OffsetOverflowOne, offset
	case offset > res.Max:
		res.Status, res.Next = OffsetOverflowBadly, res.Max
	default:
		return true
	}
	return false
}

// unitBatch is how many units are taken from the queue at a time.
const unitBatch = 64

// reading is one read in progress.
type reading struct {
	s         *Store
	cfg       *LimitsConfig
	q         *queue
	layout    consumequeue.Layout
	r         *ReadRequest
	res       *ReadResult
	dst       []byte
	maxBytes  int
	hot       int64 // records that begin at or above count as young
	skipBelow int64 // after a miss: the log has nothing below
	limit     int64 // queue offset from which on no unit is looked at
	missed    bool  // the last record looked for was not there
	fault     error // why the unit or record at Next cannot be read now
	lostUnit  error // why the unit that is looked at next is lost
	cold      *coldBlock
	extras    []byte // read beside the queue
	extrasAt  int64  // address of the first one
	units     [unitBatch * consumequeue.BatchUnitSize]byte
}

var readings = sync.Pool{New: func() any { return new(reading) }}

func (s *Store) readQueue(dst []byte, q *queue, r *ReadRequest, res *ReadResult) []byte {
	limits := &s.config().Limits
	x := readings.Get().(*reading)
	*x = reading{
		extras: x.extras, s: s, cfg: limits, q: q, layout: q.Layout(), r: r, res: res, dst: dst, maxBytes: mostReadBytes,
		hot: s.youngFrom(),
	}
	if r.MaxBytes > 0 {
		x.maxBytes = min(max(r.MaxBytes, leastReadBytes), mostReadBytes)
	}
	x.run()
	dst = x.dst
	x.cold.giveBack()
	*x = reading{extras: x.extras[:0]}
	readings.Put(x)
	return dst
}

// run scans the queue from the offset asked for.
func (x *reading) run() {
	res := x.res
	res.Status, res.Next = NoMatchedMessage, x.r.Offset
	per := x.q.UnitsPerFile()
	x.limit = x.r.Offset + max(int64(x.cfg.FilterBytes)/consumequeue.UnitSize, int64(x.r.MaxCount))
	if int64(x.cfg.FilterBytes)%consumequeue.UnitSize != 0 {
		x.limit++
	}
	x.limit = min(x.limit, res.Max)
	// Units are counted by their numbers, which in a simple queue are the queue offsets.
	first, end := x.q.Locate(x.r.Offset), x.limit
	if x.layout == consumequeue.Batch {
		end = x.q.EndNumber()
	}
	files := int32(0)
	fileEnd := int64(0) // of the units that may be looked at
	for n := first; n < end; {
		if n >= fileEnd {
			if files++; files > x.cfg.TravelFiles || res.Count > 0 {
				break
			}
			fileEnd = (n/per + 1) * per
		}
		count := int(min(unitBatch, end-n, fileEnd-n))
		if left := max(x.r.MaxCount, 1) - res.Count; x.r.Filter == nil && left < count {
			count = max(left, 1)
		}
		b, err := x.q.Read(x.units[:0], n, count)
		if errors.Is(err, consumequeue.ErrNoUnit) {
			if n == first {
				res.Status, res.Next = OffsetFoundNull, x.q.OffsetOf(fileEnd)
				return
			}
			break
		}
		if err != nil {
			b = x.readSingly(n, err)
		}
		taken, full := x.take(n, b)
		n += int64(taken)
		if full || x.fault != nil {
			break
		}
	}
	switch {
	case res.Count > 0:
		res.Status = Found
	case x.fault != nil:
		res.Status, res.Err = Unreadable, x.fault
	case x.missed:
		res.Status = MessageWasRemoving
	}
}

// take looks at encoded units, the first one of number n. It gives how many were dealt with, and whether the answer
// is full.
func (x *reading) take(n int64, units []byte) (taken int, full bool) {
	res := x.res
	for size := x.layout.UnitSize(); len(units) >= size; units = units[size:] {
		u := x.layout.Decode(units)
		if !u.Filler() && !x.sound(u, units[size:]) {
			x.s.damage.unit(x.q, n+int64(taken), x.lostUnit)
			x.lostUnit = nil
			res.Next = x.pass(res.Next, units[size:])
			taken++
			continue
		}
		offset, next := u.Offsets(n + int64(taken))
		if offset >= x.limit && res.Next == x.r.Offset {
			res.Next = x.limit // a batch queue without messages for so long
		}
		if offset >= x.limit || x.full(u) {
			return taken, true
		}
		taken++
		before := res.Next
		res.Next = next
		if u.Filler() || u.PhysicalOffset < x.skipBelow {
			continue
		}
		res.SuggestSlave = u.PhysicalOffset < x.hot
		may, doubt := x.matchesUnit(u)
		if !may {
			continue
		}
		if x.record(u, n+int64(taken-1), units, doubt); x.fault != nil {
			res.Next = max(before, offset)
			return taken - 1, true
		}
	}
	return taken, false
}

// full tells whether the message of u is too much.
func (x *reading) full(u consumequeue.Unit) bool {
	res := x.res
	if res.Count == 0 {
		return false
	}
	bytes := res.Bytes + int(u.Size)
	if res.Bytes >= x.maxBytes || res.Count+u.Messages() > x.r.MaxCount || bytes > x.maxBytes {
		return true
	}
	if u.PhysicalOffset >= x.hot {
		return bytes > int(x.cfg.MemoryBytes) || res.Count >= int(x.cfg.MemoryCount)
	}
	return bytes > int(x.cfg.DiskBytes) || res.Count >= int(x.cfg.DiskCount)
}

// record appends the record of u, the unit of number n and first of units, if the filter takes it. doubt: the tags are to
// be looked at, too.
func (x *reading) record(u consumequeue.Unit, n int64, units []byte, doubt bool) {
	log := x.s.log
	had := len(x.dst)
	var err error
	inMemory := log.InTail(u.PhysicalOffset)
	if inMemory {
		x.dst, err = log.Read(x.dst, u.PhysicalOffset, int(u.Size))
	} else {
		x.dst, err = x.readCold(u, units)
	}
	if err == nil {
		err = check(x.dst[had:], u, !inMemory)
	}
	if err != nil {
		x.dst = x.dst[:had]
		x.miss(u, n, err)
		return
	}
	x.missed = false
	if doubt && !x.matchesTags(x.dst[had:]) {
		x.dst = x.dst[:had]
		return
	}
	if f := x.r.Filter; f != nil && f.NeedsProperties() && !f.MatchProperties(propertiesOf(x.dst[had:])) {
		x.dst = x.dst[:had]
		return
	}
	x.res.Count += u.Messages()
	x.res.Bytes += int(u.Size)
}

func propertiesOf(b []byte) []byte {
	var r message.Record
	if _, err := message.DecodeRecord(b, &r, false); err != nil {
		return nil
	}
	return r.Properties
}
