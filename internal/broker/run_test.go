// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func newStopped(t *testing.T) (*Broker, Config) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Identity.Bind, cfg.Identity.Port, cfg.Store.Root = "127.0.0.1", 12345, t.TempDir()
	b, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return b, cfg
}

func TestShutdownWithoutRun(t *testing.T) {
	b, _ := newStopped(t)
	for range 2 {
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if err := b.Run(context.Background()); err != nil {
		t.Errorf("run after the end: %v", err)
	}
	l := listen(t)
	if err := b.Serve(l, nil); err != nil {
		t.Errorf("serve after the end: %v", err)
	}
}

func TestFolderInUse(t *testing.T) {
	b, cfg := newStopped(t)
	defer func() {
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := New(cfg, Deps{}); err == nil || !strings.Contains(err.Error(), cfg.Store.Root) {
		t.Errorf("second broker in one folder: %v, want an error that names the folder", err)
	}
}

// A port that fails ends the serving of the other too.
func TestServeEndsWhenAPortFails(t *testing.T) {
	b, _ := newStopped(t)
	defer func() { _ = b.Shutdown(context.Background()) }()
	main, fast := listen(t), failing{listen(t)}
	served := make(chan error, 1)
	go func() { served <- b.Serve(main, fast) }()
	select {
	case err := <-served:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(testTimeout):
		t.Fatal("still serving")
	}
}

type failing struct{ net.Listener }

func (failing) Accept() (net.Conn, error) { return nil, net.ErrClosed }

// Many pulls may be held on few connections.
func TestManyHeldPulls(t *testing.T) {
	if testing.Short() {
		t.Skip("holds 20,000 pulls")
	}
	r := start(t)
	topic, group := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 100, 100 }), r.group()
	const pulls = 20_000
	c := r.dial(nil)
	answers := make(chan int32, pulls)
	for i := range pulls {
		c.Go(&remoting.Command{Code: protocol.PullMessage, Fields: pullExt(topic, group, 0, ext{
			"queueId": i % 100, "sysFlag": holdFlag, "suspendTimeoutMillis": 60_000,
		}).fields()}, time.Minute, func(a *remoting.Command, err error) {
			if err != nil {
				t.Error(err)
				a = &remoting.Command{Code: -1}
			}
			answers <- a.Code
		})
	}
	r.nowHeld(pulls)
	for q := range 100 {
		r.send(topic, "x", ext{"e": q})
	}
	for i := range pulls {
		if code := <-answers; code != protocol.Success {
			t.Fatalf("answer %d: %d", i, code)
		}
	}
	r.nowHeld(0)
}
