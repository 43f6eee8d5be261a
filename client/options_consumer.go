// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"time"

	"github.com/goddard-mq/goddard/internal/assign"
)

// Subscribe consumes the messages of a topic that f chooses. All members of a group
// must subscribe to the same.
func Subscribe(topic string, f Filter) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.subscriptions[topic] = f })
}

// Balance is how the members of a group divide the queues of a topic. All members
// must divide in the same way.
type Balance struct{ strategy assign.Strategy }

// Ways to divide queues (RocketMQ: AllocateMessageQueueStrategy).
var (
	Average         = Balance{assign.Average{}}         // neighbouring queues to each
	AverageByCircle = Balance{assign.AverageByCircle{}} // one by one, as cards are dealt
	ConsistentHash  = Balance{assign.ConsistentHash{}}  // by a ring of hashes: few queues move
)

// BalanceBy chooses how queues are divided. Default Average.
func BalanceBy(b Balance) ConsumerOption {
	return consumerOption(func(c *consumerConfig) {
		if b.strategy != nil {
			c.strategy = b.strategy
		}
	})
}

// Concurrency is how many handlers run at once. Default 20 (RocketMQ:
// consumeThreadMax).
func Concurrency(n int) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.concurrency = n })
}

// MaxAttempts is how often a message may fail before it becomes a dead letter.
// Default -1: what the group is configured to, 16 unless changed (RocketMQ:
// maxReconsumeTimes).
func MaxAttempts(n int) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.maxAttempts = n })
}

// CommitInterval is how often progress is told to the brokers. Default 5 s (RocketMQ:
// persistConsumerOffsetInterval).
func CommitInterval(d time.Duration) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.commitEvery = d })
}

// RebalanceInterval is how often the division of queues is checked, beside the times
// when brokers tell of a change. Default 20 s.
func RebalanceInterval(d time.Duration) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.rebalance = d })
}

// CachedMessages bounds how many messages of one queue may wait for handlers. Default
// 1000 (RocketMQ: pullThresholdForQueue).
func CachedMessages(n int) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.cachedCount = n })
}

// CachedBytes bounds the bodies of one queue that may wait for handlers. Default
// 100 MiB (RocketMQ: pullThresholdSizeForQueue).
func CachedBytes(n int) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.cachedBytes = n })
}

// HandlerTimeout ends the context of a handler. Default 15 min (RocketMQ:
// consumeTimeout).
func HandlerTimeout(d time.Duration) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.handlerTimeout = d })
}

// DrainTimeout is how long Close waits for handlers that are running. Messages of
// those that take longer come again. Default 30 s (RocketMQ:
// awaitTerminationMillisWhenShutdown, whose default is 0).
func DrainTimeout(d time.Duration) ConsumerOption {
	return consumerOption(func(c *consumerConfig) { c.drain = d })
}
