// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// dispatched is how far the log has been brought into the queues, and what has to be saved of them.
type dispatched struct {
	end   int64   // records below are in the queues (in memory at least)
	last  int64   // start of the last record
	time  int64   // its store time, ms
	start []int64 // ends of some groups, ascending, from where the log could be scanned; see keeper.scanFrom
	bits  []byte  // scratch for those of one record
	dirty []*queue
	large []*queue // of these, the ones with so much that a write is worth it: saveAt

	saveAt int
}

// How many unsaved bytes of one queue are worth a write: two pages; with many queues that would be much memory, then
// as many as keep all of them together at about saveAllAt, but some units.
const (
	mostSaveAt  = 8 << 10
	leastSaveAt = 24 * consumequeue.UnitSize
)

// dispatch brings a group of records that became readable into their queues and reports their arrival. One group at a
// time, in the order of the log.
func (s *Store) dispatch(entries []commitlog.Entry, end int64) {
	lights := s.dispatchesLights()
	s.dispatching.Lock()
	for i := range entries {
		e := &entries[i]
		if !e.Queued {
			continue
		}
		q := e.Counter.Owner.(*queue)
		at := placed{
			physical: e.PhysicalOffset, offset: e.QueueOffset, size: int32(len(e.Record)), messages: e.Messages,
			tags: e.TagsCode, time: e.StoreTimestamp,
		}
		if q.Extended() {
			s.dispatched.bits = s.extend(q, &at, e.Properties(), s.dispatched.bits)
		}
		place, pending := q.put(&at)
		s.placedLocked(q, place, pending, e.QueueOffset)
		if e.Lights != nil && lights {
			s.placeLights(e)
		}
	}
	d := &s.dispatched
	last := &entries[len(entries)-1]
	d.end, d.last, d.time = end, last.PhysicalOffset, last.StoreTimestamp
	if n := len(d.start); n == 0 || end-d.start[n-1] >= scanBack/2 {
		d.start = append(d.start, end)
	}
	s.dispatching.Unlock()

	s.keeper.touch(s, end)
	if s.index != nil {
		s.index.touch(end, end-entries[0].PhysicalOffset)
	}
	if s.deps.Arrived == nil {
		return
	}
	for i := range entries {
		e := &entries[i]
		if !e.Queued {
			continue
		}
		q := e.Counter.Owner.(*queue)
		s.deps.Arrived(Arrival{
			Topic: q.name.Topic, QueueID: q.name.QueueID, Next: e.QueueOffset + int64(e.Messages), TagsCode: e.TagsCode,
			StoreTimestamp: e.StoreTimestamp, Properties: e.Properties(),
		})
		if e.Lights != nil && lights {
			s.arriveLights(e)
		}
	}
}

// placedLocked is what follows after a unit was put.
func (s *Store) placedLocked(q *queue, place consumequeue.Place, pending int, offset int64) {
	switch place {
	case consumequeue.Next:
		s.listLocked(q, pending)
	case consumequeue.Known: // of a queue that was removed meanwhile
	default:
		s.logger.Error("a message does not follow the last one of its queue", "topic", q.name.Topic, "queue", q.name.QueueID,
			"offset", offset, "end", q.End())
	}
}

// listLocked notes that a queue has units to save.
func (s *Store) listLocked(q *queue, pending int) {
	d := &s.dispatched
	if !q.listed {
		q.listed = true
		d.dirty = append(d.dirty, q)
	}
	if pending >= d.saveAt && !q.large {
		q.large = true
		d.large = append(d.large, q)
	}
}

// takeLarge takes the list of queues that are worth a write.
func (s *Store) takeLarge() []*queue {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	list := s.dispatched.large
	s.dispatched.large = nil
	for _, q := range list {
		q.large = false
	}
	return list
}
