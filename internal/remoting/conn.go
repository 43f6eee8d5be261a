// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// Conn is one connection; either side may ask.
//
// Its reader goroutine reads as many bytes as there are, hands each request to
// the handler in turn, then has the batch committed (Config.AfterBatch) and the
// answers written with one system call. Without traffic that goroutine is all a
// connection costs: memory for bytes is borrowed while there are some.
type Conn struct {
	id       uint64
	cfg      *Config
	handler  Handler
	accepted bool // the peer dialled, not we

	nc     net.Conn
	remote atomic.Pointer[remoteAddr]

	closed atomic.Bool
	reason error // why; written before quit is closed
	quit   chan struct{}
	done   chan struct{}

	in  incoming
	x   Exchange
	out outgoing

	calls callTable

	peer atomic.Uint64 // packed: see packPeer
	// speaksJSON: the peer has sent a JSON header on this connection.
	speaksJSON atomic.Bool
	received   atomic.Uint64 // bytes, for the watch
	taken      atomic.Int64  // requests that want an answer
	draining   atomic.Bool   // no more requests are to be read

	watched watchState
}

type remoteAddr struct {
	text string
	port netip.AddrPort
}

var lastConnID atomic.Uint64

// NewConn serves nc: inbound requests go to h (nil: answered "not supported"); it
// starts its reader goroutine.
func NewConn(nc net.Conn, h Handler, cfg Config) *Conn {
	full := cfg.withDefaults()
	return startConn(nc, h, full, newWatch(full), true, func() {})
}

// startConn is NewConn with the watch that the connection is to be on and what is
// to be done when it has ended.
func startConn(nc net.Conn, h Handler, cfg *Config, w *watch, accepted bool, ended func()) *Conn {
	c := &Conn{
		id:       lastConnID.Add(1),
		cfg:      cfg,
		handler:  h,
		accepted: accepted,
		nc:       nc,
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	c.setRemote(addrPortOf(nc.RemoteAddr()), nc.RemoteAddr().String())
	c.peer.Store(packPeer(LanguageUnknown, 0, cfg.Serializer))
	c.x.Conn = c
	raw := rawConn(nc)
	c.in.init(nc, raw, accepted)
	c.out.init(c, nc, raw)
	w.add(c)
	if cfg.ConnOpened != nil {
		cfg.ConnOpened(c)
	}
	go c.run(w, ended)
	return c
}

// run is the life of the connection.
func (c *Conn) run(w *watch, ended func()) {
	defer ended()
	defer close(c.done)
	c.shut(c.read())
	<-c.quit // another goroutine may be in the middle of shut
	w.remove(c)
	c.in.drop()
	c.out.join()
	c.calls.failAll(fmt.Errorf("%s: %w", c.RemoteAddr(), ErrClosed))
	c.logEnd()
	if c.cfg.ConnClosed != nil {
		c.cfg.ConnClosed(c, c.reason)
	}
}

// shut closes the connection once, for reason; the reader then ends by itself.
func (c *Conn) shut(reason error) {
	if !c.closed.CompareAndSwap(false, true) {
		return
	}
	if errors.Is(reason, io.EOF) || errors.Is(reason, syscall.ECONNRESET) ||
		errors.Is(reason, syscall.EPIPE) || errors.Is(reason, net.ErrClosed) {
		reason = nil
	}
	c.reason = reason
	close(c.quit)
	c.out.shut()
	_ = c.nc.Close()
}

func (c *Conn) logEnd() {
	log := c.cfg.Logger
	var frame *FrameError
	switch {
	case c.reason == nil, errors.Is(c.reason, errShutdown):
		log.Debug("connection closed", "addr", c.RemoteAddr())
	case errors.As(c.reason, &frame), errors.Is(c.reason, errStalled), errors.Is(c.reason, ErrPeerSlow):
		log.Warn("connection closed", "addr", c.RemoteAddr(), "local", c.LocalAddr(), "err", c.reason)
	default:
		log.Info("connection closed", "addr", c.RemoteAddr(), "err", c.reason)
	}
}

// Flush writes what Queue gathered, without waiting for the peer: what it does not
// take now is written when it does.
func (c *Conn) Flush() { c.out.flush() }

// Close closes at once: what was not written is lost, pending calls fail. It does
// not wait for the reader; Done tells when that has ended.
func (c *Conn) Close() error {
	c.shut(nil)
	return nil
}

// Done is closed when the connection is closed and its goroutines have ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Closed tells whether the connection is closed or closing.
func (c *Conn) Closed() bool { return c.closed.Load() }

// RemoteAddr is the peer as "ip:port": the client's own address when a PROXY
// header told one.
func (c *Conn) RemoteAddr() string { return c.remote.Load().text }

// RemoteAddrPort is RemoteAddr as a value; not valid on connections that are no
// sockets.
func (c *Conn) RemoteAddrPort() netip.AddrPort { return c.remote.Load().port }

// LocalAddr is our end as "ip:port".
func (c *Conn) LocalAddr() string { return c.nc.LocalAddr().String() }

// Backlogged tells whether the peer has so much left to take (Config.OutgoingLimit)
// that no request of it is read. Whoever answers requests that were read long ago
// should not add much.
func (c *Conn) Backlogged() bool { return c.out.overLimit() }

// ID is unique in the process.
func (c *Conn) ID() uint64 { return c.id }

// Peer gives the peer's language and version as of its last request, or answer on
// connections that we dialled; LanguageUnknown and 0 before the first.
func (c *Conn) Peer() (Language, int32) {
	p := c.peer.Load()
	return Language(p >> 32), int32(uint32(p))
}

func packPeer(l Language, version int32, s Serializer) uint64 {
	return uint64(s)<<40 | uint64(l)<<32 | uint64(uint32(version))
}

// notePeer remembers what a received command tells of its sender.
func (c *Conn) notePeer(cmd *Command) {
	if cmd.Serializer == JSON && !c.speaksJSON.Load() {
		c.speaksJSON.Store(true)
	}
	if p := packPeer(cmd.Language, cmd.Version, cmd.Serializer); p != c.peer.Load() {
		c.peer.Store(p)
	}
}

// answerForm is the form of the answer to a request that came in the form s.
func (c *Conn) answerForm(s Serializer) Serializer {
	if c.speaksJSON.Load() {
		return JSON
	}
	return s
}

// serializer of a request we start: section 1.5 of the protocol reference. A
// server we dialled understands both forms, a client that dialled us what it sends.
func (c *Conn) serializer() Serializer {
	if !c.accepted {
		return c.cfg.Serializer
	}
	return Serializer(c.peer.Load() >> 40)
}

func (c *Conn) setRemote(port netip.AddrPort, text string) {
	if port.IsValid() {
		text = port.String()
	}
	c.remote.Store(&remoteAddr{text: text, port: port})
}

func addrPortOf(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := tcp.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// inHand is how many requests have no answer yet.
func (c *Conn) inHand() int64 { return c.taken.Load() - c.out.answered.Load() }
