// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/router"
)

// Deps are what a name server is given. All may be left zero.
type Deps struct {
	Logger  *slog.Logger          // nil: discards
	Metrics prometheus.Registerer // nil: counted for nobody
	TLS     *tls.Config           // nil: plain connections only
}

// Server is one name server. Serve takes connections, Run does what happens
// without a request; both are needed.
type Server struct {
	config     *config.Live[Config]
	log        *slog.Logger
	metrics    *metrics
	table      *routeTable
	kv         *kvConfig
	departures *departures
	conns      *connections
	changes    chan *minIDChange
	started    time.Time
	locks      folderLocks

	server *remoting.Server
	router *router.Router
	client *remoting.Client // pushes to brokers

	mu        sync.Mutex // guards listeners
	listeners []net.Listener
}

// New makes a name server: it locks the folders of its files, reads the key-value settings and opens nothing else.
// Whoever called New calls Shutdown or Close.
func New(cfg Config, d Deps) (_ *Server, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("name server settings: %w", err)
	}
	log := d.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	locks, err := lockFolders(&cfg.Files, log)
	defer func() {
		if err != nil {
			locks.release()
		}
	}()
	if err != nil {
		return nil, err
	}
	kv, err := openKV(cfg.Files.KV, log)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:     config.NewLive(cfg),
		log:        log,
		table:      newRouteTable(),
		kv:         kv,
		departures: newDepartures(),
		conns:      &connections{byID: map[uint64]*remoting.Conn{}},
		changes:    make(chan *minIDChange, pushCapacity),
		started:    time.Now(),
		locks:      locks,
	}
	if s.metrics, err = newMetrics(d.Metrics, s.table); err != nil {
		return nil, fmt.Errorf("name server metrics: %w", err)
	}
	wire := remoting.DefaultConfig()
	wire.IdleTimeout = cfg.Listen.Idle
	wire.Logger = log
	s.client = remoting.NewClient(nil, nil, wire)
	wire.TLS = d.TLS
	wire.ConnClosed = s.connClosed
	s.router = router.New(router.Config{Logger: log, Role: "nameserver"}, s.routes())
	s.server = remoting.NewServer(s.router, wire)
	return s, nil
}

// Serve takes connections from l until Shutdown or Close; it may be called for
// several listeners.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	return s.server.Serve(l)
}

// Addr is the address of the first listener, nil before Serve.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listeners) == 0 {
		return nil
	}
	return s.listeners[0].Addr()
}

// Config is the settings in force, for those who print them.
func (s *Server) Config() *config.Live[Config] { return s.config }

// stillThere is how often Leave looks whether anybody is connected.
const stillThere = 20 * time.Millisecond

// Leave comes before Shutdown. With enableShutdownGracefully it answers GO_AWAY to all who understand it, serves the
// others, and returns when nobody is connected any more or shutdownWaitTimeSeconds are over. Without, it does nothing.
func (s *Server) Leave() {
	c := s.config.Load().Listen
	if !c.GoAway {
		return
	}
	s.log.Info("asking clients and brokers to go away", "wait", c.Wait)
	s.router.GoAway()
	for end := time.Now().Add(c.Wait); time.Now().Before(end) && s.server.Conns() > 0; {
		time.Sleep(min(stillThere, time.Until(end)))
	}
}

// Shutdown stops accepting, lets requests in hand be answered until ctx ends, then
// closes all connections.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	wait := time.Second
	if deadline, ok := ctx.Deadline(); ok {
		wait = max(time.Until(deadline), 0)
	}
	s.router.Close(wait)
	err = errors.Join(err, s.client.Close())
	s.locks.release()
	return err
}

// Close is Shutdown without patience.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
