// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// CreateTopicHeader of UPDATE_AND_CREATE_TOPIC (17). DefaultTopic and Force are sent by tools and not looked at.
type CreateTopicHeader struct {
	Topic           string `header:"topic,required"`
	DefaultTopic    string `header:"defaultTopic"`
	ReadQueueNums   int32  `header:"readQueueNums,required"`
	WriteQueueNums  int32  `header:"writeQueueNums,required"`
	Perm            int32  `header:"perm,required"`
	TopicFilterType string `header:"topicFilterType"`
	TopicSysFlag    *int32 `header:"topicSysFlag"`
	Order           bool   `header:"order"`
	Attributes      string `header:"attributes"` // changes: "+key=value,-key"
	Force           bool   `header:"force"`
}

// CreateTopicListBody of UPDATE_AND_CREATE_TOPIC_LIST (18). The attributes of each topic are changes, as in
// CreateTopicHeader: "+key": "value".
type CreateTopicListBody struct {
	TopicConfigList []*TopicConfig `json:"topicConfigList"`
}

// TopicHeader of requests about one topic: DELETE_TOPIC_IN_BROKER (215), GET_TOPIC_CONFIG (351),
// GET_TOPIC_STATS_INFO (202), QUERY_TOPIC_CONSUME_BY_WHO (300).
type TopicHeader struct {
	Topic string `header:"topic,required"`
}

// AllTopicConfigHeader of GET_ALL_TOPIC_CONFIG (21). Without any field the answer holds all topics.
type AllTopicConfigHeader struct {
	TopicSeq    *int32 `header:"topicSeq"`    // number of the first topic wanted
	DataVersion string `header:"dataVersion"` // JSON; of the topics the asker has begun to read
	MaxTopicNum *int32 `header:"maxTopicNum"`
}

// AllTopicConfigAnswer is the header of its answer; the body is a TopicConfigWrapper.
type AllTopicConfigAnswer struct {
	TotalTopicNum int32 `header:"totalTopicNum"`
}

// TopicConfigAndMapping is the answer to GET_TOPIC_CONFIG (351).
type TopicConfigAndMapping struct {
	TopicConfig
	MappingDetail *TopicQueueMappingDetail `json:"mappingDetail"`
}
