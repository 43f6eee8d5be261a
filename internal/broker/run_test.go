// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func newStopped(t *testing.T) (*Broker, Config) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Identity.Bind, cfg.Identity.Port, cfg.Store.Root = "127.0.0.1", 12345, t.TempDir()
	b, err := New(context.Background(), cfg, Deps{})
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

// What another broker has in hand is left alone, however it looks: it may be in the middle of a write.
func TestFolderInUse(t *testing.T) {
	b, cfg := newStopped(t)
	defer func() {
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	config := filepath.Join(cfg.Store.Root, "config")
	for _, name := range []string{"delayOffset.json", "topics.json", "consumerOffset.json", "subscriptionGroup.json"} {
		for suffix, content := range map[string]string{"": "{", ".bak": "{}"} {
			if err := os.WriteFile(filepath.Join(config, name+suffix), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := contents(t, config)
	if _, err := New(context.Background(), cfg, Deps{}); err == nil || !strings.Contains(err.Error(), cfg.Store.Root) {
		t.Errorf("second broker in one folder: %v, want an error that names the folder", err)
	}
	if d := cmp.Diff(before, contents(t, config)); d != "" {
		t.Error(d)
	}
}

// A folder that somebody else holds is not furnished: were its folders made here, nobody would make them durable.
func TestFolderInUseAndEmpty(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Identity.Bind, cfg.Identity.Port, cfg.Store.Root = "127.0.0.1", 12345, t.TempDir()
	lock, err := faultfs.OS.Lock(filepath.Join(cfg.Store.Root, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := New(context.Background(), cfg, Deps{}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(cfg.Store.Root, "config")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of settings was made before the lock was held: %v", err)
	}
}

// contents gives the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// A stop that comes while the log is read after a crash is heard, and the folder is free afterwards.
func TestNewGivesUp(t *testing.T) {
	r := start(t)
	r.fill(r.topic(), 10, "")
	r.stop()
	if err := os.WriteFile(filepath.Join(r.cfg.Store.Root, "abort"), nil, 0o600); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New(ctx, r.cfg, Deps{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	startWith(t, r.cfg)
}

// enableShutdownGracefully: clients that understand it are sent away, name servers know at once, the others are served
// until they have gone or their time is over.
func TestLeave(t *testing.T) {
	n := startNames(t, nil)
	r := start(t, func(c *Config) {
		c.Names.Addrs = []string{n.addr}
		c.Stop = StopConfig{GoAway: true, Wait: time.Minute}
	})
	topic := r.topic()
	r.until("a registration", func() bool { n.mu.Lock(); defer n.mu.Unlock(); return len(n.registrations) > 0 })
	stays := r.dial(nil)
	if _, err := stays.Call(t.Context(), &remoting.Command{Code: 9999}); err != nil { // the broker knows the connection now
		t.Fatal(err)
	}
	left := make(chan struct{})
	go func() { r.Leave(); close(left) }()
	r.until("the goodbye to the name server", func() bool { n.mu.Lock(); defer n.mu.Unlock(); return n.gone == 1 })
	r.trySend(topic, "x", nil).is(protocol.GoAway, "please go away")
	old := func() *remoting.Command {
		return &remoting.Command{Code: protocol.SendMessageV2, Fields: sendExt(topic, nil).fields(), Body: []byte("x")}
	}
	if a := r.callAs(475, old()); a.Code != protocol.Success {
		t.Errorf("a client that does not understand it: %d %s", a.Code, a.Remark)
	}
	select {
	case <-left:
		t.Error("left while somebody is connected")
	default:
	}
	_ = r.client.Close()
	_ = stays.Close()
	select {
	case <-left:
	case <-time.After(testTimeout):
		t.Fatal("nobody is connected, and the broker waits")
	}
}

func TestLeaveIsNotForEver(t *testing.T) {
	for _, c := range []struct {
		situation string
		stop      StopConfig
		code      int32
	}{
		{"the time is over", StopConfig{GoAway: true, Wait: 30 * time.Millisecond}, protocol.GoAway},
		{"not wanted", StopConfig{Wait: time.Hour}, protocol.Success},
	} {
		t.Run(c.situation, func(t *testing.T) {
			r := start(t, func(cfg *Config) { cfg.Stop = c.stop })
			topic := r.topic()
			r.send(topic, "x", nil) // a client that stays connected
			r.Leave()
			if a := r.trySend(topic, "x", nil); a.Code != c.code {
				t.Errorf("%d %s, want %d", a.Code, a.Remark, c.code)
			}
		})
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
