// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
)

// incoming is what a connection has read and not yet handled. Only the reader
// touches it.
//
// Memory is borrowed once bytes can be read and goes back when all of them are
// handled, so that a silent connection holds none and one with half a frame
// little. It grows with the bytes that arrived, never with what a length claims.
type incoming struct {
	stream net.Conn
	raw    syscall.RawConn // nil: read through stream
	fresh  bool            // the first bytes are still to be looked at

	blk  *block
	r, w int // blk.mem[r:w] is not handled yet
	want int // size of the next block, by what the last reads brought

	readOnce func(fd uintptr) bool // made once, to be given to raw
	tryOnce  func(fd uintptr) bool // the same, but does not wait
	err      error                 // of both
}

const (
	minReadBytes  = 64 << 10
	maxReadBytes  = 256 << 10
	restReadBytes = 4 << 10 // block kept for half a frame while nothing arrives
)

func (in *incoming) init(nc net.Conn, raw syscall.RawConn, fresh bool) {
	in.stream, in.raw, in.fresh = nc, raw, fresh
	in.want = minReadBytes
	in.readOnce = func(fd uintptr) bool {
		free := in.room()
		n, again, err := readSocket(fd, free)
		if again {
			in.rest()
			return false
		}
		in.took(n, len(free))
		in.err = err
		return true
	}
	in.tryOnce = func(fd uintptr) bool {
		in.err = nil
		if !in.readOnce(fd) {
			in.rest()
		}
		return true
	}
}

// fill waits until bytes arrived, at least one.
func (in *incoming) fill() (n int, err error) {
	before := in.w - in.r
	if in.raw != nil {
		if err = in.raw.Read(in.readOnce); err == nil {
			err = in.err
		}
		return in.w - in.r - before, err
	}
	in.rest()
	if in.blk == nil {
		in.blk = borrow(restReadBytes)
	}
	free := in.room()
	n, err = in.stream.Read(free)
	in.took(n, len(free))
	if n > 0 {
		err = nil // comes again with the next read
	}
	return n, err
}

// try reads once from a socket that does not wait; nothing read and no error: there is nothing now. full: there may be more.
func (in *incoming) try(raw syscall.RawConn) (n int, full bool, err error) {
	before := in.w - in.r
	if err = raw.Read(in.tryOnce); err == nil {
		err = in.err
	}
	return in.w - in.r - before, in.w == in.held(), err
}

// room gives memory to read into, at least a byte.
func (in *incoming) room() []byte {
	if in.blk == nil {
		in.blk = borrow(in.want)
	}
	if in.r > 0 {
		in.w = copy(in.blk.mem, in.blk.mem[in.r:in.w])
		in.r = 0
	}
	if in.w == len(in.blk.mem) {
		in.move(max(2*in.w, in.want))
	}
	return in.blk.mem[in.w:]
}

// took notes that n bytes were read into a room of size free.
func (in *incoming) took(n, free int) {
	in.w += n
	switch {
	case n == free:
		in.want = min(2*in.want, maxReadBytes)
	case n < in.want/8:
		in.want = max(in.want/2, minReadBytes)
	}
}

// move goes to a block of at least size bytes.
func (in *incoming) move(size int) {
	to := borrow(size)
	in.w = copy(to.mem, in.blk.mem[in.r:in.w])
	in.r = 0
	in.blk.release()
	in.blk = to
}

// rest gives back memory before waiting.
func (in *incoming) rest() {
	switch left := in.w - in.r; {
	case in.blk == nil:
	case left == 0:
		in.drop()
	case left <= restReadBytes/2 && len(in.blk.mem) > restReadBytes:
		in.move(restReadBytes)
	}
}

func (in *incoming) drop() {
	in.blk.release()
	in.blk, in.r, in.w = nil, 0, 0
}

// held is how much memory is borrowed.
func (in *incoming) held() int {
	if in.blk == nil {
		return 0
	}
	return len(in.blk.mem)
}

// unread is what was read and not handled.
func (in *incoming) unread() []byte {
	if in.blk == nil {
		return nil
	}
	return in.blk.mem[in.r:in.w]
}

// next takes the next complete frame, without its length word. limit is
// Config.MaxFrameBytes.
func (in *incoming) next(limit int) (frame []byte, ok bool, err error) {
	b := in.unread()
	if len(b) < lengthBytes {
		return nil, false, nil
	}
	length := int64(int32(binary.BigEndian.Uint32(b)))
	if length < lengthBytes || length+lengthBytes > int64(limit) {
		return nil, false, badFrame(fmt.Sprintf("length %d", length))
	}
	end := int(length) + lengthBytes
	if len(b) < end {
		return nil, false, nil
	}
	in.r += end
	return b[lengthBytes:end:end], true, nil
}
