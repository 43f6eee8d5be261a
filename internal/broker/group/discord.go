// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Discord is what the members of a group should have in common and have not, or the
// other way round.
type Discord struct {
	// Topics to which they subscribe differently: topic, expression, client ids. A
	// member that does not subscribe has the expression "".
	Topics map[string]map[string][]string
	// Shared are client ids with which more than one connection is alive: addresses.
	// A client that connected again is not meant: its old connection is silent.
	Shared map[string][]string
}

// Discord looks at the members of a group. The zero Discord says that all is well, or
// that nobody is in the group.
func (m *Members) Discord(group string) Discord {
	g := m.consumers.Get(group)
	if g == nil {
		return Discord{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.members) < 2 {
		return Discord{}
	}
	byID := map[string][]*member{}
	for _, c := range g.members {
		if !c.Conn.Closed() {
			byID[c.ID] = append(byID[c.ID], c)
		}
	}
	d := Discord{Shared: sharedIDs(byID)}
	var known []*member // one of each id
	for _, same := range byID {
		newest := slices.MaxFunc(same, func(a, b *member) int { return cmp.Compare(a.Conn.ID(), b.Conn.ID()) })
		if newest.subs != nil {
			known = append(known, newest)
		}
	}
	d.Topics = differences(known)
	return d
}

// sharedIDs finds ids of which an older connection still beats after a newer one joined.
func sharedIDs(byID map[string][]*member) map[string][]string {
	var shared map[string][]string
	for id, same := range byID {
		if len(same) < 2 {
			continue
		}
		slices.SortFunc(same, func(a, b *member) int { return cmp.Compare(a.Conn.ID(), b.Conn.ID()) })
		newest := same[len(same)-1]
		var addrs []string
		for _, c := range same[:len(same)-1] {
			if c.seen > newest.joined {
				addrs = append(addrs, c.Conn.RemoteAddr())
			}
		}
		if addrs == nil {
			continue
		}
		if shared == nil {
			shared = map[string][]string{}
		}
		shared[id] = append(addrs, newest.Conn.RemoteAddr())
	}
	return shared
}

// differences gives, for each topic that not all of them want alike, who wants what.
func differences(members []*member) map[string]map[string][]string {
	equal := true
	for _, c := range members {
		equal = equal && c.hash == members[0].hash
	}
	if equal {
		return nil
	}
	wants := map[string]map[string]string{} // topic, client
	for _, c := range members {
		for _, s := range c.subs {
			if wants[s.Topic] == nil {
				wants[s.Topic] = map[string]string{}
			}
			wants[s.Topic][c.ID] = expression(s)
		}
	}
	topics := map[string]map[string][]string{}
	for topic, of := range wants {
		clients := map[string][]string{}
		for _, c := range members {
			clients[of[c.ID]] = append(clients[of[c.ID]], c.ID)
		}
		if len(clients) < 2 {
			continue
		}
		for _, ids := range clients {
			slices.Sort(ids)
		}
		topics[topic] = clients
	}
	return topics
}

// wants notes what the member subscribes to.
func (c *member) wants(subs []*protocol.SubscriptionData) {
	if hash := hashSubscriptions(subs); hash != c.hash || c.subs == nil {
		c.subs, c.hash = subs, hash
	}
}

func hashSubscriptions(subs []*protocol.SubscriptionData) uint64 {
	var sum uint64 // in any order
	for _, s := range subs {
		h := fnv.New64a()
		for _, part := range [...]string{s.Topic, expression(s)} {
			_, _ = h.Write([]byte(part))
			_, _ = h.Write([]byte{0})
		}
		sum += h.Sum64()
	}
	return sum
}

// expression is what a subscription wants, the same text for the same messages: the
// order of tags says nothing. It is never empty.
func expression(s *protocol.SubscriptionData) string {
	if !protocol.IsTagExpression(s.ExpressionType) {
		return s.ExpressionType + ": " + s.SubString
	}
	if s.SubString == "" || s.SubString == protocol.SubscribeAll {
		return protocol.SubscribeAll
	}
	if len(s.TagsSet) == 0 {
		return s.SubString
	}
	return strings.Join(slices.Sorted(slices.Values(s.TagsSet)), " || ")
}

// EachConsumers calls f with each group that has members, in no order.
func (m *Members) EachConsumers(f func(*Consumers)) {
	m.consumers.Each(func(_ string, g *consumerGroup) bool {
		if v := g.view.Load(); v != nil {
			f(v)
		}
		return true
	})
}
