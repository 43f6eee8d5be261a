// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// ErrNoMessage: there is no message at this place.
var ErrNoMessage = errors.New("no message at this offset")

// View reads the record at a physical offset. ErrNoMessage when there is none.
func (s *Store) View(physicalOffset int64) ([]byte, error) {
	var r message.Record
	b, err := s.record(nil, physicalOffset, &r)
	switch {
	case err == commitlog.ErrNoRecord:
		return nil, ErrNoMessage
	case errors.Is(err, commitlog.ErrNoRecord), faultfs.Lost(err): // damaged
		return nil, fmt.Errorf("%w: %w", ErrNoMessage, err)
	case err != nil:
		return nil, fmt.Errorf("read the message at %d: %w", physicalOffset, err)
	}
	if physicalOffset < s.floorOf(text(r.Topic)) {
		return nil, ErrNoMessage
	}
	return b, nil
}

// record is commitlog.Log.Record that tells of damage.
func (s *Store) record(dst []byte, physical int64, r *message.Record) ([]byte, error) {
	dst, err := s.log.Record(dst, physical, r)
	bad := (*commitlog.BadRecord)(nil)
	if errors.As(err, &bad) || faultfs.Lost(err) {
		s.damage.record(nil, consumequeue.Unit{PhysicalOffset: physical, Size: r.Size}, err)
	}
	return dst, err
}

// storeTime is the store time, ms, of the record at a physical offset, as queues ask for it.
func (s *Store) storeTime(physical int64) (int64, bool) {
	ms, err := s.log.StoreTime(physical)
	return ms, err == nil
}

// OffsetByTime gives the first offset whose message was stored at ms or after or, with upper, the last one stored at ms
// or before; see consumequeue.Queue.AtTime. 0 when there is no queue.
func (s *Store) OffsetByTime(topic string, queueID int32, ms int64, upper bool) int64 {
	q := s.lookup(topic, queueID)
	if q == nil {
		return 0
	}
	return q.AtTime(ms, upper, s.begin(q), s.storeTime)
}

// EarliestTime is the store time, ms, of the first message of a queue; -1 when there is none.
func (s *Store) EarliestTime(topic string, queueID int32) int64 {
	q := s.lookup(topic, queueID)
	if q == nil {
		return -1
	}
	low, _ := q.Range(s.begin(q))
	return s.timeOf(q, low)
}

// TimeOf is the store time, ms, of the message at an offset; -1 when there is none.
func (s *Store) TimeOf(topic string, queueID int32, offset int64) int64 {
	q := s.lookup(topic, queueID)
	if q == nil {
		return -1
	}
	return s.timeOf(q, offset)
}

func (s *Store) timeOf(q *queue, offset int64) int64 {
	u, err := q.Unit(offset)
	if err != nil || u.Filler() {
		return -1
	}
	if ms, ok := s.storeTime(u.PhysicalOffset); ok {
		return ms
	}
	return -1
}

// Hot tells whether the message at an offset is there and in memory: reading it waits for no disk.
func (s *Store) Hot(topic string, queueID int32, offset int64) bool {
	q := s.lookup(topic, queueID)
	if q == nil {
		return false
	}
	u, err := q.Unit(offset)
	return err == nil && s.log.InTail(u.PhysicalOffset)
}

// Young tells whether the message at an offset is there and lies so near the log's end that RocketMQ counts it as in
// memory (accessMessageInMemoryMaxRatio of the machine's memory).
func (s *Store) Young(topic string, queueID int32, offset int64) bool {
	q := s.lookup(topic, queueID)
	if q == nil {
		return false
	}
	u, err := q.Unit(offset)
	return err == nil && u.PhysicalOffset >= s.youngFrom()
}

// youngFrom is where the young records begin.
func (s *Store) youngFrom() int64 {
	return s.log.Max() - memoryBytes()*int64(s.config().Limits.MemoryRatio)/100
}

// QueryResult is what a query by key found.
type QueryResult struct {
	Records            []byte // concatenated, ascending by physical offset
	Count              int
	LastTimestamp      int64 // of the index: indexLastUpdateTimestamp
	LastPhysicalOffset int64 // indexLastUpdatePhyoffset
}

// queryBytes bounds the records of one answer.
const queryBytes = 64 << 20

// Query finds the newest messages of a topic by key, or by unique key, stored in [begin, end] (ms). Messages whose key
// only has the same hash are not among them.
func (s *Store) Query(topic, key string, most int, begin, end int64) (QueryResult, error) {
	return s.query(topic, key, false, most, begin, end)
}

// QueryTags finds the newest messages of a topic by their tags, as Query does by key. It finds messages that were stored
// with tagsIndexEnable.
func (s *Store) QueryTags(topic, tags string, most int, begin, end int64) (QueryResult, error) {
	return s.query(topic, tags, true, most, begin, end)
}

func (s *Store) query(topic, key string, tags bool, most int, begin, end int64) (QueryResult, error) {
	var res QueryResult
	if s.index == nil {
		return res, nil
	}
	if err := s.index.catchUp(); err != nil {
		return res, err
	}
	res.LastTimestamp, res.LastPhysicalOffset = s.index.x.Last()
	most = min(most, int(s.config().Limits.QueryMatches))
	if most <= 0 || key == "" {
		return res, nil
	}
	var found []int64 // newest first
	var scratch []byte
	var r message.Record
	bytes := 0
	first := max(s.log.Min(), s.floorOf(topic)) // what is older is gone
	err := s.index.x.Query([]byte(topic), []byte(key), tags, begin, end, func(physical int64) bool {
		if slices.Contains(found, physical) {
			return true
		}
		if physical < first {
			return false
		}
		var err error
		if scratch, err = s.record(scratch[:0], physical, &r); err != nil {
			return physical >= s.log.Min()
		}
		if string(r.Topic) == topic && r.StoreTimestamp >= begin && r.StoreTimestamp <= end && matches(r.Properties, key, tags) {
			found = append(found, physical)
			bytes += len(scratch)
		}
		return len(found) < most && bytes < queryBytes
	})
	if err != nil {
		return res, fmt.Errorf("query by key: %w", err)
	}
	slices.Sort(found)
	for _, physical := range found {
		records, err := s.record(res.Records, physical, &r)
		if err != nil {
			continue // removed meanwhile
		}
		res.Records = records
		res.Count++
	}
	return res, nil
}

// matches tells whether a message has the key, or the tags.
func matches(properties []byte, key string, tags bool) bool {
	if tags {
		value, _ := message.FindProperty(properties, message.PropTags)
		return string(value) == key
	}
	return hasKey(properties, key)
}

// hasKey tells whether a message has the key: as its unique one, or among those of KEYS.
func hasKey(properties []byte, key string) bool {
	if unique, ok := message.FindProperty(properties, message.PropUniqueKey); ok && string(unique) == key {
		return true
	}
	keys, _ := message.FindProperty(properties, message.PropKeys)
	for len(keys) > 0 {
		one, rest, _ := bytes.Cut(keys, []byte{' '})
		if string(one) == key {
			return true
		}
		keys = rest
	}
	return false
}
