// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Requests in hand are answered, even if more bytes lie unread in the socket;
// then the connection ends in order, not by a reset.
func TestShutdownAnswersWhatIsInHand(t *testing.T) {
	h := newLater()
	addr, s := serve(t, h, nil)
	idle := dial(t, addr)
	idle.send([]byte{0, 0}) // half a length
	p := dial(t, addr)
	p.send(slices.Concat(request(t, 1, 1, JSON, ""), request(t, 1, 2, JSON, "")))
	<-h.came
	<-h.came
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(bounded(t)) }()
	if got := idle.rest(); len(got) > 0 {
		t.Errorf("idle connection got %q", got)
	}
	p.send(request(t, 1, 3, JSON, "too late"))
	if _, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial during shutdown: %v", err)
	}
	select {
	case err := <-down:
		t.Fatalf("Shutdown ended with answers owed: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	h.answer()
	for want := int32(2); want >= 1; want-- {
		if got := p.read(); got.Opaque != want {
			t.Errorf("answer to %d, want %d", got.Opaque, want)
		}
	}
	if got := p.rest(); len(got) > 0 {
		t.Errorf("then got %q", got)
	}
	_ = p.Close()
	if err := <-down; err != nil {
		t.Error(err)
	}
	if n := s.Conns(); n > 0 {
		t.Errorf("%d connections left", n)
	}
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	h := newLater()
	addr, s := serve(t, h, nil)
	p := dial(t, addr)
	p.send(request(t, 1, 1, JSON, ""))
	<-h.came
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	p.rest()
}

// A peer that does not close by itself is not waited for.
func TestShutdownDoesNotWaitForPeers(t *testing.T) {
	addr, s := serve(t, handlerFunc(echo), nil)
	for range 20 {
		p := dial(t, addr)
		p.send(request(t, 1, 1, JSON, ""))
		p.read()
	}
	start := time.Now()
	if err := s.Shutdown(bounded(t)); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*lingerTime {
		t.Errorf("took %v", took)
	}
}

// tiredListener fails a few times before it accepts.
type tiredListener struct {
	net.Listener
	failures int
}

func (l *tiredListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, syscall.EMFILE
	}
	return l.Listener.Accept()
}

func TestAcceptGoesOnAfterErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log logLines
	cfg := DefaultConfig()
	cfg.Logger = log.logger()
	s := NewServer(handlerFunc(echo), cfg)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(&tiredListener{Listener: l, failures: 3}) }()
	p := dial(t, l.Addr().String())
	p.send(request(t, 1, 1, JSON, ""))
	p.read()
	_ = s.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if lines := log.lines(); len(lines) != 1 {
		t.Errorf("three failures in a row: %q", lines)
	}
	if err := s.Serve(l); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
}

func TestListenerClosedUnderTheServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	s := NewServer(nil, DefaultConfig())
	if err := s.Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestServerOnSeveralListeners(t *testing.T) {
	addr, s := serve(t, handlerFunc(echo), nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	for _, a := range []string{addr, l.Addr().String()} {
		p := dial(t, a)
		p.send(request(t, 1, 1, JSON, ""))
		p.read()
	}
	_ = s.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
