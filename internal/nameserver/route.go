// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"maps"
	"slices"
	"strings"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// routeOptions are what an answer depends on beside the table.
type routeOptions struct {
	actingMaster bool   // show the smallest slave as master where there is none
	order        string // orderTopicConf of the answer; "": none
}

// encodedRoute is an answer kept until the table or what it was made with changes.
type encodedRoute struct {
	options routeOptions
	body    []byte
}

// route gives the encoded TopicRouteData of a topic, which must not be written
// to; ok is false when no live broker has the topic. fresh tells that it had to be
// encoded: until the next change of the topic or its brokers the same bytes are
// given again, as clients ask every 30 s and changes are rare.
func (t *routeTable) route(name string, d javajson.Dialect, o routeOptions) (body []byte, fresh, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.topics[name]
	if p == nil {
		return nil, false, false
	}
	cache := &p.encoded[d]
	if e := cache.Load(); e != nil && e.options == o {
		return e.body, false, true
	}
	r := t.assembleLocked(name, p, o)
	if r == nil {
		return nil, false, false
	}
	body = javajson.Marshal(r, d)
	cache.Store(&encodedRoute{options: o, body: body})
	return body, true, true
}

// routeInZone is route for a client that wants the brokers of its own zone where
// they have a master. Such answers are written in the Bare dialect, whoever asks.
func (t *routeTable) routeInZone(name, zone string, o routeOptions) (body []byte, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.topics[name]
	if p == nil {
		return nil, false
	}
	r := t.assembleLocked(name, p, o)
	if r == nil {
		return nil, false
	}
	keepZone(r, zone)
	return javajson.Marshal(r, javajson.Bare), true
}

// assembleLocked builds the route of a topic, sorted by broker name; nil when no
// broker of it has an address.
func (t *routeTable) assembleLocked(name string, p *topic, o routeOptions) *protocol.TopicRouteData {
	r := &protocol.TopicRouteData{
		BrokerDatas:               []protocol.BrokerData{},
		FilterServerTable:         map[string][]string{},
		OrderTopicConf:            o.order,
		QueueDatas:                []protocol.QueueData{},
		TopicQueueMappingByBroker: p.mappings,
	}
	acting := o.actingMaster && !strings.HasPrefix(name, protocol.TopicSyncMembersPrefix)
	for _, brokerName := range slices.Sorted(maps.Keys(p.queues)) {
		g := t.brokers[brokerName]
		if len(g.data.BrokerAddrs) == 0 {
			continue // clients cannot use it, and some fall over an entry without addresses
		}
		q := *p.queues[brokerName]
		b := g.data
		b.BrokerAddrs = maps.Clone(b.BrokerAddrs)
		if acting && b.EnableActingMaster && !protocol.CanWrite(q.Perm) {
			showActingMaster(b.BrokerAddrs)
		}
		r.BrokerDatas = append(r.BrokerDatas, b)
		r.QueueDatas = append(r.QueueDatas, q)
		for _, addr := range g.data.BrokerAddrs {
			if l := t.live[brokerKey{b.Cluster, addr}]; l != nil && len(l.filterServers) > 0 {
				r.FilterServerTable[addr] = l.filterServers
			}
		}
	}
	if len(r.BrokerDatas) == 0 {
		return nil
	}
	return r
}

// showActingMaster moves the smallest id to 0 when there is no 0.
func showActingMaster(addrs map[int64]string) {
	if _, master := addrs[protocol.MasterID]; master {
		return
	}
	id := minID(addrs)
	addrs[protocol.MasterID] = addrs[id]
	delete(addrs, id)
}

// keepZone leaves out the brokers that have a master and are in another zone, with
// their queues and filter servers.
func keepZone(r *protocol.TopicRouteData, zone string) {
	dropped := map[string]bool{}
	r.BrokerDatas = slices.DeleteFunc(r.BrokerDatas, func(b protocol.BrokerData) bool {
		if b.Master() == "" || strings.EqualFold(b.ZoneName, zone) {
			return false
		}
		dropped[b.BrokerName] = true
		for _, addr := range b.BrokerAddrs {
			delete(r.FilterServerTable, addr)
		}
		return true
	})
	r.QueueDatas = slices.DeleteFunc(r.QueueDatas, func(q protocol.QueueData) bool { return dropped[q.BrokerName] })
}
