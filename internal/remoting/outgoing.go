// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// outgoing is what a connection has to write.
//
// Commands are encoded straight into one buffer; whoever flushes writes all of it
// with one system call that does not wait. Only if the socket takes no more, or
// is none (TLS, pipe), a writer goroutine carries on; it ends when all is written.
// One goroutine sends at a time; what the others gather meanwhile goes next.
type outgoing struct {
	conn   *Conn
	stream net.Conn
	raw    syscall.RawConn

	mu      sync.Mutex
	changed sync.Cond // on mu: pending fell, an answer was given, or closed
	waiting int       // how many wait on changed
	enc     encoder   // enc.b is what was gathered
	blk     *block    // memory of enc.b, nil when it outgrew its block
	sending bool      // one goroutine owns try
	closed  bool
	try     attempt

	pending  atomic.Int64  // bytes gathered and being sent; changed under mu
	sent     atomic.Uint64 // bytes, for the watch
	answered atomic.Int64
	writer   sync.WaitGroup
}

// attempt is one write on its way; it belongs to the goroutine that set sending.
type attempt struct {
	head, body []byte // what is left; body is not ours
	blk        *block // memory of head
	once, all  func(fd uintptr) bool
	n          int
	err        error
}

const (
	// directBody is from where on a body is not copied but written from where it is.
	// Measured: below, gathering several answers in one write saves more.
	directBody = 64 << 10
	// flushAt is how much may gather before it is written without being asked.
	flushAt = 256 << 10
	// headerRoom is a guess at the bytes of a frame without its body.
	headerRoom = 384
)

func (o *outgoing) init(c *Conn, nc net.Conn, raw syscall.RawConn) {
	o.conn, o.stream, o.raw = c, nc, raw
	o.changed.L = &o.mu
	o.try.once = func(fd uintptr) bool {
		o.try.n, _, o.try.err = writeSocket(fd, o.try.head, o.try.body)
		return true
	}
	o.try.all = func(fd uintptr) bool {
		for len(o.try.head) > 0 {
			n, again, err := writeSocket(fd, o.try.head, nil)
			o.wrote(n)
			o.wakeAll()
			if o.try.err = err; err != nil {
				return true
			}
			if again {
				return false
			}
		}
		return true
	}
}

// write encodes one command. The error wraps ErrClosed, ErrTooLarge or
// ErrPeerSlow. cmd is not used after the return.
func (c *Conn) write(cmd *Command, m meta, flush bool) error {
	o := &c.out
	o.mu.Lock()
	direct := o.raw != nil && !o.sending && len(cmd.Body) >= directBody
	if err := o.gather(cmd, m, direct); err != nil {
		o.mu.Unlock()
		switch err {
		case ErrClosed, ErrPeerSlow:
			if err == ErrPeerSlow && m.isResponse() {
				c.shut(err) // what is left unanswered has no other end
			}
			return fmt.Errorf("%s: %w", c.RemoteAddr(), err)
		}
		return err
	}
	if m.isResponse() {
		o.answered.Add(1)
	}
	switch {
	case direct:
		o.send(cmd.Body)
	case !o.sending && (flush || len(o.enc.b) >= flushAt):
		o.send(nil)
	default:
		o.wake()
		o.mu.Unlock()
	}
	return nil
}

// gather encodes a command behind what was gathered; with direct, all but its
// body. mu is held. After an error nothing was added.
func (o *outgoing) gather(cmd *Command, m meta, direct bool) error {
	cfg := o.conn.cfg
	body := len(cmd.Body)
	switch {
	case o.closed:
		return ErrClosed
	case body > cfg.MaxFrameBytes:
		return tooLarge(body, cfg)
	case o.pending.Load()+int64(body) > int64(cfg.hardLimit()):
		return ErrPeerSlow
	}
	room := headerRoom + len(cmd.Remark)
	if !direct {
		room += body
	}
	o.room(room)
	before := len(o.enc.b)
	if err := o.enc.frame(cmd, m, !direct); err != nil {
		return err
	}
	size := len(o.enc.b) - before
	if direct {
		size += body
	}
	if size > cfg.MaxFrameBytes {
		o.enc.b = o.enc.b[:before]
		return tooLarge(size, cfg)
	}
	o.pending.Add(int64(size))
	return nil
}

