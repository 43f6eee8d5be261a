// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// Producer is a producer that is connected now.
type Producer struct {
	Client
	Seen time.Time // its last heartbeat
}

// producerGroup is a producer group with members. It leaves the table when it empties.
type producerGroup struct {
	name string

	mu      sync.Mutex
	gone    bool
	members map[*remoting.Conn]*member
	next    int // counts calls of PickProducer
}

// JoinProducer takes in that a client is in a producer group.
func (m *Members) JoinProducer(c Client, group string, now time.Time) {
	for {
		g, _ := m.producers.GetOrPut(group, func() *producerGroup {
			return &producerGroup{name: group, members: map[*remoting.Conn]*member{}}
		})
		if !g.join(m, c, now) {
			continue
		}
		if c.Conn.Closed() { // see Join
			m.Disconnect(c.Conn)
		}
		return
	}
}

// LeaveProducer takes the clients of a connection out of a producer group.
func (m *Members) LeaveProducer(conn *remoting.Conn, group string) {
	if g := m.producers.Get(group); g != nil {
		g.leave(m, conn)
	}
}

// Producers gives the members of a producer group by client id, nil for none.
func (m *Members) Producers(group string) []Producer {
	g := m.producers.Get(group)
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Producer, 0, len(g.members))
	for _, p := range g.members {
		list = append(list, Producer{p.Client, time.UnixMilli(p.seen)})
	}
	slices.SortFunc(list, func(a, b Producer) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Conn.ID(), b.Conn.ID()))
	})
	return list
}

// AllProducers gives all producer groups with their members.
func (m *Members) AllProducers() map[string][]Producer {
	all := map[string][]Producer{}
	m.producers.Each(func(name string, _ *producerGroup) bool {
		if list := m.Producers(name); len(list) > 0 {
			all[name] = list
		}
		return true
	})
	return all
}

// FindProducer gives the connection of the producer with a client id, in whatever
// group, nil for none: answers to its requests are pushed there.
func (m *Members) FindProducer(clientID []byte) *remoting.Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.producing[string(clientID)]
}

// PickProducer gives the connection of some member of a producer group, another one
// each time, nil when there is none. Which client it is does not matter: half messages
// belong to the group.
func (m *Members) PickProducer(group string) *remoting.Conn {
	list := m.Producers(group)
	if len(list) == 0 {
		return nil
	}
	n := 0
	if g := m.producers.Get(group); g != nil {
		g.mu.Lock()
		g.next++
		n = g.next
		g.mu.Unlock()
	}
	for i := range list { // a closing connection is no use
		if conn := list[(n+i)%len(list)].Conn; !conn.Closed() {
			return conn
		}
	}
	return nil
}

func (g *producerGroup) join(m *Members, c Client, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return false
	}
	old := g.members[c.Conn]
	if old != nil {
		old.seen = now.UnixMilli()
		if old.Client == c {
			return true
		}
		m.forget(old.Client)
	} else {
		m.o.Logger.Info("producer joined", "group", g.name, "client", c.ID, "addr", c.Conn.RemoteAddr(), "members", len(g.members)+1)
	}
	g.members[c.Conn] = &member{Client: c, seen: now.UnixMilli()}
	m.note(c.Conn, func(groups *connGroups) {
		groups.producers[g] = struct{}{}
		m.producing[c.ID] = c.Conn
	})
	return true
}

func (g *producerGroup) leave(m *Members, conn *remoting.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.members[conn]; old != nil {
		g.removeLocked(m, old)
		m.o.Logger.Info("producer left", "group", g.name, "client", old.ID, "addr", conn.RemoteAddr(), "members", len(g.members))
	}
}

func (g *producerGroup) removeLocked(m *Members, old *member) {
	delete(g.members, old.Conn)
	last := false
	m.note(old.Conn, func(groups *connGroups) {
		delete(groups.producers, g)
		last = len(groups.producers) == 0
	})
	if last {
		m.forget(old.Client)
	}
	if len(g.members) == 0 {
		g.gone = true
		m.producers.Delete(g.name)
	}
}

// forget ends the way from a client id to its connection, unless a newer one took it.
func (m *Members) forget(c Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.producing[c.ID] == c.Conn {
		delete(m.producing, c.ID)
	}
}

func (g *producerGroup) expire(m *Members, before int64, silent map[*remoting.Conn]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for conn, old := range g.members {
		if old.seen < before {
			silent[conn] = old.ID
			g.removeLocked(m, old)
		}
	}
}
