// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/goddard-mq/goddard/internal/header"
)

// The binary header (RocketMQ: RocketMQSerializable):
//
//	0      2      3         5        9      13          17
//	+------+------+---------+--------+------+-----------+--------+-----------+--------
//	| code | lang | version | opaque | flag | remarkLen | remark | fieldsLen | fields
//	+------+------+---------+--------+------+-----------+--------+-----------+--------
//	   2      1        2        4       4         4                    4
//
// and a field is: keyLen 2, key, valueLen 4, value. An empty value is written, but
// RocketMQ reads it as null, so do we.
const (
	binaryFixedBytes = 13 // up to and with flag
	binaryMinBytes   = binaryFixedBytes + 4 + 4
)

func decodeBinary(c *Command, b []byte) error {
	if len(b) < binaryMinBytes {
		return badFrame("binary header below 21 bytes")
	}
	c.Code = int32(int16(binary.BigEndian.Uint16(b)))
	c.Language = languageAt(int64(b[2]))
	c.Version = int32(int16(binary.BigEndian.Uint16(b[3:])))
	c.Opaque = int32(binary.BigEndian.Uint32(b[5:]))
	c.Flag = int32(binary.BigEndian.Uint32(b[9:]))
	remark, b, ok := cutSized(b[binaryFixedBytes:])
	if !ok {
		return badFrame("remark longer than the header")
	}
	c.Remark = string(remark)
	fields, _, ok := cutSized(b)
	if !ok {
		return badFrame("fields longer than the header")
	}
	for len(fields) > 0 {
		if len(fields) < 2 {
			return badFrame("field cut short")
		}
		n := int(binary.BigEndian.Uint16(fields))
		if n > math.MaxInt16 || n > len(fields)-2 {
			return badFrame("field name longer than the header")
		}
		key := fields[2 : 2+n : 2+n]
		var value []byte
		if value, fields, ok = cutSized(fields[2+n:]); !ok {
			return badFrame("field value longer than the header")
		}
		if n == 0 || len(value) == 0 {
			continue
		}
		if len(c.Fields) == maxFields {
			return badFrame("too many fields")
		}
		c.Fields = append(c.Fields, header.Field{Key: key, Value: value})
	}
	return nil
}

// cutSized takes a text with its 4-byte length from the front of b.
func cutSized(b []byte) (text, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int64(int32(binary.BigEndian.Uint32(b)))
	b = b[4:]
	if n < 0 || n > int64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

func (e *encoder) binaryHeader(c *Command, m meta) {
	b := binary.BigEndian.AppendUint16(e.b, uint16(c.Code))
	b = append(b, byte(m.language))
	b = binary.BigEndian.AppendUint16(b, uint16(m.version))
	b = binary.BigEndian.AppendUint32(b, uint32(m.opaque))
	b = binary.BigEndian.AppendUint32(b, uint32(m.flag))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Remark)))
	b = append(b, c.Remark...)
	size := len(b)
	e.b = append(b, 0, 0, 0, 0)
	e.fieldsOf(c)
	binary.BigEndian.PutUint32(e.b[size:], uint32(len(e.b)-size-4))
}

// binaryKey starts a field whose value has n bytes. It says false when the field
// can not be written.
func (e *encoder) binaryKey(key string, n int) bool {
	if len(key) > math.MaxInt16 {
		e.err = fmt.Errorf("%w: field name of %d bytes", ErrTooLarge, len(key))
	}
	if key == "" || e.err != nil {
		return false
	}
	e.b = binary.BigEndian.AppendUint16(e.b, uint16(len(key)))
	e.b = append(e.b, key...)
	e.b = binary.BigEndian.AppendUint32(e.b, uint32(n))
	return true
}

func (e *encoder) binaryInt(key string, v int64) {
	if !e.binaryKey(key, 1) {
		return
	}
	at := len(e.b)
	e.b = strconv.AppendInt(e.b, v, 10)
	binary.BigEndian.PutUint32(e.b[at-4:], uint32(len(e.b)-at))
}