func tooLarge(size int, cfg *Config) error {
	return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, size, cfg.MaxFrameBytes)
}

// flush writes what was gathered unless somebody is at it.
func (o *outgoing) flush() {
	o.mu.Lock()
	if o.sending || o.closed || len(o.enc.b) == 0 {
		o.mu.Unlock()
		return
	}
	o.send(nil)
}

// send writes what was gathered, then body, without waiting. It is entered with mu
// held and leaves it unlocked.
func (o *outgoing) send(body []byte) {
	o.sending = true
	for {
		o.take(body)
		body = nil
		raw := o.raw
		if raw == nil {
			o.goWrite()
			return
		}
		o.mu.Unlock()
		err := raw.Write(o.try.once)
		for err != nil && o.moved(&raw) {
			err = raw.Write(o.try.once)
		}
		if err == nil {
			err = o.try.err
		}
		if err != nil {
			o.give(err)
			return
		}
		if n := o.try.n; n > 0 {
			o.wrote(n)
		}
		left := len(o.try.head) + len(o.try.body)
		if left > 0 {
			o.keepRest()
		}
		o.mu.Lock()
		if left > 0 {
			o.goWrite()
			return
		}
		o.try.blk.release()
		o.try.blk = nil
		if len(o.enc.b) == 0 || o.closed {
			o.stop()
			return
		}
	}
}

// take makes what was gathered the next thing to write. mu is held.
func (o *outgoing) take(body []byte) {
	o.try.head, o.try.blk, o.try.body = o.enc.b, o.blk, body
	o.enc.b, o.blk = nil, nil
}

// keepRest copies what the socket did not take of a body that is not ours.
func (o *outgoing) keepRest() {
	t := &o.try
	if len(t.body) == 0 {
		return
	}
	blk := borrow(len(t.head) + len(t.body))
	n := copy(blk.mem, t.head)
	n += copy(blk.mem[n:], t.body)
	t.blk.release()
	t.blk, t.head, t.body = blk, blk.mem[:n], nil
}

// wrote notes that n bytes of the attempt are on their way.
func (o *outgoing) wrote(n int) {
	t := &o.try
	o.sent.Add(uint64(n))
	o.pending.Add(-int64(n))
	k := min(n, len(t.head))
	t.head = t.head[k:]
	t.body = t.body[n-k:]
}

// goWrite leaves the attempt to a goroutine that waits for the peer. mu is held
// and unlocked.
func (o *outgoing) goWrite() {
	if o.closed {
		o.stop()
		return
	}
	o.writer.Add(1)
	o.mu.Unlock()
	go o.writeAll()
}

// writeAll writes until nothing is left.
func (o *outgoing) writeAll() {
	defer o.writer.Done()
	o.conn.own()
	for {
		if err := o.writeAttempt(); err != nil {
			o.give(err)
			return
		}
		o.mu.Lock()
		o.try.blk.release()
		o.try.blk = nil
		if len(o.enc.b) == 0 || o.closed {
			o.stop()
			return
		}
		o.take(nil)
		o.wake()
		o.mu.Unlock()
	}
}

func (o *outgoing) writeAttempt() error {
	o.mu.Lock()
	stream, raw := o.stream, o.raw
	o.mu.Unlock()
	if raw != nil {
		if err := raw.Write(o.try.all); err != nil {
			return err
		}
		return o.try.err
	}
	for len(o.try.head) > 0 {
		n, err := stream.Write(o.try.head[:min(len(o.try.head), minReadBytes)])
		o.wrote(n)
		o.wakeAll()
		if err != nil {
			return err
		}
	}
	return nil
}

// give ends sending because of err.
func (o *outgoing) give(err error) {
	o.mu.Lock()
	o.stop()
	o.conn.shut(fmt.Errorf("write: %w", err))
}

// stop ends sending. mu is held and unlocked.
func (o *outgoing) stop() {
	o.sending = false
	o.try.blk.release()
	o.try.head, o.try.body, o.try.blk = nil, nil, nil
	if o.closed {
		o.forget()
	}
	o.wake()
	o.mu.Unlock()
}
