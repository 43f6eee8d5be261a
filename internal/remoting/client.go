// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
)

// Client keeps one connection per address, dialled on demand and again after it
// was lost (RocketMQ: NettyRemotingClient).
type Client struct {
	handler Handler
	dial    func(ctx context.Context, addr string) (net.Conn, error)
	cfg     *Config
	watch   *watch

	mu     sync.Mutex
	links  map[string]*link
	closed bool
	ctx    context.Context // of the dials, ended by Close
	cancel context.CancelFunc
	conns  sync.WaitGroup
}

// link is an address: its connection, or the dial that will make one.
type link struct {
	ready chan struct{} // closed when conn or err is set
	conn  *Conn
	err   error
}

// NewClient makes a client. h serves requests that servers send to us (nil:
// none). dial may be nil (TCP, with TLS if the config has it).
func NewClient(h Handler, dial func(ctx context.Context, addr string) (net.Conn, error), cfg Config) *Client {
	full := cfg.withDefaults()
	if dial == nil {
		dial = full.dial
	}
	c := &Client{handler: h, dial: dial, cfg: full, watch: newWatch(full), links: make(map[string]*link)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *Config) dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	if c.TLS != nil {
		t := tls.Dialer{NetDialer: &d, Config: c.TLS}
		return t.DialContext(ctx, "tcp", addr)
	}
	return d.DialContext(ctx, "tcp", addr)
}

// Call sends a request to addr and waits for the answer; ctx bounds dialling and
// waiting. Errors as of Conn and Conn.Call.
func (c *Client) Call(ctx context.Context, addr string, req *Command) (*Command, error) {
	conn, err := c.Conn(ctx, addr)
	if err != nil {
		return nil, err
	}
	return conn.Call(ctx, req)
}

// Oneway sends a request that wants no answer to addr; ctx bounds dialling.
func (c *Client) Oneway(ctx context.Context, addr string, req *Command) error {
	conn, err := c.Conn(ctx, addr)
	if err != nil {
		return err
	}
	return conn.Oneway(req)
}

// Conn gives the connection to addr, dialling if there is none; callers that come
// meanwhile share the dial. Errors: ErrClosed after Close, ctx.Err(), what the dial
// met.
func (c *Client) Conn(ctx context.Context, addr string) (*Conn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, fmt.Errorf("client: %w", ErrClosed)
	}
	l := c.links[addr]
	if l == nil || l.lost() {
		l = &link{ready: make(chan struct{})}
		c.links[addr] = l
		c.conns.Add(1)
		go c.connect(addr, l)
	}
	c.mu.Unlock()
	select {
	case <-l.ready:
		return l.conn, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to %s: %w", addr, ctx.Err())
	}
}

// Renew makes the next Conn to addr dial anew when old is the connection in use: its
// peer said that it is about to go away. Calls under way on old may still be
// answered; it closes when the peer closes it, when it is idle, or with the client.
func (c *Client) Renew(addr string, old *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.links[addr]
	if l == nil {
		return
	}
	select {
	case <-l.ready:
		if l.conn == old {
			delete(c.links, addr)
		}
	default: // a new one is being dialled already
	}
}

// lost tells whether l was connected and is no longer.
func (l *link) lost() bool {
	select {
	case <-l.ready:
		return l.conn == nil || l.conn.Closed()
	default:
		return false
	}
}

// connect dials for everybody who waits for l. It is bound by DialTimeout and not
// by the context of the caller that happened to come first.
func (c *Client) connect(addr string, l *link) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.DialTimeout)
	defer cancel()
	nc, err := c.dial(ctx, addr)
	if err != nil {
		l.err = fmt.Errorf("connect to %s: %w", addr, err)
		c.forget(addr, l)
	} else {
		l.conn = startConn(nc, c.handler, c.cfg, c.watch, false, func() { c.forget(addr, l) })
		c.mu.Lock()
		closed := c.closed
		c.mu.Unlock()
		if closed {
			l.conn.shut(nil)
		}
	}
	close(l.ready)
}

// forget drops the link of a connection that ended or never began.
func (c *Client) forget(addr string, l *link) {
	c.mu.Lock()
	if c.links[addr] == l {
		delete(c.links, addr)
	}
	c.mu.Unlock()
	c.conns.Done()
}

// Close closes all connections, ends dials and waits for their goroutines. Pending
// calls fail with ErrClosed. It must not be called from a handler or callback.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	for _, conn := range c.watch.list(nil) {
		conn.shut(nil)
	}
	c.conns.Wait()
	return nil
}
