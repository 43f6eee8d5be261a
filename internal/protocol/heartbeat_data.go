// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// ConsumeType is how a consumer gets its messages.
type ConsumeType string

// Consume types, in RocketMQ's order.
const (
	ConsumeActively  ConsumeType = "CONSUME_ACTIVELY"  // pull
	ConsumePassively ConsumeType = "CONSUME_PASSIVELY" // push
	ConsumePop       ConsumeType = "CONSUME_POP"
)

// JSONNames gives the names by ordinal.
func (ConsumeType) JSONNames() []string {
	return []string{string(ConsumeActively), string(ConsumePassively), string(ConsumePop)}
}

// MessageModel tells whether a group's members share the messages or get all of them each.
type MessageModel string

// Message models, in RocketMQ's order.
const (
	Broadcasting MessageModel = "BROADCASTING"
	Clustering   MessageModel = "CLUSTERING"
)

// JSONNames gives the names by ordinal.
func (MessageModel) JSONNames() []string { return []string{string(Broadcasting), string(Clustering)} }

// ConsumeFromWhere is where a group begins in a queue it has no offset for.
type ConsumeFromWhere string

// Where to begin, in RocketMQ's order. The second to fourth mean the last offset and are not used by clients any more.
const (
	ConsumeFromLastOffset           ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET"
	ConsumeFromLastOffsetAndFromMin ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
	ConsumeFromMinOffset            ConsumeFromWhere = "CONSUME_FROM_MIN_OFFSET"
	ConsumeFromMaxOffset            ConsumeFromWhere = "CONSUME_FROM_MAX_OFFSET"
	ConsumeFromFirstOffset          ConsumeFromWhere = "CONSUME_FROM_FIRST_OFFSET"
	ConsumeFromTimestamp            ConsumeFromWhere = "CONSUME_FROM_TIMESTAMP"
)

// JSONNames gives the names by ordinal.
func (ConsumeFromWhere) JSONNames() []string {
	return []string{
		string(ConsumeFromLastOffset), string(ConsumeFromLastOffsetAndFromMin), string(ConsumeFromMinOffset),
		string(ConsumeFromMaxOffset), string(ConsumeFromFirstOffset), string(ConsumeFromTimestamp),
	}
}

// HeartbeatData is what a client tells each broker every 30 seconds: the groups it is a member of.
type HeartbeatData struct {
	ClientID             string         `json:"clientID,omitempty"`
	ConsumerDataSet      []ConsumerData `json:"consumerDataSet"`
	HeartbeatFingerprint int32          `json:"heartbeatFingerprint"` // not 0: second form, of 5.1.3
	ProducerDataSet      []ProducerData `json:"producerDataSet"`
	WithoutSub           bool           `json:"withoutSub"` // second form: subscriptions left out, the known ones stay
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (h *HeartbeatData) JSONDefaults() {
	*h = HeartbeatData{ConsumerDataSet: []ConsumerData{}, ProducerDataSet: []ProducerData{}}
}

// ProducerData is a producer group the client is in.
type ProducerData struct {
	GroupName string `json:"groupName,omitempty"`
}

// ConsumerData is a consumer group the client is in.
type ConsumerData struct {
	ConsumeFromWhere    ConsumeFromWhere    `json:"consumeFromWhere,omitempty"`
	ConsumeType         ConsumeType         `json:"consumeType,omitempty"`
	GroupName           string              `json:"groupName,omitempty"`
	MessageModel        MessageModel        `json:"messageModel,omitempty"`
	SubscriptionDataSet []*SubscriptionData `json:"subscriptionDataSet"`
	UnitMode            bool                `json:"unitMode"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (c *ConsumerData) JSONDefaults() {
	*c = ConsumerData{SubscriptionDataSet: []*SubscriptionData{}}
}
