// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goddard-mq/goddard/internal/metrics"
	"github.com/goddard-mq/goddard/internal/nameserver"
)

// The parts of a node, in errors, on /readyz and in logs.
const (
	RoleNameServer = "name server"
	RoleBroker     = "broker"
	RoleHTTP       = "HTTP server"
)

// drainTime is how long requests in hand may take to be answered once a stop was asked for. Held pulls are answered at
// once; what was acknowledged is on disk whatever this says.
const drainTime = 700 * time.Millisecond

// Addresses are where a node listens, HOST:PORT each; "" where nothing does.
type Addresses struct {
	NameServer  string
	Broker      string
	Fast        string // two below: everything but pulls, for old clients (RocketMQ: VIP channel)
	HTTP        string
	Advertised  string   // where name servers send clients of the broker
	NameServers []string // where the broker registers
}

// role is what a node starts and stops.
type role interface {
	Serve(net.Listener) error       // until Shutdown
	Run(context.Context) error      // what happens without a request
	Leave()                         // sends clients elsewhere, when the settings want that, and waits for them to go
	Shutdown(context.Context) error // answers what is in hand until the context ends, persists
}

// node is a process while it runs.
type node struct {
	cfg      Config
	log      *slog.Logger
	ports    *ports
	health   *health
	registry *prometheus.Registry

	stops   []func() error // of what was started, in order
	drain   time.Duration  // what is left of drainTime
	running sync.WaitGroup // goroutines of the parts

	mu     sync.Mutex    // guards faults
	faults []error       // of the parts, in the order in which they ended
	failed chan struct{} // closed with the first of them
}

// Run starts the roles of cfg, whose ports it fills in, and stops them when ctx ends or one of them fails. It returns
// when everything has stopped; nil when ctx was the reason and nothing went wrong at the end: what could not be written
// then is in the error.
func Run(ctx context.Context, cfg Config) (err error) {
	n := newNode(cfg)
	if n.ports, err = openPorts(ctx, &n.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	n.startHTTP()
	for _, start := range []func(context.Context) error{n.startNameServer, n.startBroker} {
		err := start(ctx)
		if stopped := ctx.Err(); stopped != nil && (err == nil || errors.Is(err, stopped)) {
			return nil // told to stop before it had started
		}
		if err != nil {
			return err
		}
	}
	if cfg.Started != nil {
		cfg.Started(n.addresses())
	}
	select {
	case <-ctx.Done():
	case <-n.failed:
	}
	return nil // stop gives the faults
}

func newNode(cfg Config) *node {
	n := &node{cfg: cfg, log: cfg.Logger, failed: make(chan struct{}), drain: drainTime, registry: metrics.NewRegistry(cfg.Version, cfg.Revision)}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	var names []string
	if cfg.NameServer != nil {
		names = append(names, RoleNameServer)
	}
	if cfg.Broker != nil {
		names = append(names, RoleBroker)
	}
	n.health = newHealth(names...)
	return n
}

func (n *node) startHTTP() {
	if n.ports.http == nil {
		return
	}
	server := newHTTP(n.health, n.registry, n.log)
	n.serve(RoleHTTP, func() error {
		if err := server.Serve(n.ports.http); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	n.stops = append(n.stops, server.Close)
}

func (n *node) startNameServer(context.Context) error {
	if n.cfg.NameServer == nil {
		return nil
	}
	s, err := nameserver.New(*n.cfg.NameServer, nameserver.Deps{Logger: n.log, Metrics: metrics.ForNameServer(n.registry)})
	if err != nil {
		return fmt.Errorf("start the name server: %w", err)
	}
	n.start(RoleNameServer, s, n.ports.nameServer)
	n.health.set(RoleNameServer)
	return nil
}

// start lets a role serve on its listeners.
func (n *node) start(name string, r role, listeners ...net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	n.serve(name, func() error { return r.Run(ctx) })
	for _, l := range listeners {
		if l != nil {
			n.serve(name, func() error { return r.Serve(l) })
		}
	}
	n.stops = append(n.stops, func() error {
		n.health.set(name, "stopping")
		defer cancel()
		r.Leave()
		if err := n.shutdown(r); err != nil {
			return fmt.Errorf("stop the %s: %w", name, err)
		}
		return nil
	})
}

// shutdown stops a role with what the others before it left of drainTime.
func (n *node) shutdown(r role) error {
	drain, cancel := context.WithTimeout(context.Background(), n.drain)
	defer cancel()
	began := time.Now()
	err := r.Shutdown(drain)
	n.drain = max(n.drain-time.Since(began), 0)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// serve runs a part's goroutine; its failure ends the node.
func (n *node) serve(name string, part func() error) {
	n.running.Go(func() {
		if err := part(); err != nil {
			n.fault(fmt.Errorf("%s: %w", name, err))
		}
	})
}

// fault notes what went wrong in a part, while it ran or at its end.
func (n *node) fault(err error) {
	n.log.Error("a part of the server failed", "err", err)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.faults = append(n.faults, err); len(n.faults) == 1 {
		close(n.failed)
	}
}

// stop stops what was started, the last first: a broker says goodbye to a name server that still listens, and health
// can be asked until the end. The error is all that went wrong in the parts, now or before.
func (n *node) stop() error {
	for i := len(n.stops) - 1; i >= 0; i-- {
		if err := n.stops[i](); err != nil {
			n.fault(err)
		}
	}
	n.ports.close()
	n.running.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.faults...)
}

func (n *node) addresses() Addresses {
	var a Addresses
	if c := n.cfg.NameServer; c != nil {
		a.NameServer = hostPort(c.Listen.Bind, c.Listen.Port)
	}
	if c := n.cfg.Broker; c != nil {
		a.Broker = hostPort(c.Identity.Bind, c.Identity.Port)
		a.Advertised = hostPort(c.Identity.IP, c.Identity.Port)
		a.NameServers = c.Names.Addrs
		if n.ports.fast != nil {
			a.Fast = hostPort(c.Identity.Bind, portOf(n.ports.fast))
		}
	}
	if n.ports.http != nil {
		host, _, _ := net.SplitHostPort(n.cfg.HTTP)
		a.HTTP = hostPort(host, portOf(n.ports.http))
	}
	return a
}
