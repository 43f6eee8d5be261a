// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"sync"
	"time"
)

// comebacks remembers which messages groups gave back, as long as the copy of each surely exists: it waits in its delay queue, or
// is a dead letter. Who gives such a message back again had it twice, as two members of one client id do, or never heard that it
// was taken; another copy would double with every attempt.
type comebacks struct {
	mu    sync.Mutex
	until map[comeback]time.Time
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

// begin notes a copy that exists until a time. It is false when there is one already.
func (c *comebacks) begin(b comeback, now, until time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until[b].After(now) {
		return false
	}
	if c.until == nil {
		c.until = map[comeback]time.Time{}
	}
	if len(c.until) >= maxComebacks {
		c.sweepLocked(now)
	}
	c.until[b] = until
	return true
}

// failed forgets a copy that could not be stored.
func (c *comebacks) failed(b comeback) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.until, b)
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
