// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// damageLog counts what readers met that is damaged, and tells of each place once in a while.
type damageLog struct {
	logger *slog.Logger
	path   func(physical int64) string // of the log file that holds an offset
	met    atomic.Int64

	mu    sync.Mutex
	since time.Time
	told  map[damagePlace]struct{} // since then
	more  int                      // places since then that were not told
}

// damagePlace is a place in the log, or a unit of a queue.
type damagePlace struct {
	queue    *queue // nil: in the log
	position int64
}

const (
	damageAgain = time.Minute // a place is told again
	damageMost  = 64          // places that are told in this time
)

// record tells of a message that is not where the queue's unit says; q is nil when it was not looked for by a queue.
func (d *damageLog) record(q *queue, u consumequeue.Unit, err error) {
	if !d.tell(damagePlace{nil, u.PhysicalOffset}) {
		return
	}
	log := d.logger.With("file", d.path(u.PhysicalOffset), "offset", u.PhysicalOffset, "size", u.Size, "err", err)
	if q != nil {
		log = log.With("topic", q.name.Topic, "queue", q.name.QueueID)
	}
	log.Error("a message is damaged and left out; 'goddard verify' tells what else is")
}

// unit tells of a unit, by its number, that leads nowhere or cannot be read.
func (d *damageLog) unit(q *queue, n int64, err error) {
	if !d.tell(damagePlace{q, n}) {
		return
	}
	path, at := q.Place(n)
	d.logger.Error("an entry of a queue is damaged, and its message left out; 'goddard verify --rebuild' of the stopped store makes it again",
		"topic", q.name.Topic, "queue", q.name.QueueID, "file", path, "offset", at, "entry", n, "err", err)
}

// tell counts, and decides whether to log.
func (d *damageLog) tell(place damagePlace) bool {
	d.met.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); now.Sub(d.since) > damageAgain {
		if d.more > 0 {
			d.logger.Error("more is damaged than was logged", "reads", d.more, "in", now.Sub(d.since).Round(time.Second))
		}
		d.since, d.more = now, 0
		d.told = make(map[damagePlace]struct{})
	}
	if _, ok := d.told[place]; ok {
		return false
	}
	if len(d.told) >= damageMost {
		d.more++
		return false
	}
	d.told[place] = struct{}{}
	return true
}
