// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"sync"
	"syscall"
	"testing"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Connections that say nothing, or half a frame, cost little memory and hinder nobody.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	count := 1000
	if !testing.Short() && openFiles() >= 16_000 {
		count = 10_000
	}
	s := start(t, setup{})
	w := dial(t, s.broker)
	w.createTopic("idle", 1)
	before := s.rss()

	half := frame(t, remoting.JSON, 1, outgoing{topic: "idle", body: make([]byte, 1000)}.command())[:300]
	idle := make([]raw, count)
	var wait sync.WaitGroup
	const dialers = 8
	for d := range dialers {
		wait.Go(func() {
			for i := d; i < count; i += dialers {
				r, err := tryDialRaw(s.broker)
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				if idle[i] = r; i%2 == 0 {
					if _, err := r.Write(half); err != nil {
						t.Errorf("connection %d: %v", i, err)
						return
					}
				}
			}
		})
	}
	wait.Wait()
	defer func() {
		for _, r := range idle {
			if r.TCPConn != nil {
				r.abort()
			}
		}
	}()
	if t.Failed() {
		return
	}
	served := beside(t, dial(t, s.broker), outgoing{topic: "idle", body: []byte("good")}.command(), func() {
		for range 50 {
			w.must(protocol.GetMaxOffset, protocol.QueueHeader{Topic: "idle"}, nil)
		}
		eventually(t, "some good sends", func() bool { return w.maxOffset("idle", 0) >= 10 })
	})
	each := (s.rss() - before) / int64(count)
	t.Logf("%d connections, %d bytes each; %d good requests beside them", count, each, served)
	if each > 16<<10 {
		t.Errorf("an idle connection costs %d bytes", each)
	}
	if n := w.maxOffset("idle", 0); n != served {
		t.Errorf("%d messages stored, %d sent: half a frame is no message", n, served)
	}
}

// openFiles is how many files this process may have open.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}
