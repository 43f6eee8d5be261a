// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// Message is what an application sends and gets.
type Message struct {
	Topic string
	Body  []byte // at least one byte, at most 4 MiB unless MaxMessageBytes says otherwise
	// Tag is what consumers filter by.
	Tag string
	// Keys are business keys by which brokers index the message. They must not
	// contain blanks.
	Keys []string
	// ShardingKey keeps messages together: those with the same key go to the same
	// queue, as long as the topic has the same queues, and keep their order there.
	ShardingKey string
	// Properties are the application's own, without names that RocketMQ uses itself.
	// Neither names nor values may be empty or contain the characters 1 and 2.
	Properties map[string]string
	// DelayLevel asks the broker to deliver later: 1 to 18 for 1 s, 5 s, 10 s, 30 s,
	// 1 to 10 min, 20 min, 30 min, 1 h and 2 h, unless the broker is configured
	// otherwise. 0 delivers at once.
	DelayLevel int
	// DeliverAt asks for delivery at a time, at most three days ahead. The zero time
	// delivers at once.
	DeliverAt time.Time
	// Flag is carried as it is.
	Flag int32
	// NoWait asks the broker to answer before the message is safe on disk and on
	// replicas (property WAIT=false).
	NoWait bool
}

// Received is a message that came from a broker.
type Received struct {
	Message
	ID       string // given by the sender's client (RocketMQ: msgId, property UNIQ_KEY)
	OffsetID string // its place in the broker's log (RocketMQ: offsetMsgId)
	Queue    Queue
	Offset   int64 // in the queue
	// Attempts is how often the group failed on it so far (RocketMQ: reconsumeTimes).
	Attempts  int
	BornAt    time.Time // when it was sent, by the sender's clock
	BornHost  netip.AddrPort
	StoredAt  time.Time // when it was stored, by the broker's clock
	StoreHost netip.AddrPort
	// System are the properties that RocketMQ keeps for itself.
	System map[string]string

	physicalOffset int64 // in the broker's log
}

// FailureReason is why the last attempt at a message that came again failed, "" when
// that is not known.
func (r *Received) FailureReason() string { return r.System[message.PropFailureReason] }

// Queue is one queue of a topic at one broker.
type Queue struct {
	Topic  string
	Broker string // the broker's name
	ID     int
}

// String gives topic, broker and number.
func (q Queue) String() string { return fmt.Sprintf("%s@%s:%d", q.Topic, q.Broker, q.ID) }

func queueOf(q protocol.MessageQueue) Queue {
	return Queue{Topic: q.Topic, Broker: q.BrokerName, ID: int(q.QueueID)}
}

func (q Queue) wire() protocol.MessageQueue {
	return protocol.MessageQueue{Topic: q.Topic, BrokerName: q.Broker, QueueID: int32(q.ID)}
}

func queuesOf(wire []protocol.MessageQueue) []Queue {
	queues := make([]Queue, len(wire))
	for i, q := range wire {
		queues[i] = queueOf(q)
	}
	return queues
}
