// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"encoding/binary"
	"math"
)

// UnitSize is the size of a unit, bytes:
//
//	 0                8        12               20
//	+----------------+--------+----------------+
//	| physical offset| size   | tags code      |
//	+----------------+--------+----------------+
const UnitSize = 20

// fillerSize is the size in a unit that stands for no message: it fills a queue's first file up to where the queue
// begins, or the place of messages that are lost.
const fillerSize = math.MaxInt32

// Unit tells where a message is.
type Unit struct {
	PhysicalOffset int64
	Size           int32
	TagsCode       int64 // hash of the tags; of a delayed message when it is due, ms
}

var filler = Unit{Size: fillerSize}

// Filler tells whether the unit stands for no message.
func (u Unit) Filler() bool { return u.Size == fillerSize && u.PhysicalOffset == 0 }

// valid tells whether the unit was ever written.
func (u Unit) valid() bool { return u.Size > 0 && u.PhysicalOffset >= 0 }

// end is the physical offset behind the message.
func (u Unit) end() int64 { return u.PhysicalOffset + int64(u.Size) }

// AppendUnit encodes u.
func AppendUnit(dst []byte, u Unit) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.PhysicalOffset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.Size))
	return binary.BigEndian.AppendUint64(dst, uint64(u.TagsCode))
}

// DecodeUnit decodes the unit at the start of b, which must hold one.
func DecodeUnit(b []byte) Unit {
	return Unit{
		PhysicalOffset: int64(binary.BigEndian.Uint64(b)),
		Size:           int32(binary.BigEndian.Uint32(b[8:])),
		TagsCode:       int64(binary.BigEndian.Uint64(b[12:])),
	}
}
