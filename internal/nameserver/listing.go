// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"maps"
	"slices"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Lists of the route table, all sorted and never nil.

// topicsWhere lists the topics that keep takes.
func (t *routeTable) topicsWhere(keep func(p *topic) bool) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	names := []string{}
	for name, p := range t.topics {
		if keep(p) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (t *routeTable) allTopics() []string {
	return t.topicsWhere(func(*topic) bool { return true })
}

// unitTopics lists the topics of the unit mode. In all unit lists a topic's flags
// are those that its first broker has.
func (t *routeTable) unitTopics() []string {
	return t.topicsWhere(func(p *topic) bool { return p.sysFlag()&protocol.TopicFlagUnit != 0 })
}

// unitSubTopics lists the topics with a subscription of the unit mode.
func (t *routeTable) unitSubTopics() []string {
	return t.topicsWhere(func(p *topic) bool { return p.sysFlag()&protocol.TopicFlagUnitSub != 0 })
}

// unitSubOnlyTopics lists the topics with such a subscription that are not of the unit mode.
func (t *routeTable) unitSubOnlyTopics() []string {
	return t.topicsWhere(func(p *topic) bool {
		return p.sysFlag()&(protocol.TopicFlagUnit|protocol.TopicFlagUnitSub) == protocol.TopicFlagUnitSub
	})
}

func (p *topic) sysFlag() int32 {
	return p.queues[slices.Min(slices.Collect(maps.Keys(p.queues)))].TopicSysFlag
}

// topicsOf lists the topics of a cluster's brokers.
func (t *routeTable) topicsOf(cluster string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found := map[string]struct{}{}
	for brokerName := range t.clusters[cluster] {
		if g := t.brokers[brokerName]; g != nil {
			maps.Copy(found, g.topics)
		}
	}
	return sortedKeys(found)
}

// systemTopics lists what brokers create topics for by themselves, their own names
// and those of their clusters, and the address of one broker, "" when there is none.
func (t *routeTable) systemTopics() (names []string, addr string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	found := map[string]struct{}{}
	for cluster, brokers := range t.clusters {
		found[cluster] = struct{}{}
		maps.Copy(found, brokers)
	}
	for _, brokerName := range slices.Sorted(maps.Keys(t.brokers)) {
		if addrs := t.brokers[brokerName].data.BrokerAddrs; len(addrs) > 0 {
			addr = addrs[minID(addrs)]
			break
		}
	}
	return sortedKeys(found), addr
}

// clusterInfo is all brokers and clusters.
func (t *routeTable) clusterInfo() *protocol.ClusterInfo {
	t.mu.RLock()
	defer t.mu.RUnlock()
	info := &protocol.ClusterInfo{
		BrokerAddrTable:  make(map[string]*protocol.BrokerData, len(t.brokers)),
		ClusterAddrTable: make(map[string][]string, len(t.clusters)),
	}
	for name, g := range t.brokers {
		b := g.data
		b.BrokerAddrs = maps.Clone(b.BrokerAddrs)
		info.BrokerAddrTable[name] = &b
	}
	for cluster, names := range t.clusters {
		info.ClusterAddrTable[cluster] = sortedKeys(names)
	}
	return info
}

// members lists the live brokers of a name, by id; empty when there are none.
func (t *routeTable) members(brokerName string) map[int64]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if g := t.brokers[brokerName]; g != nil {
		return maps.Clone(g.data.BrokerAddrs)
	}
	return map[int64]string{}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}
