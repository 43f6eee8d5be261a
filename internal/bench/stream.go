// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

const (
	dialTimeout   = 5 * time.Second
	maxFrameBytes = 64 << 20
)

// stream is one connection of the load: frames out through a buffer that is
// flushed before its writer waits, answers in one by one.
type stream struct {
	nc  net.Conn
	r   *bufio.Reader
	w   *bufio.Writer
	buf []byte
	cmd remoting.Command
}

func dial(ctx context.Context, addr string) (*stream, error) {
	d := net.Dialer{Timeout: dialTimeout}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &stream{nc: nc, r: bufio.NewReaderSize(nc, 64<<10), w: bufio.NewWriterSize(nc, 64<<10)}, nil
}

// next reads one answer; it is valid until the next call.
func (s *stream) next() (*remoting.Command, error) {
	head, err := s.r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head))
	if n > maxFrameBytes {
		return nil, fmt.Errorf("%s sent a frame of %d bytes", s.nc.RemoteAddr(), n)
	}
	_, _ = s.r.Discard(4) // they were peeked at
	if cap(s.buf) < n {
		s.buf = make([]byte, n+n/4)
	}
	b := s.buf[:n]
	if _, err := io.ReadFull(s.r, b); err != nil {
		return nil, err
	}
	if err := remoting.DecodeFrame(&s.cmd, b); err != nil {
		return nil, fmt.Errorf("%s: %w", s.nc.RemoteAddr(), err)
	}
	return &s.cmd, nil
}
