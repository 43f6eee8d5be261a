// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"context"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// departures is the queue of registrations that ended, so that a hundred brokers
// that leave together are one change of the table, and nobody who reports one
// waits for the table.
type departures struct {
	wake    chan struct{} // one slot: there is something to do
	mu      sync.Mutex    // guards pending
	pending []departure
}

func newDepartures() *departures { return &departures{wake: make(chan struct{}, 1)} }

// add queues ds unless more than limit would wait then; 0 is no limit.
func (q *departures) add(ds []departure, limit int) bool {
	if len(ds) == 0 {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if limit > 0 && len(q.pending)+len(ds) > limit {
		return false
	}
	q.pending = append(q.pending, ds...)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

func (q *departures) take() []departure {
	q.mu.Lock()
	defer q.mu.Unlock()
	ds := q.pending
	q.pending = nil
	return ds
}

// connections are those through which brokers registered.
type connections struct {
	mu   sync.Mutex
	byID map[uint64]*remoting.Conn
}

func (c *connections) put(conn *remoting.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[conn.ID()] = conn
}

func (c *connections) remove(id uint64) *remoting.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.byID[id]
	delete(c.byID, id)
	return conn
}

// connClosed ends what was registered through a connection.
func (s *Server) connClosed(conn *remoting.Conn, err error) {
	s.conns.remove(conn.ID())
	ds := s.table.connClosed(conn.ID())
	if len(ds) == 0 {
		return
	}
	s.metrics.departures.WithLabelValues("closed").Add(float64(len(ds)))
	for _, d := range ds {
		s.log.Info("broker hung up", "broker", d.name, "id", d.id, "addr", d.addr, "err", err)
	}
	s.departures.add(ds, 0)
}

// Run applies departures, looks for expired brokers and pushes changes of the
// smallest id, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	var pushing sync.WaitGroup
	pushing.Go(func() { s.push(ctx) })
	defer pushing.Wait()
	scan := time.NewTimer(s.config.Load().Brokers.ScanInterval)
	defer scan.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.departures.wake:
			s.applyDepartures()
		case <-scan.C:
			s.expire(time.Now())
			scan.Reset(s.config.Load().Brokers.ScanInterval)
		}
	}
}

func (s *Server) applyDepartures() {
	changes := s.table.depart(s.departures.take())
	if s.config.Load().Brokers.NotifyMinID {
		for _, c := range changes {
			s.notify(c)
		}
	}
}

// expire ends the registrations of brokers that fell silent and closes the
// connections that are of no more use.
func (s *Server) expire(now time.Time) {
	ds, conns := s.table.expired(now)
	if len(ds) == 0 {
		return
	}
	s.metrics.departures.WithLabelValues("expired").Add(float64(len(ds)))
	for _, d := range ds {
		s.log.Warn("broker fell silent", "broker", d.name, "id", d.id, "addr", d.addr)
	}
	s.departures.add(ds, 0)
	for _, id := range conns {
		if conn := s.conns.remove(id); conn != nil {
			_ = conn.Close() // it has expired: there is nobody to tell
		}
	}
}
