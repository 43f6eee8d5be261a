// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// MasterID is the id of the broker that takes writes, within the brokers of one name.
const MasterID int64 = 0

// BrokerData is the brokers of one name: their addresses by id, 0 being the master.
type BrokerData struct {
	BrokerAddrs        map[int64]string `json:"brokerAddrs"`
	BrokerName         string           `json:"brokerName,omitempty"`
	Cluster            string           `json:"cluster,omitempty"`
	EnableActingMaster bool             `json:"enableActingMaster"`
	ZoneName           string           `json:"zoneName,omitempty"`
}

// Master gives the master's address, "" when there is none.
func (b *BrokerData) Master() string { return b.BrokerAddrs[MasterID] }

// QueueData is how many queues of a topic a broker has and what may be done with them.
type QueueData struct {
	BrokerName     string `json:"brokerName,omitempty"`
	Perm           int32  `json:"perm"`
	ReadQueueNums  int32  `json:"readQueueNums"`
	TopicSysFlag   int32  `json:"topicSysFlag"`
	WriteQueueNums int32  `json:"writeQueueNums"`
}

// TopicRouteData answers where a topic is.
type TopicRouteData struct {
	BrokerDatas               []BrokerData                      `json:"brokerDatas"`
	FilterServerTable         map[string][]string               `json:"filterServerTable"`
	OrderTopicConf            string                            `json:"orderTopicConf,omitempty"` // "broker:queues;broker:queues"
	QueueDatas                []QueueData                       `json:"queueDatas"`
	TopicQueueMappingByBroker map[string]*TopicQueueMappingInfo `json:"topicQueueMappingByBroker"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (r *TopicRouteData) JSONDefaults() {
	*r = TopicRouteData{BrokerDatas: []BrokerData{}, FilterServerTable: map[string][]string{}, QueueDatas: []QueueData{}}
}

// ClusterInfo is all brokers and which clusters they form.
type ClusterInfo struct {
	BrokerAddrTable  map[string]*BrokerData `json:"brokerAddrTable"`
	ClusterAddrTable map[string][]string    `json:"clusterAddrTable"` // cluster: broker names
}

// BrokerMemberGroup is the live brokers of one name.
type BrokerMemberGroup struct {
	BrokerAddrs map[int64]string `json:"brokerAddrs"`
	BrokerName  string           `json:"brokerName,omitempty"`
	Cluster     string           `json:"cluster,omitempty"`
}

// BrokerMemberGroupBody answers GET_BROKER_MEMBER_GROUP; the group is nil when the cluster is not known.
type BrokerMemberGroupBody struct {
	BrokerMemberGroup *BrokerMemberGroup `json:"brokerMemberGroup"`
}
