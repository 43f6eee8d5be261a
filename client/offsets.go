// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// askOffset asks a queue's master for one number.
func (s *session) askOffset(ctx context.Context, op string, q Queue, code int32, request any) (int64, error) {
	b, _ := s.broker(q)
	addr := b.Addr(protocol.MasterID)
	resp, err := s.ask(ctx, op+" of queue "+q.String(), addr, forBroker(code, q.Broker, header.Of(request)))
	if err != nil {
		return 0, err
	}
	return readOffset(op, addr, resp)
}

func readOffset(op, addr string, resp *remoting.Command) (int64, error) {
	var answer struct {
		Offset int64 `header:"offset,required"`
	}
	if err := header.Decode(resp.Fields, &answer); err != nil {
		return 0, wrap(op, addr, err)
	}
	return answer.Offset, nil
}

// maxOffset is the offset behind the newest message.
func (s *session) maxOffset(ctx context.Context, q Queue) (int64, error) {
	return s.askOffset(ctx, "end", q, protocol.GetMaxOffset, &protocol.QueueHeader{Topic: q.Topic, QueueID: int32(q.ID)})
}

// minOffset is the offset of the oldest message.
func (s *session) minOffset(ctx context.Context, q Queue) (int64, error) {
	return s.askOffset(ctx, "begin", q, protocol.GetMinOffset, &protocol.QueueHeader{Topic: q.Topic, QueueID: int32(q.ID)})
}

// offsetByTime is the offset of the first message stored at ms or later.
func (s *session) offsetByTime(ctx context.Context, q Queue, ms int64) (int64, error) {
	return s.askOffset(ctx, "offset by time", q, protocol.SearchOffsetByTimestamp,
		&protocol.SearchOffsetHeader{Topic: q.Topic, QueueID: int32(q.ID), Timestamp: ms})
}

// committed is the progress of a group. When there is none, found is false; but with
// young set a broker tells 0 for a queue that still has its first message in memory:
// a group that starts a moment after the first messages shall not miss them.
func (s *session) committed(ctx context.Context, group string, q Queue, young bool) (offset int64, found bool, err error) {
	op := "progress of group " + group + " in queue " + q.String()
	b, _ := s.broker(q)
	addr := b.Addr(protocol.MasterID)
	resp, err := s.ask(ctx, op, addr, forBroker(protocol.QueryConsumerOffset, q.Broker, &protocol.QueryOffsetHeader{
		ConsumerGroup: []byte(group), Topic: []byte(q.Topic), QueueID: int32(q.ID), SetZeroIfNotFound: young,
	}), protocol.QueryNotFound)
	if err != nil || resp.Code == protocol.QueryNotFound {
		return -1, false, err
	}
	offset, err = readOffset(op, addr, resp)
	return offset, err == nil && offset >= 0, err
}

// commit stores the progress of a group and waits for the answer.
func (s *session) commit(ctx context.Context, group string, q Queue, offset int64) error {
	b, _ := s.broker(q)
	_, err := s.ask(ctx, "commit in queue "+q.String(), b.Addr(protocol.MasterID), forBroker(protocol.UpdateConsumerOffset, q.Broker, &protocol.UpdateOffsetHeader{
		ConsumerGroup: []byte(group), Topic: []byte(q.Topic), QueueID: int32(q.ID), CommitOffset: offset,
	}))
	return err
}

// startOffset finds a place in a queue.
func (s *session) startOffset(ctx context.Context, group string, q Queue, at Start) (int64, error) {
	switch at.kind {
	case startLatest:
		return s.maxOffset(ctx, q)
	case startTime:
		return s.offsetByTime(ctx, q, at.at.UnixMilli())
	case startCommitted:
		if offset, found, err := s.committed(ctx, group, q, false); err != nil || found {
			return offset, err
		}
	}
	first, err := s.minOffset(ctx, q)
	if err != nil || at.kind != startOffset || at.offset <= first {
		return first, err
	}
	end, err := s.maxOffset(ctx, q)
	return min(at.offset, end), err
}
