// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"fmt"
	"time"
)

// read serves the connection until it ends, and says why it did.
func (c *Conn) read() error {
	for {
		n, err := c.in.fill()
		c.received.Add(uint64(n))
		if err != nil {
			if c.draining.Load() && !c.closed.Load() {
				return c.drain()
			}
			return err
		}
		if c.draining.Load() {
			return c.drain()
		}
		if err := c.batch(); err != nil {
			return err
		}
	}
}

// batch handles all complete frames that were read.
func (c *Conn) batch() error {
	c.x.Arrived = time.Now()
	if c.in.fresh {
		if known, err := c.sniff(); !known || err != nil {
			return err
		}
	}
	handled := false
	for !c.closed.Load() {
		frame, ok, err := c.in.next(c.cfg.MaxFrameBytes)
		if ok {
			handled = true
			err = c.handle(frame)
		}
		if err != nil {
			c.endBatch()
			return err
		}
		if !ok {
			break
		}
		if c.out.overLimit() {
			c.endBatch()
			c.out.waitRoom()
			c.x.Arrived = time.Now()
		}
	}
	if handled {
		c.endBatch()
	}
	return nil
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
	if c.draining.CompareAndSwap(false, true) {
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
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
