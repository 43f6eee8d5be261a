// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"time"
)

// The first byte of a fresh connection tells what it speaks without making plain
// clients wait: a frame begins with the high byte of its length, which is 0 below
// 16 MiB. 'P' and CR begin the two PROXY headers of load balancers, 0x16 a TLS
// hello; neither can begin a frame.
const firstTLSByte = 0x16

// sniff looks at the first bytes. known is false while there are too few to tell.
func (c *Conn) sniff() (known bool, err error) {
	b := c.in.unread()
	switch b[0] {
	case 'P', '\r':
		p, err := parseProxy(b)
		switch {
		case err != nil:
			return false, err
		case p.size == 0:
			return false, nil
		}
		c.in.r += p.size
		if p.source.IsValid() {
			c.setRemote(p.source, "")
		}
		if b = c.in.unread(); len(b) == 0 {
			return false, nil // what comes next is looked at when it comes
		}
	}
	if b[0] == firstTLSByte {
		if c.onALoop() {
			return false, errNeedsOwn
		}
		return c.startTLS()
	}
	if c.cfg.TLS != nil && c.cfg.RequireTLS {
		return false, badFrame("plain connection, but TLS is required")
	}
	c.in.fresh = false
	if b[0] != 0 && int64(b[0])<<24 > int64(c.cfg.MaxFrameBytes) {
		return false, badFrame("not RocketMQ's protocol, but " + describe(b))
	}
	return true, nil
}

// describe says what foreign bytes look like.
func describe(b []byte) string {
	for _, method := range []string{"GET ", "POST ", "HEAD ", "PUT ", "DELETE ", "OPTIONS ", "CONNECT ", "PRI * HTTP/2"} {
		if bytes.HasPrefix(b, []byte(method)) {
			return "HTTP"
		}
	}
	if bytes.HasPrefix(b, []byte("SSH-")) {
		return "SSH"
	}
	return fmt.Sprintf("%q", b[:min(len(b), 16)])
}

// handshakeTimeout bounds a TLS handshake.
const handshakeTimeout = 10 * time.Second

// alertHandshakeFailure is a TLS record that ends a handshake: the client's error
// then speaks of TLS instead of a reset connection.
var alertHandshakeFailure = []byte{0x15, 3, 1, 0, 2, 2, 40}

// startTLS goes over to TLS, or tells the peer that there is none.
func (c *Conn) startTLS() (known bool, err error) {
	if c.cfg.TLS == nil {
		_, _ = c.nc.Write(alertHandshakeFailure)
		return false, badFrame("TLS hello, but TLS is not configured here")
	}
	stream := tls.Server(&prefixConn{Conn: c.nc, prefix: bytes.Clone(c.in.unread())}, c.cfg.TLS)
	c.in.drop()
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := stream.HandshakeContext(ctx); err != nil {
		return false, fmt.Errorf("TLS handshake: %w", err)
	}
	c.in.stream, c.in.raw, c.in.fresh = stream, nil, false
	c.out.replace(stream, nil)
	return false, nil
}

// prefixConn gives back bytes that were read ahead.
type prefixConn struct {
	net.Conn
	prefix []byte
}

var _ io.Reader = (*prefixConn)(nil)

func (p *prefixConn) Read(b []byte) (int, error) {
	if len(p.prefix) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.prefix)
	p.prefix = p.prefix[n:]
	return n, nil
}
