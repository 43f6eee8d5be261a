// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

import (
	"strconv"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Config is one topic's settings. It is shared by everybody: nobody may change it or
// what hangs below it.
type Config struct {
	protocol.TopicConfig

	QueueType     QueueType
	CleanupPolicy CleanupPolicy
	MessageType   MessageType
	Reserved      time.Duration // that messages are kept (attribute reserve.time, hours); 0: as long as those of other topics

	creation uint64 // number in the journal of the change that created the topic; 0: a file has it
}

// QueueType is the form of a topic's queues on disk (attribute queue.type).
type QueueType string

// Queue types.
const (
	SimpleQueue QueueType = "SimpleCQ"
	BatchQueue  QueueType = "BatchCQ"
)

// CleanupPolicy is what becomes of old messages (attribute cleanup.policy).
type CleanupPolicy string

// Cleanup policies.
const (
	Delete     CleanupPolicy = "DELETE"
	Compaction CleanupPolicy = "COMPACTION" // the newest message of each key stays
)

// MessageType is which messages a topic is meant for (attribute message.type). The
// broker does not check it; the proxy does.
type MessageType string

// Message types.
const (
	Unspecified MessageType = "UNSPECIFIED"
	Normal      MessageType = "NORMAL"
	FIFO        MessageType = "FIFO"
	Delay       MessageType = "DELAY"
	Transaction MessageType = "TRANSACTION"
	Mixed       MessageType = "MIXED"
	Priority    MessageType = "PRIORITY"
	Lite        MessageType = "LITE"
)

// newConfig takes c over and reads its attributes.
func newConfig(c *protocol.TopicConfig) *Config {
	return &Config{
		TopicConfig:   *c,
		QueueType:     QueueType(attribute(c, attrQueueType)),
		CleanupPolicy: CleanupPolicy(attribute(c, attrCleanupPolicy)),
		MessageType:   MessageType(attribute(c, attrMessageType)),
		Reserved:      reserved(c),
	}
}

// reserved reads the attribute reserve.time. What is no number of hours above 0 means nothing, as in RocketMQ's tiered
// store, which is the only one there that heeds it.
func reserved(c *protocol.TopicConfig) time.Duration {
	hours, err := strconv.ParseInt(attribute(c, attrReserveTime), 10, 64)
	if err != nil || hours <= 0 {
		return 0
	}
	return time.Duration(min(hours, mostHours)) * time.Hour
}

// mostHours is some 100 years: as good as for ever, and times that far back can be computed with.
const mostHours = 100 * 365 * 24

// attribute gives the value of an attribute, its default when it is not set.
func attribute(c *protocol.TopicConfig, key string) string {
	if v, ok := c.Attributes[key]; ok {
		return v
	}
	return attributes[key].fallback
}

// Queues is the number of queues that exist for sending or reading.
func (c *Config) Queues() int32 { return max(c.ReadQueueNums, c.WriteQueueNums, 0) }

// IsSystem tells whether the topic's name is one of the system's on any broker.
func (c *Config) IsSystem() bool { return protocol.IsSystemTopic(c.TopicName) }

// IsRetry tells whether it is a group's retry topic.
func (c *Config) IsRetry() bool { return strings.HasPrefix(c.TopicName, protocol.RetryPrefix) }
