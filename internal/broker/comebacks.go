// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// comebacks remembers which messages groups gave back, as long as the copy of each surely exists: it waits in its delay queue, or
// is a dead letter. Who gives such a message back again had it twice, as two members of one client id do, or never heard that it
// was taken; another copy would double with every attempt.
type comebacks struct {
	mu      sync.Mutex
	until   map[comeback]time.Time
	storing map[comeback][]remoting.ReplyTo // copies that are being stored, and who else waits for them
}

// comeback is a record in the log that a group gave back.
type comeback struct {
	group    string
	physical int64
}

const (
	maxComebacks = 65_536           // remembered
	deadFor      = 10 * time.Minute // a dead letter is remembered; there is no hurry to have another
)

// begin tells what is to be done for somebody who gives a message back: store a copy, and call ended; nothing, when there is one
// already; or wait, when one is being stored: reply then gets the same answer.
func (c *comebacks) begin(b comeback, now time.Time, reply remoting.ReplyTo) (store, exists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until[b].After(now) {
		return false, true
	}
	waiting, storing := c.storing[b]
	if c.storing == nil {
		c.storing = map[comeback][]remoting.ReplyTo{}
	}
	if storing {
		waiting = append(waiting, reply)
	}
	c.storing[b] = waiting
	return !storing, false
}

// ended gives those who wait for a copy that was stored, and then exists until a time, or was not: a zero time.
func (c *comebacks) ended(b comeback, now, until time.Time) (waiting []remoting.ReplyTo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting = c.storing[b]
	delete(c.storing, b)
	if until.IsZero() {
		return waiting
	}
	if c.until == nil {
		c.until = map[comeback]time.Time{}
	}
	if len(c.until) >= maxComebacks {
		c.sweepLocked(now)
	}
	c.until[b] = until
	return waiting
}

// sweepLocked makes room: for what is over, else for a part of the rest, of which second copies are then possible.
func (c *comebacks) sweepLocked(now time.Time) {
	for b, until := range c.until {
		if !until.After(now) {
			delete(c.until, b)
		}
	}
	for b := range c.until {
		if len(c.until) <= maxComebacks/2 {
			return
		}
		delete(c.until, b)
	}
}
