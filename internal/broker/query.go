// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// QUERY_MESSAGE (12), VIEW_MESSAGE_BY_ID (33).
//
// Not done: queries by tag (indexType T) and for the records after a known one (lastKey).

import (
	"errors"
	"fmt"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// finder is what queries need of the store.
type finder interface {
	Query(topic, key string, max int, begin, end int64) (store.QueryResult, error)
	View(physicalOffset int64) ([]byte, error)
}

// queryHandler serves 12 and 33, on the query lane.
type queryHandler struct {
	cfg   *config.Live[Config]
	store finder
}

func (h *queryHandler) query(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.QueryRequest
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	limit := req.MaxNum
	if req.UniqueKey {
		limit = h.cfg.Load().Pull.QueryMax
	}
	found, err := h.store.Query(req.Topic, req.Key, int(limit), req.BeginTimestamp, req.EndTimestamp)
	if err != nil {
		return nil, fmt.Errorf("query topic %s by key: %w", req.Topic, err)
	}
	answer := &remoting.Command{
		Code: protocol.Success, Body: found.Records,
		Header: header.Of(protocol.QueryResponse{IndexLastUpdateTimestamp: found.LastTimestamp, IndexLastUpdateOffset: found.LastPhysicalOffset}),
	}
	if found.Count == 0 {
		answer.Code, answer.Remark = protocol.QueryNotFound, "can not find message, maybe time range not correct"
	}
	return answer, nil
}

func (h *queryHandler) view(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ViewRequest
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	record, err := h.store.View(req.Offset)
	var broken *message.RecordError
	switch {
	case errors.Is(err, store.ErrNoMessage), errors.As(err, &broken):
		return nil, protocol.Errorf(protocol.SystemError, "can not find message by the offset, %d", req.Offset)
	case err != nil:
		return nil, fmt.Errorf("view message at %d: %w", req.Offset, err)
	}
	return &remoting.Command{Code: protocol.Success, Body: record}, nil
}
