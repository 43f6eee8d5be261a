// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"maps"
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Limits of how long a registration may hold without news.
const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 10 * 365 * 24 * time.Hour // what a broker asks for beyond this would overflow
)

// registration is what a broker says of itself.
type registration struct {
	cluster string
	name    string
	addr    string
	id      int64
	haAddr  string
	zone    string
	acting  *bool         // nil: the broker does not know of acting masters
	timeout time.Duration // 0: defaultTimeout
	body    *protocol.RegisterBrokerBody
	conn    uint64 // the connection it came through
}

// registered is what the broker is told.
type registered struct {
	stale      bool   // refused in silence: another broker with a newer state holds the id
	newcomer   bool   // this address was not live before
	masterAddr string // for slaves with a live master
	haAddr     string
	minID      *minIDChange // when the smallest id of the broker name changed
}

// register takes a registration. wholeTruth drops the topics of the broker that
// the registration does not list (deleteTopicWithBrokerRegistration). The error is
// a protocol.Error.
//
// The order of the steps is RocketMQ's, since what the early ones did stays when a
// later one refuses.
func (t *routeTable) register(r *registration, wholeTruth bool, now time.Time) (registered, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, created := t.groupLocked(r, now)
	addrs := g.data.BrokerAddrs
	// With no broker of the name left, an id below 0 counts as a new smallest one.
	var smallest int64
	if len(addrs) > 0 {
		smallest = minID(addrs)
	}
	isNewMin := r.id < smallest

	key := brokerKey{r.cluster, r.addr}
	if old := t.live[key]; old != nil && old.name != r.name {
		t.departLocked(t.departureLocked(key), map[string]*minIDChange{}) // the address goes by another name now
	}
	t.dropOtherIDsLocked(g, r)
	held, known := addrs[r.id]
	if known && held != r.addr {
		if old := t.live[brokerKey{r.cluster, held}]; old != nil && old.version.StateVersion > r.body.Topics.DataVersion.StateVersion {
			t.dropLiveLocked(key)
			return registered{stale: true}, nil
		}
	}
	if !known && len(r.body.Topics.TopicConfigTable) == 1 {
		// One topic is how a change is told to those who know the rest. A name
		// server that has never seen this broker must not take it for all there is.
		return registered{}, &protocol.Error{Code: protocol.SystemError, Remark: "register broker failed"}
	}
	if held != r.addr {
		addrs[r.id] = r.addr
		t.brokerChangedLocked(g)
	}
	if r.id == protocol.MasterID || r.acting != nil && r.id == minID(addrs) {
		t.takeTopicsLocked(g, r, created || !known, wholeTruth)
	}
	result := registered{newcomer: t.live[key] == nil}
	t.putLiveLocked(key, g, r, now)
	if r.id != protocol.MasterID {
		if master := t.live[brokerKey{r.cluster, g.data.Master()}]; master != nil {
			result.masterAddr, result.haAddr = g.data.Master(), master.haAddr
		}
	}
	if isNewMin {
		result.minID = minIDArrived(addrs, r.haAddr)
	}
	return result, nil
}

// groupLocked finds or makes the entry of the broker's name and cluster.
func (t *routeTable) groupLocked(r *registration, now time.Time) (g *brokerGroup, created bool) {
	if t.clusters[r.cluster] == nil {
		t.clusters[r.cluster] = map[string]struct{}{}
	}
	t.clusters[r.cluster][r.name] = struct{}{}
	g = t.brokers[r.name]
	if g == nil {
		created = true
		g = &brokerGroup{
			data:   protocol.BrokerData{BrokerAddrs: map[int64]string{}, BrokerName: r.name, Cluster: r.cluster},
			topics: map[string]struct{}{},
		}
		t.brokers[r.name] = g
	}
	acting := r.acting != nil && *r.acting
	if g.data.EnableActingMaster != acting || g.data.ZoneName != r.zone {
		g.data.EnableActingMaster, g.data.ZoneName = acting, r.zone
		t.brokerChangedLocked(g)
	}
	g.touched = now
	return g, created
}

// dropOtherIDsLocked takes the address from the ids it had before: a slave that
// became master, or the other way round.
func (t *routeTable) dropOtherIDsLocked(g *brokerGroup, r *registration) {
	for id, addr := range g.data.BrokerAddrs {
		if addr == r.addr && id != r.id {
			delete(g.data.BrokerAddrs, id)
			t.brokerChangedLocked(g)
		}
	}
}

