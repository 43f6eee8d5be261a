// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// LockLife is how long a queue stays locked without a renewal, unless configured
// otherwise. Clients renew every 20 s and trust a lock for 30 s, so it must be longer
// than that (rocketmq.broker.rebalance.lockMaxLiveTime).
const LockLife = 60 * time.Second

// Locks says which client of a group has which queue to itself, so that ordered
// messages are taken by one client only. Groups, topics, queues and clients need not
// be known, and a client may go: only time and the owner free a queue.
type Locks struct {
	life func() time.Duration

	mu     sync.Mutex
	groups map[string]map[protocol.MessageQueue]lock
	swept  time.Time
}

type lock struct {
	client string
	taken  time.Time
}

// NewLocks gives a table without locks. life is how long they live without a renewal,
// asked at each use.
func NewLocks(life func() time.Duration) *Locks {
	return &Locks{life: life, groups: map[string]map[protocol.MessageQueue]lock{}}
}

func (l *Locks) expired(k lock, now time.Time) bool { return now.Sub(k.taken) > l.life() }

// Lock takes or renews those of the queues that no other client holds and gives the
// ones that the client holds now, in the order asked for.
func (l *Locks) Lock(group, client string, queues []protocol.MessageQueue, now time.Time) []protocol.MessageQueue {
	held := make([]protocol.MessageQueue, 0, len(queues))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweepLocked(now)
	for _, q := range queues {
		if old, ok := l.groups[group][q]; ok && old.client != client && !l.expired(old, now) {
			continue
		}
		if l.groups[group] == nil {
			l.groups[group] = map[protocol.MessageQueue]lock{}
		}
		l.groups[group][q] = lock{client, now}
		held = append(held, q)
	}
	return held
}

// Unlock frees those of the queues that the client holds.
func (l *Locks) Unlock(group, client string, queues []protocol.MessageQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	locks := l.groups[group]
	for _, q := range queues {
		if old, ok := locks[q]; ok && old.client == client {
			delete(locks, q)
		}
	}
	if len(locks) == 0 {
		delete(l.groups, group)
	}
}

// Holder gives the client that holds a queue, "" for none.
func (l *Locks) Holder(group string, queue protocol.MessageQueue, now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, ok := l.groups[group][queue]; ok && !l.expired(k, now) {
		return k.client
	}
	return ""
}

// AllExpired tells whether the group holds no queue: none of its members consumes in
// order.
func (l *Locks) AllExpired(group string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.groups[group] {
		if !l.expired(k, now) {
			return false
		}
	}
	return true
}

// sweepLocked forgets expired locks now and then: they are as good as none, and the
// names in them are whatever clients sent.
func (l *Locks) sweepLocked(now time.Time) {
	if now.Sub(l.swept) < l.life() {
		return
	}
	l.swept = now
	for group, locks := range l.groups {
		for q, k := range locks {
			if l.expired(k, now) {
				delete(locks, q)
			}
		}
		if len(locks) == 0 {
			delete(l.groups, group)
		}
	}
}
