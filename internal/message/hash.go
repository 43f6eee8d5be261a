// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"encoding/binary"
	"unicode/utf8"
)

// HashString is Java's String.hashCode of UTF-8 text: over its UTF-16 units, so that a character
// beyond the basic plane counts as its two surrogates. Each byte that is not UTF-8 counts as U+FFFD.
func HashString(s []byte) int32 { return HashMore(0, s) }

// HashMore goes on hashing with s: the hash of two texts, one behind the other, is HashMore(HashString(first), second).
func HashMore(h int32, s []byte) int32 {
	for i := 0; i < len(s); {
		if h4, ok := hash4(h, s[i:]); ok { // nearly all text is ASCII
			h = h4
			i += 4
			continue
		}
		if c := s[i]; c < utf8.RuneSelf {
			h = 31*h + int32(c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + 0xD800 + r>>10
			r = 0xDC00 + r&0x3FF
		}
		h = 31*h + r
		i += n
	}
	return h
}

// hash4 goes on with four bytes of ASCII at once: one by one each would wait for the product of the one before.
func hash4(h int32, s []byte) (int32, bool) {
	if len(s) < 4 {
		return 0, false
	}
	w := binary.LittleEndian.Uint32(s)
	if w&0x80808080 != 0 {
		return 0, false
	}
	return 31*31*31*31*h + 31*31*31*int32(w&0xFF) + 31*31*int32(w>>8&0xFF) + 31*int32(w>>16&0xFF) + int32(w>>24), true
}

// QueueOfKey is which of so many queues the messages of a sharding key go to (RocketMQ: SelectMessageQueueByHash).
func QueueOfKey(key string, queues int) int {
	i := HashString([]byte(key)) % int32(queues)
	return int(max(i, -i))
}

// TagsCode is what a consume queue keeps of a message's TAGS, to filter by: its hash, 0 when there are none.
func TagsCode(tags []byte) int64 { return int64(HashString(tags)) }