// takeTopicsLocked takes the topics of a master, or of the slave that stands in for one.
func (t *routeTable) takeTopicsLocked(g *brokerGroup, r *registration, first, wholeTruth bool) {
	topics := &r.body.Topics
	if wholeTruth && len(topics.TopicQueueMappingInfoMap) == 0 {
		for _, name := range slices.Collect(maps.Keys(g.topics)) {
			if topics.TopicConfigTable[name] == nil {
				t.removeQueuesLocked(name, r.name)
			}
		}
	}
	live := t.live[brokerKey{r.cluster, r.addr}]
	changed := first || live == nil || !live.version.Equal(topics.DataVersion)
	var mask int32 = -1
	if r.id != protocol.MasterID && g.data.EnableActingMaster {
		mask = ^protocol.PermWrite
	}
	for _, c := range topics.TopicConfigTable {
		if _, has := g.topics[c.TopicName]; has && !changed {
			continue
		}
		t.putQueuesLocked(c.TopicName, protocol.QueueData{
			BrokerName:     r.name,
			Perm:           c.Perm & mask,
			ReadQueueNums:  c.ReadQueueNums,
			WriteQueueNums: c.WriteQueueNums,
			TopicSysFlag:   c.TopicSysFlag,
		})
	}
	for name, m := range topics.TopicQueueMappingInfoMap {
		if m.BrokerName == r.name { // what else could it be: RocketMQ files it under the name inside
			t.putMappingLocked(name, m, changed)
		}
	}
}

// putMappingLocked keeps the queue mapping of a static topic whose queues are known. An
// unchanged registration still brings back what deleteTopic removed.
func (t *routeTable) putMappingLocked(name string, m *protocol.TopicQueueMappingInfo, changed bool) {
	p := t.topics[name]
	if p == nil || p.queues[m.BrokerName] == nil || !changed && p.mappings[m.BrokerName] != nil {
		return
	}
	if p.mappings == nil {
		p.mappings = map[string]*protocol.TopicQueueMappingInfo{}
	}
	p.mappings[m.BrokerName] = m
	p.changedLocked()
}

// putLiveLocked replaces the registration of an address.
func (t *routeTable) putLiveLocked(key brokerKey, g *brokerGroup, r *registration, now time.Time) {
	old := t.live[key]
	if old != nil && old.conn != r.conn && t.conns[old.conn] != nil {
		t.conns[old.conn][key] = false
	}
	t.seq++
	l := &liveBroker{
		name: r.name, id: r.id, lastUpdate: now, timeout: min(r.timeout, maxTimeout),
		version: r.body.Topics.DataVersion, conn: r.conn, haAddr: r.haAddr, seq: t.seq,
		filterServers: r.body.FilterServerList,
	}
	if l.timeout <= 0 {
		l.timeout = defaultTimeout
	}
	var before []string
	if old != nil {
		before = old.filterServers
		if l.filterServers == nil {
			l.filterServers = before
		}
	}
	if !slices.Equal(before, l.filterServers) {
		t.brokerChangedLocked(g)
	}
	t.live[key] = l
	if t.conns[r.conn] == nil {
		t.conns[r.conn] = map[brokerKey]bool{}
	}
	t.conns[r.conn][key] = true
}

// dropLiveLocked forgets a registration.
func (t *routeTable) dropLiveLocked(key brokerKey) {
	l := t.live[key]
	if l == nil {
		return
	}
	delete(t.live, key)
	if held := t.conns[l.conn]; held != nil {
		delete(held, key)
		if len(held) == 0 {
			delete(t.conns, l.conn)
		}
	}
}

// touch notes a sign of life of a registered broker; others are none of its business.
func (t *routeTable) touch(cluster, addr string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.live[brokerKey{cluster, addr}]; l != nil {
		l.lastUpdate = now
	}
}

// dataVersion gives the data version of a broker's last registration and notes a
// sign of life.
func (t *routeTable) dataVersion(cluster, addr string, now time.Time) (protocol.DataVersion, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.live[brokerKey{cluster, addr}]
	if l == nil {
		return protocol.DataVersion{}, false
	}
	l.lastUpdate = now
	return l.version, true
}

// minID is the smallest id of a broker name that has addresses.
func minID(addrs map[int64]string) int64 { return slices.Min(slices.Collect(maps.Keys(addrs))) }
