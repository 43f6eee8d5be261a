// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package keyindex

import "encoding/binary"

// An index file:
//
//	+--------+-----------------+------------------------+
//	| header | slots of 4 bytes | entries of 20 bytes    |
//	+--------+-----------------+------------------------+
//
// A slot holds the number of its newest entry, 0 for none. Entry 0 is never used.
const (
	HeaderSize = 40
	slotSize   = 4
	entrySize  = 20
)

// Header of an index file:
//
//	 0           8           16          24          32       36       40
//	+-----------+-----------+-----------+-----------+--------+--------+
//	| begin ms  | end ms    | begin phys| end phys  | slots  | count  |
//	+-----------+-----------+-----------+-----------+--------+--------+
type Header struct {
	BeginTime, EndTime         int64 // store times of the first and the last message, ms
	BeginPhysical, EndPhysical int64 // their physical offsets
	Slots                      int32 // in use
	Count                      int32 // number of the next entry; 1 in an empty file
}

// Append encodes h.
func (h *Header) Append(dst []byte) []byte {
	be := binary.BigEndian
	for _, v := range []int64{h.BeginTime, h.EndTime, h.BeginPhysical, h.EndPhysical} {
		dst = be.AppendUint64(dst, uint64(v))
	}
	dst = be.AppendUint32(dst, uint32(h.Slots))
	return be.AppendUint32(dst, uint32(h.Count))
}

// DecodeHeader decodes the header at the start of b, which must hold one. A count below 1 is 1.
func DecodeHeader(b []byte) Header {
	be := binary.BigEndian
	at := func(i int) int64 { return int64(be.Uint64(b[i:])) }
	return Header{at(0), at(8), at(16), at(24), int32(be.Uint32(b[32:])), max(int32(be.Uint32(b[36:])), 1)}
}

// Entry of an index file:
//
//	 0        4                12       16       20
//	+--------+----------------+--------+--------+
//	| hash   | physical offset| seconds| before |
//	+--------+----------------+--------+--------+
type Entry struct {
	Hash     int32 // of the key, never negative
	Physical int64
	Seconds  int32 // since the begin of the file, roughly: see file.put
	Before   int32 // number of the entry before it in the slot; 0: none
}

// Append encodes e.
func (e Entry) Append(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(e.Hash))
	dst = be.AppendUint64(dst, uint64(e.Physical))
	dst = be.AppendUint32(dst, uint32(e.Seconds))
	return be.AppendUint32(dst, uint32(e.Before))
}

// DecodeEntry decodes the entry at the start of b, which must hold one.
func DecodeEntry(b []byte) Entry {
	be := binary.BigEndian
	return Entry{int32(be.Uint32(b)), int64(be.Uint64(b[4:])), int32(be.Uint32(b[12:])), int32(be.Uint32(b[16:]))}
}
