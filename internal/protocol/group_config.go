// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"maps"
	"slices"
)

// Defaults of a consumer group.
const (
	DefaultRetryQueueNums       int32 = 1
	DefaultRetryMaxTimes        int32 = 16
	DefaultConsumeTimeoutMinute int32 = 15
)

// SubscriptionGroupConfig is what a broker knows of one consumer group.
type SubscriptionGroupConfig struct {
	Attributes                     map[string]string        `json:"attributes"`
	BrokerID                       int64                    `json:"brokerId"`
	ConsumeBroadcastEnable         bool                     `json:"consumeBroadcastEnable"`
	ConsumeEnable                  bool                     `json:"consumeEnable"`
	ConsumeFromMinEnable           bool                     `json:"consumeFromMinEnable"`
	ConsumeMessageOrderly          bool                     `json:"consumeMessageOrderly"`
	ConsumeTimeoutMinute           int32                    `json:"consumeTimeoutMinute"`
	GroupName                      string                   `json:"groupName,omitempty"`
	GroupRetryPolicy               *GroupRetryPolicy        `json:"groupRetryPolicy"`
	GroupSysFlag                   int32                    `json:"groupSysFlag"`
	NotifyConsumerIDsChangedEnable bool                     `json:"notifyConsumerIdsChangedEnable"`
	RetryMaxTimes                  int32                    `json:"retryMaxTimes"`
	RetryQueueNums                 int32                    `json:"retryQueueNums"`
	SubscriptionDataSet            []SimpleSubscriptionData `json:"subscriptionDataSet"`
	WhichBrokerWhenConsumeSlowly   int64                    `json:"whichBrokerWhenConsumeSlowly"`
}

// NewSubscriptionGroupConfig is a group with RocketMQ's defaults.
func NewSubscriptionGroupConfig(group string) *SubscriptionGroupConfig {
	c := new(SubscriptionGroupConfig)
	c.JSONDefaults()
	c.GroupName = group
	return c
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (c *SubscriptionGroupConfig) JSONDefaults() {
	*c = SubscriptionGroupConfig{
		Attributes:                     map[string]string{},
		ConsumeBroadcastEnable:         true,
		ConsumeEnable:                  true,
		ConsumeFromMinEnable:           true,
		ConsumeTimeoutMinute:           DefaultConsumeTimeoutMinute,
		GroupRetryPolicy:               &GroupRetryPolicy{Type: RetryCustomized},
		NotifyConsumerIDsChangedEnable: true,
		RetryMaxTimes:                  DefaultRetryMaxTimes,
		RetryQueueNums:                 DefaultRetryQueueNums,
		WhichBrokerWhenConsumeSlowly:   1,
	}
}

// Clone copies c and everything below it.
func (c *SubscriptionGroupConfig) Clone() *SubscriptionGroupConfig {
	d := *c
	d.Attributes = maps.Clone(c.Attributes)
	d.SubscriptionDataSet = slices.Clone(c.SubscriptionDataSet)
	if p := c.GroupRetryPolicy; p != nil {
		q := *p
		if p.ExponentialRetryPolicy != nil {
			e := *p.ExponentialRetryPolicy
			q.ExponentialRetryPolicy = &e
		}
		if p.CustomizedRetryPolicy != nil {
			q.CustomizedRetryPolicy = &CustomizedRetryPolicy{Next: slices.Clone(p.CustomizedRetryPolicy.Next)}
		}
		d.GroupRetryPolicy = &q
	}
	return &d
}

// GroupRetryPolicyType is the kind of a retry policy.
type GroupRetryPolicyType string

// Kinds of retry policy, in RocketMQ's order.
const (
	RetryExponential GroupRetryPolicyType = "EXPONENTIAL"
	RetryCustomized  GroupRetryPolicyType = "CUSTOMIZED"
)

// JSONNames gives the names by ordinal.
func (GroupRetryPolicyType) JSONNames() []string {
	return []string{string(RetryExponential), string(RetryCustomized)}
}

// GroupRetryPolicy tells after how long a group gets a message again (clients of the proxy, pop).
type GroupRetryPolicy struct {
	CustomizedRetryPolicy  *CustomizedRetryPolicy  `json:"customizedRetryPolicy"`
	ExponentialRetryPolicy *ExponentialRetryPolicy `json:"exponentialRetryPolicy"`
	Type                   GroupRetryPolicyType    `json:"type,omitempty"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (p *GroupRetryPolicy) JSONDefaults() { *p = GroupRetryPolicy{Type: RetryCustomized} }

// CustomizedRetryPolicy is a list of delays, ms.
type CustomizedRetryPolicy struct {
	Next []int64 `json:"next"`
}

// ExponentialRetryPolicy starts with a delay and multiplies it each time up to a limit; delays in ms.
type ExponentialRetryPolicy struct {
	Initial    int64 `json:"initial"`
	Max        int64 `json:"max"`
	Multiplier int64 `json:"multiplier"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (p *ExponentialRetryPolicy) JSONDefaults() {
	*p = ExponentialRetryPolicy{Initial: 5_000, Max: 7_200_000, Multiplier: 2}
}

// SimpleSubscriptionData is a subscription kept with a group's settings.
type SimpleSubscriptionData struct {
	Expression     string `json:"expression,omitempty"`
	ExpressionType string `json:"expressionType,omitempty"`
	Topic          string `json:"topic,omitempty"`
	Version        int64  `json:"version"`
}

// SubscriptionGroupWrapper is all groups of a broker with their version.
type SubscriptionGroupWrapper struct {
	DataVersion            DataVersion                         `json:"dataVersion"`
	ForbiddenTable         map[string]map[string]int32         `json:"forbiddenTable"` // group: topic: bits
	SubscriptionGroupTable map[string]*SubscriptionGroupConfig `json:"subscriptionGroupTable"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (w *SubscriptionGroupWrapper) JSONDefaults() {
	*w = SubscriptionGroupWrapper{
		ForbiddenTable:         map[string]map[string]int32{},
		SubscriptionGroupTable: map[string]*SubscriptionGroupConfig{},
	}
}
