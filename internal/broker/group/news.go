// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"context"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

const (
	expireEvery = 10 * time.Second // scan for silent clients
	newsEvery   = 15 * time.Second // when members are not told at once
)

// newsQueue holds the groups whose members are to be told of a change, each once: it
// is no longer than there are groups.
type newsQueue struct {
	wake chan struct{} // holds one token while there may be groups

	mu     sync.Mutex
	groups map[string]struct{}
}

func (q *newsQueue) add(group string) {
	q.mu.Lock()
	q.groups[group] = struct{}{}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *newsQueue) take() map[string]struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	groups := q.groups
	q.groups = map[string]struct{}{}
	return groups
}

// Run tells members of changes and removes silent clients until ctx ends.
func (m *Members) Run(ctx context.Context) error {
	expire := time.NewTicker(expireEvery)
	defer expire.Stop()
	later := time.NewTicker(newsEvery)
	defer later.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-expire.C:
			m.Expire(now)
		case <-m.news.wake:
			if m.o.RealTime() {
				m.tell()
			}
		case <-later.C:
			m.tell()
		}
	}
}

// tell sends NOTIFY_CONSUMER_IDS_CHANGED to all members of changed groups. It waits
// for nobody: a member that does not take it divides the queues anew after 20 s.
func (m *Members) tell() {
	for name := range m.news.take() {
		g := m.consumers.Get(name)
		if g == nil {
			continue
		}
		for _, conn := range g.audience() {
			err := conn.Oneway(&remoting.Command{
				Code:   protocol.NotifyConsumerIDsChanged,
				Header: header.Of(protocol.NotifyConsumerIDsChangedHeader{ConsumerGroup: name}),
			})
			if err != nil {
				m.o.Logger.Debug("a member could not be told of a change", "group", name, "addr", conn.RemoteAddr(), "err", err)
			}
		}
	}
}
