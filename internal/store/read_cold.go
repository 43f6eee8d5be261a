// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// coldBlock is a piece of the log that was read from the file because several messages of one queue lie close
// together in it.
type coldBlock struct {
	base int64
	b    []byte
}

var coldBlocks = sync.Pool{New: func() any { return new(coldBlock) }}

func (c *coldBlock) giveBack() {
	if c != nil {
		c.b = c.b[:0]
		coldBlocks.Put(c)
	}
}

const (
	coldMost = 256 << 10 // bytes of one block
	coldGap  = 8 << 10   // bytes between two messages that are cheaper read than a second read
)

// readCold appends the record of u, which is not in memory. The units that follow u, of which it is the first, tell
// what to read along.
func (x *reading) readCold(u consumequeue.Unit, units []byte) ([]byte, error) {
	if c := x.cold; c != nil {
		if at := u.PhysicalOffset - c.base; at >= 0 && at+int64(u.Size) <= int64(len(c.b)) {
			return append(x.dst, c.b[at:at+int64(u.Size)]...), nil
		}
	}
	if u.Size > coldMost { // before so much memory is taken: is it that large?
		head, err := x.s.log.Read(x.dst, u.PhysicalOffset, message.BlankSize)
		if err != nil {
			return x.dst, err
		}
		if size := binary.BigEndian.Uint32(head[len(x.dst):]); size != uint32(u.Size) {
			return x.dst, fmt.Errorf("%w: it has %d bytes", errDamaged, size)
		}
	}
	span := x.coldSpan(u, units)
	if span <= int(u.Size) {
		return x.s.log.Read(x.dst, u.PhysicalOffset, int(u.Size))
	}
	if x.cold == nil {
		x.cold = coldBlocks.Get().(*coldBlock)
	}
	c := x.cold
	var err error
	c.b, err = x.s.log.Read(c.b[:0], u.PhysicalOffset, span)
	if err != nil { // what lies further on may be at fault
		c.b = c.b[:0]
		return x.s.log.Read(x.dst, u.PhysicalOffset, int(u.Size))
	}
	c.base = u.PhysicalOffset
	return append(x.dst, c.b[:u.Size]...), nil
}

// coldSpan is how many bytes to read from u on so that the messages after it which will be taken, too, are in it.
func (x *reading) coldSpan(u consumequeue.Unit, units []byte) int {
	files := x.s.log.Files()
	end := u.PhysicalOffset + int64(u.Size)
	fileEnd := files.Start(u.PhysicalOffset) + files.FileSize()
	count, bytes := x.res.Count+u.Messages(), x.res.Bytes+int(u.Size)
	size := x.layout.UnitSize()
	for units = units[size:]; len(units) >= size; units = units[size:] {
		next := x.layout.Decode(units)
		if next.Filler() {
			continue
		}
		if !x.sound(next, nil) {
			break
		}
		if may, _ := x.matchesUnit(next); !may {
			continue
		}
		nextEnd := next.PhysicalOffset + int64(next.Size)
		if gap := next.PhysicalOffset - end; gap < 0 || gap > coldGap || nextEnd > fileEnd || nextEnd-u.PhysicalOffset > coldMost {
			break
		}
		if count += next.Messages(); count > x.r.MaxCount || bytes+int(next.Size) > int(max(x.cfg.MemoryBytes, x.cfg.DiskBytes)) {
			break
		}
		bytes += int(next.Size)
		end = nextEnd
	}
	return int(end - u.PhysicalOffset)
}
