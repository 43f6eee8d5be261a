// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Server accepts connections on one or more listeners (RocketMQ:
// NettyRemotingServer).
type Server struct {
	handler Handler
	cfg     *Config
	watch   *watch

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	stopped   bool
	loops     *loops // nil: none, or not yet
	quit      chan struct{}
	conns     sync.WaitGroup
}

// NewServer makes a server whose connections are served by h.
func NewServer(h Handler, cfg Config) *Server {
	full := cfg.withDefaults()
	return &Server{
		handler:   h,
		cfg:       full,
		watch:     newWatch(full),
		listeners: make(map[net.Listener]struct{}),
		quit:      make(chan struct{}),
	}
}

// Serve accepts on l until Close or Shutdown; may be called for several listeners.
// It closes l and returns nil after a stop.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.enter(l) {
		return nil
	}
	defer s.leave(l)
	var pause time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.start(nc)
			continue
		}
		if s.isStopped() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		// Too many open files, mostly: it passes when connections close.
		if pause == 0 {
			s.cfg.Logger.Error("accept", "local", l.Addr().String(), "err", err)
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(pause):
		case <-s.quit:
			return nil
		}
	}
}

func (s *Server) enter(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) leave(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// start serves one accepted connection.
func (s *Server) start(nc net.Conn) {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		_ = nc.Close()
		return
	}
	s.conns.Add(1)
	s.mu.Unlock()
	if ls := s.loopsFor(); ls != nil {
		if sock := adopt(nc); sock != nil {
			startOnLoop(nc, sock, ls.pick(), s.handler, s.cfg, s.watch, s.conns.Done)
			return
		}
	}
	startConn(nc, s.handler, s.cfg, s.watch, true, s.conns.Done)
}

// loopsFor gives the loops for one more connection, made with the first that needs them; nil: it comes on none.
func (s *Server) loopsFor() *loops {
	if s.cfg.Loops <= 0 || s.watch.len() < s.cfg.LoopsFrom {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loops == nil {
		ls, err := newLoops(s.cfg.Loops, s.cfg.AfterBatch)
		if err != nil {
			s.cfg.Logger.Warn("connections get a goroutine each", "err", err)
			return nil
		}
		s.loops = ls
	}
	return s.loops
}

// ended waits until the last connection has ended, and ends what served them.
func (s *Server) ended() {
	s.conns.Wait()
	s.mu.Lock()
	ls := s.loops
	s.loops = nil
	s.mu.Unlock()
	if ls != nil {
		ls.close()
	}
}

// stop ends accepting; false: it had ended before.
func (s *Server) stop() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.stopped = true
	close(s.quit)
	for l := range s.listeners {
		_ = l.Close()
	}
	return true
}

// Shutdown stops accepting and reading, lets requests in hand be answered until
// ctx ends, then closes connections. Parked requests are in hand, too, so whoever
// parked them must answer them first. The error is that of ctx when answers were
// still owed.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	for _, c := range s.watch.list(nil) {
		c.stopReading()
	}
	ended := make(chan struct{})
	go func() {
		s.ended()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		err = fmt.Errorf("answer requests in hand: %w", ctx.Err())
	}
	s.closeAll()
	<-ended
	return err
}

// Close stops accepting and closes all connections at once.
func (s *Server) Close() error {
	s.stop()
	s.closeAll()
	s.ended()
	return nil
}

func (s *Server) closeAll() {
	for _, c := range s.watch.list(nil) {
		c.shut(errShutdown)
	}
}

// Conns is how many connections are open.
func (s *Server) Conns() int { return s.watch.len() }

// Each calls f for every open connection.
func (s *Server) Each(f func(*Conn)) {
	for _, c := range s.watch.list(nil) {
		f(c)
	}
}
