// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"net/netip"
)

// Magic numbers, the second word of a record.
const (
	MagicV1    uint32 = 0xDAA320A7 // topic length in one byte
	MagicV2    uint32 = 0xDAA320AB // topic length in two bytes, for topics above 127 bytes
	MagicBlank uint32 = 0xCBD43194 // filler at the end of a file: size and magic, nothing more
)

// Limits of the layout.
const (
	MaxTopicV1    = math.MaxInt8  // bytes of topic in a V1 record
	MaxProperties = math.MaxInt16 // bytes of properties
	BlankSize     = 8             // of the smallest filler

	recordOverheadV1 = 91 // of a record with IPv4 hosts, without topic, body and properties
	hostV6Extra      = 12 // more per host with IPv6 address
)

// Record is a stored message. Slices alias what it was decoded from.
type Record struct {
	Size           int32  // of the whole record, bytes; AppendRecord computes it
	Magic          uint32 // MagicV1 or MagicV2; AppendRecord chooses when 0
	BodyCRC        uint32 // BodyCRC(Body); AppendRecord computes it when 0
	QueueID        int32
	Flag           int32 // the application's own
	QueueOffset    int64 // number of the message in its queue
	PhysicalOffset int64 // position of the record in the log, bytes
	SysFlag        int32
	BornTimestamp  int64 // ms, by the producer's clock
	BornHost       netip.AddrPort
	StoreTimestamp int64 // ms
	StoreHost      netip.AddrPort
	ReconsumeTimes int32
	PreparedOffset int64 // of a committed message: physical offset of its half message
	Body           []byte
	Topic          []byte
	Properties     []byte // raw text, see EachProperty
}

// Positions of the fields that are patched once the record's place in the log is known; that of the
// store timestamp depends on the born host.
const (
	PosQueueOffset    = 20
	PosPhysicalOffset = 28
	PosSysFlag        = 36

	posStoreTimestamp = 56
)

// StoreTimestampPos is the position of the store timestamp for the given sysFlag.
func StoreTimestampPos(sysFlag int32) int {
	if sysFlag&FlagBornHostV6 != 0 {
		return posStoreTimestamp + hostV6Extra
	}
	return posStoreTimestamp
}

// BodyCRC is the checksum of a body as it is stored, compressed or not: CRC-32 (IEEE) without its highest bit.
func BodyCRC(body []byte) uint32 { return crc32.ChecksumIEEE(body) & 0x7FFFFFFF }

// RecordSize is the number of bytes that AppendRecord will write.
func RecordSize(r *Record) int {
	n := recordOverheadV1 + len(r.Body) + len(r.Topic) + len(r.Properties)
	if r.wide() {
		n++
	}
	if isV6(r.BornHost) {
		n += hostV6Extra
	}
	if isV6(r.StoreHost) {
		n += hostV6Extra
	}
	return n
}

// wide tells whether the record has the V2 layout.
func (r *Record) wide() bool { return r.Magic == MagicV2 || len(r.Topic) > MaxTopicV1 }

// isV6 tells whether a host takes 16 bytes. An IPv4 address in IPv6 clothes does not: it is written
// as Java writes it, because many clients read IPv4 only.
func isV6(host netip.AddrPort) bool { return host.Addr().Is6() && !host.Addr().Is4In6() }

