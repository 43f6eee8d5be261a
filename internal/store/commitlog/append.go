// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
)

// ErrQueueGone: the queue was removed; look it up anew.
var ErrQueueGone = errors.New("the queue was removed")

// ErrDigits: the queue offset has not as many digits as the draft has room for; ask Next anew.
var ErrDigits = errors.New("the queue offset has another number of digits")

// Digits is the number of decimal digits of an offset.
func Digits(offset int64) int {
	n := 1
	for ; offset > 9; offset /= 10 {
		n++
	}
	return n
}

// Next is the offset that the queue's next message gets.
func (l *Log) Next(c *Counter) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.next
}

// SetNext sets the offset of the queue's next message, at start.
func (l *Log) SetNext(c *Counter, next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.next = next
}

// Abandon lets every later Append to the queues return ErrQueueGone.
func (l *Log) Abandon(counters []*Counter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range counters {
		c.gone = true
	}
}

// Append gives drafts their place, together in one file, one after another in the queue of c, and keeps nothing of
// them. With nil w is told later; otherwise it is not, and the error says why the status is not OK.
func (l *Log) Append(c *Counter, drafts []Draft, w Waiter, noWait bool) (Status, error) {
	total := 0
	for i := range drafts {
		r := &drafts[i].Record
		r.Size = int32(message.RecordSize(r))
		if r.BodyCRC == 0 {
			r.BodyCRC = message.BodyCRC(r.Body)
		}
		total += int(r.Size)
	}
	if int64(total)+message.BlankSize > l.cfg.FileSize {
		return MessageIllegal, errTooLarge
	}

	l.mu.Lock()
	if status, err := l.acceptsLocked(c, total); err != nil {
		l.mu.Unlock()
		return status, err
	}
	if err := fitsLocked(&drafts[0], c); err != nil {
		l.mu.Unlock()
		return UnknownError, err
	}
	dst := l.placeLocked(total)
	now := time.Now()
	stored := now
	if l.cfg.Now != nil {
		stored = l.cfg.Now()
	}
	g := l.pending
	for i := range drafts {
		e := l.encodeLocked(&drafts[i], c, stored.UnixMilli(), dst)
		if i == 0 {
			e.waiter, e.noWait, e.count, e.start = w, noWait, int32(len(drafts)), now.Sub(l.epoch)
		}
	}
	g.end = l.pos
	g.spans[len(g.spans)-1].to = dst.used
	l.pendingBytes += int64(total)
	l.waiting.Store(int32(len(g.entries)))
	l.mu.Unlock()

	if !l.ticking.Load() && l.ticking.CompareAndSwap(false, true) {
		notify(l.tick)
	}
	return OK, nil
}

// fitsLocked tells whether the draft has room for the digits of the offsets that it gets.
func fitsLocked(d *Draft, c *Counter) error {
	if room := len(d.Offset); room > 0 && room != Digits(c.next) {
		return ErrDigits
	}
	if d.Lights == nil {
		return nil
	}
	for _, light := range *d.Lights {
		switch {
		case light.Counter.gone:
			return ErrQueueGone
		case len(light.Offset) != Digits(light.Counter.next):
			return ErrDigits
		}
	}
	return nil
}

// giveLocked gives the queues' next offsets out.
func (l *Lights) giveLocked() {
	for i := range *l {
		light := &(*l)[i]
		light.QueueOffset = light.Counter.next
		light.Counter.next++
		strconv.AppendInt(light.Offset[:0], light.QueueOffset, 10)
	}
}

// takeBackLocked takes them back.
func (l *Lights) takeBackLocked() {
	for _, light := range *l {
		light.Counter.next = light.QueueOffset
	}
}

var errTooLarge = errors.New("larger than a file of the log")

func (l *Log) acceptsLocked(c *Counter, total int) (Status, error) {
	switch {
	case l.refuse != nil:
		return ServiceNotAvailable, l.refuse
	case c.gone:
		return UnknownError, ErrQueueGone
	case l.pendingBytes > 0 && l.pendingBytes+int64(total) > l.cfg.PendingBytes:
		return Busy, ErrBusy
	}
	return OK, nil
}

