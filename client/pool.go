// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"sync"
	"time"
)

// pool is the goroutines that run handlers. Tasks wait in one line; queues stop
// pulling when enough of theirs wait, which bounds it.
type pool struct {
	size int

	// mu guards the fields below.
	mu      sync.Mutex
	ready   *sync.Cond // there is a task, or no more will be taken
	line    []*task
	running int
	closed  bool
	idle    chan struct{} // closed when closed and nothing runs
}

func newPool(size int) *pool {
	p := &pool{size: size, idle: make(chan struct{})}
	p.ready = sync.NewCond(&p.mu)
	return p
}

// start makes the goroutines; run does one task.
func (p *pool) start(run func(*task)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = p.size
	for range p.size {
		go p.work(run)
	}
}

func (p *pool) work(run func(*task)) {
	defer p.leave()
	for {
		t := p.take()
		if t == nil {
			return
		}
		run(t)
	}
}

// take waits for a task; nil when there are no more.
func (p *pool) take() *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.line) == 0 && !p.closed {
		p.ready.Wait()
	}
	if p.closed {
		return nil
	}
	t := p.line[0]
	p.line[0] = nil
	p.line = p.line[1:]
	return t
}

func (p *pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	if p.running == 0 {
		close(p.idle)
	}
}

// add puts tasks at the end of the line. After drain they are let go.
func (p *pool) add(tasks []*task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.line = append(p.line, tasks...)
	for range tasks {
		p.ready.Signal()
	}
}

// drain lets go of the line and waits for the tasks that run, at most d. It tells how
// many still do.
func (p *pool) drain(d time.Duration) int {
	p.mu.Lock()
	p.closed = true
	p.line = nil
	started := p.running > 0
	p.ready.Broadcast()
	p.mu.Unlock()
	if !started {
		return 0
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.idle:
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}
