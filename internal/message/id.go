// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
)

// Lengths of ids, in characters: the host in them has an IPv4 or an IPv6 address.
const (
	IDLengthV4 = 32
	IDLengthV6 = 56
)

const upperHex = "0123456789ABCDEF"

func appendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, upperHex[c>>4], upperHex[c&0xF])
	}
	return dst
}

// OffsetID is the id of a message by its place: the store host's address and port and the physical
// offset, in hexadecimal (RocketMQ: offsetMsgId, MessageDecoder.createMessageId).
func OffsetID(host netip.AddrPort, physicalOffset int64) string {
	return string(AppendOffsetID(make([]byte, 0, IDLengthV6), host, physicalOffset))
}

// AppendOffsetID appends OffsetID to dst.
func AppendOffsetID(dst []byte, host netip.AddrPort, physicalOffset int64) []byte {
	var raw [IDLengthV6 / 2]byte
	b := appendHost(raw[:0], host)
	b = binary.BigEndian.AppendUint64(b, uint64(physicalOffset))
	return appendHex(dst, b)
}

// ParseOffsetID takes an offset id apart. Unlike Java it refuses characters that are not hexadecimal.
func ParseOffsetID(id string) (host netip.AddrPort, physicalOffset int64, err error) {
	if len(id) != IDLengthV4 && len(id) != IDLengthV6 {
		return host, 0, fmt.Errorf("offset id %.64q has %d characters, not %d or %d", id, len(id), IDLengthV4, IDLengthV6)
	}
	b, err := hex.DecodeString(id)
	if err != nil {
		return host, 0, fmt.Errorf("offset id %q: %w", id, err)
	}
	host, pos := decodeHost(b, 0, len(id) == IDLengthV6)
	return host, int64(binary.BigEndian.Uint64(b[pos:])), nil
}