// placeLocked finds room for total bytes at the log's end: in the chunk it returns, from its used bytes on. What does
// not fit into the rest of the file together with a blank goes to the next file.
func (l *Log) placeLocked(total int) *chunk {
	if l.pending == nil {
		l.pending = l.newGroupLocked()
	}
	rest := l.cfg.FileSize - l.pos%l.cfg.FileSize
	if int64(total)+message.BlankSize > rest {
		c := l.roomLocked(message.BlankSize)
		binary.BigEndian.PutUint32(c.mem[c.used:], uint32(rest))
		binary.BigEndian.PutUint32(c.mem[c.used+4:], message.MagicBlank)
		c.used += message.BlankSize
		l.pending.spans[len(l.pending.spans)-1].to = c.used
		l.pos += rest
		l.chunk = nil
	}
	return l.roomLocked(total)
}

// roomLocked gives the chunk that the next need bytes go to and makes it the last span of the pending group.
func (l *Log) roomLocked(need int) *chunk {
	if l.chunk == nil || len(l.chunk.mem)-l.chunk.used < need {
		l.chunk = l.tail.grow(l.pos, need, l.delivered.Load())
	}
	spans := l.pending.spans
	if n := len(spans); n == 0 || spans[n-1].chunk != l.chunk {
		l.pending.spans = append(spans, span{l.chunk, l.chunk.used, l.chunk.used})
	}
	return l.chunk
}

func (l *Log) newGroupLocked() *group {
	var g *group
	if n := len(l.spare); n > 0 {
		g = l.spare[n-1]
		l.spare = l.spare[:n-1]
	} else {
		g = new(group)
	}
	g.begin = l.pos
	return g
}

// encodeLocked writes the record at the log's end and adds its entry to the pending group.
func (l *Log) encodeLocked(d *Draft, c *Counter, now int64, dst *chunk) *Entry {
	r := &d.Record
	transaction := message.Transaction(r.SysFlag)
	queued := transaction == 0 || transaction == message.TransactionCommit
	messages := max(d.Messages, 1)
	r.PhysicalOffset, r.StoreTimestamp, r.QueueOffset = l.pos, now, 0
	if queued {
		r.QueueOffset = c.next
		c.next += int64(messages)
		if len(d.Offset) > 0 {
			strconv.AppendInt(d.Offset[:0], r.QueueOffset, 10)
		}
		if d.Lights != nil {
			d.Lights.giveLocked()
		}
	}
	end := dst.used + int(r.Size)
	record := message.AppendRecord(dst.mem[dst.used:dst.used:end], r)
	if d.Sealed {
		fillSeal(record)
	}
	dst.used = end
	l.pos += int64(r.Size)

	tags := d.TagsCode
	if d.Delayed {
		tags = now + d.Delay
	}
	g := l.pending
	g.entries = append(g.entries, Entry{
		Counter: c, Record: record, PhysicalOffset: r.PhysicalOffset, QueueOffset: r.QueueOffset, StoreTimestamp: now,
		TagsCode: tags, Lights: d.Lights, Messages: messages, Queued: queued, propertiesLen: int32(len(r.Properties)),
	})
	return &g.entries[len(g.entries)-1]
}

// takeLocked takes the pending group; nil when there is none.
func (l *Log) takeLocked() *group {
	g := l.pending
	l.pending = nil
	l.pendingBytes = 0
	l.waiting.Store(0)
	return g
}

func (l *Log) take() *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takeLocked()
}

// giveBack keeps a group that is done for the next one.
func (l *Log) giveBack(g *group) {
	if cap(g.entries) > keepEntries || cap(g.spans) > keepSpans {
		return
	}
	g.tell.Lock()
	g.reset()
	g.tell.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spare) < keepGroups {
		l.spare = append(l.spare, g)
	}
}
