// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// HeartbeatAnswer is the header of the answer to HEART_BEAT (34).
type HeartbeatAnswer struct {
	SupportV2  bool `header:"IS_SUPPORT_HEART_BEAT_V2"`
	SubChanged bool `header:"IS_SUB_CHANGE"` // second form: send the subscriptions next time
}

// UnregisterClientHeader of UNREGISTER_CLIENT (35).
type UnregisterClientHeader struct {
	ClientID      string `header:"clientID"`
	ProducerGroup string `header:"producerGroup,omitempty"`
	ConsumerGroup string `header:"consumerGroup,omitempty"`
}

// ConsumerGroupHeader of GET_CONSUMER_LIST_BY_GROUP (38) and GET_CONSUMER_CONNECTION_LIST (203).
type ConsumerGroupHeader struct {
	ConsumerGroup string `header:"consumerGroup,required"`
}

// ConsumerIDList is the answer to GET_CONSUMER_LIST_BY_GROUP (38).
type ConsumerIDList struct {
	ConsumerIDList []string `json:"consumerIdList"`
}

// NotifyConsumerIDsChangedHeader of NOTIFY_CONSUMER_IDS_CHANGED (40), broker to consumer.
type NotifyConsumerIDsChangedHeader struct {
	ConsumerGroup string `header:"consumerGroup,required"`
}

// CheckClientBody of CHECK_CLIENT_CONFIG (46).
type CheckClientBody struct {
	ClientID         string            `json:"clientId,omitempty"`
	Group            string            `json:"group,omitempty"`
	Namespace        string            `json:"namespace,omitempty"`
	SubscriptionData *SubscriptionData `json:"subscriptionData"`
}

// Connection is one connected client.
type Connection struct {
	ClientAddr string `json:"clientAddr"`
	ClientID   string `json:"clientId"`
	Language   string `json:"language"`
	Version    int32  `json:"version"`
}

// ConsumerConnection is the answer to GET_CONSUMER_CONNECTION_LIST (203).
type ConsumerConnection struct {
	ConnectionSet     []Connection                 `json:"connectionSet"`
	ConsumeFromWhere  ConsumeFromWhere             `json:"consumeFromWhere,omitempty"`
	ConsumeType       ConsumeType                  `json:"consumeType,omitempty"`
	MessageModel      MessageModel                 `json:"messageModel,omitempty"`
	SubscriptionTable map[string]*SubscriptionData `json:"subscriptionTable"`
}

// ProducerGroupHeader of GET_PRODUCER_CONNECTION_LIST (204).
type ProducerGroupHeader struct {
	ProducerGroup string `header:"producerGroup,required"`
}

// ProducerConnection is its answer.
type ProducerConnection struct {
	ConnectionSet []Connection `json:"connectionSet"`
}

// ProducerTable is the answer to GET_ALL_PRODUCER_INFO (328), by group.
type ProducerTable struct {
	Data map[string][]ProducerInfo `json:"data"`
}

// ProducerInfo is one producer. RemoteIP is written as Java does: "/ip:port".
type ProducerInfo struct {
	ClientID            string `json:"clientId"`
	Language            string `json:"language"`
	LastUpdateTimestamp int64  `json:"lastUpdateTimestamp"`
	RemoteIP            string `json:"remoteIP"`
	Version             int32  `json:"version"`
}

// ConsumerClientHeader names one member of a group: GET_CONSUMER_RUNNING_INFO (307) and CONSUME_MESSAGE_DIRECTLY (309).
// The fields of these requests travel on to the client as they are; here is what the broker reads of them.
type ConsumerClientHeader struct {
	ConsumerGroup string `header:"consumerGroup,required"`
	ClientID      string `header:"clientId"`
	MsgID         string `header:"msgId"` // 309: offset id of the message
	Topic         string `header:"topic"` // 309
}

// ConsumerStatusHeader of INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223), admin to broker, and
// GET_CONSUMER_STATUS_FROM_CLIENT (221), broker to consumer.
type ConsumerStatusHeader struct {
	Topic      string  `header:"topic,required"`
	Group      string  `header:"group,required"`
	ClientAddr *string `header:"clientAddr"` // a client id: only that member
}

// ConsumerStatus is what a client answers to 221 (MessageQueueTable) and the broker to 223 (ConsumerTable, by client id).
type ConsumerStatus struct {
	ConsumerTable     map[string]map[MessageQueue]int64 `json:"consumerTable"`
	MessageQueueTable map[MessageQueue]int64            `json:"messageQueueTable"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (s *ConsumerStatus) JSONDefaults() {
	*s = ConsumerStatus{ConsumerTable: map[string]map[MessageQueue]int64{}, MessageQueueTable: map[MessageQueue]int64{}}
}
