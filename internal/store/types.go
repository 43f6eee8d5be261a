// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// Deps are what the store is given.
type Deps struct {
	Logger  *slog.Logger          // nil: slog.Default
	Metrics prometheus.Registerer // nil: none
	// Arrived is called for each message that became readable, in the order of the log; it must not block. nil: nobody
	// wants to know.
	Arrived func(a Arrival)
	// DelayOf gives the delay of a level (property DELAY), for the queue entries of SCHEDULE_TOPIC_XXXX. nil: 1 s.
	DelayOf func(level int) time.Duration
	// TopicExists tells whether a topic is among the settings. Recovery makes no queues anew for topics that it denies:
	// they were deleted. nil: all exist.
	TopicExists func(topic string) bool
	// BatchTopic tells whether the queues of a topic are batch queues (attribute queue.type=BatchCQ); ok is false when the
	// topic is not among the settings. nil, or not ok: those that are on disk remain what they are, others are simple.
	BatchTopic func(topic string) (batch, ok bool)
	// Reserved gives the topics whose messages are to be kept for another time than fileReservedTime, and that time. It is
	// asked once a round of cleaning. nil: none.
	Reserved func() map[string]time.Duration
	// Removed is told, right after, what can no longer be read because it became too old, or because there was no space
	// for it; Cleaned, that a round of cleaning in which it was told something is over. nil: nobody wants to know.
	Removed func(r []Removal, why Cause)
	Cleaned func()
	// FilterBits gives, in dst or memory of its own, the bits that tell whose filters a message matches, for the extras
	// beside the queues (enableConsumeQueueExt). nil, or no bits: nobody knows.
	FilterBits func(dst []byte, topic string, properties []byte) []byte
	// Recovering is told now and then how far recovery has read the log; it must not block. nil: nobody wants to know.
	Recovering func(offset, end int64)
	// Abandon is called when Open fails although the folder was locked, before the lock is given back: what the caller
	// opened meanwhile in the folder (TopicExists and BatchTopic may want that) is to be closed. nil: there is nothing.
	Abandon func()
	// FS is the file system; nil: the machine's.
	FS faultfs.FS
	// Clock is what messages get their store time from, and grow old by; nil: the machine's.
	Clock Clock
}

// Removal says that the messages [From, To) of a queue, queue offsets, can no longer be read.
type Removal struct {
	Topic    string
	QueueID  int32
	From, To int64
}

// Cause is why messages were removed.
type Cause string

// Causes.
const (
	CauseAge      Cause = "fileReservedTime"  // the log file was old enough
	CauseTopicAge Cause = "reserve.time"      // the topic keeps messages for a shorter time than the log
	CauseSize     Cause = "fileReservedBytes" // the store was too large
	CauseDisk     Cause = "disk is full"      // the disk was above diskSpaceCleanForciblyRatio
)

// Arrival of one message, or one inner batch, in one queue. Slices are valid during the call only.
type Arrival struct {
	Topic          string
	QueueID        int32
	Next           int64 // the queue's new end: offset of the (last) message + 1
	TagsCode       int64
	StoreTimestamp int64 // ms
	Properties     []byte
}

// Status of an append (RocketMQ: PutMessageStatus).
type Status = commitlog.Status

// Outcomes of an append: see package commitlog.
const (
	OK                  = commitlog.OK
	FlushDiskTimeout    = commitlog.FlushDiskTimeout
	ServiceNotAvailable = commitlog.ServiceNotAvailable
	Busy                = commitlog.Busy
	CreateFileFailed    = commitlog.CreateFileFailed
	MessageIllegal      = commitlog.MessageIllegal
	PropertiesTooLong   = commitlog.PropertiesTooLong
	UnknownError        = commitlog.UnknownError
)

// Message to append. The store keeps none of its slices after Append returns.
type Message struct {
	Topic          string
	QueueID        int32
	Flag           int32
	SysFlag        int32
	BornTimestamp  int64
	BornHost       netip.AddrPort
	StoreHost      netip.AddrPort
	ReconsumeTimes int32
	PreparedOffset int64
	Body           []byte
	Properties     []byte // final text, ends in 0x02 or is empty; of a batch: added to those of each item
	Batch          bool   // Body is a client batch (message.EachBatchItem): stored as its items, together
	InnerBatch     bool   // with Batch, in topics of batch queues: stored as one record with these properties, INNER_NUM and INNER_BASE
	Delayed        bool   // it waited for its delay until now
	NoWait         bool   // WAIT=false: do not wait for the disk
}

// Appended tells the outcome of an append.
type Appended = commitlog.Appended

// Waiter is told the outcome of an append, once, on whatever goroutine committed it; neither method may block.
type Waiter = commitlog.Waiter

// ReadStatus is the outcome of a read (RocketMQ: GetMessageStatus).
type ReadStatus uint8

// Outcomes of a read.
const (
	Found ReadStatus = iota
	NoMatchedMessage
	MessageWasRemoving
	OffsetFoundNull
	OffsetOverflowBadly
	OffsetOverflowOne
	OffsetTooSmall
	NoMatchedLogicQueue
	NoMessageInQueue
	OffsetReset // never from the store
	Unreadable  // what is at the offset cannot be read now: see ReadResult.Err
)

var readStatusNames = [...]string{
	Found:               "FOUND",
	NoMatchedMessage:    "NO_MATCHED_MESSAGE",
	MessageWasRemoving:  "MESSAGE_WAS_REMOVING",
	OffsetFoundNull:     "OFFSET_FOUND_NULL",
	OffsetOverflowBadly: "OFFSET_OVERFLOW_BADLY",
	OffsetOverflowOne:   "OFFSET_OVERFLOW_ONE",
	OffsetTooSmall:      "OFFSET_TOO_SMALL",
	NoMatchedLogicQueue: "NO_MATCHED_LOGIC_QUEUE",
	NoMessageInQueue:    "NO_MESSAGE_IN_QUEUE",
	OffsetReset:         "OFFSET_RESET",
	Unreadable:          "UNREADABLE",
}

// String gives RocketMQ's name.
func (s ReadStatus) String() string {
	if int(s) < len(readStatusNames) {
		return readStatusNames[s]
	}
	return "UNKNOWN"
}

// Filter decides on entries of a queue and on records. nil matches all.
type Filter interface {
	MatchTags(tagsCode int64) bool
	MatchProperties(properties []byte) bool
	NeedsProperties() bool
}

// ExtraFilter is a Filter that can also decide on what is kept beside a queue.
type ExtraFilter interface {
	Filter
	// MatchExtra tells whether the message at a physical offset may be wanted, as far as the extra tells.
	MatchExtra(physicalOffset int64, x *Extra) bool
}

// Extra is what is kept of a message beside its queue.
type Extra = consumequeue.Extra

// ReadRequest asks for messages of a queue from an offset on.
type ReadRequest struct {
	Topic    string
	QueueID  int32
	Offset   int64
	MaxCount int
	MaxBytes int // 0: no cap beyond the configured ones
	Filter   Filter
}

// ReadResult tells what a read found and where to go on.
type ReadResult struct {
	Status         ReadStatus
	Next, Min, Max int64 // queue offsets: where to read next, first, end
	Count          int   // messages found, those of inner batches counted one by one
	Bytes          int   // of them
	SuggestSlave   bool  // the reader is far behind: a slave might serve it better
	Err            error // of Unreadable: why; the reader is to come again
}

// QueueEntry is what a queue knows of a message. Its tags code is never the address of an Extra.
type QueueEntry = consumequeue.Unit

// QueueName names a queue.
type QueueName struct {
	Topic   string
	QueueID int32
}
