// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// benched is a table with clients whose other ends nobody reads.
type benched struct {
	*Members
	b *testing.B
}

func newBenched(b *testing.B) benched {
	return benched{NewMembers(MembersOptions{
		Logger: slog.New(slog.DiscardHandler), Expiry: func() time.Duration { return 2 * time.Minute },
	}), b}
}

func (m benched) client(id string) Client {
	nc, other := net.Pipe()
	conn := remoting.NewConn(nc, nil, remoting.DefaultConfig())
	m.b.Cleanup(func() {
		_ = conn.Close()
		_ = other.Close()
	})
	return Client{Conn: conn, ID: id}
}

// groups are so many memberships as the heartbeats of Java clients name them: a topic and the retry topic.
func groups(n int) []Membership {
	all := make([]Membership, n)
	for i := range all {
		g := fmt.Sprint("group-", i)
		all[i] = membership(g, sub("T", "*", 1), sub("%RETRY%"+g, "*", 1))
	}
	return all
}

// One group of a heartbeat that changes nothing, of 20,000 that a broker knows.
func BenchmarkHeartbeat(b *testing.B) {
	m, now, all := newBenched(b), time.Now(), groups(20_000)
	c := m.client("a")
	for i := range all {
		m.Join(c, all[i], now)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		m.Join(c, all[i%len(all)], now)
	}
}

// A heartbeat of one of a group's many members.
func BenchmarkHeartbeatOfManyMembers(b *testing.B) {
	for _, members := range []int{10, 1000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			m, now, g := newBenched(b), time.Now(), groups(1)[0]
			clients := make([]Client, members)
			for i := range clients {
				clients[i] = m.client(fmt.Sprint("client-", i))
				m.Join(clients[i], g, now)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				m.Join(clients[i%members], g, now)
			}
		})
	}
}

// A member that joins a group of many and leaves it: the view of its readers is made anew each time.
func BenchmarkJoinAndLeave(b *testing.B) {
	for _, members := range []int{10, 1000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			m, now, g := newBenched(b), time.Now(), groups(1)[0]
			for i := range members {
				m.Join(m.client(fmt.Sprint("client-", i)), g, now)
			}
			c := m.client("new")
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				m.Join(c, g, now)
				m.Leave(c.Conn, g.Group)
			}
		})
	}
}

// The look for silent clients, every 10 s, over 20,000 groups of which nobody is silent.
func BenchmarkExpire(b *testing.B) {
	m, now, all := newBenched(b), time.Now(), groups(20_000)
	var c Client
	for i := range all {
		if i%50 == 0 {
			c = m.client(fmt.Sprint("client-", i))
		}
		m.Join(c, all[i], now)
		m.JoinProducer(c, all[i].Group, now)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		m.Expire(now)
	}
}
