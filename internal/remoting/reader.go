// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"fmt"
	"net"
	"time"
)

// read serves the connection until it ends, and says why it did.
func (c *Conn) read() error {
	if len(c.in.unread()) > 0 { // it comes from a loop
		if c.out.overLimit() {
			c.out.waitRoom()
		}
		if err := c.batch(); err != nil {
			return err
		}
	}
	for !c.draining.Load() {
		n, err := c.in.fill()
		c.received.Add(uint64(n))
		switch {
		case c.draining.Load():
			if err != nil && c.closed.Load() {
				return err
			}
		case err != nil:
			return err
		default:
			if err := c.batch(); err != nil {
				return err
			}
		}
	}
	return c.drain()
}

// batch handles all complete frames that were read.
func (c *Conn) batch() error {
	for {
		handled, slow, err := c.frames()
		if handled {
			c.endBatch()
		}
		if err != nil || !slow {
			return err
		}
		c.out.waitRoom()
	}
}

// frames handles complete frames that were read, all of them unless the peer is too slow to take the answers.
func (c *Conn) frames() (handled, slow bool, err error) {
	c.x.Arrived = time.Now()
	if c.in.fresh {
		if known, err := c.sniff(); !known || err != nil {
			return false, false, err
		}
	}
	for !c.closed.Load() {
		frame, ok, err := c.in.next(c.cfg.MaxFrameBytes)
		if err != nil || !ok {
			return handled, false, err
		}
		handled = true
		if err := c.handle(frame); err != nil {
			return handled, false, err
		}
		if c.out.overLimit() {
			return handled, true, nil
		}
	}
	return handled, false, nil
}

// heavyTurn is how many bytes in one turn, either way, make a connection leave its loop: it gains nothing from company, and
// a goroutine of its own may run on any core.
const heavyTurn = 64 << 10

// outcome is what came of a connection's turn on a loop.
type outcome struct {
	handled bool  // frames; their work is to be committed and their answers to be flushed
	bytes   int   // read
	more    bool  // there may be more to read
	own     bool  // it needs a goroutine of its own
	err     error // its end
}

func (o *outcome) gone() bool { return o.own || o.err != nil }

// onLoop reads once and handles what is complete. toEnd: the peer has sent its last byte, which is to be reached.
func (c *Conn) onLoop(toEnd bool) (o outcome) {
	switch {
	case c.closed.Load():
		o.err = net.ErrClosed
		return o
	case c.draining.Load(), c.wantsOwn.Load():
		o.own = true
		return o
	}
	var full bool
	o.bytes, full, o.err = c.in.try(c.sock.raw)
	if o.err != nil || o.bytes == 0 {
		return o
	}
	c.received.Add(uint64(o.bytes))
	o.more = full || toEnd
	before := c.out.given()
	o.handled, o.own, o.err = c.frames()
	switch {
	case o.err == errNeedsOwn:
		o.own, o.err = true, nil
	case o.err == nil && (o.bytes >= heavyTurn || c.out.given()-before >= heavyTurn):
		o.own = true
	}
	c.in.rest()
	return o
}

// endBatch has the work of the batch committed, then the answers written.
func (c *Conn) endBatch() {
	if c.cfg.AfterBatch != nil {
		c.cfg.AfterBatch()
	}
	c.out.flush()
}

// handle serves one frame. An error means that the bytes were no frame.
func (c *Conn) handle(frame []byte) error {
	cmd := &c.x.Request
	if err := DecodeFrame(cmd, frame); err != nil {
		return err
	}
	if cmd.IsResponse() {
		if !c.accepted { // an answer from our own client echoes the form we asked in
			c.notePeer(cmd)
		}
		c.calls.answer(cmd)
		return nil
	}
	c.notePeer(cmd)
	if !cmd.IsOneway() {
		c.taken.Add(1)
	}
	if c.handler == nil {
		c.x.ReplyTo().Queue(&Command{Code: codeNotSupported, Remark: fmt.Sprintf(" request type %d not supported", cmd.Code)})
		return nil
	}
	c.handler.ServeCommand(&c.x)
	return nil
}

// stopReading makes the reader take no further requests, answer those in hand and
// close.
func (c *Conn) stopReading() {
	if !c.draining.CompareAndSwap(false, true) {
		return
	}
	c.place.Lock()
	nc, l := c.nc, c.loop
	c.place.Unlock()
	if l != nil {
		l.wake(c)
	} else {
		_ = nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// lingerTime bounds how long a drained connection is kept for the peer to close
// it first.
const lingerTime = 200 * time.Millisecond

// drain waits for the answers still owed. Then it ends our direction only and
// waits a moment for the peer to close: closing a socket with unread bytes would
// reset it, and the peer might never see the last answers.
func (c *Conn) drain() error {
	c.out.flush()
	c.out.waitAnswered()
	half, ok := c.in.stream.(interface{ CloseWrite() error })
	if !ok || c.closed.Load() || half.CloseWrite() != nil {
		return errShutdown
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	blk := borrow(restReadBytes)
	defer blk.release()
	for {
		if _, err := c.in.stream.Read(blk.mem); err != nil {
			return errShutdown
		}
	}
}
