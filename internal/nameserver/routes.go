// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/router"
)

// routes is the table of all requests a name server answers. Those on the lane
// wait for the disk; the others touch memory only and are answered by the
// goroutine that read them, in the order of their connection.
func (s *Server) routes() []router.Route {
	cfg := s.config.Load()
	disk := router.NewLane(router.LaneConfig{Name: "default", Workers: cfg.Lane.Workers, Capacity: cfg.Lane.Capacity})
	broker := &brokerHandler{config: s.config, table: s.table, kv: s.kv, departures: s.departures, conns: s.conns,
		notify: s.notify, metrics: s.metrics, log: s.log}
	topic := &topicHandler{config: s.config, table: s.table, kv: s.kv, metrics: s.metrics, started: s.started, log: s.log}
	kv := &kvHandler{kv: s.kv, log: s.log}
	settings := &settingsHandler{config: s.config, log: s.log}
	return []router.Route{
		{Code: protocol.PutKVConfig, Name: "PUT_KV_CONFIG", Handle: kv.put, Lane: disk},
		{Code: protocol.GetKVConfig, Name: "GET_KV_CONFIG", Handle: kv.get},
		{Code: protocol.DeleteKVConfig, Name: "DELETE_KV_CONFIG", Handle: kv.remove, Lane: disk},
		{Code: protocol.GetKVListByNamespace, Name: "GET_KVLIST_BY_NAMESPACE", Handle: kv.list},

		{Code: protocol.RegisterBroker, Name: "REGISTER_BROKER", Handle: broker.register},
		{Code: protocol.UnregisterBroker, Name: "UNREGISTER_BROKER", Handle: broker.unregister},
		{Code: protocol.QueryDataVersion, Name: "QUERY_DATA_VERSION", Handle: broker.dataVersion},
		{Code: protocol.BrokerHeartbeat, Name: "BROKER_HEARTBEAT", Handle: broker.heartbeat},
		{Code: protocol.GetBrokerMemberGroup, Name: "GET_BROKER_MEMBER_GROUP", Handle: broker.members},
		{Code: protocol.GetBrokerClusterInfo, Name: "GET_BROKER_CLUSTER_INFO", Handle: broker.clusterInfo},
		{Code: protocol.WipeWritePermOfBroker, Name: "WIPE_WRITE_PERM_OF_BROKER", Handle: broker.wipeWritePerm},
		{Code: protocol.AddWritePermOfBroker, Name: "ADD_WRITE_PERM_OF_BROKER", Handle: broker.addWritePerm},

		{Code: protocol.GetRouteInfoByTopic, Name: "GET_ROUTEINFO_BY_TOPIC", Handle: topic.route},
		{Code: protocol.RegisterTopicInNameServer, Name: "REGISTER_TOPIC_IN_NAMESRV", Handle: topic.register},
		{Code: protocol.DeleteTopicInNameServer, Name: "DELETE_TOPIC_IN_NAMESRV", Handle: topic.remove},
		{Code: protocol.GetAllTopicListFromNameServer, Name: "GET_ALL_TOPIC_LIST_FROM_NAMESERVER", Handle: topic.all},
		{Code: protocol.GetTopicsByCluster, Name: "GET_TOPICS_BY_CLUSTER", Handle: topic.ofCluster},
		{Code: protocol.GetSystemTopicListFromNS, Name: "GET_SYSTEM_TOPIC_LIST_FROM_NS", Handle: topic.system},
		{Code: protocol.GetUnitTopicList, Name: "GET_UNIT_TOPIC_LIST", Handle: topic.unit},
		{Code: protocol.GetHasUnitSubTopicList, Name: "GET_HAS_UNIT_SUB_TOPIC_LIST", Handle: topic.unitSub},
		{Code: protocol.GetHasUnitSubUnUnitTopicList, Name: "GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST", Handle: topic.unitSubOnly},

		{Code: protocol.UpdateNameServerConfig, Name: "UPDATE_NAMESRV_CONFIG", Handle: settings.update, Lane: disk},
		{Code: protocol.GetNameServerConfig, Name: "GET_NAMESRV_CONFIG", Handle: settings.get},
	}
}
