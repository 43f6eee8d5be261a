// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package offset

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// broadcastFixture is a Broadcast with a clock and clients that are online or not.
type broadcastFixture struct {
	*Broadcast
	table  *Table
	now    time.Time
	online map[string]bool
}

func newBroadcastFixture(t *testing.T) *broadcastFixture {
	t.Helper()
	f := &broadcastFixture{now: time.Unix(1_000_000, 0), online: map[string]bool{}}
	var err error
	f.table, err = Open(Options{
		Path: filepath.Join(t.TempDir(), "consumerOffset.json"), Logger: slog.New(slog.DiscardHandler),
		FlushInterval: func() time.Duration { return time.Hour }, VersionStep: func() int64 { return 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Broadcast = NewBroadcast(BroadcastOptions{
		Offsets: f.table, Online: func(_, client string) bool { return f.online[client] },
		Begin:  func(string, int32) int64 { return 1000 },
		Expiry: func() time.Duration { return 120 * time.Second }, MaxExpiry: func() time.Duration { return 300 * time.Second },
		Now: func() time.Time { return f.now },
	})
	return f
}

func puller(client string, queue int32, proxied bool) *Puller {
	return &Puller{Topic: "T", Group: "G", Client: client, Queue: queue, Proxied: proxied}
}

func TestBroadcastBegin(t *testing.T) {
	const asks = -99 // an offset that Begin leaves alone
	for _, c := range []struct {
		situation string
		before    func(f *broadcastFixture)
		p         *Puller
		asked     int64
		want      int64
	}{
		{"a client that nobody knows", nil, puller("c", 0, false), 5, asks},
		{"one whose proxy knows where", nil, puller("c", 0, true), 5, asks},
		{"one whose proxy does not know, nor does anybody", nil, puller("c", 0, true), -1, 1000},
		{"one whose proxy does not know, in a group that is known", func(f *broadcastFixture) {
			f.table.Commit("T", BroadcastGroup("G"), 0, 40)
		}, puller("c", 0, true), -1, 40},
		{"one whose proxy forgot", func(f *broadcastFixture) { f.Pulled(puller("c", 0, true), 7) }, puller("c", 0, true), -1, 7},
		{"a member that goes on", func(f *broadcastFixture) { f.Pulled(puller("c", 0, false), 7) }, puller("c", 0, false), 3, asks},
		{"from the proxy to the broker", func(f *broadcastFixture) { f.Pulled(puller("c", 0, true), 7) }, puller("c", 0, false), 3, 7},
		{"from the broker to the proxy", func(f *broadcastFixture) { f.Pulled(puller("c", 0, false), 7) }, puller("c", 0, true), 3, 7},
		{"from the proxy to the broker, and it went on", func(f *broadcastFixture) {
			f.Pulled(puller("c", 0, true), 7)
			f.Pulled(puller("c", 0, false), 8)
		}, puller("c", 0, false), 3, asks},
		{"from the proxy to the broker, in its second queue", func(f *broadcastFixture) {
			f.Pulled(puller("c", 0, true), 7)
			f.Pulled(puller("c", 1, true), 9)
			f.Pulled(puller("c", 0, false), 7)
		}, puller("c", 1, false), 3, 9},
		{"from the proxy to the broker, in a queue that it never read", func(f *broadcastFixture) {
			f.Pulled(puller("c", 0, true), 7)
			f.table.Commit("T", BroadcastGroup("G"), 1, 40)
		}, puller("c", 1, false), 3, 40},
		{"another client of the group went over", func(f *broadcastFixture) { f.Pulled(puller("d", 0, true), 7) }, puller("c", 0, false), 3, asks},
		{"progress only grows", func(f *broadcastFixture) {
			f.Pulled(puller("c", 0, true), 7)
			f.Pulled(puller("c", 0, true), 5)
		}, puller("c", 0, false), 3, 7},
	} {
		t.Run(c.situation, func(t *testing.T) {
			f := newBroadcastFixture(t)
			if c.before != nil {
				c.before(f)
			}
			got, ok := f.Begin(c.p, c.asked)
			if !ok {
				got = asks
			}
			if got != c.want {
				t.Fatalf("begins at %d, want %d", got, c.want)
			}
		})
	}
}

func TestBroadcastSettle(t *testing.T) {
	f := newBroadcastFixture(t)
	committed := func() map[int32]int64 { return f.table.Offsets("T", BroadcastGroup("G")) }
	f.Pulled(puller("a", 0, false), 10)
	f.Pulled(puller("a", 1, false), 20)
	f.Pulled(puller("b", 0, true), 5)
	f.online["a"] = true
	f.Settle()
	if d := cmp.Diff(map[int32]int64{0: 5, 1: 20}, committed()); d != "" {
		t.Fatal(d)
	}
	// b goes silent: it counts for two minutes.
	f.now = f.now.Add(119 * time.Second)
	f.Pulled(puller("a", 0, false), 11)
	f.Settle()
	if committed()[0] != 5 {
		t.Fatalf("%v", committed())
	}
	f.now = f.now.Add(time.Second)
	f.Settle()
	if committed()[0] != 11 || f.count != 1 {
		t.Fatalf("%v of %d clients", committed(), f.count)
	}
	// a is connected and does not pull: five minutes.
	f.now = f.now.Add(298 * time.Second)
	f.Settle()
	if f.count != 1 {
		t.Fatal("forgotten too early")
	}
	f.now = f.now.Add(time.Second)
	f.Settle()
	if f.count != 0 || len(f.clients) != 0 || committed()[0] != 11 {
		t.Fatalf("%d clients, %v", f.count, committed())
	}
	// Nobody is shown a group of that name.
	if got := f.table.GroupsOf("T"); got != nil {
		t.Fatalf("groups %v", got)
	}
}

func TestBroadcastRemoval(t *testing.T) {
	f := newBroadcastFixture(t)
	for _, topic := range []string{"T", "U"} {
		for _, group := range []string{"G", "H"} {
			f.Pulled(&Puller{Topic: topic, Group: group, Client: "c"}, 1)
		}
	}
	f.RemoveTopic("T")
	f.RemoveGroup("H")
	if f.count != 1 || f.clients[broadcasting{"U", "G"}] == nil {
		t.Fatalf("%d clients, %v", f.count, f.clients)
	}
}

func TestBroadcastIsBounded(t *testing.T) {
	f := newBroadcastFixture(t)
	f.count = maxBroadcasters - 1
	f.Pulled(puller("a", 0, true), 1)
	f.Pulled(puller("b", 0, true), 1)
	f.Pulled(puller("a", 0, true), 2)
	if f.count != maxBroadcasters || len(f.clients[broadcasting{"T", "G"}]) != 1 {
		t.Fatalf("%d clients", f.count)
	}
}

func TestBroadcastConcurrently(t *testing.T) {
	f := newBroadcastFixture(t)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = f.Run(ctx) })
	var work sync.WaitGroup
	for w := range 4 {
		work.Go(func() {
			for i := range 200 {
				p := puller(fmt.Sprint("c", w), int32(i%3), i%7 == 0)
				f.Begin(p, int64(i))
				f.Pulled(p, int64(i))
				if w == 0 {
					f.Settle()
				}
			}
		})
	}
	work.Wait()
	stop()
	all.Wait()
	f.Settle()
	if got := f.table.Offsets("T", BroadcastGroup("G")); got[0] != 198 || got[1] != 199 || got[2] != 197 {
		t.Fatalf("%v", got)
	}
}

func TestProgressOfQueues(t *testing.T) {
	f := newBroadcastFixture(t)
	at := time.Unix(5, 6)
	f.table.Commit("T", "G", 0, 3)
	f.table.Commit("T", "G", 1, -1)
	f.table.SetPulled([]byte("T"), []byte("G"), 2, Pull{Next: 9, At: at, By: 7})
	want := []Progress{{}, {Committed: 3, Known: true}, {Committed: -1}, {PulledAt: at.UnixNano(), PulledBy: 7}}
	if d := cmp.Diff(want, f.table.Progress(make([]Progress, 1), "T", "G", 3)); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff([]Progress{{}, {}}, f.table.Progress(nil, "T", "none", 2)); d != "" {
		t.Fatal(d)
	}
}
