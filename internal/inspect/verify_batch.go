// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// compareBatch compares a record with the next unit of its batch queue. A single message is a batch of one.
func (v *verifier) compareBatch(c *queueCheck, r *message.Record, want consumequeue.Unit) error {
	want.StoreTimestamp, want.Base, want.Count = r.StoreTimestamp, r.QueueOffset, 1
	if r.SysFlag&message.FlagInnerBatch != 0 {
		if base, err := strconv.ParseInt(string(property(r, message.PropInnerBase)), 10, 64); err == nil {
			want.Base = base
		}
		if count, err := strconv.ParseInt(string(property(r, message.PropInnerNum)), 10, 16); err == nil {
			want.Count = int32(count)
		}
	}
	if c.any && want.Base <= c.last { // the queue began anew there
		c.forget(c.asked)
	}
	c.any, c.last = true, want.Base+int64(want.Count)-1
	c.records++
	for {
		b, err := c.unitBytes(c.asked, v.blockUnits())
		if err != nil {
			return err
		}
		u := consumequeue.Unit{}
		if b != nil {
			u = c.q.Layout.Decode(b)
		}
		switch {
		case c.q.valid(u) && u.PhysicalOffset < r.PhysicalOffset:
			if err := v.stray(c, c.asked, u); err != nil {
				return err
			}
			c.passes()
			continue
		case bytes.Equal(b, c.q.Layout.Append(nil, want)):
			v.match(c, c.asked, r.PhysicalOffset)
			c.passes()
			return nil
		case u.PhysicalOffset == r.PhysicalOffset:
			c.note(run{runWrong, c.asked, c.asked + 1, r.PhysicalOffset, fmt.Sprintf(
				"it says size %d, tags code %d, stored %s, %d messages from %d on; the record makes size %d, tags code %d, stored %s, %d from %d on",
				u.Size, u.TagsCode, timeOf(u.StoreTimestamp), u.Count, u.Base, want.Size, want.TagsCode, timeOf(want.StoreTimestamp), want.Count, want.Base)})
			c.passes()
			return nil
		}
		// Either the record has no unit, or this is it and was damaged: then the next one goes on as it should.
		next, err := c.unit(c.asked+1, v.blockUnits())
		if err != nil {
			return err
		}
		if !c.q.valid(next) || next.PhysicalOffset < r.PhysicalOffset || c.q.valid(u) && next.PhysicalOffset > u.PhysicalOffset {
			c.lacks(r.PhysicalOffset)
			return nil
		}
		c.note(run{runWrong, c.asked, c.asked + 1, r.PhysicalOffset, fmt.Sprintf("%s; the message lies at %d", invalid(c.q, u), r.PhysicalOffset)})
		if c.passes(); next.PhysicalOffset > r.PhysicalOffset {
			return nil
		}
	}
}

// passes goes on to the next unit.
func (c *queueCheck) passes() {
	c.asked++
	c.end = c.asked
}

// lacks notes that a batch queue has no unit for a record: in a row they are one fault at the place where they should be.
func (c *queueCheck) lacks(physical int64) {
	if n := len(c.runs); n > 0 {
		if before := &c.runs[n-1]; before.kind == runMissing && before.from == c.asked {
			before.to++
			return
		}
	}
	c.note(run{runMissing, c.asked, c.asked + 1, physical, ""})
}
