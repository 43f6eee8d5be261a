// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"log/slog"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/nametable"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Client is who a heartbeat is from: one process on one connection.
type Client struct {
	Conn     *remoting.Conn
	ID       string
	Language remoting.Language
	Version  int32
}

// Membership is what a heartbeat says of one consumer group.
type Membership struct {
	Group         string
	Type          protocol.ConsumeType
	Model         protocol.MessageModel
	From          protocol.ConsumeFromWhere
	Subscriptions []*protocol.SubscriptionData // complete; the table keeps them
	// Unchanged: the heartbeat leaves the subscriptions out, the known ones stay
	// (second form of heartbeats, withoutSub).
	Unchanged bool
	// Fingerprint of the client's subscriptions, 0 in the first form of heartbeats.
	Fingerprint int32
	// Notify: members are told when members or topics change (setting of the group).
	Notify bool
}

// MembersOptions of a Members. Functions are asked at each use.
type MembersOptions struct {
	Logger   *slog.Logger
	Expiry   func() time.Duration // of a connection without heartbeats (channelExpiredTimeout)
	RealTime func() bool          // tell of changes at once, else every 15 s (realTimeNotifyConsumerChange)
}

// Members are the clients that are connected now, by group: consumers with what they
// subscribe to, and producers. They are kept by connection: a client that reconnects
// is there twice until its old connection is closed. A heartbeat that changes nothing
// takes one lock, of its group.
//
// Locks nest in this order: consumerGroup.mu or producerGroup.mu, Members.mu.
type Members struct {
	o         MembersOptions
	consumers *nametable.Table[consumerGroup]
	producers *nametable.Table[producerGroup]
	news      newsQueue

	mu        sync.Mutex
	conns     map[*remoting.Conn]*connGroups
	producing map[string]*remoting.Conn // client id of a producer: its newest connection
}

// connGroups are the groups that a connection's clients are in.
type connGroups struct {
	consumers map[*consumerGroup]struct{}
	producers map[*producerGroup]struct{}
}

// NewMembers gives a table without clients. Run tells the members of changes and
// removes silent ones.
func NewMembers(o MembersOptions) *Members {
	return &Members{
		o: o, consumers: nametable.New[consumerGroup](), producers: nametable.New[producerGroup](),
		news:  newsQueue{groups: map[string]struct{}{}, wake: make(chan struct{}, 1)},
		conns: map[*remoting.Conn]*connGroups{}, producing: map[string]*remoting.Conn{},
	}
}

// Join takes in what a heartbeat says of a consumer group. known is false when the
// client has to send its subscriptions (again): the fingerprint is another than that
// of the group, or the group's subscriptions are not known.
func (m *Members) Join(c Client, ms Membership, now time.Time) (known bool) {
	for {
		g, _ := m.consumers.GetOrPut(ms.Group, func() *consumerGroup { return newConsumerGroup(ms.Group) })
		known, ok := g.join(m, c, &ms, now)
		if !ok {
			continue // the group emptied meanwhile and is no longer in the table
		}
		// The connection may have been closed, and taken out of all groups, before
		// it was put into this one.
		if c.Conn.Closed() {
			m.Disconnect(c.Conn)
		}
		return known
	}
}

// Leave takes the clients of a connection out of a consumer group.
func (m *Members) Leave(conn *remoting.Conn, group string) {
	if g := m.consumers.Get(group); g != nil && g.leave(m, conn) {
		m.news.add(group)
	}
}

// Disconnect takes the clients of a closed connection out of all groups.
func (m *Members) Disconnect(conn *remoting.Conn) {
	m.mu.Lock()
	groups := m.conns[conn]
	delete(m.conns, conn)
	m.mu.Unlock()
	if groups == nil {
		return
	}
	for g := range groups.consumers {
		if g.leave(m, conn) {
			m.news.add(g.name)
		}
	}
	for g := range groups.producers {
		g.leave(m, conn)
	}
}

// Expire removes the clients that were silent for too long and closes their
// connections. The other members are not told: they see it when they next divide the
// queues. A connection on which other groups are alive stays (RocketMQ closes it).
func (m *Members) Expire(now time.Time) {
	before := now.Add(-m.o.Expiry()).UnixMilli()
	silent := map[*remoting.Conn]string{}
	m.consumers.Each(func(_ string, g *consumerGroup) bool {
		g.expire(m, before, silent)
		return true
	})
	m.producers.Each(func(_ string, g *producerGroup) bool {
		g.expire(m, before, silent)
		return true
	})
	for conn, client := range silent {
		if m.known(conn) {
			m.o.Logger.Info("client no longer beats for some of its groups", "client", client, "addr", conn.RemoteAddr())
			continue
		}
		m.o.Logger.Warn("client was silent for too long; its connection is closed", "client", client, "addr", conn.RemoteAddr())
		_ = conn.Close()
	}
}

// Consumers gives a consumer group as it is now, nil when nobody is in it.
func (m *Members) Consumers(group string) *Consumers {
	if g := m.consumers.Get(group); g != nil {
		return g.view.Load()
	}
	return nil
}

// ConsumersBytes is Consumers for a name in a request; it takes no lock and no memory.
func (m *Members) ConsumersBytes(group []byte) *Consumers {
	if g := m.consumers.GetBytes(group); g != nil {
		return g.view.Load()
	}
	return nil
}

// GroupsOf gives the consumer groups that subscribe to a topic now, in no order.
func (m *Members) GroupsOf(topic string) []string {
	var groups []string
	m.consumers.Each(func(name string, g *consumerGroup) bool {
		if v := g.view.Load(); v != nil && v.Subscriptions[topic] != nil {
			groups = append(groups, name)
		}
		return true
	})
	return groups
}

// known tells whether the connection is in any group.
func (m *Members) known(conn *remoting.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conns[conn] != nil
}

// note remembers that the connection is in the group, for Disconnect.
func (m *Members) note(conn *remoting.Conn, f func(*connGroups)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	groups := m.conns[conn]
	if groups == nil {
		groups = &connGroups{consumers: map[*consumerGroup]struct{}{}, producers: map[*producerGroup]struct{}{}}
		m.conns[conn] = groups
	}
	f(groups)
	if len(groups.consumers)+len(groups.producers) == 0 {
		delete(m.conns, conn)
	}
}
