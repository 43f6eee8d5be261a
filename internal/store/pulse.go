// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"sync/atomic"
	"time"
)

// pulse lets a goroutine work now and then as long as there is something to do, and sleep without waking up when there
// is not. Touching it costs next to nothing while the goroutine is at work.
type pulse struct {
	parked atomic.Bool
	wake   chan struct{}
}

func newPulse() pulse { return pulse{wake: make(chan struct{}, 1)} }

// touch says that there is something to do, after it is there to be found.
func (p *pulse) touch() {
	if p.parked.Load() && p.parked.CompareAndSwap(true, false) {
		p.hurry()
	}
}

// hurry lets the goroutine work at once.
func (p *pulse) hurry() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run calls work until ctx ends. work tells after what time it wants to be called again; 0: when touched.
func (p *pulse) run(ctx context.Context, work func() time.Duration) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		wait := work()
		if wait == 0 {
			p.parked.Store(true)
			// Somebody may have found the goroutine at work just before; then this call finds what there is to do.
			if wait = work(); wait > 0 {
				p.parked.Store(false)
			}
		}
		var again <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			again = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-again:
		}
	}
}
