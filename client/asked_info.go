// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// consumerInfo is the answer to GET_CONSUMER_RUNNING_INFO (RocketMQ:
// ConsumerRunningInfo).
type consumerInfo struct {
	Jstack           string                              `json:"jstack,omitempty"`
	MQPopTable       map[protocol.MessageQueue]struct{}  `json:"mqPopTable"`
	MQTable          map[protocol.MessageQueue]queueInfo `json:"mqTable"`
	Properties       map[string]string                   `json:"properties"`
	StatusTable      map[string]topicRates               `json:"statusTable"`
	SubscriptionSet  []*protocol.SubscriptionData        `json:"subscriptionSet"`
	UserConsumerInfo map[string]string                   `json:"userConsumerInfo"`
}

// queueInfo is what is told of a queue (RocketMQ: ProcessQueueInfo, whose spelling
// this is). The fields of locks and transactions are those of ordered consumption.
type queueInfo struct {
	CachedMsgCount          int32 `json:"cachedMsgCount"`
	CachedMsgMaxOffset      int64 `json:"cachedMsgMaxOffset"`
	CachedMsgMinOffset      int64 `json:"cachedMsgMinOffset"`
	CachedMsgSizeInMiB      int32 `json:"cachedMsgSizeInMiB"`
	CommitOffset            int64 `json:"commitOffset"`
	Droped                  bool  `json:"droped"`
	LastConsumeTimestamp    int64 `json:"lastConsumeTimestamp"`
	LastLockTimestamp       int64 `json:"lastLockTimestamp"`
	LastPullTimestamp       int64 `json:"lastPullTimestamp"`
	Locked                  bool  `json:"locked"`
	TransactionMsgCount     int32 `json:"transactionMsgCount"`
	TransactionMsgMaxOffset int64 `json:"transactionMsgMaxOffset"`
	TransactionMsgMinOffset int64 `json:"transactionMsgMinOffset"`
	TryUnlockTimes          int64 `json:"tryUnlockTimes"`
}

// topicRates are a topic's rates of the last minute (RocketMQ: ConsumeStatus).
type topicRates struct {
	ConsumeFailedMsgs int64   `json:"consumeFailedMsgs"`
	ConsumeFailedTPS  float64 `json:"consumeFailedTPS"`
	ConsumeOKTPS      float64 `json:"consumeOKTPS"`
	ConsumeRT         float64 `json:"consumeRT"`
	PullRT            float64 `json:"pullRT"`
	PullTPS           float64 `json:"pullTPS"`
}

// maxStackBytes bounds the stacks of all goroutines, when they are asked for.
const maxStackBytes = 1 << 20

// runningInfo tells how this member is doing.
func (a asked) runningInfo(x *remoting.Exchange) (*remoting.Command, error) {
	var h struct {
		ConsumerGroup string `header:"consumerGroup,required"`
		JstackEnable  bool   `header:"jstackEnable"`
	}
	if err := header.Decode(x.Request.Fields, &h); err != nil {
		return nil, err
	}
	if err := a.checkGroup(h.ConsumerGroup); err != nil {
		return nil, err
	}
	c := a.c
	info := consumerInfo{
		MQPopTable:       map[protocol.MessageQueue]struct{}{},
		MQTable:          map[protocol.MessageQueue]queueInfo{},
		StatusTable:      map[string]topicRates{},
		UserConsumerInfo: map[string]string{},
		Properties: map[string]string{
			"PROP_NAMESERVER_ADDR":          strings.Join(c.cfg.cluster.nameServers, ";"),
			"PROP_THREADPOOL_CORE_SIZE":     strconv.Itoa(c.cfg.concurrency),
			"PROP_CONSUMEORDERLY":           "false",
			"PROP_CONSUME_TYPE":             string(protocol.ConsumePassively),
			"PROP_CLIENT_VERSION":           protocol.VersionName(protocol.CurrentVersion),
			"PROP_CONSUMER_START_TIMESTAMP": strconv.FormatInt(c.startedAt.UnixMilli(), 10),
		},
	}
	for topic, s := range c.subscriptionsNow() {
		info.SubscriptionSet = append(info.SubscriptionSet, s)
		info.StatusTable[topic] = topicRates{}
	}
	for _, q := range c.held() {
		info.MQTable[q.queue.wire()] = q.info()
	}
	if h.JstackEnable {
		stacks := make([]byte, maxStackBytes)
		info.Jstack = string(stacks[:runtime.Stack(stacks, true)])
	}
	return &remoting.Command{Body: javajson.Append(nil, &info, javajson.Bare)}, nil
}

func (q *groupQueue) info() queueInfo {
	commit := q.progress()
	q.mu.Lock()
	defer q.mu.Unlock()
	info := queueInfo{
		CachedMsgCount: int32(len(q.ahead)), CachedMsgSizeInMiB: int32(q.bytes >> 20), CommitOffset: commit, Droped: q.dropped,
		LastPullTimestamp: millis(q.pulledAt), LastConsumeTimestamp: millis(q.finishedAt),
	}
	if n := len(q.ahead); n > 0 {
		info.CachedMsgMinOffset, info.CachedMsgMaxOffset = q.ahead[0].m.Offset, q.ahead[n-1].m.Offset
	}
	return info
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
