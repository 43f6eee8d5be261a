// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// queue is one queue of one topic.
type queue struct {
	*consumequeue.Queue
	counter commitlog.Counter
	name    QueueName
	topic   []byte
	floor   *atomic.Int64 // of the topic: messages that begin below it, physical offset, are too old to be read

	// Guarded by Store.dispatching: the queue stands in the lists of queues to save.
	listed, large bool
}

// lookup finds a queue; nil when it never had a message.
func (s *Store) lookup(topic string, id int32) *queue {
	s.queuesMu.RLock()
	defer s.queuesMu.RUnlock()
	return s.queues[QueueName{topic, id}]
}

// queueFor finds a queue or makes it.
func (s *Store) queueFor(topic string, id int32) (*queue, error) {
	if q := s.lookup(topic, id); q != nil {
		return q, nil
	}
	batch, known := s.deps.BatchTopic(topic)
	s.queuesMu.Lock()
	defer s.queuesMu.Unlock()
	name := QueueName{topic, id}
	if q := s.queues[name]; q != nil {
		return q, nil
	}
	if s.deleting[topic] {
		return nil, fmt.Errorf("topic %s is being deleted", topic)
	}
	name.Topic = string([]byte(topic)) // a copy: the caller's may be the memory of a request
	cq, err := s.sets[s.layoutLocked(topic, batch, known)].New(consumequeue.Name{Topic: name.Topic, ID: name.QueueID})
	if err != nil {
		return nil, err
	}
	return s.addQueueLocked(name, cq), nil
}

func (s *Store) addQueueLocked(name QueueName, cq *consumequeue.Queue) *queue {
	floor := s.floors[name.Topic]
	if floor == nil {
		floor = new(atomic.Int64)
		s.floors[name.Topic] = floor
	}
	q := &queue{Queue: cq, name: name, topic: []byte(name.Topic), floor: floor}
	q.counter.Owner = q
	s.queues[name] = q
	if cq.Layout() == consumequeue.Batch {
		s.batched[name.Topic] = true
	}
	return q
}

// begin is the physical offset from which on messages of the queue can be read, if there are any.
func (s *Store) begin(q *queue) int64 { return max(s.log.Min(), q.floor.Load()) }

// layoutLocked is the layout of the queues of a topic of which the settings say batch and ok: see Deps.BatchTopic.
func (s *Store) layoutLocked(topic string, batch, ok bool) consumequeue.Layout {
	if batch || !ok && s.batched[topic] {
		return consumequeue.Batch
	}
	return consumequeue.Simple
}

// unsaved is the number of bytes of units that are in memory only.
func (s *Store) unsaved() int64 {
	return s.sets[consumequeue.Simple].Unsaved() + s.sets[consumequeue.Batch].Unsaved()
}

// put puts the unit of a record at the end of the queue: see consumequeue.Queue.Put.
func (q *queue) put(r *placed) (consumequeue.Place, int) {
	u := consumequeue.Unit{PhysicalOffset: r.physical, Size: r.size, TagsCode: r.tags}
	if r.extended {
		return q.PutExtended(r.offset, u, consumequeue.Extra{StoreTimestamp: r.time, Bits: r.bits})
	}
	if q.Layout() == consumequeue.Batch {
		u.Count, u.Base, u.StoreTimestamp = r.messages, r.offset, r.time
	}
	return q.Put(r.offset, u)
}

// placed is what a queue wants to know of a record.
type placed struct {
	physical, offset int64
	size, messages   int32
	tags, time       int64
	extended         bool // with an extra, which has bits
	bits             []byte
}

// Queues lists all queues, in no order.
func (s *Store) Queues() []QueueName {
	s.queuesMu.RLock()
	defer s.queuesMu.RUnlock()
	names := make([]QueueName, 0, len(s.queues))
	for name := range s.queues {
		names = append(names, name)
	}
	return names
}

// allQueues is a copy of the table.
func (s *Store) allQueues() []*queue {
	s.queuesMu.RLock()
	defer s.queuesMu.RUnlock()
	list := make([]*queue, 0, len(s.queues))
	for _, q := range s.queues {
		list = append(list, q)
	}
	return list
}

// QueueRange gives the lowest offset that can be read and the end of a queue; 0, 0 when there is none.
func (s *Store) QueueRange(topic string, queueID int32) (low, end int64) {
	q := s.lookup(topic, queueID)
	if q == nil {
		return 0, 0
	}
	return q.Range(s.begin(q))
}

// Entries gives up to count entries of a queue, beginning with that of an offset; fewer where there are no more, none
// where the offset is outside.
func (s *Store) Entries(topic string, queueID int32, from int64, count int) []QueueEntry {
	q := s.lookup(topic, queueID)
	if q == nil {
		return nil
	}
	low, end := q.Range(s.begin(q))
	if from < low || from >= end || count <= 0 {
		return nil
	}
	count = int(min(int64(count), end-from))
	layout, number := q.Layout(), q.Locate(from)
	var entries []QueueEntry
	var block []byte
	for len(entries) < count {
		var err error
		if block, err = q.Read(block[:0], number+int64(len(entries)), count-len(entries)); err != nil {
			break
		}
		for b := block; len(b) >= layout.UnitSize(); b = b[layout.UnitSize():] {
			entries = append(entries, s.resolved(q, layout.Decode(b)))
		}
	}
	return entries
}

// DeleteTopic removes the topic's queues; its records stay in the log until their files go. A topic of the same name
// begins at offset 0 again. The topic should be gone from the settings before: see Deps.TopicExists.
func (s *Store) DeleteTopic(topic string) error {
	s.queuesMu.Lock()
	if s.deleting[topic] {
		s.queuesMu.Unlock()
		return nil
	}
	s.deleting[topic] = true
	var gone []*queue
	for name, q := range s.queues {
		if name.Topic == topic {
			gone = append(gone, q)
			delete(s.queues, name)
		}
	}
	delete(s.batched, topic)
	delete(s.floors, topic)
	s.queuesMu.Unlock()
	defer func() {
		s.queuesMu.Lock()
		delete(s.deleting, topic)
		s.queuesMu.Unlock()
	}()

	// Nothing may be saved from here on, or it would make files in a folder that is being removed.
	k := &s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(gone) > 0 {
		counters := make([]*commitlog.Counter, len(gone))
		for i, q := range gone {
			counters[i] = &q.counter
		}
		s.log.Abandon(counters)
		// Records that are on their way still are the old topic's. When they are through and a checkpoint is made,
		// recovery begins behind them: it cannot take them for messages of a new topic of the name.
		s.log.Drain()
		s.dispatching.Lock()
		for _, q := range gone {
			q.Remove()
		}
		s.dispatching.Unlock()
	}
	for _, set := range s.sets {
		if err := set.RemoveTopic(topic); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return k.checkpoint(s, false)
}

// CleanUnused removes the queues of topics that keep refuses.
func (s *Store) CleanUnused(keep func(topic string) bool) error {
	topics := map[string]bool{}
	for _, name := range s.Queues() {
		topics[name.Topic] = true
	}
	var errs []error
	for topic := range topics {
		if !keep(topic) {
			errs = append(errs, s.DeleteTopic(topic))
		}
	}
	return errors.Join(errs...)
}