// AppendRecord encodes r:
//
//	 0        4        8        12       16       20                28                36
//	+--------+--------+--------+--------+--------+-----------------+-----------------+--------+
//	| size   | magic  | crc    | queue  | flag   | queue offset    | physical offset | sysFlag|
//	+--------+--------+--------+--------+--------+-----------------+-----------------+--------+
//	 40                48                56                64                72       76
//	+-----------------+-----------------+-----------------+-----------------+--------+
//	| born ms         | born ip    port | store ms        | store ip   port | retried|
//	+-----------------+-----------------+-----------------+-----------------+--------+
//	 76                84       88                        1 (V2: 2)         2
//	+-----------------+--------+-----------------+-------+--------+--------+------------+
//	| prepared offset | length | body            | length| topic  | length | properties |
//	+-----------------+--------+-----------------+-------+--------+--------+------------+
//
// Numbers are big-endian. A host with IPv6 address takes 20 bytes instead of 8 and moves what follows
// by 12; the bits in sysFlag that say so are set and cleared here. Topics longer than 32767 bytes and
// properties longer than MaxProperties cannot be written; to have refused them is the caller's duty.
func AppendRecord(dst []byte, r *Record) []byte {
	if len(r.Properties) > MaxProperties || len(r.Topic) > math.MaxInt16 || len(r.Body) > math.MaxInt32-(1<<17) {
		panic(fmt.Sprintf("message: record with topic of %d, properties of %d, body of %d bytes", len(r.Topic), len(r.Properties), len(r.Body)))
	}
	magic, crc := MagicV1, r.BodyCRC
	if r.wide() {
		magic = MagicV2
	}
	if crc == 0 && len(r.Body) > 0 {
		crc = BodyCRC(r.Body)
	}
	sysFlag := r.SysFlag &^ (FlagBornHostV6 | FlagStoreHostV6)
	if isV6(r.BornHost) {
		sysFlag |= FlagBornHostV6
	}
	if isV6(r.StoreHost) {
		sysFlag |= FlagStoreHostV6
	}

	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(RecordSize(r)))
	dst = be.AppendUint32(dst, magic)
	dst = be.AppendUint32(dst, crc)
	dst = be.AppendUint32(dst, uint32(r.QueueID))
	dst = be.AppendUint32(dst, uint32(r.Flag))
	dst = be.AppendUint64(dst, uint64(r.QueueOffset))
	dst = be.AppendUint64(dst, uint64(r.PhysicalOffset))
	dst = be.AppendUint32(dst, uint32(sysFlag))
	dst = be.AppendUint64(dst, uint64(r.BornTimestamp))
	dst = appendHost(dst, r.BornHost)
	dst = be.AppendUint64(dst, uint64(r.StoreTimestamp))
	dst = appendHost(dst, r.StoreHost)
	dst = be.AppendUint32(dst, uint32(r.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(r.PreparedOffset))
	dst = be.AppendUint32(dst, uint32(len(r.Body)))
	dst = append(dst, r.Body...)
	if magic == MagicV2 {
		dst = be.AppendUint16(dst, uint16(len(r.Topic)))
	} else {
		dst = append(dst, byte(len(r.Topic)))
	}
	dst = append(dst, r.Topic...)
	dst = be.AppendUint16(dst, uint16(len(r.Properties)))
	return append(dst, r.Properties...)
}

// appendHost writes an address and its port as RocketMQ does; no address at all is 0.0.0.0.
func appendHost(dst []byte, host netip.AddrPort) []byte {
	switch addr := host.Addr().Unmap(); {
	case addr.Is6():
		b := addr.As16()
		dst = append(dst, b[:]...)
	case addr.Is4():
		b := addr.As4()
		dst = append(dst, b[:]...)
	default:
		dst = append(dst, 0, 0, 0, 0)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(host.Port()))
}

// ErrBlank is what DecodeRecord finds at the end of a log file: filler up to the file's end.
var ErrBlank = errors.New("blank at end of file")

// RecordError tells why bytes are no record.
type RecordError struct {
	Pos    int // in the bytes given, where the fault lies
	Reason string
}

func (e *RecordError) Error() string { return fmt.Sprintf("record: %s at byte %d", e.Reason, e.Pos) }

// DecodeRecord reads the record at the start of b into r, whose slices then alias b, and returns its
// size. With checkCRC the body is compared with its checksum. The error is ErrBlank for filler, n
// being its size; otherwise a *RecordError.
func DecodeRecord(b []byte, r *Record, checkCRC bool) (n int, err error) {
	if len(b) < BlankSize {
		return 0, &RecordError{len(b), "cut off in the size and magic"}
	}
	be := binary.BigEndian
	size, magic := int(int32(be.Uint32(b))), be.Uint32(b[4:])
	if magic == MagicBlank {
		if size < BlankSize {
			return 0, &RecordError{0, fmt.Sprintf("blank of %d bytes", size)}
		}
		return size, ErrBlank
	}
	if magic != MagicV1 && magic != MagicV2 {
		return 0, &RecordError{4, fmt.Sprintf("wrong magic %#08x", magic)}
	}
	if size < recordOverheadV1 {
		return 0, &RecordError{0, fmt.Sprintf("size of %d bytes", size)}
	}
	if size > len(b) {
		return 0, &RecordError{len(b), fmt.Sprintf("cut off, %d bytes of %d", len(b), size)}
	}
	return size, r.decode(b[:size:size], magic, checkCRC)
}

