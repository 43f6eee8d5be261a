// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// extend adds to what a queue is to know of a record what its extra says. Its bits are in dst, which it gives back.
func (s *Store) extend(q *queue, at *placed, properties, dst []byte) []byte {
	if at.extended = q.Extended(); !at.extended || s.deps.FilterBits == nil {
		return dst
	}
	if bits := s.deps.FilterBits(dst[:0], q.name.Topic, properties); len(bits) > 0 {
		at.bits = bits
		return bits
	}
	return dst
}

// Extra gives what is kept of the message at an offset beside its queue; ok is false when nothing is.
func (s *Store) Extra(topic string, queueID int32, offset int64) (x Extra, ok bool) {
	q := s.lookup(topic, queueID)
	if q == nil || q.Layout() != consumequeue.Simple {
		return Extra{}, false
	}
	u, err := q.Unit(offset)
	if err != nil || !consumequeue.IsAddress(u.TagsCode) {
		return Extra{}, false
	}
	x, err = q.Extra(u.TagsCode)
	return x, err == nil
}

// resolved gives a unit with its tags code where it has the address of an extra. If that is lost, the record tells.
func (s *Store) resolved(q *queue, u consumequeue.Unit) consumequeue.Unit {
	if !consumequeue.IsAddress(u.TagsCode) || q.Layout() != consumequeue.Simple {
		return u
	}
	if x, err := q.Extra(u.TagsCode); err == nil {
		u.TagsCode = x.TagsCode
		return u
	}
	u.TagsCode = 0
	if b, err := s.log.Read(nil, u.PhysicalOffset, int(u.Size)); err == nil && check(b, u, true) == nil {
		var r message.Record
		if _, err := message.DecodeRecord(b, &r, false); err == nil {
			u.TagsCode = s.tagsCodeOf(&r)
		}
	}
	return u
}

// extraBlock is how much is read beside a queue at a time, bytes: units that follow each other have extras that do.
const extraBlock = 4 << 10

// matchesUnit tells whether the filter of a read may want the message of a unit, as far as the queue and what is kept
// beside it tell. doubt: the tags are not known, the record must tell.
func (x *reading) matchesUnit(u consumequeue.Unit) (may, doubt bool) {
	f := x.r.Filter
	if f == nil {
		return true, false
	}
	if !consumequeue.IsAddress(u.TagsCode) || x.layout != consumequeue.Simple {
		return f.MatchTags(u.TagsCode), false
	}
	extra, ok := x.extra(u.TagsCode)
	if !ok {
		return true, true
	}
	if !f.MatchTags(extra.TagsCode) {
		return false, false
	}
	if by, ok := f.(ExtraFilter); ok {
		return by.MatchExtra(u.PhysicalOffset, &extra), false
	}
	return true, false
}

// extra gives the extra at an address, from what was read before if it is there.
func (x *reading) extra(address int64) (Extra, bool) {
	if at := address - x.extrasAt; at >= 0 && at < int64(len(x.extras)) {
		if e, _, ok := consumequeue.DecodeExtra(x.extras[at:]); ok {
			return e, true
		}
	}
	var err error
	if x.extras, err = x.q.ReadExtras(x.extras[:0], address, extraBlock); err != nil {
		return Extra{}, false
	}
	x.extrasAt = address
	if e, _, ok := consumequeue.DecodeExtra(x.extras); ok {
		return e, true
	}
	e, err := x.q.Extra(address) // one that is larger than the block, or none
	return e, err == nil
}

// matchesTags tells whether the filter wants the tags of a record, for a unit that could not tell.
func (x *reading) matchesTags(b []byte) bool {
	var r message.Record
	if _, err := message.DecodeRecord(b, &r, false); err != nil {
		return false
	}
	return x.r.Filter.MatchTags(x.s.tagsCodeOf(&r))
}
