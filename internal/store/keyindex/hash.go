// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package keyindex

import (
	"math"

	"github.com/goddard-mq/goddard/internal/message"
)

// keyHash is the hash of topic#key as the index stores it, Java's made positive, or with tags of topic#T#key.
func keyHash(topic, key []byte, tags bool) int32 {
	h := 31*message.HashString(topic) + '#'
	if tags {
		h = 31*(31*h+'T') + '#'
	}
	return positive(message.HashMore(h, key))
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
