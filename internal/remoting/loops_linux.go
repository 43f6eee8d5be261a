// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"sync"
	"sync/atomic"
	"time"
)

// loops are those of one server, with the guard over them.
type loops struct {
	all    []*loop
	next   atomic.Uint32
	commit func() // Config.AfterBatch

	awake   atomic.Bool // the guard looks
	wake    chan struct{}
	done    chan struct{}
	guarded sync.WaitGroup
}

const (
	// guardPeriod is how long a turn may take before another goroutine goes on without it: one period at least, two at most.
	guardPeriod = 2 * time.Millisecond
	// guardRest is for how many periods without work the guard goes on looking.
	guardRest = 25
)

// newLoops starts n loops.
func newLoops(n int, commit func()) (*loops, error) {
	ls := &loops{commit: commit, wake: make(chan struct{}, 1), done: make(chan struct{})}
	for range n {
		l, err := newLoop(ls)
		if err != nil {
			for _, l := range ls.all {
				l.release()
			}
			return nil, err
		}
		ls.all = append(ls.all, l)
	}
	for _, l := range ls.all {
		l.start()
	}
	ls.guarded.Go(ls.guard)
	return ls, nil
}

// close ends the loops; no connection is on them any more.
func (ls *loops) close() {
	close(ls.done)
	ls.guarded.Wait()
	for _, l := range ls.all {
		l.stop()
	}
}

// pick gives the loop for the next connection.
func (ls *loops) pick() *loop { return ls.all[int(ls.next.Add(1)%uint32(len(ls.all)))] }

// attend sees to it that the guard looks.
func (ls *loops) attend() {
	if !ls.awake.Load() && ls.awake.CompareAndSwap(false, true) {
		ls.wake <- struct{}{}
	}
}

// guard replaces drivers that do not get on. It sleeps while there is no work.
func (ls *loops) guard() {
	tick := time.NewTicker(guardPeriod)
	defer tick.Stop()
	seen := make([]uint64, len(ls.all))
	for {
		tick.Stop()
		select {
		case <-ls.done:
			return
		case <-ls.wake:
		}
		tick.Reset(guardPeriod)
		for rest := 0; rest < guardRest; rest++ {
			select {
			case <-ls.done:
				return
			case <-tick.C:
			}
			for i, l := range ls.all {
				if l.check(&seen[i]) {
					rest = 0
				}
			}
		}
		ls.awake.Store(false)
		for _, l := range ls.all {
			if l.working() { // it began when we seemed to look
				ls.attend()
			}
		}
	}
}

// check tells whether the loop has work. A driver that has not got on since the loop was at step seen is replaced.
func (l *loop) check(seen *uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy && !l.quit && l.steps == *seen {
		l.replaceLocked()
	}
	moved := l.steps != *seen
	*seen = l.steps
	return moved || l.busy
}

func (l *loop) working() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy
}
