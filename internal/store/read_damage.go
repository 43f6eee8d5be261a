// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// A reader must neither be given bytes that are not the message that was stored, nor wait for ever for one that is lost.
// So what is damaged is told (see damageLog) and left out, and the answer's next offset lies behind it; what merely
// cannot be read at this moment (no file descriptor, no memory, no permission, the store is being closed) ends the read
// before it, with an error: the reader comes again.

// sound tells whether u can be the unit of a message. rest are the units behind it.
func (x *reading) sound(u consumequeue.Unit, rest []byte) bool {
	if !x.layout.Valid(u) || u.Size < message.BlankSize || int64(u.Size) > x.s.log.Files().FileSize() {
		return false
	}
	if x.layout == consumequeue.Simple || len(rest) < x.layout.UnitSize() {
		return true
	}
	next := x.layout.Decode(rest)
	return !x.layout.Valid(next) || next.Base >= u.Base
}

// pass gives the queue offset to go on at behind a unit that is damaged, which was for the one given.
func (x *reading) pass(offset int64, rest []byte) int64 {
	if x.layout == consumequeue.Batch && len(rest) >= x.layout.UnitSize() {
		if u := x.layout.Decode(rest); x.layout.Valid(u) && u.Base > offset && u.Base < x.limit {
			return u.Base
		}
	}
	return offset + 1
}

// readSingly reads the unit of number n alone, after the units from there on could not be read together. One that is
// lost reads as zeros, which is no unit.
func (x *reading) readSingly(n int64, err error) []byte {
	b, again := x.q.Read(x.units[:0], n, 1)
	switch {
	case again == nil:
		return b
	case faultfs.Lost(again):
		x.lostUnit = again
		return make([]byte, x.layout.UnitSize())
	}
	x.fault = err
	return nil
}

// miss deals with the record of unit n that could not be had.
func (x *reading) miss(u consumequeue.Unit, n int64, err error) {
	log := x.s.log
	gone := errors.Is(err, segment.ErrGone)
	switch {
	case u.PhysicalOffset < log.Min(): // too old
		gone = true
	case u.PhysicalOffset > log.Confirmed()-int64(u.Size): // beyond the log's end
		x.s.damage.unit(x.q, n, nil)
		gone = false
	case gone, errors.Is(err, errDamaged), faultfs.Lost(err):
		x.s.damage.record(x.q, u, err)
	default:
		x.fault = fmt.Errorf("read the message at %d: %w", u.PhysicalOffset, err)
		return
	}
	x.missed = true
	if gone {
		files := log.Files()
		x.skipBelow = files.Start(u.PhysicalOffset) + files.FileSize()
	}
}

// errDamaged: the bytes that a unit leads to are not the record that was stored.
var errDamaged = errors.New("damaged")

// check tells whether b is the record of u. With whole, for what comes from the disk, lengths and the body's checksum are
// looked at, too: clients stop at a record whose parts do not fit, and lose those behind it.
func check(b []byte, u consumequeue.Unit, whole bool) error {
	be := binary.BigEndian
	if len(b) < message.PosPhysicalOffset+8 || be.Uint32(b) != uint32(u.Size) {
		return fmt.Errorf("%w: it has another size", errDamaged)
	}
	if magic := be.Uint32(b[4:]); magic != message.MagicV1 && magic != message.MagicV2 {
		return fmt.Errorf("%w: wrong magic %#08x", errDamaged, magic)
	}
	if at := int64(be.Uint64(b[message.PosPhysicalOffset:])); at != u.PhysicalOffset {
		return fmt.Errorf("%w: it says it lies at %d", errDamaged, at)
	}
	if !whole {
		return nil
	}
	var r message.Record
	if _, err := message.DecodeRecord(b, &r, true); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}
