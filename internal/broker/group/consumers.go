// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Consumers is a consumer group with members, as it was at some moment. It never
// changes: nobody may change what it holds.
type Consumers struct {
	Group string
	// Of the whole group, as the last heartbeat of any member said.
	Type          protocol.ConsumeType
	Model         protocol.MessageModel
	From          protocol.ConsumeFromWhere
	Subscriptions map[string]*protocol.SubscriptionData // by topic
	Members       []Client                              // by client id, of equal ones the newest first
}

// Subscription gives what the group wants of a topic, nil when it does not subscribe.
func (c *Consumers) Subscription(topic []byte) *protocol.SubscriptionData {
	return c.Subscriptions[string(topic)]
}

// ClientIDs gives each member's client id once: one that is there twice, on an old
// connection and a new one, must not count twice when queues are divided.
func (c *Consumers) ClientIDs() []string {
	ids := make([]string, 0, len(c.Members))
	for _, m := range c.Members {
		if n := len(ids); n == 0 || ids[n-1] != m.ID {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// Find gives the member with a client id, on its newest connection.
func (c *Consumers) Find(clientID string) (Client, bool) {
	i, ok := slices.BinarySearchFunc(c.Members, clientID, func(m Client, id string) int { return cmp.Compare(m.ID, id) })
	if !ok {
		return Client{}, false
	}
	return c.Members[i], true
}

// consumerGroup is a group with members. It leaves the table when it empties.
type consumerGroup struct {
	name string
	view atomic.Pointer[Consumers] // nil before the first member and after the last

	mu          sync.Mutex
	gone        bool // not in the table any more
	members     map[*remoting.Conn]*member
	typ         protocol.ConsumeType
	model       protocol.MessageModel
	from        protocol.ConsumeFromWhere
	subs        map[string]*protocol.SubscriptionData
	fingerprint int32 // of the last heartbeat
	beaten      bool  // there was one
	notify      bool
}

type member struct {
	Client
	joined int64 // ms, of the first heartbeat
	seen   int64 // ms, of the last heartbeat
	// Of the last heartbeat that named them; nil: not known. Nobody changes it.
	subs []*protocol.SubscriptionData
	hash uint64 // of subs, whatever their order
}

func newConsumerGroup(name string) *consumerGroup {
	return &consumerGroup{name: name, members: map[*remoting.Conn]*member{}, subs: map[string]*protocol.SubscriptionData{}}
}

// join is false for a group that is gone.
func (g *consumerGroup) join(m *Members, c Client, ms *Membership, now time.Time) (known, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return false, false
	}
	news, stale := g.meetLocked(m, c, now)
	if g.typ != ms.Type || g.model != ms.Model || g.from != ms.From {
		g.typ, g.model, g.from = ms.Type, ms.Model, ms.From
		stale = true
	}
	g.notify = ms.Notify
	switch {
	case ms.Unchanged:
		known = g.beaten && g.fingerprint == ms.Fingerprint && len(g.subs) > 0
	default:
		known = !g.beaten || g.fingerprint == ms.Fingerprint
		g.members[c.Conn].wants(ms.Subscriptions)
		topics, any := g.subscribeLocked(ms.Subscriptions)
		news, stale = news || topics, stale || any
	}
	g.fingerprint, g.beaten = ms.Fingerprint, true
	if stale {
		g.publishLocked()
	}
	if news {
		m.news.add(g.name)
	}
	return known, true
}

// meetLocked notes that a member is alive: news for a new connection, stale when the
// view has to be made anew.
func (g *consumerGroup) meetLocked(m *Members, c Client, now time.Time) (news, stale bool) {
	old := g.members[c.Conn]
	switch {
	case old == nil:
		g.members[c.Conn] = &member{Client: c, joined: now.UnixMilli(), seen: now.UnixMilli()}
		m.note(c.Conn, func(groups *connGroups) { groups.consumers[g] = struct{}{} })
		m.o.Logger.Info("consumer joined", "group", g.name, "client", c.ID, "addr", c.Conn.RemoteAddr(), "members", len(g.members))
		return true, true
	case old.Client != c:
		if old.ID != c.ID {
			m.o.Logger.Warn("a connection changed its client id", "group", g.name, "client", c.ID, "before", old.ID, "addr", c.Conn.RemoteAddr())
		}
		old.Client = c
		stale = true
	}
	old.seen = now.UnixMilli()
	return false, stale
}

// subscribeLocked takes over the subscriptions of a heartbeat: news when a topic came
// or went, changed when anything did. A known topic's expression changes by a larger
// version only (RocketMQ: ConsumerGroupInfo.updateSubscription).
func (g *consumerGroup) subscribeLocked(subs []*protocol.SubscriptionData) (news, changed bool) {
	for _, s := range subs {
		old := g.subs[s.Topic]
		if old == nil {
			news = true
		} else if s.SubVersion <= old.SubVersion {
			continue
		}
		g.subs[s.Topic] = s
		changed = true
	}
	if len(g.subs) > len(subs) || news {
		for topic := range g.subs {
			if !slices.ContainsFunc(subs, func(s *protocol.SubscriptionData) bool { return s.Topic == topic }) {
				delete(g.subs, topic)
				news, changed = true, true
			}
		}
	}
	return news, changed
}

// leave takes a connection's client out; true when it was in and somebody is left.
func (g *consumerGroup) leave(m *Members, conn *remoting.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.members[conn]
	if old == nil {
		return false
	}
	g.removeLocked(m, conn)
	m.o.Logger.Info("consumer left", "group", g.name, "client", old.ID, "addr", conn.RemoteAddr(), "members", len(g.members))
	g.publishLocked()
	return !g.gone
}

func (g *consumerGroup) removeLocked(m *Members, conn *remoting.Conn) {
	delete(g.members, conn)
	m.note(conn, func(groups *connGroups) { delete(groups.consumers, g) })
	if len(g.members) == 0 {
		g.gone = true
		m.consumers.Delete(g.name)
	}
}

func (g *consumerGroup) expire(m *Members, before int64, silent map[*remoting.Conn]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	removed := false
	for conn, old := range g.members {
		if old.seen < before {
			silent[conn] = old.ID
			g.removeLocked(m, conn)
			removed = true
		}
	}
	if removed {
		g.publishLocked()
	}
}

// publishLocked makes the view that readers see.
func (g *consumerGroup) publishLocked() {
	if g.gone {
		g.view.Store(nil)
		return
	}
	v := &Consumers{
		Group: g.name, Type: g.typ, Model: g.model, From: g.from,
		Subscriptions: maps.Clone(g.subs), Members: make([]Client, 0, len(g.members)),
	}
	for _, m := range g.members {
		v.Members = append(v.Members, m.Client)
	}
	slices.SortFunc(v.Members, func(a, b Client) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(b.Conn.ID(), a.Conn.ID()))
	})
	g.view.Store(v)
}

// audience gives the connections to tell of a change; none when the group does not
// want to be told: all of a broadcasting group's members read all queues anyway.
func (g *consumerGroup) audience() []*remoting.Conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.notify || g.model == protocol.Broadcasting {
		return nil
	}
	return slices.Collect(maps.Keys(g.members))
}
