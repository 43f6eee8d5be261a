// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a configuration with small files, so that tests see them end.
func small(dir string) Config {
	cfg := DefaultConfig()
	cfg.Root = dir
	cfg.LogFileBytes = 64 << 10
	cfg.QueueFileBytes = 100 * 20
	cfg.Index.Slots, cfg.Index.Entries = 100, 200
	cfg.Files.AheadBytes = 16 << 10
	return cfg
}

// quiet drops log lines.
// With GODDARD_LOG they go to standard error.
func quiet(t testing.TB) *slog.Logger {
	if os.Getenv("GODDARD_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

func open(t testing.TB, cfg Config, change ...func(*Deps)) *Store {
	t.Helper()
	s, err := tryOpen(t, cfg, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func tryOpen(t testing.TB, cfg Config, change ...func(*Deps)) (*Store, error) {
	d := Deps{Logger: quiet(t)}
	for _, c := range change {
		c(&d)
	}
	return Open(context.Background(), cfg, d)
}

func on(fs faultfs.FS) func(*Deps) { return func(d *Deps) { d.FS = fs } }

var (
	bornHost  = netip.MustParseAddrPort("127.0.0.1:10000")
	storeHost = netip.MustParseAddrPort("127.0.0.1:10911")
)

func msg(topic string, queue int32, body string, properties ...string) *Message {
	var p []byte
	for i := 0; i+1 < len(properties); i += 2 {
		p = message.AppendProperty(p, properties[i], properties[i+1])
	}
	return &Message{Topic: topic, QueueID: queue, BornTimestamp: 1700000000000, BornHost: bornHost, StoreHost: storeHost, Body: []byte(body), Properties: p}
}

// outcome is a waiter that tests wait for.
type outcome struct {
	told    Appended
	flushed chan struct{}
}

func newOutcome() *outcome { return &outcome{flushed: make(chan struct{})} }

func (o *outcome) Appended(a *Appended) {
	o.told = *a
	o.told.PhysicalOffsets = append([]int64(nil), a.PhysicalOffsets...)
}

func (o *outcome) Flush() { close(o.flushed) }

func (o *outcome) wait(t testing.TB) Appended {
	t.Helper()
	select {
	case <-o.flushed:
		return o.told
	case <-time.After(20 * time.Second):
		t.Fatal("nobody told the outcome of an append")
		return Appended{}
	}
}

// put appends messages together and waits for all; each must succeed.
func put(t testing.TB, s *Store, messages ...*Message) []Appended {
	t.Helper()
	outcomes := make([]*outcome, len(messages))
	for i, m := range messages {
		outcomes[i] = newOutcome()
		s.Append(m, outcomes[i])
	}
	s.Commit()
	all := make([]Appended, len(messages))
	for i, o := range outcomes {
		if all[i] = o.wait(t); all[i].Status != OK {
			t.Fatalf("message %d of %d: %v: %v", i, len(messages), all[i].Status, all[i].Err)
		}
	}
	return all
}

// readAll reads a queue from an offset to its end.
func readAll(t testing.TB, s *Store, topic string, queue int32, from int64) []message.Record {
	t.Helper()
	var all []message.Record
	for {
		b, res := s.Read(nil, &ReadRequest{Topic: topic, QueueID: queue, Offset: from, MaxCount: 32})
		if res.Status != Found {
			if res.Status != OffsetOverflowOne && res.Status != NoMessageInQueue {
				t.Fatalf("read %s/%d at %d: %v", topic, queue, from, res.Status)
			}
			return all
		}
		records, err := message.DecodeAll(b)
		if err != nil {
			t.Fatalf("read %s/%d at %d: %v", topic, queue, from, err)
		}
		all = append(all, records...)
		from = res.Next
	}
}

func flushTypes(t *testing.T, test func(t *testing.T, flush FlushDiskType)) {
	for _, flush := range []FlushDiskType{SyncFlush, AsyncFlush} {
		t.Run(string(flush), func(t *testing.T) { test(t, flush) })
	}
}

func TestAppendReadReopen(t *testing.T) {
	flushTypes(t, func(t *testing.T, flush FlushDiskType) {
		cfg := small(t.TempDir())
		cfg.Flush = flush
		s := open(t, cfg)
		var want []string
		for i := range 500 {
			body := fmt.Sprintf("%d-%s", i, strings.Repeat("x", i))
			a := put(t, s, msg("T", 1, body, message.PropTags, "A", message.PropKeys, fmt.Sprintf("k%d", i)))[0]
			if a.QueueOffset != int64(i) || a.Count != 1 || a.StoreTimestamp == 0 {
				t.Fatalf("message %d: %+v", i, a)
			}
			want = append(want, body)
		}
		check := func(s *Store) {
			t.Helper()
			got := readAll(t, s, "T", 1, 0)
			if len(got) != len(want) {
				t.Fatalf("%d messages, want %d", len(got), len(want))
			}
			for i, r := range got {
				if string(r.Body) != want[i] || r.QueueOffset != int64(i) || r.BodyCRC != message.BodyCRC(r.Body) {
					t.Fatalf("message %d is %d %q", i, r.QueueOffset, r.Body)
				}
				b, err := s.View(r.PhysicalOffset)
				if err != nil || !bytes.Contains(b, r.Body) {
					t.Fatalf("view of %d: %v", i, err)
				}
				found, err := s.Query("T", fmt.Sprintf("k%d", i), 32, 0, 1<<62)
				if err != nil || found.Count != 1 || !bytes.Equal(found.Records, b) {
					t.Fatalf("query of k%d: %d found, %v", i, found.Count, err)
				}
			}
		}
		check(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, cfg)
		check(s)
		if a := put(t, s, msg("T", 1, "next"))[0]; a.QueueOffset != 500 {
			t.Errorf("offset after reopening is %d", a.QueueOffset)
		}
	})
}

// told counts messages that arrived.
type told struct {
	mu  sync.Mutex
	all []string
}

func (a *told) arrived(x Arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	tags, _ := message.FindProperty(x.Properties, message.PropTags)
	a.all = append(a.all, fmt.Sprintf("%s/%d->%d %s %d", x.Topic, x.QueueID, x.Next, tags, x.TagsCode))
}

func TestArrivals(t *testing.T) {
	flushTypes(t, func(t *testing.T, flush FlushDiskType) {
		var a told
		cfg := small(t.TempDir())
		cfg.Flush = flush
		s := open(t, cfg, func(d *Deps) { d.Arrived = a.arrived })
		half := msg("T", 0, "half")
		half.SysFlag = message.TransactionPrepared
		put(t, s, msg("T", 0, "x", message.PropTags, "A"), msg("U", 3, "y"), half, msg("T", 0, "z"))
		want := []string{"T/0->1 A 65", "U/3->1  0", "T/0->2  0"}
		if got := fmt.Sprint(a.all); got != fmt.Sprint(want) {
			t.Errorf("arrived %v, want %v", got, want)
		}
	})
}

func pauseBriefly() { runtime.Gosched() }

// tick waits until the clock shows another millisecond.
func tick(t testing.TB) {
	t.Helper()
	for from := time.Now().UnixMilli(); time.Now().UnixMilli() <= from+1; {
		time.Sleep(200 * time.Microsecond)
	}
}

// When the store cannot be opened, whoever opened other files of the folder closes them before the lock is given back.
func TestLockOutlivesWhatItGuards(t *testing.T) {
	cfg := small("/store")
	disk := faultfs.NewDisk()
	s := open(t, cfg, on(disk))
	put(t, s, msg("T", 0, "x"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	abandoned := 0
	_, err := tryOpen(t, cfg, on(disk), func(d *Deps) {
		d.BatchTopic = func(string) (batch, ok bool) { return true, true } // its queues are others
		d.Abandon = func() {
			abandoned++
			if lock, err := disk.Lock("/store/lock"); err == nil {
				t.Error("the folder is not locked any more")
				lock.Close()
			}
		}
	})
	if err == nil || abandoned != 1 {
		t.Errorf("%v, abandoned %d times", err, abandoned)
	}
	lock, err := disk.Lock("/store/lock")
	if err != nil {
		t.Fatalf("the lock was not given back: %v", err)
	}
	defer lock.Close()
	if _, err := tryOpen(t, cfg, on(disk), func(d *Deps) { d.Abandon = func() { t.Error("abandoned without the lock") } }); err == nil {
		t.Error("it opens")
	}
}
