// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/goddard-mq/goddard/internal/broker"
	"github.com/goddard-mq/goddard/internal/metrics"
)

// brokerRole serves the broker's two ports as one.
type brokerRole struct {
	*broker.Broker
	fast net.Listener // nil: none
}

// Serve serves until Shutdown.
func (r brokerRole) Serve(main net.Listener) error { return r.Broker.Serve(main, r.fast) }

// listWait bounds how long a start waits for name servers to know the broker, so that who is told of the start can ask
// them for it. Without them it serves all the same.
const listWait = time.Second

// startBroker opens the store, which after a crash takes as long as reading the tail of its log, and serves.
func (n *node) startBroker(ctx context.Context) error {
	cfg := n.cfg.Broker
	if cfg == nil {
		return nil
	}
	if n.ports.fast == nil {
		n.log.Warn("the fast port is in use by another; clients before 4.5 cannot send here",
			"addr", hostPort(cfg.Identity.Bind, cfg.Identity.Port-fastBelow))
	}
	if len(cfg.Names.Addrs) == 0 && n.cfg.NameServer != nil {
		own := n.cfg.NameServer.Listen
		cfg.Names.Addrs = []string{reachable(own.Bind, own.Port)}
	}
	n.health.set(RoleBroker, "opening the store")
	b, err := broker.New(ctx, *cfg, broker.Deps{
		Logger:  n.log,
		Metrics: metrics.ForBroker(n.registry, cfg.Identity.Cluster, cfg.Identity.Name),
		Recovering: func(offset, end int64) {
			n.health.set(RoleBroker, fmt.Sprintf("recovering the log, at offset %d of %d", offset, end))
		},
	})
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	*cfg = *b.Config()
	n.log.Info("replication is not built yet: nothing listens on the address told to replicas",
		"addr", hostPort(cfg.Identity.HAIP, cfg.Identity.HAPort))
	n.start(RoleBroker, brokerRole{Broker: b, fast: n.ports.fast}, n.ports.broker)
	n.health.ask(RoleBroker, b.Unready)
	listed, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	b.AwaitListed(listed)
	return nil
}
