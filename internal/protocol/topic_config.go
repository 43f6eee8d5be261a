// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import "maps"

// TopicFilterType tells whether a topic's messages have one tag or several.
type TopicFilterType string

// Topic filter types, in RocketMQ's order.
const (
	SingleTag TopicFilterType = "SINGLE_TAG"
	MultiTag  TopicFilterType = "MULTI_TAG"
)

// JSONNames gives the names by ordinal.
func (TopicFilterType) JSONNames() []string { return []string{string(SingleTag), string(MultiTag)} }

// Bits of TopicConfig.TopicSysFlag (RocketMQ: TopicSysFlag).
const (
	TopicFlagUnit    int32 = 1
	TopicFlagUnitSub int32 = 2
)

// DefaultTopicQueues is how many queues a topic has that was not told otherwise.
const DefaultTopicQueues int32 = 16

// TopicConfig is what a broker knows of one topic.
type TopicConfig struct {
	Attributes      map[string]string `json:"attributes"`
	Order           bool              `json:"order"`
	Perm            int32             `json:"perm"`
	ReadQueueNums   int32             `json:"readQueueNums"`
	TopicFilterType TopicFilterType   `json:"topicFilterType,omitempty"`
	TopicName       string            `json:"topicName,omitempty"`
	TopicSysFlag    int32             `json:"topicSysFlag"`
	WriteQueueNums  int32             `json:"writeQueueNums"`
}

// NewTopicConfig is a topic with RocketMQ's defaults.
func NewTopicConfig(topic string) *TopicConfig {
	c := new(TopicConfig)
	c.JSONDefaults()
	c.TopicName = topic
	return c
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (c *TopicConfig) JSONDefaults() {
	*c = TopicConfig{
		Attributes:      map[string]string{},
		Perm:            PermReadWrite,
		ReadQueueNums:   DefaultTopicQueues,
		TopicFilterType: SingleTag,
		WriteQueueNums:  DefaultTopicQueues,
	}
}

// Clone copies c with its attributes.
func (c *TopicConfig) Clone() *TopicConfig {
	d := *c
	d.Attributes = maps.Clone(c.Attributes)
	return &d
}

// Equal compares all fields; no attributes and empty ones are the same.
func (c *TopicConfig) Equal(o *TopicConfig) bool {
	return c.Order == o.Order && c.Perm == o.Perm && c.ReadQueueNums == o.ReadQueueNums &&
		c.TopicFilterType == o.TopicFilterType && c.TopicName == o.TopicName && c.TopicSysFlag == o.TopicSysFlag &&
		c.WriteQueueNums == o.WriteQueueNums && maps.Equal(c.Attributes, o.Attributes)
}

// TopicConfigWrapper is all topics of a broker with their version, as brokers register them and slaves
// copy them. 4.x knows the first two fields only (RocketMQ: TopicConfigSerializeWrapper,
// TopicConfigAndMappingSerializeWrapper).
type TopicConfigWrapper struct {
	DataVersion                DataVersion                         `json:"dataVersion"`
	MappingDataVersion         *DataVersion                        `json:"mappingDataVersion"`
	TopicConfigTable           map[string]*TopicConfig             `json:"topicConfigTable"`
	TopicQueueMappingDetailMap map[string]*TopicQueueMappingDetail `json:"topicQueueMappingDetailMap"`
	TopicQueueMappingInfoMap   map[string]*TopicQueueMappingInfo   `json:"topicQueueMappingInfoMap"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (w *TopicConfigWrapper) JSONDefaults() {
	*w = TopicConfigWrapper{TopicConfigTable: map[string]*TopicConfig{}}
}

// ScopeGlobal is the scope of a queue mapping that holds for all brokers.
const ScopeGlobal = "__global__"

// TopicQueueMappingInfo is what name servers are told of a static topic's queues on one broker.
type TopicQueueMappingInfo struct {
	BrokerName  string          `json:"bname,omitempty"`
	CurrIDMap   map[int32]int32 `json:"currIdMap,quoted"` // logical queue: the broker's own
	Dirty       bool            `json:"dirty"`
	Epoch       int64           `json:"epoch"`
	Scope       string          `json:"scope,omitempty"`
	Topic       string          `json:"topic,omitempty"`
	TotalQueues int32           `json:"totalQueues"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (m *TopicQueueMappingInfo) JSONDefaults() {
	*m = TopicQueueMappingInfo{CurrIDMap: map[int32]int32{}, Scope: ScopeGlobal}
}

// TopicQueueMappingDetail is TopicQueueMappingInfo with the history of each queue.
type TopicQueueMappingDetail struct {
	TopicQueueMappingInfo
	HostedQueues map[int32][]QueueMappingItem `json:"hostedQueues,quoted"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (m *TopicQueueMappingDetail) JSONDefaults() {
	m.TopicQueueMappingInfo.JSONDefaults()
	m.HostedQueues = map[int32][]QueueMappingItem{}
}

// QueueMappingItem is one stretch of a static topic's queue (RocketMQ: LogicQueueMappingItem).
type QueueMappingItem struct {
	BrokerName  string `json:"bname,omitempty"`
	EndOffset   int64  `json:"endOffset"`
	Gen         int32  `json:"gen"`
	LogicOffset int64  `json:"logicOffset"`
	QueueID     int32  `json:"queueId"`
	StartOffset int64  `json:"startOffset"`
	TimeOfEnd   int64  `json:"timeOfEnd"`
	TimeOfStart int64  `json:"timeOfStart"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (i *QueueMappingItem) JSONDefaults() {
	*i = QueueMappingItem{EndOffset: -1, TimeOfEnd: -1, TimeOfStart: -1}
}
