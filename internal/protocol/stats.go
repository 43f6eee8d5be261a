// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// TopicStats is the answer to GET_TOPIC_STATS_INFO (202).
type TopicStats struct {
	OffsetTable map[MessageQueue]TopicOffset `json:"offsetTable"`
	TopicPutTps float64                      `json:"topicPutTps"`
}

// TopicOffset is a queue's range; LastUpdateTimestamp is the store time of its last message, ms, 0 for none.
type TopicOffset struct {
	LastUpdateTimestamp int64 `json:"lastUpdateTimestamp"`
	MaxOffset           int64 `json:"maxOffset"`
	MinOffset           int64 `json:"minOffset"`
}

// ConsumeStatsHeader of GET_CONSUME_STATS (208). TopicList is separated by ";".
type ConsumeStatsHeader struct {
	ConsumerGroup string `header:"consumerGroup,required"`
	Topic         string `header:"topic"`
	TopicList     string `header:"topicList"`
}

// ConsumeStats is its answer.
type ConsumeStats struct {
	ConsumeTps  float64                        `json:"consumeTps"`
	OffsetTable map[MessageQueue]OffsetWrapper `json:"offsetTable"`
}

// OffsetWrapper is how far a group has come in a queue. LastTimestamp is the store time of the last message consumed.
type OffsetWrapper struct {
	BrokerOffset   int64 `json:"brokerOffset"`
	ConsumerOffset int64 `json:"consumerOffset"`
	LastTimestamp  int64 `json:"lastTimestamp"`
	PullOffset     int64 `json:"pullOffset"`
}

// BrokerConsumeStatsHeader of GET_BROKER_CONSUME_STATS (317).
type BrokerConsumeStatsHeader struct {
	IsOrder bool `header:"isOrder"` // ordered topics only
}

// ConsumeStatsList is its answer: a map of one group each.
type ConsumeStatsList struct {
	BrokerAddr        string                      `json:"brokerAddr"`
	ConsumeStatsList  []map[string][]ConsumeStats `json:"consumeStatsList"`
	TotalDiff         int64                       `json:"totalDiff"`
	TotalInflightDiff int64                       `json:"totalInflightDiff"`
}

// ConsumeTimeSpans is the answer to QUERY_CONSUME_TIME_SPAN (303).
type ConsumeTimeSpans struct {
	ConsumeTimeSpanSet []QueueTimeSpan `json:"consumeTimeSpanSet"`
}

// QueueTimeSpan is a queue's range and a group's place in it, in store times (ms, and as text since 5.x).
type QueueTimeSpan struct {
	ConsumeTimeStamp    int64        `json:"consumeTimeStamp"`
	ConsumeTimeStampStr string       `json:"consumeTimeStampStr"`
	DelayTime           int64        `json:"delayTime"` // ms since the next message was stored
	MaxTimeStamp        int64        `json:"maxTimeStamp"`
	MaxTimeStampStr     string       `json:"maxTimeStampStr"`
	MessageQueue        MessageQueue `json:"messageQueue"`
	MinTimeStamp        int64        `json:"minTimeStamp"`
	MinTimeStampStr     string       `json:"minTimeStampStr"`
}

// BrokerStatsHeader of VIEW_BROKER_STATS_DATA (315).
type BrokerStatsHeader struct {
	StatsName string `header:"statsName,required"`
	StatsKey  string `header:"statsKey,required"`
}

// BrokerStatsData is its answer.
type BrokerStatsData struct {
	StatsDay    BrokerStatsItem `json:"statsDay"`
	StatsHour   BrokerStatsItem `json:"statsHour"`
	StatsMinute BrokerStatsItem `json:"statsMinute"`
}

// BrokerStatsItem is a sum over a window, its rate per second, and its average per time something was counted.
type BrokerStatsItem struct {
	AvgPt float64 `json:"avgpt"`
	Sum   int64   `json:"sum"`
	Tps   float64 `json:"tps"`
}

// QueryConsumeQueueHeader of QUERY_CONSUME_QUEUE (321).
type QueryConsumeQueueHeader struct {
	Topic         string `header:"topic,required"`
	QueueID       int32  `header:"queueId"`
	Index         int64  `header:"index"`
	Count         int32  `header:"count"`
	ConsumerGroup string `header:"consumerGroup"`
}

// ConsumeQueueData is its answer.
type ConsumeQueueData struct {
	FilterData       *string             `json:"filterData"` // Java's text of the group's SQL filter, "null" for none
	MaxQueueIndex    int64               `json:"maxQueueIndex"`
	MinQueueIndex    int64               `json:"minQueueIndex"`
	QueueData        []ConsumeQueueEntry `json:"queueData"`
	SubscriptionData *SubscriptionData   `json:"subscriptionData"`
}

// ConsumeQueueEntry is one entry of a queue. Eval tells whether the group's SQL filter takes the message.
type ConsumeQueueEntry struct {
	BitMap         string `json:"bitMap,omitempty"`
	Eval           bool   `json:"eval"`
	ExtendDataJSON string `json:"extendDataJson,omitempty"`
	Msg            string `json:"msg,omitempty"`
	PhysicOffset   int64  `json:"physicOffset"`
	PhysicSize     int32  `json:"physicSize"`
	TagsCode       int64  `json:"tagsCode"`
}
