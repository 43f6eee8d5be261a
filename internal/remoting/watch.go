// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"sync"
	"time"
)

// watch looks after the connections of one server or client: it closes those that
// are idle and those whose peer takes nothing. One goroutine for all of them, there
// only while there are any; timers per connection and read would cost more than
// reading does.
type watch struct {
	idle, stall time.Duration
	period      time.Duration

	mu      sync.Mutex
	conns   map[*Conn]struct{}
	running *watchRun // nil: no connections
}

// watchRun is one life of the watch's goroutine.
type watchRun struct{ stop, stopped chan struct{} }

// watchState is what the watch remembers of a connection; only its goroutine
// touches it.
type watchState struct {
	received, sent uint64
	moved          time.Time // when bytes were last seen to move, either way
	took           time.Time // when the peer last owed us nothing or took something
}

func newWatch(cfg *Config) *watch {
	w := &watch{idle: cfg.IdleTimeout, stall: cfg.StallTimeout, conns: make(map[*Conn]struct{})}
	w.period = min(time.Second, w.idle/4, w.stall/4)
	w.period = max(w.period, time.Millisecond)
	return w
}

func (w *watch) add(c *Conn) {
	now := time.Now()
	c.watched.moved, c.watched.took = now, now
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = struct{}{}
	if w.running == nil {
		w.running = &watchRun{stop: make(chan struct{}), stopped: make(chan struct{})}
		go w.run(w.running)
	}
}

func (w *watch) remove(c *Conn) {
	w.mu.Lock()
	delete(w.conns, c)
	run := w.running
	if len(w.conns) > 0 {
		run = nil
	} else {
		w.running = nil
	}
	w.mu.Unlock()
	if run != nil {
		close(run.stop)
		<-run.stopped
	}
}

func (w *watch) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns)
}

// list copies the set into to.
func (w *watch) list(to []*Conn) []*Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		to = append(to, c)
	}
	return to
}

func (w *watch) run(r *watchRun) {
	defer close(r.stopped)
	tick := time.NewTicker(w.period)
	defer tick.Stop()
	var conns []*Conn
	for {
		select {
		case <-r.stop:
			return
		case now := <-tick.C:
			conns = w.list(conns[:0])
			for _, c := range conns {
				w.look(c, now)
			}
			clear(conns)
		}
	}
}

// look closes c if nothing moved for too long.
func (w *watch) look(c *Conn, now time.Time) {
	s := &c.watched
	received, sent := c.received.Load(), c.out.sent.Load()
	if received != s.received || sent != s.sent {
		s.moved = now
	}
	if sent != s.sent || c.out.pending.Load() == 0 {
		s.took = now
	}
	s.received, s.sent = received, sent
	switch {
	case now.Sub(s.moved) >= w.idle:
		c.shut(errIdle)
	case now.Sub(s.took) >= w.stall:
		c.shut(errStalled)
	}
}
