// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"context"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

const (
	pushTimeout  = 300 * time.Millisecond // for connecting to and writing to one broker
	pushCapacity = 1024                   // changes that may wait; brokers also ask by themselves each second
)

// notify queues a change of the smallest id for the brokers concerned. It never waits.
func (s *Server) notify(c *minIDChange) {
	select {
	case s.changes <- c:
	default:
		s.metrics.pushes.WithLabelValues("dropped").Inc()
		s.log.Warn("push of the smallest broker id dropped, too many wait", "addr", c.addr, "id", c.id)
	}
}

// push tells brokers of changes until ctx ends.
func (s *Server) push(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-s.changes:
			for _, addr := range c.notify {
				s.pushTo(ctx, addr, c)
			}
		}
	}
}

func (s *Server) pushTo(ctx context.Context, addr string, c *minIDChange) {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	err := s.client.Oneway(ctx, addr, &remoting.Command{
		Code: protocol.NotifyMinBrokerIDChange,
		Header: header.Of(&protocol.MinBrokerIDChange{
			MinBrokerID: &c.id, MinBrokerAddr: c.addr, OfflineBrokerAddr: c.offline, HABrokerAddr: c.haAddr,
		}),
	})
	if err != nil {
		s.metrics.pushes.WithLabelValues("failed").Inc()
		s.log.Info("push of the smallest broker id failed", "addr", addr, "err", err)
		return
	}
	s.metrics.pushes.WithLabelValues("sent").Inc()
}
