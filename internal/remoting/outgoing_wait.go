// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"context"
	"net"
	"syscall"
)

// room sees to it that n more bytes can be gathered. mu is held.
func (o *outgoing) room(n int) {
	if o.enc.b == nil {
		o.blk = borrow(max(n, restReadBytes))
		o.enc.b = o.blk.mem[:0]
		return
	}
	have := len(o.enc.b)
	if cap(o.enc.b)-have >= n {
		return
	}
	to := borrow(max(have+n, 2*have))
	copy(to.mem, o.enc.b)
	o.blk.release()
	o.blk, o.enc.b = to, to.mem[:have]
}

// overLimit tells whether the peer is too slow for more requests of it.
func (o *outgoing) overLimit() bool {
	return o.pending.Load() > int64(o.conn.cfg.OutgoingLimit)
}

// given is how many bytes were gathered in all.
func (o *outgoing) given() int64 { return int64(o.sent.Load()) + o.pending.Load() }

// waitRoom waits until the peer took enough for requests to be read again, or the
// connection is closed.
func (o *outgoing) waitRoom() {
	o.wait(func() bool { return o.pending.Load() <= int64(o.conn.cfg.OutgoingLimit/2) })
}

// waitRoomFor is waitRoom for callers that have a ctx; the error is that of ctx.
func (o *outgoing) waitRoomFor(ctx context.Context) error {
	defer context.AfterFunc(ctx, o.wakeAll)()
	o.wait(func() bool { return !o.overLimit() || ctx.Err() != nil })
	return ctx.Err()
}

// waitAnswered waits until no request is in hand and all answers are written.
func (o *outgoing) waitAnswered() {
	o.wait(func() bool { return o.conn.inHand() <= 0 && o.pending.Load() == 0 })
}

// wait waits for a state, or for the end of the connection.
func (o *outgoing) wait(reached func() bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting++
	for !o.closed && !reached() {
		o.changed.Wait()
	}
	o.waiting--
}

// wake makes those who wait look again. mu is held.
func (o *outgoing) wake() {
	if o.waiting > 0 {
		o.changed.Broadcast()
	}
}

func (o *outgoing) wakeAll() {
	o.mu.Lock()
	o.wake()
	o.mu.Unlock()
}

// shut stops gathering. What was gathered is lost, as the socket closes.
func (o *outgoing) shut() {
	o.mu.Lock()
	o.closed = true
	if !o.sending {
		o.forget()
	}
	o.wake()
	o.mu.Unlock()
}

// forget drops what was gathered. mu is held.
func (o *outgoing) forget() {
	o.blk.release()
	o.blk, o.enc.b = nil, nil
}

// join waits for the writer goroutine after the connection was shut.
func (o *outgoing) join() { o.writer.Wait() }

// replace goes over to another way to write. raw is nil for TLS, which only the reader goes over to, before the first
// request.
func (o *outgoing) replace(stream net.Conn, raw syscall.RawConn) {
	o.mu.Lock()
	o.stream, o.raw = stream, raw
	o.mu.Unlock()
}

// moved tells whether the way to write has been replaced since raw was it, and gives the new one.
func (o *outgoing) moved(raw *syscall.RawConn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := *raw
	*raw = o.raw
	return o.raw != before && o.raw != nil
}
