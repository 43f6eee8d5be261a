// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

import (
	"maps"
	"slices"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// System says which topics of the system a broker creates at its start.
type System struct {
	Template       bool   // TBW102 (autoCreateTopicEnable)
	TemplateQueues int32  // of TBW102 (defaultTopicQueueNums)
	ClusterTopic   bool   // the cluster's topic may be read and written (clusterTopicEnable)
	BrokerTopic    bool   // the broker's too (brokerTopicEnable)
	TraceTopic     string // created with 1 queue; "" for none (traceTopicEnable, msgTraceTopicName)
	ReviveQueues   int32  // of the revive log (reviveQueueNum)
	TimerWheel     bool   // rmq_sys_wheel_timer (timerWheelEnable)
}

// Queues of topics of the system.
const (
	benchmarkQueues = 1024
	clusterQueues   = 16
	scheduleQueues  = 18 // one for each delay level
)

// Names that RocketMQ 5.5 reserves for stores it keeps in RocksDB. No topic of that
// name is created.
const (
	rocksTransHalf   = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"
	rocksTransOpHalf = "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC"
)

// systemTopics are those to be there at start.
func systemTopics(o *Options) []*protocol.TopicConfig {
	make := func(name string, queues, perm int32) *protocol.TopicConfig {
		c := protocol.NewTopicConfig(name)
		c.ReadQueueNums, c.WriteQueueNums, c.Perm = queues, queues, perm
		return c
	}
	template := func(open bool) int32 {
		if open {
			return protocol.PermInherit | protocol.PermReadWrite
		}
		return protocol.PermInherit
	}
	list := []*protocol.TopicConfig{
		make(protocol.TopicSelfTest, 1, protocol.PermReadWrite),
		make(protocol.TopicBenchmark, benchmarkQueues, protocol.PermReadWrite),
		make(o.Cluster, clusterQueues, template(o.System.ClusterTopic)),
		make(o.Broker, 1, template(o.System.BrokerTopic)),
		make(protocol.TopicOffsetMoved, 1, protocol.PermReadWrite),
		make(protocol.TopicSchedule, scheduleQueues, protocol.PermReadWrite),
		make(protocol.ReplyTopic(o.Cluster), 1, protocol.PermReadWrite),
		make(protocol.TopicRevivePrefix+o.Cluster, o.System.ReviveQueues, protocol.PermReadWrite),
		make(protocol.TopicSyncMembersPrefix+o.Broker, 1, protocol.PermInherit),
		make(protocol.TopicTransHalf, 1, protocol.PermReadWrite),
		make(protocol.TopicTransOpHalf, 1, protocol.PermReadWrite),
	}
	if o.System.Template {
		list = append(list, make(protocol.TopicDefault, o.System.TemplateQueues, template(true)))
	}
	if o.System.TraceTopic != "" {
		list = append(list, make(o.System.TraceTopic, 1, protocol.PermReadWrite))
	}
	if o.System.TimerWheel {
		list = append(list, make(protocol.TopicWheelTimer, 1, protocol.PermReadWrite))
	}
	return list
}

// systemNames are the names that administrators may not touch on this broker, beside
// all that begin with rmq_sys_.
func systemNames(o *Options) map[string]struct{} {
	names := map[string]struct{}{
		protocol.TopicDefault: {}, protocol.TopicTransCheckMax: {}, protocol.TopicTrace: {}, protocol.TopicCheckpoint: {},
		rocksTransHalf: {}, rocksTransOpHalf: {},
	}
	for _, c := range systemTopics(o) {
		names[c.TopicName] = struct{}{}
	}
	return names
}

// IsSystem tells whether a name is one of the system's, the names of this broker and
// its cluster included.
func (t *Table) IsSystem(name string) bool {
	_, ok := t.system[name]
	return ok || protocol.IsSystemTopic(name)
}

// SystemNames gives the names of the system, sorted, whether there is a topic or not
// (RocketMQ: GET_SYSTEM_TOPIC_LIST_FROM_BROKER).
func (t *Table) SystemNames() []string { return slices.Sorted(maps.Keys(t.system)) }

// addSystem adds the topics of the system that are missing: what a file says of them
// stays. For Open.
func (t *Table) addSystem() (added bool) {
	for _, c := range systemTopics(&t.o) {
		if _, made := t.names.GetOrPut(c.TopicName, func() *Config { return newConfig(c) }); made {
			added = true
		}
	}
	return added
}
