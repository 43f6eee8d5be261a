// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// Times of pulls (RocketMQ: those of DefaultMQPushConsumerImpl).
const (
	pullPatience   = 15 * time.Second       // waited on top of the time a broker may hold a pull
	pullErrorDelay = time.Second            // after a pull that failed
	pullFlowDelay  = 20 * time.Millisecond  // after an answer FLOW_CONTROL
	pullFullDelay  = 50 * time.Millisecond  // while enough messages wait for handlers
	firstPullDelay = 500 * time.Millisecond // after a group got a queue: its last owner may still be at it
)

// maxPullBytes is what one pull asks for at most (RocketMQ: pullBatchSizeInBytes).
const maxPullBytes = 256 << 10

// pullStatus is what came of a pull (RocketMQ: PullStatus).
type pullStatus uint8

const (
	pullFound         pullStatus = iota
	pullNothingNew               // held as long as allowed
	pullNothingFits              // the filter let nothing pass
	pullOffsetIllegal            // there is no such offset, or it was reset: go on at next
)

var pullStatusOf = map[int32]pullStatus{
	protocol.Success:              pullFound,
	protocol.PullNotFound:         pullNothingNew,
	protocol.PullRetryImmediately: pullNothingFits,
	protocol.PullOffsetMoved:      pullOffsetIllegal,
}

// pullRequest asks for messages of one queue.
type pullRequest struct {
	queue        Queue
	group        string
	offset       int64
	commit       int64 // progress to store along the way, < 0: none
	inline       bool  // the subscription comes with the request: the group need not be known
	subscription *protocol.SubscriptionData
	brokerID     int64 // the broker that was suggested last
}

// pullAnswer is what came. Messages passed the filter; next, min and max are the
// queue's offsets to go on at, of the oldest and behind the newest message.
type pullAnswer struct {
	status         pullStatus
	messages       []*Received
	next, min, max int64
	suggested      int64 // broker id to ask next
}

// pull asks once. It takes up to the time that the broker may hold it, and more.
func (s *session) pull(ctx context.Context, cfg *pullConfig, r *pullRequest) (*pullAnswer, *Error) {
	op := "pull from queue " + r.queue.String()
	addr, slave, failed := s.reader(op, r.queue, r.brokerID)
	if failed != nil {
		return nil, failed
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.hold+pullPatience)
	defer cancel()
	resp, err := s.exchange(ctx, addr, &remoting.Command{Code: protocol.PullMessage, Header: cfg.header(r, slave)})
	if err != nil {
		return nil, s.failure(op, addr, err)
	}
	status, ok := pullStatusOf[resp.Code]
	if !ok {
		return nil, answerError(op, addr, resp)
	}
	var h protocol.PullResponse
	if err := h.Decode(resp.Fields); err != nil {
		return nil, wrap(op, addr, err)
	}
	a := &pullAnswer{status: status, next: h.NextBeginOffset, min: h.MinOffset, max: h.MaxOffset, suggested: h.SuggestBrokerID}
	if status != pullFound {
		return a, nil
	}
	messages, err := readRecords(resp.Body, r.queue.Broker)
	if err != nil {
		s.cfg.logger.Error("messages can not be read and are left out", "topic", r.queue.Topic, "broker", r.queue.Broker,
			"queue", r.queue.ID, "offset", r.offset, "next", a.next, "err", err)
	}
	for _, m := range messages {
		if wants(r.subscription, m) {
			a.messages = append(a.messages, m)
		}
	}
	return a, nil
}

func (cfg *pullConfig) header(r *pullRequest, slave bool) *protocol.PullRequest {
	h := &protocol.PullRequest{
		Group:          []byte(r.group),
		Topic:          []byte(r.queue.Topic),
		QueueID:        int32(r.queue.ID),
		QueueOffset:    r.offset,
		MaxMessages:    int32(cfg.batch),
		SysFlag:        protocol.PullSuspend,
		SuspendTimeout: cfg.hold.Milliseconds(),
		SubVersion:     r.subscription.SubVersion,
		ExpressionType: []byte(r.subscription.ExpressionType),
		MaxBytes:       maxPullBytes,
		RequestSource:  -1,
		BrokerName:     []byte(r.queue.Broker),
	}
	if r.inline {
		h.SysFlag |= protocol.PullSubscription
		h.Subscription = []byte(r.subscription.SubString)
	}
	if r.commit >= 0 && !slave { // slaves keep no progress of their own
		h.SysFlag |= protocol.PullCommit
		h.CommitOffset = r.commit
	}
	return h
}

// reader finds who serves reads of a queue: the broker suggested, or another of its name.
func (s *session) reader(op string, q Queue, id int64) (addr string, slave bool, failed *Error) {
	b, ok := s.broker(q)
	if !ok || b.Addr(id) == "" {
		return "", false, &Error{Code: CodeNoBroker, Op: op}
	}
	addr = b.Addr(id)
	return addr, addr != b.Master(), nil
}

// broker finds the brokers of a queue.
func (s *session) broker(q Queue) (route.Broker, bool) {
	if r, ok := s.routes.Cached(q.Topic); ok {
		if b, ok := r.Broker(q.Broker); ok {
			return b, true
		}
	}
	return s.routes.Broker(q.Broker)
}
