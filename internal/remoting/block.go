// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"math/bits"
	"sync"
)

// block is a piece of memory lent to a connection while bytes are on their way,
// in sizes that are powers of two. A connection without traffic holds none.
type block struct {
	mem   []byte
	class int // index into blockPools, -1: not pooled
}

const (
	smallestBlock = 512
	smallestShift = 9
	pooledClasses = 12 // 512 B ... 1 MiB; larger ones go to the garbage collector
)

var blockPools [pooledClasses]sync.Pool

// borrow lends at least n bytes.
func borrow(n int) *block {
	class := 0
	if n > smallestBlock {
		class = bits.Len(uint(n-1)) - smallestShift
	}
	size := smallestBlock << class
	if class >= pooledClasses {
		return &block{mem: make([]byte, size), class: -1}
	}
	if b, ok := blockPools[class].Get().(*block); ok {
		return b
	}
	return &block{mem: make([]byte, size), class: class}
}

// release takes the memory back; nothing may point into it any more.
func (b *block) release() {
	if b != nil && b.class >= 0 {
		blockPools[b.class].Put(b)
	}
}
