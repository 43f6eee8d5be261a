// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// NamespaceOrderTopics is where a name server's key-value configuration keeps the queues of ordered
// topics: topic, "broker:queues;broker:queues".
const NamespaceOrderTopics = "ORDER_TOPIC_CONFIG"

// KVTable is a body of names and values: runtime info, key-value configuration of a name server.
type KVTable struct {
	Table map[string]string `json:"table"`
}

// TopicList is a body of topic names.
type TopicList struct {
	BrokerAddr string   `json:"brokerAddr,omitempty"`
	TopicList  []string `json:"topicList"`
}

// GroupList is a body of consumer group names.
type GroupList struct {
	GroupList []string `json:"groupList"`
}
