// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"time"
)

// floorOf is the physical offset below which messages of a topic are too old to be read; 0 when there is none.
func (s *Store) floorOf(topic string) int64 {
	s.queuesMu.RLock()
	defer s.queuesMu.RUnlock()
	if floor := s.floors[topic]; floor != nil {
		return floor.Load()
	}
	return 0
}

// floorsOf gives the floors of those of the topics that have queues.
func (s *Store) floorsOf(topics map[string]time.Duration) map[string]int64 {
	s.queuesMu.RLock()
	defer s.queuesMu.RUnlock()
	floors := make(map[string]int64)
	for topic := range topics {
		if floor := s.floors[topic]; floor != nil {
			floors[topic] = floor.Load()
		}
	}
	return floors
}

// expireTopics raises the floors of topics that keep their messages for a time of their own. They are on disk before they
// count, so that what could not be read any more does not come back after a crash. Floors go up a minute at a time.
func (r *round) expireTopics() {
	s := r.s
	if len(r.reserved) == 0 {
		return
	}
	raised := make(map[string]int64)
	for topic, floor := range s.floorsOf(r.reserved) {
		at, err := r.cutOf(r.reserved[topic])
		if err != nil {
			if s.mayTell("cut") {
				s.logger.Warn("cannot tell which messages are too old", "topic", topic, "err", err)
			}
			return
		}
		if at > max(floor, s.log.Min()) {
			raised[topic] = at
		}
	}
	if len(raised) == 0 {
		return
	}
	var queues []*queue
	for _, q := range s.allQueues() {
		if _, ok := raised[q.name.Topic]; ok {
			queues = append(queues, q)
		}
	}
	if err := s.saveFloors(raised); err != nil {
		if s.mayTell("floors") {
			s.logger.Warn("messages that are too old for their topics stay: it cannot be written down that they are", "err", err)
		}
		return
	}
	before := s.lowestOf(queues)
	for _, q := range queues {
		q.floor.Store(raised[q.name.Topic])
	}
	r.tell(before, CauseTopicAge)
}

// cutOf is where messages that are kept for a time begin. It is searched once a minute.
func (r *round) cutOf(reserved time.Duration) (int64, error) {
	ms := r.day.Add(-reserved).Truncate(time.Minute).UnixMilli()
	if c, ok := r.s.ages.cuts[reserved]; ok && c.ms == ms {
		return c.offset, nil
	}
	at, err := r.cutAt(ms)
	if err == nil {
		r.s.ages.cuts[reserved] = cut{ms, at}
	}
	return at, err
}

// needed tells whether the first log file, which ends at next, has messages of a topic that keeps them for longer than
// the log does, and not for long enough yet.
func (r *round) needed(next int64) bool {
	s := r.s
	if q := s.ages.held; q != nil && r.holds(q, next) {
		return true
	}
	s.ages.held = nil
	longer := false
	for _, reserved := range r.reserved {
		longer = longer || reserved > r.cfg.Reserved
	}
	if !longer {
		return false
	}
	for _, q := range s.allQueues() {
		if r.holds(q, next) {
			s.ages.held = q
			return true
		}
	}
	return false
}

// holds tells whether a queue has messages below next, a physical offset, for which log files are to be kept.
func (r *round) holds(q *queue, next int64) bool {
	if r.reserved[q.name.Topic] <= r.cfg.Reserved || q.Gone() {
		return false
	}
	low, end := q.Range(r.s.begin(q))
	if low >= end {
		return false
	}
	u, err := q.Unit(low)
	return err == nil && !u.Filler() && u.PhysicalOffset < next
}
