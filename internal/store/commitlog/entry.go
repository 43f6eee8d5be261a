// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
)

// Status is the outcome of an append (RocketMQ: PutMessageStatus).
type Status uint8

// Outcomes. After FlushDiskTimeout the message is in the log and will be delivered.
const (
	OK                  Status = iota
	FlushDiskTimeout           // not known to be on disk within the time given
	ServiceNotAvailable        // shut down, disk full, disk broken: see the error
	Busy                       // more is waiting to be written than may
	CreateFileFailed
	MessageIllegal
	PropertiesTooLong
	UnknownError
)

var statusNames = [...]string{
	OK:                  "PUT_OK",
	FlushDiskTimeout:    "FLUSH_DISK_TIMEOUT",
	ServiceNotAvailable: "SERVICE_NOT_AVAILABLE",
	Busy:                "OS_PAGE_CACHE_BUSY",
	CreateFileFailed:    "CREATE_MAPPED_FILE_FAILED",
	MessageIllegal:      "MESSAGE_ILLEGAL",
	PropertiesTooLong:   "PROPERTIES_SIZE_EXCEEDED",
	UnknownError:        "UNKNOWN_ERROR",
}

// String gives RocketMQ's name.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return statusNames[UnknownError]
}

// Appended tells the outcome of an append.
type Appended struct {
	Status          Status
	Err             error   // why not, for people
	PhysicalOffset  int64   // of the first message
	QueueOffset     int64   // of the first message
	StoreTimestamp  int64   // ms
	Together        int     // how many appends were written together, this one included
	Count           int     // messages stored: more than 1 for a batch, inner or not
	PhysicalOffsets []int64 // batch: of each record; valid during the call
}

// Waiter is told the outcome of an append, once, on whatever goroutine finished it; neither method may block.
// Appended is called for each waiter of a group first, then Flush for each: connections are written once per group.
type Waiter interface {
	Appended(a *Appended)
	Flush()
}

// Counter gives out the offsets of one queue. It belongs to the log's lock: only Append moves it.
type Counter struct {
	Owner any // whose counter it is; set once, before the first Append

	next int64
	gone bool
}

// Draft is a record that lacks its place: queue offset, physical offset, store time. Its Size is set by Append.
type Draft struct {
	Record   message.Record
	TagsCode int64 // for the queue entry
	Delay    int64 // ms; with Delayed the queue entry's tags code is the store time plus this
	Delayed  bool
	Sealed   bool // the properties end in an empty seal, to be filled: see AppendSeal

	// Of inner batches: the number of messages, 0 for the one of other records; and the part of the record's properties
	// that becomes the queue offset in decimal digits, made for as many digits as Append will find it to have.
	Messages int32
	Offset   []byte

	// Lights are further queues that get the record, nil for none. Append fills in their offsets and keeps them.
	Lights *Lights
}

// Lights are the further queues of one record.
type Lights []Light

// Light is a further queue that a record is in (RocketMQ: LMQ, light message queue).
type Light struct {
	Counter     *Counter
	Offset      []byte // of the draft: the part of its properties that becomes QueueOffset in digits, as in Draft.Offset
	QueueOffset int64  // in this queue; known once the record has its place
}

// Entry is one record of a group, in the order of the log.
type Entry struct {
	Counter        *Counter
	Record         []byte // as written; valid during Dispatch
	PhysicalOffset int64
	QueueOffset    int64
	StoreTimestamp int64 // ms
	TagsCode       int64
	Lights         *Lights // nil: none
	Messages       int32   // in the record: more than 1 in an inner batch

	propertiesLen int32
	count         int32 // records of this append, of which this is the first; 0 for the others
	Queued        bool  // belongs into its queue: not so prepared and rolled back records
	noWait        bool
	waiter        Waiter
	start         time.Duration // of the append, since the log's epoch
}

// Properties is the property text of the record.
func (e *Entry) Properties() []byte { return e.Record[len(e.Record)-int(e.propertiesLen):] }

// span is a piece of a chunk that is to be written.
type span struct {
	chunk    *chunk
	from, to int
}

// group is what one write takes to the disk.
type group struct {
	entries    []Entry
	spans      []span
	begin, end int64 // physical offsets; begin is where the log goes back to when the group cannot be written

	tell    sync.Mutex // held while waiters are told; guards the entries' waiter fields once the group left Log.mu
	told    bool       // all were; guarded by tell
	answer  Appended   // what a waiter is shown; guarded by tell
	offsets []int64    // scratch for batches
}

func (g *group) reset() {
	clear(g.entries) // holds on to no waiter
	clear(g.spans)
	g.entries, g.spans, g.told, g.answer = g.entries[:0], g.spans[:0], false, Appended{}
}

// Most of what a group holds on to between uses, and of groups kept: one gathers, one is written or synced, some are
// delivered.
const (
	keepEntries = 1 << 14
	keepSpans   = 1 << 8
	keepGroups  = 4
)
