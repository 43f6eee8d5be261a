// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package keyindex

import (
	"math"
	"unicode/utf8"

	"github.com/goddard-mq/goddard/internal/message"
)

// keyHash is the hash of topic#key as the index stores it, Java's made positive, or with tags of topic#T#key.
func keyHash(topic, key []byte, tags bool) int32 {
	h := 31*message.HashString(topic) + '#'
	if tags {
		h = 31*(31*h+'T') + '#'
	}
	return positive(extend(h, key))
}

// positive is Java's Math.abs, with 0 for the number that has no positive counterpart.
func positive(h int32) int32 {
	switch {
	case h == math.MinInt32:
		return 0
	case h < 0:
		return -h
	}
	return h
}

// extend goes on hashing from h with s. The hash of a text of two parts is extend(HashString(first), second).
func extend(h int32, s []byte) int32 {
	for i, c := range s {
		if c >= utf8.RuneSelf {
			rest := message.HashString(s[i:])
			return h*power31(units(s[i:])) + rest
		}
		h = 31*h + int32(c)
	}
	return h
}

// units is the length of s in UTF-16.
func units(s []byte) int {
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		if r >= 0x10000 {
			n++
		}
		n++
		s = s[size:]
	}
	return n
}

func power31(n int) int32 {
	p := int32(1)
	for range n {
		p *= 31
	}
	return p
}
