// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// LOCK_BATCH_MQ (41), UNLOCK_BATCH_MQ (42): queues that one client of a group has to itself, for ordered consumption.
//
// Not done: lockInStrictMode, which also asks the other members of the broker's replica group.

import (
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// queueLocks gives and takes back queues.
type queueLocks interface {
	Lock(group, client string, queues []protocol.MessageQueue, now time.Time) []protocol.MessageQueue
	Unlock(group, client string, queues []protocol.MessageQueue)
}

// lockHandler serves 41 and 42.
type lockHandler struct{ locks queueLocks }

func (h *lockHandler) lock(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.LockBatchBody
	if err := decodeBody(x, &req); err != nil {
		return nil, err
	}
	held := h.locks.Lock(req.ConsumerGroup, req.ClientID, req.MQSet, x.Arrived)
	return jsonAnswer(protocol.LockBatchAnswer{LockOKMQSet: held}), nil
}

func (h *lockHandler) unlock(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.LockBatchBody
	if err := decodeBody(x, &req); err != nil {
		return nil, err
	}
	h.locks.Unlock(req.ConsumerGroup, req.ClientID, req.MQSet)
	return okAnswer, nil
}
