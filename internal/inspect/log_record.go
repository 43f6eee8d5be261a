// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
)

// trusted is the size of a record that is read without looking at it twice.
const trusted = 16 << 10

// sizeOf gives the size of the record that begins with head, rest being the bytes left in its file, or the reason why
// there can be none.
func sizeOf(head []byte, rest int64) (size int, reason string) {
	if len(head) < message.BlankSize {
		return 0, "the file ends"
	}
	size, magic := int(int32(binary.BigEndian.Uint32(head))), binary.BigEndian.Uint32(head[4:])
	switch {
	case size == 0 && magic == 0:
		return 0, "nothing was written there"
	case magic == message.MagicBlank:
		return 0, "it is filler"
	case magic != message.MagicV1 && magic != message.MagicV2:
		return 0, fmt.Sprintf("wrong magic %#08x", magic)
	case size < message.BlankSize:
		return 0, fmt.Sprintf("size of %d bytes", size)
	case int64(size) > rest:
		return 0, fmt.Sprintf("size of %d bytes, %d are left in the file", size, rest)
	}
	return size, ""
}

// recordSize is sizeOf for a place in a file. The size of a large record is checked against the lengths inside before
// anybody takes memory for it.
func recordSize(s *source, at int64, head []byte) (size int, reason string, err error) {
	if size, reason = sizeOf(head, s.size-at); reason == "" && size > trusted {
		reason, err = lengths(s, at, size, binary.BigEndian.Uint32(head[4:]))
	}
	return size, reason, err
}

// lengths tells why the lengths inside a record do not add up to its size.
func lengths(s *source, at int64, size int, magic uint32) (reason string, err error) {
	var b [4]byte
	number := func(pos int, n int) int {
		if err == nil {
			_, err = s.read(b[:n], at+int64(pos))
		}
		switch n {
		case 1:
			return int(int8(b[0]))
		case 2:
			return int(int16(binary.BigEndian.Uint16(b[:])))
		}
		return int(int32(binary.BigEndian.Uint32(b[:])))
	}
	sysFlag := int32(number(message.PosSysFlag, 4))
	pos := message.StoreTimestampPos(sysFlag) + 8 + 8 + 4 + 8 // store time, host, retries, prepared offset
	if sysFlag&message.FlagStoreHostV6 != 0 {
		pos += 12
	}
	topicLength := 1
	if magic == message.MagicV2 {
		topicLength = 2
	}
	for _, part := range []struct {
		name  string
		bytes int
	}{{"body", 4}, {"topic", topicLength}, {"properties", 2}} {
		if pos+part.bytes > size {
			return "no " + part.name, err
		}
		n := number(pos, part.bytes)
		pos += part.bytes
		if n < 0 || n > size-pos {
			return fmt.Sprintf("%s of %d bytes in a record of %d", part.name, n, size), err
		}
		pos += n
	}
	if pos != size {
		return fmt.Sprintf("size of %d bytes, the parts have %d", size, pos), err
	}
	return "", err
}

// sealFault tells what is wrong with the seal of a record, which is a checksum over all of it; "" when it is right, or
// when there is none.
func sealFault(record []byte) string {
	const prefix = commitlog.SealName + "\x01"
	at := len(record) - commitlog.SealSize
	if at < 0 || !bytes.HasPrefix(record[at:], []byte(prefix)) || record[len(record)-1] != 0x02 {
		return ""
	}
	sum := crc32.ChecksumIEEE(record[:at]) & 0x7FFFFFFF
	for _, digit := range record[at+len(prefix) : len(record)-1] { // the lowest first
		if digit != '0'+byte(sum%10) {
			return "the checksum of the record differs"
		}
		sum /= 10
	}
	return ""
}
