// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"encoding/binary"
	"math"
)

// UnitSize is the size of a unit of a simple queue, bytes:
//
//	 0                8        12               20
//	+----------------+--------+----------------+
//	| physical offset| size   | tags code      |
//	+----------------+--------+----------------+
const UnitSize = 20

// BatchUnitSize is the size of a unit of a batch queue, bytes:
//
//	 0                8        12               20
//	+----------------+--------+----------------+----------------+
//	| physical offset| size   | tags code      | store time     |
//	+----------------+--+-----+--+--------+----+----------------+
//	| queue offset   |n | -1     | 0      |
//	+----------------+--+--------+--------+
//	 28               36 38       42       46
//
// n is the number of messages in the record; the queue offset is that of the first.
const BatchUnitSize = 46

// fillerSize is the size in a unit that stands for no message: it fills a queue's first file up to where the queue
// begins, or the place of messages that are lost.
const fillerSize = math.MaxInt32

// Unit tells where a message is, or an inner batch of messages.
type Unit struct {
	PhysicalOffset int64
	Size           int32
	TagsCode       int64 // hash of the tags; of a delayed message when it is due, ms

	// Of batch queues only.
	Count          int32 // messages in the record, at most math.MaxInt16; 0 in a simple queue, where it is always one
	Base           int64 // queue offset of the first
	StoreTimestamp int64 // ms
}

var filler = Unit{Size: fillerSize}

// Filler tells whether the unit stands for no message.
func (u Unit) Filler() bool { return u.Size == fillerSize && u.PhysicalOffset == 0 }

// Messages is how many messages the record holds.
func (u Unit) Messages() int { return int(max(u.Count, 1)) }

// Offsets gives the queue offset of the unit's first message and the one behind its last. n is the unit's number.
func (u Unit) Offsets(n int64) (first, next int64) {
	if u.Count > 0 {
		return u.Base, u.Base + int64(u.Count)
	}
	return n, n + 1
}

// end is the physical offset behind the message.
func (u Unit) end() int64 { return u.PhysicalOffset + int64(u.Size) }

// Layout is the form of a queue's units.
type Layout uint8

// Layouts.
const (
	Simple Layout = iota // a unit for each message: unit n belongs to queue offset n (RocketMQ: SimpleCQ, ConsumeQueue)
	Batch                // a unit for each record, which may hold many messages (RocketMQ: BatchCQ, BatchConsumeQueue)
)

// UnitSize is the size of a unit, bytes.
func (l Layout) UnitSize() int {
	if l == Batch {
		return BatchUnitSize
	}
	return UnitSize
}

// Valid tells whether the unit may be one that was written.
func (l Layout) Valid(u Unit) bool {
	return u.Size > 0 && u.PhysicalOffset >= 0 && (l == Simple || u.Count > 0 && u.Base >= 0 && u.Base <= math.MaxInt64-math.MaxInt16)
}

// Append encodes u.
func (l Layout) Append(dst []byte, u Unit) []byte {
	dst = AppendUnit(dst, u)
	if l == Simple {
		return dst
	}
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(u.StoreTimestamp))
	dst = be.AppendUint64(dst, uint64(u.Base))
	dst = be.AppendUint16(dst, uint16(u.Count))
	dst = be.AppendUint32(dst, math.MaxUint32) // the offset after compaction, which is not known
	return be.AppendUint32(dst, 0)
}

// Decode decodes the unit at the start of b, which must hold one.
func (l Layout) Decode(b []byte) Unit {
	u := DecodeUnit(b)
	if l == Batch {
		u.StoreTimestamp = int64(binary.BigEndian.Uint64(b[20:]))
		u.Base = int64(binary.BigEndian.Uint64(b[28:]))
		u.Count = int32(int16(binary.BigEndian.Uint16(b[36:])))
	}
	return u
}

// AppendUnit encodes u for a simple queue.
func AppendUnit(dst []byte, u Unit) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.PhysicalOffset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.Size))
	return binary.BigEndian.AppendUint64(dst, uint64(u.TagsCode))
}

// DecodeUnit decodes the unit of a simple queue at the start of b, which must hold one.
func DecodeUnit(b []byte) Unit {
	return Unit{
		PhysicalOffset: int64(binary.BigEndian.Uint64(b)),
		Size:           int32(binary.BigEndian.Uint32(b[8:])),
		TagsCode:       int64(binary.BigEndian.Uint64(b[12:])),
	}
}
