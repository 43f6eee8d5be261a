// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"math/rand/v2"
	"sync"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// rotation goes round the queues of topics: from a random one on, each next send of a
// topic takes the next.
type rotation struct {
	mu   sync.Mutex
	next map[string]uint32
}

func newRotation() *rotation { return &rotation{next: map[string]uint32{}} }

// pick gives the next queue of the topic that is not at the broker avoid and that
// passes all of the given tests; when none does, with one test after the other left
// out, at last simply the next one. There must be at least one queue.
func (r *rotation) pick(topic string, queues []protocol.MessageQueue, avoid string, tests ...func(broker string) bool) protocol.MessageQueue {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, test := range tests {
		if q, ok := r.searchLocked(topic, queues, func(b string) bool { return b != avoid && test(b) }); ok {
			return q
		}
	}
	if avoid != "" && len(tests) == 0 {
		if q, ok := r.searchLocked(topic, queues, func(b string) bool { return b != avoid }); ok {
			return q
		}
	}
	return r.stepLocked(topic, queues)
}

// searchLocked goes round once.
func (r *rotation) searchLocked(topic string, queues []protocol.MessageQueue, ok func(broker string) bool) (protocol.MessageQueue, bool) {
	for range queues {
		if q := r.stepLocked(topic, queues); ok(q.BrokerName) {
			return q, true
		}
	}
	return protocol.MessageQueue{}, false
}

func (r *rotation) stepLocked(topic string, queues []protocol.MessageQueue) protocol.MessageQueue {
	n, ok := r.next[topic]
	if !ok {
		n = rand.Uint32()
	}
	r.next[topic] = n + 1
	return queues[n%uint32(len(queues))]
}

// reset makes the topic go on from a random queue.
func (r *rotation) reset(topic string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, topic)
}

// byKey gives the queue of a sharding key, the one that Java producers choose for it.
func byKey(key string, queues []protocol.MessageQueue) protocol.MessageQueue {
	return queues[message.QueueOfKey(key, len(queues))]
}
