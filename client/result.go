// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// SendStatus tells how safe a stored message is.
type SendStatus int

// A message with any of these statuses is stored; with others than Stored it may be
// lost when the broker or its disk fails now.
const (
	Stored            SendStatus = iota // as safe as the broker is configured to make it
	FlushDiskTimeout                    // not on the broker's disk in time
	FlushSlaveTimeout                   // not on a replica in time
	SlaveNotAvailable                   // there is no replica to wait for
)

// String is RocketMQ's name of the status.
func (s SendStatus) String() string {
	switch s {
	case FlushDiskTimeout:
		return "FLUSH_DISK_TIMEOUT"
	case FlushSlaveTimeout:
		return "FLUSH_SLAVE_TIMEOUT"
	case SlaveNotAvailable:
		return "SLAVE_NOT_AVAILABLE"
	}
	return "SEND_OK"
}

// SendResult tells where a message went. Of a batch ID and OffsetID are those of all
// its messages joined by commas, and Offset is that of the first.
type SendResult struct {
	Status        SendStatus
	ID            string // of the message, chosen by this client (RocketMQ: msgId)
	OffsetID      string // its place in the broker's log (RocketMQ: offsetMsgId)
	Queue         Queue
	Offset        int64  // in the queue; of a delayed message in the queue where it waits
	TransactionID string // "" unless it is part of a transaction
	RecallHandle  string // with which a timed message can be taken back, "" when it can not
	Region        string // of the broker
}

var statusOf = map[int32]SendStatus{
	protocol.Success:           Stored,
	protocol.FlushDiskTimeout:  FlushDiskTimeout,
	protocol.FlushSlaveTimeout: FlushSlaveTimeout,
	protocol.SlaveNotAvailable: SlaveNotAvailable,
}

// sendResult reads an answer to o that was sent to q.
func sendResult(addr string, o *outgoing, q Queue, resp *remoting.Command) (SendResult, *Error) {
	status, ok := statusOf[resp.Code]
	if !ok {
		return SendResult{}, answerError(opQueue(q), addr, resp)
	}
	var h protocol.SendResponse
	if err := h.Decode(resp.Fields); err != nil {
		return SendResult{}, &Error{Code: CodeConnect, Op: opQueue(q), Addr: addr, Err: err}
	}
	q.ID = int(h.QueueID)
	return SendResult{
		Status: status, ID: o.id, OffsetID: string(h.MessageID), Queue: q, Offset: h.QueueOffset,
		TransactionID: string(h.TransactionID), RecallHandle: string(h.RecallHandle), Region: h.Region,
	}, nil
}
