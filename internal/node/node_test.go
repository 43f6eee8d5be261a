// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// local is a node of both roles that others cannot disturb.
func local(t *testing.T) Config {
	t.Helper()
	cfg := Defaults(true, true)
	cfg.NameServer.Listen.Bind, cfg.NameServer.Listen.Port = "127.0.0.1", 0
	cfg.Broker.Identity.Bind, cfg.Broker.Identity.Port = "127.0.0.1", 0
	cfg.Broker.Store.LogFileBytes = 16 << 20
	cfg.HTTP = "127.0.0.1:0"
	targets := cfg.Targets()
	for _, s := range cfg.Layout(t.TempDir()).Settings {
		for _, target := range targets {
			if _, err := config.Set(target.Config, s.Key, s.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cfg
}

func TestRunStartsAndStops(t *testing.T) {
	for _, roles := range []string{"name server", "broker", "both"} {
		t.Run(roles, func(t *testing.T) {
			cfg := local(t)
			switch roles {
			case "name server":
				cfg.Broker = nil
			case "broker":
				cfg.NameServer = nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			started := false
			cfg.Started = func(a Addresses) {
				started = true
				for _, addr := range []string{a.NameServer, a.Broker, a.Fast, a.HTTP} {
					if addr == "" {
						continue
					}
					c, err := net.Dial("tcp", addr)
					if err != nil {
						t.Errorf("nobody listens: %v", err)
						continue
					}
					_ = c.Close()
				}
				if cfg.Broker != nil && cfg.NameServer != nil && !slices.Equal(a.NameServers, []string{a.NameServer}) {
					t.Errorf("the broker registers with %v, the name server is %s", a.NameServers, a.NameServer)
				}
				cancel()
			}
			if err := Run(ctx, cfg); err != nil {
				t.Errorf("Run: %v", err)
			}
			if !started {
				t.Error("never started")
			}
		})
	}
}

// A stop that is asked for while the broker reads its log after a crash is heard: the broker gives up, and the next start
// begins where this one did.
func TestStopDuringRecovery(t *testing.T) {
	cfg := local(t)
	st, err := store.Open(t.Context(), cfg.Broker.Store, store.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	appended := make(chan store.Status, 1)
	st.Append(&store.Message{Topic: "T", Body: []byte("x"), BornHost: netip.MustParseAddrPort("127.0.0.1:1"), StoreHost: netip.MustParseAddrPort("127.0.0.1:1")}, told(appended))
	st.Commit()
	if status := <-appended; status != store.OK {
		t.Fatal(status)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	abort := filepath.Join(cfg.Broker.Store.Root, "abort")
	if err := os.WriteFile(abort, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg.Started = func(Addresses) { t.Error("started") }
	if err := Run(ctx, cfg); err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := os.Stat(abort); err != nil {
		t.Errorf("the broker recovered all the same, and stopped properly: %v", err)
	}
}

// told hands on what became of an append.
type told chan<- store.Status

func (c told) Appended(a *store.Appended) { c <- a.Status }
func (told) Flush()                       {}

// fakeRole does what its functions say; without them it runs and serves until it is told to stop.
type fakeRole struct {
	stopped  chan struct{}
	run      func(context.Context) error
	leave    func()
	shutdown func() error
}

func (r *fakeRole) Serve(net.Listener) error { <-r.stopped; return nil }

func (r *fakeRole) Run(ctx context.Context) error {
	if r.run != nil {
		return r.run(ctx)
	}
	<-ctx.Done()
	return nil
}

func (r *fakeRole) Leave() {
	if r.leave != nil {
		r.leave()
	}
}

func (r *fakeRole) Shutdown(context.Context) error {
	close(r.stopped)
	if r.shutdown != nil {
		return r.shutdown()
	}
	return nil
}

func TestStopsInReverseOrder(t *testing.T) {
	n := newNode(Config{})
	n.ports = &ports{}
	var order []string
	for _, name := range []string{"first", "second", "third"} {
		n.health.set(name)
		n.start(name, &fakeRole{
			stopped:  make(chan struct{}),
			leave:    func() { order = append(order, name+" leaves") },
			shutdown: func() error { order = append(order, name); return nil },
		}, listenLocal(t, "127.0.0.1:0"))
	}
	if err := n.stop(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"third leaves", "third", "second leaves", "second", "first leaves", "first"}; !slices.Equal(order, want) {
		t.Errorf("stopped %v, want %v", order, want)
	}
}

// A part that fails is heard, with its name; the others stop all the same, and their faults are told too.
func TestFailure(t *testing.T) {
	n := newNode(Config{})
	n.ports = &ports{}
	n.start("disk", &fakeRole{stopped: make(chan struct{}), run: func(context.Context) error { return errors.New("is gone") }})
	n.start("name server", &fakeRole{stopped: make(chan struct{}), shutdown: func() error { return errors.New("cannot write") }})
	select {
	case <-n.failed:
	case <-time.After(patience):
		t.Fatal("nobody heard")
	}
	if err := n.stop(); err == nil || err.Error() != "disk: is gone\nstop the name server: cannot write" {
		t.Errorf("stop: %v", err)
	}
}

// What a part could not write when it was told to stop is heard, too, and stands in the log.
func TestFailureAtTheEnd(t *testing.T) {
	var log bytes.Buffer
	n := newNode(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	n.ports = &ports{}
	n.start("broker", &fakeRole{stopped: make(chan struct{}), run: func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("cannot write offsets")
	}})
	if err := n.stop(); err == nil || err.Error() != "broker: cannot write offsets" {
		t.Errorf("stop: %v", err)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "cannot write offsets") {
		t.Errorf("log: %s", log.String())
	}
}

// A broker that cannot write its state at the end must not pass for one that stopped in order.
func TestRunTellsOfStateThatWasNotWritten(t *testing.T) {
	cfg := local(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	config := filepath.Join(cfg.Broker.Store.Root, "config")
	cfg.Started = func(Addresses) {
		// A folder with something in it stands where the temporary file would be: a write fails whoever runs the test.
		if err := os.MkdirAll(filepath.Join(config, "consumerOffset.json.tmp", "x"), 0o755); err != nil {
			t.Error(err)
		}
		cancel()
	}
	if err := Run(ctx, cfg); err == nil || !strings.Contains(err.Error(), "consumerOffset.json") {
		t.Errorf("Run: %v", err)
	}
}

// Running out of patience with slow requests is no failure.
func TestStopAfterDeadline(t *testing.T) {
	n := newNode(Config{})
	n.ports = &ports{}
	n.start("slow", &fakeRole{stopped: make(chan struct{}), shutdown: func() error { return context.DeadlineExceeded }})
	if err := n.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}
