// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// callTable is the requests of ours that wait for an answer (RocketMQ:
// responseTable).
type callTable struct {
	mu     sync.Mutex
	byID   map[int32]call
	last   int32 // opaque numbers: one after another, round the corner
	closed error // what further calls get

	timer *time.Timer // set to next while there are calls with a deadline
	next  time.Time
}

// call is one request; done is called once, by whoever takes it from the table.
type call struct {
	done     func(*Command, error)
	deadline time.Time // zero: the caller looks after it
	borrowed bool      // done takes the answer as it lies in the read buffer
}

// Call sends a request and waits for its answer; ctx bounds the waiting. Errors:
// ErrClosed, ctx.Err(), both wrapped with the peer's address, ErrTooLarge,
// ErrPeerSlow. A call given up does not hurt the connection: a late answer is
// dropped.
func (c *Conn) Call(ctx context.Context, req *Command) (*Command, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.RemoteAddr(), err)
	}
	type outcome struct {
		resp *Command
		err  error
	}
	if c.out.overLimit() {
		if err := c.out.waitRoomFor(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", c.RemoteAddr(), err)
		}
	}
	got := make(chan outcome, 1)
	id, err := c.start(req, call{done: func(resp *Command, err error) { got <- outcome{resp, err} }}, true)
	if err != nil {
		return nil, err
	}
	select {
	case o := <-got:
		return o.resp, o.err
	case <-ctx.Done():
		c.calls.take(id)
		return nil, fmt.Errorf("%s: %w", c.RemoteAddr(), ctx.Err())
	}
}

// Go sends a request; done is called once with the answer, which is done's to
// keep, or with an error: ErrTimeout, ErrClosed, ErrTooLarge, ErrPeerSlow. It runs
// on the reader's goroutine, or the one that found the error, which may be the
// caller's, and must not block.
func (c *Conn) Go(req *Command, timeout time.Duration, done func(*Command, error)) {
	if _, err := c.start(req, call{done: done, deadline: time.Now().Add(timeout)}, true); err != nil {
		done(nil, err)
	}
}

// Queue is Go for many requests at once: it does not flush, and the answer is
// valid only until done returns. Flush must follow, which the connection does
// itself for requests queued by its handler or by done.
func (c *Conn) Queue(req *Command, timeout time.Duration, done func(*Command, error)) {
	k := call{done: done, deadline: time.Now().Add(timeout), borrowed: true}
	if _, err := c.start(req, k, false); err != nil {
		done(nil, err)
	}
}

// Oneway sends a request that wants no answer. Errors: ErrClosed, ErrTooLarge,
// ErrPeerSlow; no error does not mean that it arrived.
func (c *Conn) Oneway(req *Command) error {
	id := c.calls.nextID()
	return c.write(req, c.requestMeta(id, req.Flag|FlagOneway), true)
}

func (c *Conn) requestMeta(id, flag int32) meta {
	return meta{
		opaque:     id,
		flag:       flag &^ FlagResponse,
		version:    c.cfg.Version,
		language:   c.cfg.Language,
		serializer: c.serializer(),
	}
}

// start enters a call and sends its request. With an error done is not called.
func (c *Conn) start(req *Command, k call, flush bool) (id int32, err error) {
	id, err = c.calls.add(c, k)
	if err != nil {
		return 0, err
	}
	if err = c.write(req, c.requestMeta(id, req.Flag&^FlagOneway), flush); err != nil {
		if _, ours := c.calls.take(id); !ours {
			return id, nil // the connection closed meanwhile and done was told
		}
	}
	return id, err
}

func (t *callTable) nextID() int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	return t.last
}

func (t *callTable) add(c *Conn, k call) (int32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return 0, t.closed
	}
	if t.byID == nil {
		t.byID = make(map[int32]call)
	}
	for t.last++; ; t.last++ {
		if _, used := t.byID[t.last]; !used {
			break
		}
	}
	t.byID[t.last] = k
	if !k.deadline.IsZero() && (t.next.IsZero() || k.deadline.Before(t.next)) {
		t.wakeAt(c, k.deadline)
	}
	return t.last, nil
}

// take removes a call; false: somebody else did.
func (t *callTable) take(id int32) (call, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.byID[id]
	delete(t.byID, id)
	return k, ok
}

// answer hands a received answer to its call. One that nobody waits for is
// dropped.
func (t *callTable) answer(resp *Command) {
	k, ok := t.take(resp.Opaque)
	switch {
	case !ok:
	case k.borrowed:
		k.done(resp, nil)
	default:
		k.done(resp.Clone(), nil)
	}
}

// failAll ends all calls, and those still to come, with err.
func (t *callTable) failAll(err error) {
	t.mu.Lock()
	t.closed = err
	calls := t.byID
	t.byID = nil
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	for _, k := range calls {
		k.done(nil, err)
	}
}

// wakeAt sets the timer; mu is held.
func (t *callTable) wakeAt(c *Conn, at time.Time) {
	t.next = at
	if t.timer == nil {
		t.timer = time.AfterFunc(time.Until(at), func() { t.expire(c) })
		return
	}
	t.timer.Reset(time.Until(at))
}

// expireGap is how far apart two sweeps of the table are at least, so that many
// deadlines close together cost one sweep.
const expireGap = time.Millisecond

// expire fails the calls whose deadline has passed and sets the timer for the
// next one. Answered calls leave the timer alone, so that it goes off about once
// per timeout, not once per call.
func (t *callTable) expire(c *Conn) {
	now := time.Now()
	var late []call
	t.mu.Lock()
	if t.closed != nil {
		t.mu.Unlock()
		return
	}
	t.next = time.Time{}
	for id, k := range t.byID {
		switch {
		case k.deadline.IsZero():
		case !k.deadline.After(now):
			late = append(late, k)
			delete(t.byID, id)
		case t.next.IsZero() || k.deadline.Before(t.next):
			t.next = k.deadline
		}
	}
	if !t.next.IsZero() {
		if soon := now.Add(expireGap); t.next.Before(soon) {
			t.next = soon
		}
		t.wakeAt(c, t.next)
	}
	t.mu.Unlock()
	if len(late) == 0 {
		return
	}
	err := fmt.Errorf("%s: %w", c.RemoteAddr(), ErrTimeout)
	for _, k := range late {
		k.done(nil, err)
	}
}
