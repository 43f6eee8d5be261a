// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"fmt"
	"time"
)

// Start is a place in each queue of a topic.
type Start struct {
	kind   startKind
	offset int64
	at     time.Time
}

type startKind uint8

const (
	startBeginning startKind = iota
	startLatest
	startOffset
	startTime
	startCommitted
)

// Beginning is the oldest message that is still there.
func Beginning() Start { return Start{kind: startBeginning} }

// Latest is behind the newest message.
func Latest() Start { return Start{kind: startLatest} }

// AtOffset is the message with that offset, or the nearest end of the queue.
func AtOffset(offset int64) Start { return Start{kind: startOffset, offset: offset} }

// AtTime is the first message stored at that time or later.
func AtTime(t time.Time) Start { return Start{kind: startTime, at: t} }

// Committed is where the group left off; in queues where it never was, the beginning.
func Committed() Start { return Start{kind: startCommitted} }

// String describes the place.
func (s Start) String() string {
	switch s.kind {
	case startLatest:
		return "latest"
	case startOffset:
		return fmt.Sprintf("offset %d", s.offset)
	case startTime:
		return "time " + s.at.Format(time.RFC3339Nano)
	case startCommitted:
		return "committed"
	}
	return "beginning"
}
