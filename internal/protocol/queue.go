// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"cmp"
	"fmt"
)

// MessageQueue names one queue of one topic on one broker. In JSON it is also used as a key of maps.
type MessageQueue struct {
	BrokerName string `json:"brokerName"`
	QueueID    int32  `json:"queueId"`
	Topic      string `json:"topic"`
}

// String is the text that RocketMQ's tools and logs show.
func (q MessageQueue) String() string {
	return fmt.Sprintf("MessageQueue [topic=%s, brokerName=%s, queueId=%d]", q.Topic, q.BrokerName, q.QueueID)
}

// Compare orders by topic, broker and queue id: the order in which all members of a group must
// see the queues before they divide them (RocketMQ: MessageQueue.compareTo).
func (q MessageQueue) Compare(o MessageQueue) int {
	return cmp.Or(cmp.Compare(q.Topic, o.Topic), cmp.Compare(q.BrokerName, o.BrokerName), cmp.Compare(q.QueueID, o.QueueID))
}