// decode reads a record that fills b, which is as long as the shortest record at least.
func (r *Record) decode(b []byte, magic uint32, checkCRC bool) error {
	be := binary.BigEndian
	r.Size = int32(len(b))
	r.Magic = magic
	r.BodyCRC = be.Uint32(b[8:])
	r.QueueID = int32(be.Uint32(b[12:]))
	r.Flag = int32(be.Uint32(b[16:]))
	r.QueueOffset = int64(be.Uint64(b[20:]))
	r.PhysicalOffset = int64(be.Uint64(b[28:]))
	r.SysFlag = int32(be.Uint32(b[36:]))
	r.BornTimestamp = int64(be.Uint64(b[40:]))

	bornV6, storeV6 := r.SysFlag&FlagBornHostV6 != 0, r.SysFlag&FlagStoreHostV6 != 0
	need := recordOverheadV1
	if bornV6 {
		need += hostV6Extra
	}
	if storeV6 {
		need += hostV6Extra
	}
	if len(b) < need {
		return &RecordError{0, fmt.Sprintf("size of %d bytes with IPv6 hosts", len(b))}
	}

	pos := 48
	r.BornHost, pos = decodeHost(b, pos, bornV6)
	r.StoreTimestamp = int64(be.Uint64(b[pos:]))
	r.StoreHost, pos = decodeHost(b, pos+8, storeV6)
	r.ReconsumeTimes = int32(be.Uint32(b[pos:]))
	r.PreparedOffset = int64(be.Uint64(b[pos+4:]))
	return r.decodeTail(b, pos+12, checkCRC)
}

// decodeTail reads body, topic and properties, which must end where b does.
func (r *Record) decodeTail(b []byte, pos int, checkCRC bool) error {
	be := binary.BigEndian
	length := int(int32(be.Uint32(b[pos:])))
	if length < 0 || length > len(b)-pos-4 {
		return &RecordError{pos, fmt.Sprintf("body of %d bytes", length)}
	}
	pos += 4
	r.Body = b[pos : pos+length : pos+length]
	if checkCRC && length > 0 && BodyCRC(r.Body) != r.BodyCRC {
		return &RecordError{8, "checksum of the body differs"}
	}
	pos += length

	if rest := len(b) - pos; rest < 1 || r.Magic == MagicV2 && rest < 2 {
		return &RecordError{pos, "no topic"}
	} else if r.Magic == MagicV2 {
		length = int(int16(be.Uint16(b[pos:])))
		pos += 2
	} else {
		length = int(int8(b[pos]))
		pos++
	}
	if length < 0 || length > len(b)-pos {
		return &RecordError{pos, fmt.Sprintf("topic of %d bytes", length)}
	}
	r.Topic = b[pos : pos+length : pos+length]
	pos += length

	if len(b)-pos < 2 {
		return &RecordError{pos, "no properties"}
	}
	length = int(int16(be.Uint16(b[pos:])))
	pos += 2
	if length < 0 || length != len(b)-pos {
		return &RecordError{pos, fmt.Sprintf("properties of %d bytes in %d", length, len(b)-pos)}
	}
	r.Properties = b[pos:len(b):len(b)]
	return nil
}

func decodeHost(b []byte, pos int, v6 bool) (host netip.AddrPort, next int) {
	var addr netip.Addr
	if v6 {
		addr = netip.AddrFrom16([16]byte(b[pos : pos+16])).Unmap()
		pos += 16
	} else {
		addr = netip.AddrFrom4([4]byte(b[pos : pos+4]))
		pos += 4
	}
	return netip.AddrPortFrom(addr, uint16(binary.BigEndian.Uint32(b[pos:]))), pos + 4
}

// DecodeAll reads records one after another, as they fill the body of a pull answer. With an error it
// gives those before the fault.
func DecodeAll(b []byte) ([]Record, error) {
	var all []Record
	for pos := 0; pos < len(b); {
		var r Record
		n, err := DecodeRecord(b[pos:], &r, false)
		if err != nil {
			return all, fmt.Errorf("record %d, from byte %d: %w", len(all), pos, err)
		}
		all = append(all, r)
		pos += n
	}
	return all, nil
}
