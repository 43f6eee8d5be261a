// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// SubscriptionGroupListBody of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST (225).
type SubscriptionGroupListBody struct {
	GroupConfigList []*SubscriptionGroupConfig `json:"groupConfigList"`
}

// AllGroupConfigHeader of GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201). Without any field the answer holds all groups.
type AllGroupConfigHeader struct {
	GroupSeq    *int32 `header:"groupSeq"`    // number of the first group wanted
	DataVersion string `header:"dataVersion"` // JSON; of the groups the asker has begun to read
	MaxGroupNum *int32 `header:"maxGroupNum"`
}

// AllGroupConfigAnswer is the header of its answer; the body is a SubscriptionGroupWrapper.
type AllGroupConfigAnswer struct {
	TotalGroupNum int32 `header:"totalGroupNum"`
}

// GroupHeader of GET_SUBSCRIPTIONGROUP_CONFIG (352) and QUERY_TOPICS_BY_CONSUMER (343).
type GroupHeader struct {
	Group string `header:"group,required"`
}

// DeleteGroupHeader of DELETE_SUBSCRIPTIONGROUP (207). 4.x calls the second field removeOffset.
type DeleteGroupHeader struct {
	GroupName    string `header:"groupName,required"`
	CleanOffset  bool   `header:"cleanOffset"`
	RemoveOffset bool   `header:"removeOffset"`
}

// GroupForbiddenHeader of UPDATE_AND_GET_GROUP_FORBIDDEN (353). Readable absent asks only.
type GroupForbiddenHeader struct {
	Group    string `header:"group,required"`
	Topic    string `header:"topic,required"`
	Readable *bool  `header:"readable"`
}

// GroupForbidden is its answer.
type GroupForbidden struct {
	Group    string `json:"group"`
	Readable bool   `json:"readable"`
	Topic    string `json:"topic"`
}

// GroupTopicHeader of QUERY_SUBSCRIPTION_BY_CONSUMER (345) and QUERY_CONSUME_TIME_SPAN (303).
type GroupTopicHeader struct {
	Group string `header:"group,required"`
	Topic string `header:"topic"`
}

// SubscriptionOfGroup is the answer to QUERY_SUBSCRIPTION_BY_CONSUMER (345).
type SubscriptionOfGroup struct {
	Group            string            `json:"group"`
	SubscriptionData *SubscriptionData `json:"subscriptionData"`
	Topic            string            `json:"topic,omitempty"`
}

// MessageRequestMode is how the members of a group get a topic's messages: body of SET_MESSAGE_REQUEST_MODE (401).
type MessageRequestMode struct {
	ConsumerGroup    string `json:"consumerGroup,omitempty"`
	Mode             string `json:"mode,omitempty"`   // ModePull or ModePop
	PopShareQueueNum int32  `json:"popShareQueueNum"` // members that share a queue; 0: all
	Topic            string `json:"topic,omitempty"`
}

// Message request modes.
const (
	ModePull = "PULL"
	ModePop  = "POP"
)

// JSONDefaults sets what holds for keys that the JSON lacks.
func (m *MessageRequestMode) JSONDefaults() { *m = MessageRequestMode{Mode: ModePull} }

// MessageRequestModes is the answer to GET_ALL_MESSAGE_REQUEST_MODE (402): topic, group, mode.
type MessageRequestModes struct {
	MessageRequestModeMap map[string]map[string]*MessageRequestMode `json:"messageRequestModeMap"`
}

// QueryAssignmentBody of QUERY_ASSIGNMENT (400).
type QueryAssignmentBody struct {
	ClientID      string       `json:"clientId,omitempty"`
	ConsumerGroup string       `json:"consumerGroup,omitempty"`
	MessageModel  MessageModel `json:"messageModel,omitempty"`
	StrategyName  string       `json:"strategyName,omitempty"`
	Topic         string       `json:"topic,omitempty"`
}

// QueueAssignments is its answer. A nil list means "no result, keep what you have", an empty one "none for you".
type QueueAssignments struct {
	MessageQueueAssignments []QueueAssignment `json:"messageQueueAssignments"`
}

// QueueAssignment is one queue that a client is to read.
type QueueAssignment struct {
	MessageQueue MessageQueue `json:"messageQueue"`
	Mode         string       `json:"mode"`
}
