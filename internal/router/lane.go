// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package router

import (
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// LaneConfig of one family of requests. Zero workers or capacity mean 1.
type LaneConfig struct {
	Name     string        // named in refusals and metrics: send, pull, admin, ...
	Workers  int           // how many run at once
	Capacity int           // how many may wait; more are refused with [OVERLOAD]
	MaxBytes int           // bytes of the requests that wait; 0 = 64 MiB
	MaxWait  time.Duration // longer in the queue: [TIMEOUT_CLEAN_QUEUE]; 0 = no limit
}

const defaultLaneBytes = 64 << 20

// Lane is how many requests of one family may run and wait. It is made of
// goroutines that exist only while there is work. Several routes, of several
// routers, may share one.
type Lane struct {
	cfg LaneConfig

	mu      sync.Mutex
	queue   jobQueue
	bytes   int
	running int
	timer   *time.Timer     // for the head, while MaxWait matters
	idle    []chan struct{} // closed when nothing waits or runs
}

// job is one request waiting for its turn.
type job struct {
	router *Router
	route  *route
	x      *remoting.Exchange
	since  time.Time
	bytes  int
}

// NewLane makes a lane; it needs no closing.
func NewLane(c LaneConfig) *Lane {
	c.Workers = max(c.Workers, 1)
	c.Capacity = max(c.Capacity, 1)
	if c.MaxBytes <= 0 {
		c.MaxBytes = defaultLaneBytes
	}
	return &Lane{cfg: c}
}

// Size is how many requests wait now.
func (l *Lane) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.len()
}

// Capacity is how many may wait.
func (l *Lane) Capacity() int { return l.cfg.Capacity }

// HeadWait is how long the first in the queue has waited, 0 when none does.
func (l *Lane) HeadWait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.len() == 0 {
		return 0
	}
	return time.Since(l.queue.head().since)
}

// Name is that of the config; "" for no lane.
func (l *Lane) Name() string {
	if l == nil {
		return ""
	}
	return l.cfg.Name
}

// submit queues a copy of x. The error is a refusal.
func (l *Lane) submit(r *Router, route *route, x *remoting.Exchange) error {
	size := sizeOf(&x.Request)
	l.mu.Lock()
	if l.running >= l.cfg.Workers && (l.queue.len() >= l.cfg.Capacity || l.bytes+size > l.cfg.MaxBytes) {
		waiting := l.queue.len()
		l.mu.Unlock()
		return protocol.Errorf(protocol.SystemBusy,
			"[OVERLOAD]system busy, start flow control for a while, lane %s has %d waiting", l.cfg.Name, waiting)
	}
	j := job{router: r, route: route, x: x.Clone(), since: time.Now(), bytes: size}
	if l.running < l.cfg.Workers {
		l.running++
		l.mu.Unlock()
		go l.work(j)
		return nil
	}
	l.queue.push(j)
	l.bytes += size
	if l.queue.len() == 1 {
		l.setTimer()
	}
	l.mu.Unlock()
	return nil
}

func sizeOf(c *remoting.Command) int {
	n := len(c.Body)
	for _, f := range c.Fields {
		n += len(f.Key) + len(f.Value)
	}
	return n
}

// work handles j and then what waits, and ends when nothing does.
func (l *Lane) work(j job) {
	for ok := true; ok; j, ok = l.next() {
		j.router.handle(j.route, j.x, true)
	}
}

// next takes the next job, refusing those that waited too long; false ends the
// worker.
func (l *Lane) next() (job, bool) {
	l.refuseLate()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.len() > 0 {
		return l.pop(), true
	}
	l.running--
	if l.running == 0 {
		for _, c := range l.idle {
			close(c)
		}
		l.idle = nil
	}
	return job{}, false
}

// pop takes the head. mu is held.
func (l *Lane) pop() job {
	j := l.queue.pop()
	l.bytes -= j.bytes
	return j
}

// setTimer sets the timer for the head, so that it is refused in time although all
// workers are stuck. mu is held.
func (l *Lane) setTimer() {
	if l.cfg.MaxWait == 0 || l.queue.len() == 0 {
		return
	}
	wait := l.cfg.MaxWait - time.Since(l.queue.head().since)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.late)
		return
	}
	l.timer.Reset(wait)
}

// late runs when a head that was there at setTimer has waited too long.
func (l *Lane) late() {
	l.refuseLate()
	l.mu.Lock()
	l.setTimer()
	l.mu.Unlock()
}

// refuseLate answers those at the head that waited longer than MaxWait (RocketMQ:
// BrokerFastFailure).
func (l *Lane) refuseLate() {
	if l.cfg.MaxWait == 0 {
		return
	}
	for {
		l.mu.Lock()
		if l.queue.len() == 0 {
			l.mu.Unlock()
			return
		}
		waited := time.Since(l.queue.head().since)
		if waited < l.cfg.MaxWait {
			l.mu.Unlock()
			return
		}
		size := l.queue.len()
		j := l.pop()
		l.mu.Unlock()
		err := protocol.Errorf(protocol.SystemBusy,
			"[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: %dms, size of queue: %d, lane %s",
			waited.Milliseconds(), size, l.cfg.Name)
		j.router.finish(j.route, j.x, answerOf(err), true)
	}
}

// whenIdle is closed when nothing waits or runs.
func (l *Lane) whenIdle() <-chan struct{} {
	c := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == 0 {
		close(c)
	} else {
		l.idle = append(l.idle, c)
	}
	return c
}
