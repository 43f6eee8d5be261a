// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Bloom is the size of a Bloom filter. RocketMQ's broker can mark in a queue, per message, whose expressions match; each
// group has some bits for that, which both servers must compute alike (RocketMQ: BloomFilter).
type Bloom struct {
	Hashes int // bits of a key
	Bits   int // of the filter, a multiple of 8
}

// NewBloom gives the size for an error rate, in percent from 1 to 99, and a number of keys.
func NewBloom(errorPercent, keys int) Bloom {
	rate := float64(min(max(errorPercent, 1), 99)) / 100
	keys = min(max(keys, 1), 1<<20)
	log := func(base, n float64) float64 { return math.Log(n) / math.Log(base) }
	wanted := math.Ceil(float64(keys) * log(2, 1/rate) * log(2, math.E))
	return Bloom{Hashes: int(math.Ceil(log(0.5, rate))), Bits: 8 * int(math.Ceil(wanted/8))}
}

// BloomKey is the key of a group's filter on a topic.
func BloomKey(group, topic string) string { return group + "#" + topic }

// Positions gives the bits of a key.
func (b Bloom) Positions(key string) []int32 {
	hash := murmur3([]byte(key))
	first, step := int32(hash), int32(hash>>32)
	positions := make([]int32, b.Hashes)
	for i := range positions {
		h := first + int32(i+1)*step
		if h < 0 {
			h = ^h
		}
		positions[i] = h % int32(b.Bits)
	}
	return positions
}

// Set sets bits, given by their positions, in a bit map: position 0 is the lowest bit of the first byte.
func Set(bitmap []byte, positions []int32) {
	for _, p := range positions {
		bitmap[p/8] |= 1 << (p % 8)
	}
}

// Has tells whether all bits are set, given by positions within the bit map.
func Has(bitmap []byte, positions []int32) bool {
	for _, p := range positions {
		if bitmap[p/8]&(1<<(p%8)) == 0 {
			return false
		}
	}
	return true
}

// Constants of MurmurHash3 in its form of 128 bits for 64-bit machines, by Austin Appleby, who gave it to the public domain.
const (
	murmurC1 = 0x87c37b91114253d5
	murmurC2 = 0x4cf5ad432745937f
)

// murmur3 gives the lower half of the hash with seed 0.
func murmur3(b []byte) uint64 {
	var h1, h2 uint64
	size := uint64(len(b))
	for ; len(b) >= 16; b = b[16:] {
		h1 ^= murmurFirst(binary.LittleEndian.Uint64(b))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= murmurSecond(binary.LittleEndian.Uint64(b[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var rest [16]byte // zeros change nothing
	copy(rest[:], b)
	h2 ^= murmurSecond(binary.LittleEndian.Uint64(rest[8:]))
	h1 ^= murmurFirst(binary.LittleEndian.Uint64(rest[:]))
	h1 ^= size
	h2 ^= size
	h1 += h2
	h2 += h1
	return murmurMix(h1) + murmurMix(h2)
}

func murmurFirst(k uint64) uint64  { return bits.RotateLeft64(k*murmurC1, 31) * murmurC2 }
func murmurSecond(k uint64) uint64 { return bits.RotateLeft64(k*murmurC2, 33) * murmurC1 }

func murmurMix(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
