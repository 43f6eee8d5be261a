// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package delay

import (
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// memoryStore keeps messages as the store does, without a disk.
type memoryStore struct {
	delayOf func(level int) time.Duration
	arrived func(queueID int32)
	outcome func(m *store.Message) store.Status // nil: OK

	mu      sync.Mutex
	records [][]byte // physical offset = index
	queues  map[store.QueueName][]store.QueueEntry
	begin   map[store.QueueName]int64
	waiting []func()
}

func newMemoryStore() *memoryStore {
	return &memoryStore{queues: map[store.QueueName][]store.QueueEntry{}, begin: map[store.QueueName]int64{}}
}

func (s *memoryStore) QueueRange(topic string, queueID int32) (int64, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := store.QueueName{Topic: topic, QueueID: queueID}
	return s.begin[name], int64(len(s.queues[name]))
}

func (s *memoryStore) Entries(topic string, queueID int32, from int64, count int) []store.QueueEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := store.QueueName{Topic: topic, QueueID: queueID}
	all := s.queues[name]
	if from < s.begin[name] || from >= int64(len(all)) {
		return nil
	}
	return all[from:min(from+int64(count), int64(len(all)))]
}

func (s *memoryStore) View(at int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at < 0 || at >= int64(len(s.records)) || s.records[at] == nil {
		return nil, store.ErrNoMessage
	}
	return s.records[at], nil
}

func (s *memoryStore) Append(m *store.Message, w store.Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &store.Appended{Count: 1}
	if s.outcome != nil {
		a.Status = s.outcome(m)
	}
	if a.Status == store.OK || a.Status == store.FlushDiskTimeout {
		s.putLocked(m, time.Now().UnixMilli())
	}
	s.waiting = append(s.waiting, func() { w.Appended(a); w.Flush() })
}

func (s *memoryStore) putLocked(m *store.Message, now int64) {
	name := store.QueueName{Topic: m.Topic, QueueID: m.QueueID}
	r := message.Record{
		Topic: []byte(m.Topic), QueueID: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp,
		BornHost: m.BornHost, StoreHost: m.StoreHost, StoreTimestamp: now, ReconsumeTimes: m.ReconsumeTimes,
		Body: m.Body, Properties: m.Properties, QueueOffset: int64(len(s.queues[name])), PhysicalOffset: int64(len(s.records)),
	}
	e := store.QueueEntry{PhysicalOffset: r.PhysicalOffset, Size: int32(message.RecordSize(&r))}
	if m.Topic == protocol.TopicSchedule {
		e.TagsCode = now + s.delayOf(int(m.QueueID)+1).Milliseconds()
	}
	s.records = append(s.records, message.AppendRecord(nil, &r))
	s.queues[name] = append(s.queues[name], e)
}

func (s *memoryStore) Commit() {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, told := range waiting {
		told()
	}
}

// stage puts a message into the staging queue of a level, as sending does.
func (s *memoryStore) stage(level int, topic string, queueID int32, body string) {
	props := message.AppendProperty(nil, message.PropDelay, "1")
	props = message.AppendProperty(props, message.PropRealTopic, topic)
	props = message.AppendProperty(props, message.PropRealQueueID, string(rune('0'+queueID)))
	s.stageRaw(level, body, props)
}

func (s *memoryStore) stageRaw(level int, body string, properties []byte) {
	s.mu.Lock()
	s.putLocked(&store.Message{
		Topic: protocol.TopicSchedule, QueueID: int32(level - 1), Flag: 7, ReconsumeTimes: 2, Body: []byte(body), Properties: properties,
	}, time.Now().UnixMilli())
	s.mu.Unlock()
	if s.arrived != nil {
		s.arrived(int32(level - 1))
	}
}

// delivered gives the messages of a queue.
func (s *memoryStore) delivered(topic string, queueID int32) []message.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []message.Record
	for _, e := range s.queues[store.QueueName{Topic: topic, QueueID: queueID}] {
		var r message.Record
		if _, err := message.DecodeRecord(s.records[e.PhysicalOffset], &r, true); err != nil {
			panic(err)
		}
		out = append(out, r)
	}
	return out
}
