// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// BatchItem is one message inside a client batch (request body of SEND_BATCH_MESSAGE).
type BatchItem struct {
	Flag             int32
	Body, Properties []byte
}

// batchItemOverhead is the size of an item without body and properties.
const batchItemOverhead = 22

// AppendBatchItem encodes an item:
//
//	 0        4        8        12       16       20                2
//	+--------+--------+--------+--------+--------+--------+--------+------------+
//	| size   | magic 0| crc 0  | flag   | length | body   | length | properties |
//	+--------+--------+--------+--------+--------+--------+--------+------------+
//
// Properties may not be longer than MaxProperties.
func AppendBatchItem(dst []byte, it BatchItem) []byte {
	if len(it.Properties) > MaxProperties {
		panic(fmt.Sprintf("message: batch item with properties of %d bytes", len(it.Properties)))
	}
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(batchItemOverhead+len(it.Body)+len(it.Properties)))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = be.AppendUint32(dst, uint32(it.Flag))
	dst = be.AppendUint32(dst, uint32(len(it.Body)))
	dst = append(dst, it.Body...)
	dst = be.AppendUint16(dst, uint16(len(it.Properties)))
	return append(dst, it.Properties...)
}

// ErrBatch is what EachBatchItem returns for bytes that are no batch, wrapped with the place.
var ErrBatch = errors.New("malformed batch")

// EachBatchItem calls f for each item of a batch body; items alias b. It stops at f's first error,
// which it returns. Size, magic and checksum of the items are not looked at, as RocketMQ does not:
// clients fill them in differently.
func EachBatchItem(b []byte, f func(BatchItem) error) error {
	be := binary.BigEndian
	for n, pos := 0, 0; pos < len(b); n++ {
		bad := func(at int, what string, size int) error {
			return fmt.Errorf("%w: item %d: %s of %d bytes at byte %d", ErrBatch, n, what, size, at)
		}
		if len(b)-pos < batchItemOverhead {
			return bad(pos, "rest", len(b)-pos)
		}
		it := BatchItem{Flag: int32(be.Uint32(b[pos+12:]))}
		size := int(int32(be.Uint32(b[pos+16:])))
		if size < 0 || size > len(b)-pos-batchItemOverhead {
			return bad(pos+16, "body", size)
		}
		pos += 20
		it.Body = b[pos : pos+size : pos+size]
		pos += size
		size = int(int16(be.Uint16(b[pos:])))
		if size < 0 || size > len(b)-pos-2 {
			return bad(pos, "properties", size)
		}
		pos += 2
		it.Properties = b[pos : pos+size : pos+size]
		pos += size
		if err := f(it); err != nil {
			return err
		}
	}
	return nil
}
