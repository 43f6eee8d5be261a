// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Progress of groups and bounds of queues: QUERY_CONSUMER_OFFSET (14), UPDATE_CONSUMER_OFFSET (15),
// SEARCH_OFFSET_BY_TIMESTAMP (29), GET_MAX_OFFSET (30), GET_MIN_OFFSET (31), GET_EARLIEST_MSG_STORETIME (32),
// GET_ALL_CONSUMER_OFFSET (43). Resets and copies of progress are in offset_reset.go.
//
// Not done: static topics.

import (
	"fmt"
	"strings"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// progress is the table of committed offsets.
type progress interface {
	CommitBytes(topic, group []byte, queue int32, offset int64)
	CommitStray(topic, group []byte, queue, queues int32, offset int64) (kept bool)
	QueryBytes(topic, group []byte, queue int32) (int64, bool)
	PendingReset(topic, group []byte, queue int32) bool
	Encode() []byte
}

// queueBounds is what the store knows of a queue.
type queueBounds interface {
	QueueRange(topic string, queueID int32) (min, max int64)
	OffsetByTime(topic string, queueID int32, ms int64, upper bool) int64
	EarliestTime(topic string, queueID int32) int64
	Young(topic string, queueID int32, offset int64) bool
}

// offsetTopics and offsetGroups tell whether there is such a topic or group. Asking creates neither.
type (
	offsetTopics interface {
		GetBytes(name []byte) *topic.Config
	}
	offsetGroups interface {
		GetBytes(name []byte) *group.Config
	}
)

// offsetHandler serves the codes above. 14, 15, 30 and 31 wait for nothing; 29, 32 and 43 may read from the disk or take a
// while.
type offsetHandler struct {
	cfg     *config.Live[Config]
	topics  offsetTopics
	groups  offsetGroups
	offsets progress
	store   queueBounds
}

// query tells where a group goes on. A group that never committed starts at 0 where the queue's beginning still counts
// as in memory: what was sent a moment before the first consumer came is not lost.
func (h *offsetHandler) query(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.QueryOffsetHeader
	if err := req.Decode(x.Request.Fields); err != nil {
		return nil, err
	}
	if offset, ok := h.offsets.QueryBytes(req.Topic, req.ConsumerGroup, req.QueueID); ok {
		return offsetAnswer(offset), nil
	}
	if !req.SetZeroIfNotFound {
		return refusal(protocol.QueryNotFound, "Not found, do not set to zero, maybe this group boot first"), nil
	}
	name := string(req.Topic)
	if first, _ := h.store.QueueRange(name, req.QueueID); first <= 0 && h.store.Young(name, req.QueueID, 0) {
		return offsetAnswer(0), nil
	}
	return refusal(protocol.QueryNotFound, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"), nil
}

func offsetAnswer(offset int64) *remoting.Command {
	return &remoting.Command{Code: protocol.Success, Header: protocol.OffsetAnswer{Offset: offset}}
}

// resetPending is the answer to a commit that an administrator's reset overtook.
var resetPending = &remoting.Command{Code: protocol.Success, Remark: "Offset has been previously reset", EmptyFields: true}

func (h *offsetHandler) update(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.UpdateOffsetHeader
	if err := req.Decode(x.Request.Fields); err != nil {
		return nil, err
	}
	t := h.topics.GetBytes(req.Topic)
	switch {
	case h.groups.GetBytes(req.ConsumerGroup) == nil:
		return refusal(protocol.SubscriptionGroupNotExist, "Group "+string(req.ConsumerGroup)+" not exist!"), nil
	case t == nil:
		return refusal(protocol.TopicNotExist, "Topic "+string(req.Topic)+" not exist!"), nil
	case !req.HasQueueID:
		return refusal(protocol.InvalidParameter, "QueueId is null, topic is "+string(req.Topic)), nil
	case !req.HasOffset:
		return refusal(protocol.InvalidParameter, "Offset is null, topic is "+string(req.Topic)), nil
	case h.cfg.Load().Groups.ServerSideReset && h.offsets.PendingReset(req.Topic, req.ConsumerGroup, req.QueueID):
		return resetPending, nil
	}
	queues := t.Queues()
	if req.QueueID >= 0 && req.QueueID < queues {
		h.offsets.CommitBytes(req.Topic, req.ConsumerGroup, req.QueueID, req.CommitOffset)
	} else if !h.offsets.CommitStray(req.Topic, req.ConsumerGroup, req.QueueID, queues, req.CommitOffset) {
		return refusal(protocol.InvalidParameter, fmt.Sprintf("QueueId %d is not one of the %d queues of topic %s, and offsets of %d others are kept already",
			req.QueueID, queues, req.Topic, offset.MaxStray)), nil
	}
	return okEmpty, nil
}

func (h *offsetHandler) search(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.SearchOffsetHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	return offsetAnswer(h.store.OffsetByTime(req.Topic, req.QueueID, req.Timestamp, strings.EqualFold(req.BoundaryType, "upper"))), nil
}

func (h *offsetHandler) bounds(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.QueueHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	first, end := h.store.QueueRange(req.Topic, req.QueueID)
	if x.Request.Code == protocol.GetMinOffset {
		end = first
	}
	return offsetAnswer(max(end, 0)), nil
}

func (h *offsetHandler) earliest(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.QueueHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	return &remoting.Command{
		Code: protocol.Success, Header: header.Of(protocol.TimestampAnswer{Timestamp: h.store.EarliestTime(req.Topic, req.QueueID)}),
	}, nil
}

func (h *offsetHandler) all(*remoting.Exchange) (*remoting.Command, error) {
	return &remoting.Command{Code: protocol.Success, Body: h.offsets.Encode()}, nil
}
