// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package offset

import (
	"context"
	"maps"
	"sync"
	"time"
)

// BroadcastGroup is the name under which the progress of a broadcasting group is in the
// table. No group can be called so.
func BroadcastGroup(group string) string { return group + "@broadcast" }

// BroadcastOptions of a Broadcast. Functions are asked at each use.
type BroadcastOptions struct {
	Offsets *Table
	Online  func(group, client string) bool
	// Begin gives where a client begins in a queue of which nothing is known.
	Begin func(topic string, queue int32) int64
	// Expiry and MaxExpiry are after how long without a pull a client is forgotten: one
	// that is not connected, and one that is (broadcastOffsetExpireSecond,
	// broadcastOffsetExpireMaxSecond).
	Expiry, MaxExpiry func() time.Duration
	Now               func() time.Time // nil: time.Now
}

// Broadcast follows what each client of a broadcasting group has pulled. Such clients
// keep their progress themselves, or the proxy that pulls for them does; when a client
// goes over from one to the other it begins where the broker saw it last. The least of
// all clients of a group is committed as that of BroadcastGroup, where clients begin
// that the broker never saw (RocketMQ: BroadcastOffsetManager).
type Broadcast struct {
	o BroadcastOptions

	mu      sync.Mutex
	clients map[broadcasting]map[string]*broadcaster // by client id
	count   int                                      // of clients
}

type broadcasting struct{ topic, group string }

// broadcaster is one client of a broadcasting group in one topic.
type broadcaster struct {
	at      time.Time // of its last pull
	proxied bool      // and how that came
	queues  map[int32]broadcastQueue
}

type broadcastQueue struct {
	offset  int64
	proxied bool // the last pull of this queue came through a proxy
}

// maxBroadcasters bounds the clients that are followed, each once per topic: proxies
// may name any. What is above it is not followed.
const maxBroadcasters = 100_000

// NewBroadcast gives one that knows no client. Run commits and forgets.
func NewBroadcast(o BroadcastOptions) *Broadcast {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Broadcast{o: o, clients: map[broadcasting]map[string]*broadcaster{}}
}

// Puller is a client of a broadcasting group that pulls from a queue.
type Puller struct {
	Topic, Group, Client string
	Queue                int32
	Proxied              bool // a proxy pulls for it
}

// Begin gives where a client is to begin that asks for an offset: when it has just gone
// over from a proxy to the broker or back, or when a proxy does not know and asks for a
// negative one. Nearly always ok is false: it goes on where it asks for.
func (b *Broadcast) Begin(p *Puller, asked int64) (offset int64, ok bool) {
	b.mu.Lock()
	known := int64(-1)
	c := b.clients[broadcasting{p.Topic, p.Group}][p.Client]
	begin := p.Proxied && asked < 0
	if c != nil {
		before := c.proxied
		if q, seen := c.queues[p.Queue]; seen {
			before, known = q.proxied, q.offset
		}
		begin = begin || before != p.Proxied
	}
	b.mu.Unlock()
	switch {
	case !begin:
		return 0, false
	case known >= 0:
		return known, true
	}
	if offset, ok := b.o.Offsets.Query(p.Topic, BroadcastGroup(p.Group), p.Queue); ok {
		return offset, true
	}
	return b.o.Begin(p.Topic, p.Queue), true
}

// Pulled takes in that a client pulled from an offset. Its progress in a queue only grows.
func (b *Broadcast) Pulled(p *Puller, offset int64) {
	now := b.o.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	at := broadcasting{p.Topic, p.Group}
	c := b.clients[at][p.Client]
	if c == nil {
		if b.count >= maxBroadcasters {
			return
		}
		if b.clients[at] == nil {
			b.clients[at] = map[string]*broadcaster{}
		}
		c = &broadcaster{queues: map[int32]broadcastQueue{}}
		b.clients[at][p.Client] = c
		b.count++
	}
	c.at, c.proxied = now, p.Proxied
	q, seen := c.queues[p.Queue]
	if !seen {
		q.offset = offset
	}
	c.queues[p.Queue] = broadcastQueue{offset: max(q.offset, offset), proxied: p.Proxied}
}

// broadcastEvery is how often progress is committed (RocketMQ: the same).
const broadcastEvery = 5 * time.Second

// Run commits progress and forgets clients until ctx ends.
func (b *Broadcast) Run(ctx context.Context) error {
	ticker := time.NewTicker(broadcastEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			b.Settle()
		}
	}
}

// Settle commits the least progress of each group's clients and forgets those that have
// not pulled for too long.
func (b *Broadcast) Settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at, clients := range b.clients {
		for queue, offset := range b.settleLocked(at, clients) {
			b.o.Offsets.Commit(at.topic, BroadcastGroup(at.group), queue, offset)
		}
	}
}

// settleLocked gives the least progress by queue.
func (b *Broadcast) settleLocked(at broadcasting, clients map[string]*broadcaster) map[int32]int64 {
	least := map[int32]int64{}
	for id, c := range clients {
		quiet, online := b.o.Now().Sub(c.at), b.o.Online(at.group, id)
		if online || quiet < b.o.Expiry() {
			for queue, q := range c.queues {
				if offset, ok := least[queue]; !ok || q.offset < offset {
					least[queue] = q.offset
				}
			}
		}
		if !online && quiet >= b.o.Expiry() || online && quiet >= b.o.MaxExpiry() {
			delete(clients, id)
			b.count--
		}
	}
	if len(clients) == 0 {
		delete(b.clients, at)
	}
	return least
}

// RemoveTopic forgets the clients that pulled from a topic.
func (b *Broadcast) RemoveTopic(topic string) {
	b.remove(func(at broadcasting) bool { return at.topic == topic })
}

// RemoveGroup forgets the clients of a group.
func (b *Broadcast) RemoveGroup(group string) {
	b.remove(func(at broadcasting) bool { return at.group == group })
}

func (b *Broadcast) remove(which func(broadcasting) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.clients, func(at broadcasting, clients map[string]*broadcaster) bool {
		if !which(at) {
			return false
		}
		b.count -= len(clients)
		return true
	})
}
