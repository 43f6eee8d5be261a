// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package testcluster

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/broker"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/nameserver"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// Config of a cluster. Zero numbers mean one.
type Config struct {
	NameServers int
	Brokers     int // masters, called broker-a, broker-b, ...
	// Broker, when set, changes the settings of each broker before it is made.
	Broker func(*broker.Config)
}

// Cluster is running name servers and brokers.
type Cluster struct {
	t           testing.TB
	NameServers []*Server
	Brokers     []*Server
}

// Server is one name server or broker.
type Server struct {
	t    testing.TB
	Name string
	Addr string
	make func(main net.Listener) (process, error)
	// started is called when it serves, nil for nothing.
	started func()

	stop func() // nil when it is not running
	log  logText
}

// process is what a role gives: something that serves a listener, does work besides,
// and stops.
type process struct {
	serve    func() error
	run      func(context.Context) error
	shutdown func(context.Context) error
}

// stopTimeout bounds an orderly stop.
const stopTimeout = 10 * time.Second

// Start makes a cluster that is stopped when the test ends. Brokers have registered
// when it returns. What the servers logged is shown when the test fails.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range max(1, cfg.NameServers) {
		c.NameServers = append(c.NameServers, c.start(fmt.Sprintf("nameserver-%d", len(c.NameServers)), nameServer))
	}
	for i := range max(1, cfg.Brokers) {
		name, root := "broker-"+string(rune('a'+i)), t.TempDir()
		c.Brokers = append(c.Brokers, c.start(name, func(s *Server) func(net.Listener) (process, error) {
			return c.broker(s, root, cfg.Broker)
		}))
	}
	return c
}

// NameServerText is the addresses of all name servers as clients are given them.
func (c *Cluster) NameServerText() string {
	var addrs []string
	for _, s := range c.NameServers {
		addrs = append(addrs, s.Addr)
	}
	return strings.Join(addrs, ";")
}

func (c *Cluster) start(name string, maker func(*Server) func(net.Listener) (process, error)) *Server {
	c.t.Helper()
	s := &Server{t: c.t, Name: name, Addr: "127.0.0.1:0"}
	s.make = maker(s)
	if strings.HasPrefix(name, "broker-") {
		s.started = func() { c.awaitRegistered(s) }
	}
	s.Start()
	c.t.Cleanup(s.Stop)
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("%s logged:\n%s", s.Name, s.log.String())
		}
	})
	return s
}

// Start starts the server, again at the address that it had.
func (s *Server) Start() {
	s.t.Helper()
	if s.stop != nil {
		return
	}
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		s.t.Fatalf("%s: %v", s.Name, err)
	}
	s.Addr = l.Addr().String()
	p, err := s.make(l)
	if err != nil {
		s.t.Fatalf("%s: %v", s.Name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	part := func(what string, f func() error) {
		parts.Go(func() {
			if err := f(); err != nil {
				s.t.Errorf("%s: %s: %v", s.Name, what, err)
			}
		})
	}
	part("serve", p.serve)
	part("run", func() error { return p.run(ctx) })
	s.stop = func() {
		drain, done := context.WithTimeout(context.Background(), stopTimeout)
		defer done()
		if err := p.shutdown(drain); err != nil {
			s.t.Errorf("%s: shutdown: %v", s.Name, err)
		}
		cancel()
		parts.Wait()
	}
	if s.started != nil {
		s.started()
	}
}

// Stop stops the server; its data stays.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

func (s *Server) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func nameServer(s *Server) func(net.Listener) (process, error) {
	return func(l net.Listener) (process, error) {
		cfg := nameserver.DefaultConfig()
		cfg.Listen.Bind, cfg.Files.KV, cfg.Files.Settings = "127.0.0.1", "", ""
		n, err := nameserver.New(cfg, nameserver.Deps{Logger: s.logger()})
		if err != nil {
			return process{}, err
		}
		return process{serve: func() error { return n.Serve(l) }, run: n.Run, shutdown: n.Shutdown}, nil
	}
}

// awaitRegistered waits until all name servers that run know the broker.
func (c *Cluster) awaitRegistered(s *Server) {
	c.t.Helper()
	conns := remoting.NewClient(nil, nil, remoting.DefaultConfig())
	defer func() { _ = conns.Close() }()
	deadline := time.Now().Add(stopTimeout)
	for _, n := range c.NameServers {
		for n.stop != nil && !knows(conns, n.Addr, s.Addr) {
			if time.Now().After(deadline) {
				c.t.Fatalf("%s does not know %s after %s", n.Name, s.Name, stopTimeout)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func knows(conns *remoting.Client, nameServer, addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	resp, err := conns.Call(ctx, nameServer, &remoting.Command{Code: protocol.GetBrokerClusterInfo})
	if err != nil {
		return false
	}
	var info protocol.ClusterInfo
	if err := javajson.Unmarshal(resp.Body, &info); err != nil {
		return false
	}
	for _, b := range info.BrokerAddrTable {
		if b.Master() == addr {
			return true
		}
	}
	return false
}

// broker makes a broker of the cluster.
func (c *Cluster) broker(s *Server, root string, change func(*broker.Config)) func(net.Listener) (process, error) {
	return func(l net.Listener) (process, error) {
		cfg := broker.DefaultConfig()
		cfg.Identity.Name, cfg.Identity.Bind, cfg.Identity.IP = s.Name, "127.0.0.1", "127.0.0.1"
		cfg.Identity.Port = int32(l.Addr().(*net.TCPAddr).Port)
		cfg.Names.Addrs = strings.Split(c.NameServerText(), ";")
		cfg.Store.Root, cfg.Store.LogFileBytes, cfg.Store.Flush = root, 16<<20, store.AsyncFlush
		if change != nil {
			change(&cfg)
		}
		b, err := broker.New(context.Background(), cfg, broker.Deps{Logger: s.logger()})
		if err != nil {
			return process{}, err
		}
		return process{serve: func() error { return b.Serve(l, nil) }, run: b.Run, shutdown: b.Shutdown}, nil
	}
}

// logText keeps what was logged.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
