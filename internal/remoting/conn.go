// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is one connection; either side may ask.
//
// Its reader goroutine, its own or that of a loop that reads for many (Config.Loops),
// reads as many bytes as there are, hands each request to the handler in turn, then
// has the batch committed (Config.AfterBatch) and the answers written with one system
// call. Without traffic a connection costs at most that goroutine: memory for bytes
// is borrowed while there are some.
type Conn struct {
	id       uint64
	cfg      *Config
	handler  Handler
	accepted bool // the peer dialled, not we

	place    sync.Mutex
	nc       net.Conn // nil while on a loop; changed under place
	loop     *loop    // nil: a goroutine of its own reads; changed under place
	sock     *socket  // what the loop reads from
	seat     int32    // of the loop
	away     bool     // of the loop: another goroutine than the loop's is handling a turn of it
	hungUp   bool     // of the loop: the peer has sent its last byte, which is to be reached
	wantsOwn atomic.Bool
	flushing atomic.Bool   // the loop will flush
	owned    chan struct{} // closed when it left the loop; nil: it never was on one

	watch *watch
	ended func()

	local  net.Addr
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

// noSeat is that of a connection which is on no loop.
const noSeat = -1

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
	c := newConn(nc, h, cfg, w, accepted, ended)
	c.nc = nc
	raw := rawConn(nc)
	c.in.init(nc, raw, accepted)
	c.out.init(c, nc, raw)
	c.open()
	go func() { c.end(c.read()) }()
	return c
}

// startOnLoop is startConn for an accepted connection that l reads for.
func startOnLoop(nc net.Conn, s *socket, l *loop, h Handler, cfg *Config, w *watch, ended func()) {
	c := newConn(nc, h, cfg, w, true, ended)
	c.loop, c.sock = l, s
	c.owned = make(chan struct{})
	c.in.init(nil, nil, true)
	c.out.init(c, nil, s.raw)
	c.open()
	if err := l.add(c); err != nil {
		go c.part(outcome{err: fmt.Errorf("watch the socket: %w", err)})
	}
}

func newConn(nc net.Conn, h Handler, cfg *Config, w *watch, accepted bool, ended func()) *Conn {
	c := &Conn{
		id:       lastConnID.Add(1),
		cfg:      cfg,
		handler:  h,
		accepted: accepted,
		watch:    w,
		ended:    ended,
		local:    nc.LocalAddr(),
		seat:     noSeat,
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	c.setRemote(addrPortOf(nc.RemoteAddr()), nc.RemoteAddr().String())
	c.peer.Store(packPeer(LanguageUnknown, 0, cfg.Serializer))
	c.x.Conn = c
	return c
}

func (c *Conn) open() {
	c.watch.add(c)
	if c.cfg.ConnOpened != nil {
		c.cfg.ConnOpened(c)
	}
}

// onALoop tells whether a loop reads for c.
func (c *Conn) onALoop() bool {
	c.place.Lock()
	defer c.place.Unlock()
	return c.loop != nil
}

// part is the life of a connection after its loop: its end, or one with a goroutine of its own.
func (c *Conn) part(o outcome) {
	c.endBatch() // of turns in this round before, too
	if o.err == nil {
		o.err = c.moveOut()
	}
	if o.err == nil {
		o.err = c.read()
	}
	c.end(o.err)
}

// own waits until a goroutine of its own, or none any more, reads for c.
func (c *Conn) own() {
	if c.owned == nil {
		return
	}
	c.wantsOwn.Store(true)
	c.place.Lock()
	l := c.loop
	c.place.Unlock()
	if l != nil {
		l.wake(c)
	}
	select {
	case <-c.owned:
	case <-c.quit:
	}
}

// moveOut goes over from the loop's socket to one that can be waited for. For a moment that takes a second descriptor.
func (c *Conn) moveOut() error {
	var nc net.Conn
	for {
		var err error
		if nc, err = c.sock.netConn(); err == nil {
			break
		}
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return fmt.Errorf("hand the socket over: %w", err)
		}
		select {
		case <-c.quit:
			return net.ErrClosed
		case <-time.After(50 * time.Millisecond):
		}
	}
	raw := rawConn(nc)
	c.in.stream, c.in.raw = nc, raw
	c.out.replace(nc, raw)
	c.place.Lock()
	c.nc, c.loop = nc, nil
	c.place.Unlock()
	c.sock.close()
	if c.closed.Load() {
		_ = nc.Close()
	}
	close(c.owned)
	return nil
}

// end ends the connection, for reason.
func (c *Conn) end(reason error) {
	defer c.ended()
	defer close(c.done)
	c.shut(reason)
	<-c.quit // another goroutine may be in the middle of shut
	c.watch.remove(c)
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
		errors.Is(reason, syscall.EPIPE) || errors.Is(reason, net.ErrClosed) || errors.Is(reason, os.ErrClosed) {
		reason = nil
	}
	c.reason = reason
	close(c.quit)
	c.out.shut()
	c.place.Lock()
	nc, l := c.nc, c.loop
	c.place.Unlock()
	if l != nil {
		c.sock.close()
		l.wake(c)
	} else {
		_ = nc.Close()
	}
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

// FlushSoon is Flush, but on the goroutine that reads for many connections if that is
// this one's: for those that flush many at once, which read and written by one
// goroutine get in each other's way least.
func (c *Conn) FlushSoon() {
	if c.sock == nil {
		c.out.flush()
		return
	}
	if c.flushing.Load() || !c.flushing.CompareAndSwap(false, true) {
		return
	}
	c.place.Lock()
	l := c.loop
	c.place.Unlock()
	if l != nil {
		l.flushSoon(c)
		return
	}
	c.flushing.Store(false)
	c.out.flush()
}

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
func (c *Conn) LocalAddr() string { return c.local.String() }

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
