// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// departure is the end of a registration. It names the registrations it is about
// by the table's count at the time: one that came later is not touched, so a late
// goodbye cannot take away what the broker has registered since.
type departure struct {
	brokerKey
	name string
	id   int64
	seq  uint64
}

// goodbye makes the departure that a broker asks for through a connection. ok is
// false when the goodbye is about a registration that is over: made through this
// connection, and replaced through another one since.
func (t *routeTable) goodbye(key brokerKey, name string, id int64, conn uint64) (d departure, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if holds, registered := t.conns[conn][key]; registered && !holds {
		return departure{}, false
	}
	return departure{brokerKey: key, name: name, id: id, seq: t.seq}, true
}

// connClosed makes the departures of what a closed connection held.
func (t *routeTable) connClosed(conn uint64) []departure {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []departure
	for key, holds := range t.conns[conn] {
		if holds {
			out = append(out, t.departureLocked(key))
		}
	}
	delete(t.conns, conn)
	return out
}

func (t *routeTable) departureLocked(key brokerKey) departure {
	l := t.live[key]
	return departure{brokerKey: key, name: l.name, id: l.id, seq: l.seq}
}

// expired makes the departures of the brokers without news for longer than their
// timeout, and lists the connections that hold no other broker: those are of no
// more use. It also forgets broker names that never got an address.
func (t *routeTable) expired(now time.Time) (ds []departure, conns []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone := map[uint64]int{}
	for key, l := range t.live {
		if now.Sub(l.lastUpdate) > l.timeout {
			ds = append(ds, t.departureLocked(key))
			gone[l.conn]++
		}
	}
	for conn, n := range gone {
		if n == heldBy(t.conns[conn]) {
			conns = append(conns, conn)
		}
	}
	for name, g := range t.brokers {
		if len(g.data.BrokerAddrs) == 0 && now.Sub(g.touched) > defaultTimeout {
			t.removeGroupLocked(name, g)
		}
	}
	return ds, conns
}

func heldBy(keys map[brokerKey]bool) int {
	n := 0
	for _, holds := range keys {
		if holds {
			n++
		}
	}
	return n
}

// depart ends registrations, all in one step, and gives the changes of smallest
// ids that brokers should be told of.
func (t *routeTable) depart(ds []departure) []*minIDChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes := map[string]*minIDChange{}
	for _, d := range ds {
		l := t.live[d.brokerKey]
		if l != nil && l.seq > d.seq {
			continue // registered again since
		}
		if l != nil && (l.id != d.id || l.name != d.name) {
			continue // a goodbye under an id or name that the address does not have
		}
		t.departLocked(d, changes)
	}
	var out []*minIDChange
	for name, c := range changes {
		if g := t.brokers[name]; g != nil && g.data.EnableActingMaster {
			out = append(out, c)
		}
	}
	return out
}

func (t *routeTable) departLocked(d departure, changes map[string]*minIDChange) {
	t.dropLiveLocked(d.brokerKey)
	g := t.brokers[d.name]
	if g == nil {
		return
	}
	addrs := g.data.BrokerAddrs
	if addrs[d.id] == d.addr { // else another broker holds the id
		wasMin := d.id == minID(addrs)
		delete(addrs, d.id)
		t.brokerChangedLocked(g)
		if len(addrs) == 0 {
			t.removeGroupLocked(d.name, g)
			delete(changes, d.name)
			return
		}
		if wasMin {
			changes[d.name] = minIDLeft(addrs, d.addr)
		}
	}
	if _, master := addrs[protocol.MasterID]; !master && g.data.EnableActingMaster {
		// The slaves that are left may be read from, not written to.
		t.setPermsLocked(d.name, func(perm int32) int32 { return perm &^ protocol.PermWrite })
	}
}

// removeGroupLocked forgets a broker name with all its queues.
func (t *routeTable) removeGroupLocked(name string, g *brokerGroup) {
	for topic := range g.topics {
		t.removeQueuesLocked(topic, name)
	}
	delete(t.brokers, name)
	for cluster, names := range t.clusters {
		delete(names, name)
		if len(names) == 0 {
			delete(t.clusters, cluster)
		}
	}
}
