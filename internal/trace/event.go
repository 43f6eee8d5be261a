// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package trace

import "strconv"

// Kind is what an event tells, by RocketMQ's name (TraceType).
type Kind string

// The kinds.
const (
	Pub            Kind = "Pub"            // a message was sent
	SubBefore      Kind = "SubBefore"      // a consumer is about to handle it
	SubAfter       Kind = "SubAfter"       // it has handled it
	EndTransaction Kind = "EndTransaction" // a transaction was committed or rolled back
	Recall         Kind = "Recall"         // a delayed message was called back
)

// MessageType is what a message was sent as (RocketMQ: MessageType).
type MessageType int32

// The types.
const (
	Normal      MessageType = 0
	Half        MessageType = 1 // of a transaction, before its end
	Transaction MessageType = 2 // after it
	Delay       MessageType = 3
	Order       MessageType = 4
)

var typeNames = [...]string{"normal", "half", "transaction", "delay", "order"}

// String gives a word for people.
func (t MessageType) String() string {
	if t >= 0 && int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "type " + strconv.Itoa(int(t))
}

// ReturnCode is how a handler ended (RocketMQ: ConsumeReturnType).
type ReturnCode int32

// The codes.
const (
	Succeeded    ReturnCode = 0
	TimedOut     ReturnCode = 1
	Threw        ReturnCode = 2
	ReturnedNull ReturnCode = 3
	Failed       ReturnCode = 4
)

var returnNames = [...]string{"success", "timeout", "exception", "returned null", "failed"}

// String gives a word for people.
func (c ReturnCode) String() string {
	if c >= 0 && int(c) < len(returnNames) {
		return returnNames[c]
	}
	return "code " + strconv.Itoa(int(c))
}

// Event is one record. Which fields are set depends on its kind, and on the release of the client that wrote it.
type Event struct {
	Kind   Kind
	Time   int64  // ms, by the client's clock; 0 in a SubAfter of old clients
	Region string // not in a SubAfter
	Group  string // of producers or consumers; "" in a SubAfter of old clients
	Topic  string // not in SubBefore and SubAfter

	MessageID string // the one that the sender's client made
	Tags      string // Pub, EndTransaction
	Keys      string // separated by blanks; not in a Recall
	StoreHost string // broker that it was sent to; Pub, EndTransaction
	Cost      int64  // ms; Pub, SubAfter

	Success    bool // Pub, SubAfter, Recall
	HasSuccess bool // a Pub of unknown length does not say

	Type     MessageType // Pub, EndTransaction
	Bytes    int64       // of the body; Pub
	OffsetID string      // Pub

	RequestID  string     // what a SubBefore and its SubAfter have in common
	Retries    int32      // how often it was consumed before; SubBefore
	ReturnCode ReturnCode // SubAfter
	HasCode    bool       // a SubAfter of the oldest clients has none

	TransactionID string // EndTransaction
	State         string // COMMIT_MESSAGE, ROLLBACK_MESSAGE, UNKNOW; EndTransaction
	FromCheck     bool   // it answers a broker's question; EndTransaction

	ClientHost string // host:port; only Go clients write it, others are known by where the trace message came from
}
