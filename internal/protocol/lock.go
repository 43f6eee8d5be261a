// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// LockBatchBody of LOCK_BATCH_MQ (41) and UNLOCK_BATCH_MQ (42).
type LockBatchBody struct {
	ClientID       string         `json:"clientId,omitempty"`
	ConsumerGroup  string         `json:"consumerGroup,omitempty"`
	MQSet          []MessageQueue `json:"mqSet"`
	OnlyThisBroker bool           `json:"onlyThisBroker"` // do not ask other members of the broker's group
}

// LockBatchAnswer is the answer to LOCK_BATCH_MQ (41): the queues that the client holds now.
type LockBatchAnswer struct {
	LockOKMQSet []MessageQueue `json:"lockOKMQSet"`
}
