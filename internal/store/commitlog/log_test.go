// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var host = netip.MustParseAddrPort("127.0.0.1:10911")

// testLog is a log with what it dispatched.
type testLog struct {
	*Log
	mu         sync.Mutex
	dispatched []int64 // physical offsets
}

func newLog(t testing.TB, fs faultfs.FS, change func(*Config)) *testLog {
	t.Helper()
	h := segment.NewHandles(fs, 8)
	x := &testLog{}
	cfg := Config{
		Handles: h, Dirs: []string{"/log"}, FileSize: 8192, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		SyncTimeout: time.Second, FlushInterval: time.Hour, TailBytes: 32 << 10, PendingBytes: 1 << 20, Ahead: 4096,
		Dispatch: func(entries []Entry, end int64) {
			x.mu.Lock()
			defer x.mu.Unlock()
			for _, e := range entries {
				x.dispatched = append(x.dispatched, e.PhysicalOffset)
			}
		},
	}
	if change != nil {
		change(&cfg)
	}
	log, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x.Log = log
	t.Cleanup(func() {
		log.Close()
		h.Close()
	})
	return x
}

func draft(body string) Draft {
	return Draft{Record: message.Record{BornHost: host, StoreHost: host, Topic: []byte("T"), Body: []byte(body)}}
}

// answers collects what waiters are told, in order.
type answers struct {
	mu  sync.Mutex
	all []string
	n   atomic.Int32
}

type answer struct {
	a    *answers
	name string
}

func (w answer) Appended(x *Appended) {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	w.a.all = append(w.a.all, fmt.Sprintf("%s %v %d@%d", w.name, x.Status, x.QueueOffset, x.PhysicalOffset))
}

func (w answer) Flush() {
	w.a.mu.Lock()
	defer w.a.mu.Unlock()
	w.a.all = append(w.a.all, "flush "+w.name)
	w.a.n.Add(1)
}

func (a *answers) wait(t *testing.T, n int32) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); a.n.Load() < n; {
		if time.Now().After(end) {
			t.Fatalf("%d of %d answers", a.n.Load(), n)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func add(t *testing.T, l *testLog, c *Counter, a *answers, name string, drafts ...Draft) {
	t.Helper()
	if status, err := l.Append(c, drafts, answer{a, name}, false); err != nil {
		t.Fatalf("%s: %v, %v", name, status, err)
	}
}

// Waiters of a group are told in the order of the log, all before the first is flushed, after the group was dispatched.
func TestGroup(t *testing.T) {
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprintf("sync=%v", sync), func(t *testing.T) {
			l := newLog(t, faultfs.NewDisk(), func(c *Config) { c.Sync = sync })
			l.Start(0)
			var a answers
			var q, other Counter
			l.SetNext(&q, 7)
			l.writing.Lock() // so that all of it is one group
			add(t, l, &q, &a, "a", draft("1"))
			add(t, l, &other, &a, "b", draft("2"), draft("3"))
			add(t, l, &q, &a, "c", draft("4"))
			l.Commit()
			l.writing.Unlock()
			l.Commit()
			a.wait(t, 3)
			want := "[a PUT_OK 7@0 b PUT_OK 0@93 c PUT_OK 8@279 flush a flush b flush c]"
			if got := fmt.Sprint(a.all); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if got := fmt.Sprint(l.dispatched); got != "[0 93 186 279]" {
				t.Errorf("dispatched %s", got)
			}
			if l.Next(&q) != 9 || l.Next(&other) != 2 {
				t.Errorf("counters are %d and %d", l.Next(&q), l.Next(&other))
			}
			flushed, _ := l.Flushed()
			if l.Max() != 372 || l.Confirmed() != 372 || sync && flushed != 372 {
				t.Errorf("max %d, confirmed %d, flushed %d", l.Max(), l.Confirmed(), flushed)
			}
		})
	}
}

// With sync flush who does not wait for the disk is told after the write, everybody else after the sync; nothing is
// visible before it.
func TestNoWait(t *testing.T) {
	disk := faultfs.NewDisk()
	l := newLog(t, disk, func(c *Config) { c.Sync = true })
	l.Start(0)
	var a answers
	var q Counter
	add(t, l, &q, &a, "first", draft("0")) // makes the file
	l.Commit()
	a.wait(t, 1)
	told := make(chan string, 1)
	l.writing.Lock()
	l.Append(&q, []Draft{draft("1")}, answer{&a, "waits"}, false)
	l.Append(&q, []Draft{draft("2")}, answer{&a, "does not"}, true)
	l.writing.Unlock()
	disk.Fault(func(op faultfs.Op) error {
		if op.Kind == faultfs.OpSync {
			a.mu.Lock()
			defer a.mu.Unlock()
			select {
			case told <- fmt.Sprint(a.all[2:], l.Confirmed()):
			default:
			}
		}
		return nil
	})
	l.Commit()
	if got := <-told; got != "[does not PUT_OK 2@186 flush does not] 93" {
		t.Errorf("before the sync: %s", got)
	}
	a.wait(t, 3)
	if l.Confirmed() != 279 {
		t.Errorf("confirmed %d", l.Confirmed())
	}
}

// A record whose appender forgets to commit is written all the same.
func TestForgottenCommit(t *testing.T) {
	for _, sync := range []bool{false, true} {
		l := newLog(t, faultfs.NewDisk(), func(c *Config) { c.Sync = sync })
		l.Start(0)
		var a answers
		var q Counter
		for i := range int32(3) {
			add(t, l, &q, &a, "x", draft("x"))
			a.wait(t, i+1)
		}
	}
}

// A group that cannot be written because the disk is full is taken back, with all that was appended after it.
func TestTakenBack(t *testing.T) {
	disk := faultfs.NewDisk()
	l := newLog(t, disk, nil)
	l.Start(0)
	var a answers
	var q, other Counter
	add(t, l, &q, &a, "stored", draft("1"))
	l.Commit()
	var full atomic.Bool
	disk.Fault(func(op faultfs.Op) error {
		if full.Load() && op.Kind == faultfs.OpWrite {
			return errNoSpace
		}
		return nil
	})
	full.Store(true)
	add(t, l, &q, &a, "a", draft("2"), draft("3"))
	add(t, l, &other, &a, "b", draft("4"))
	l.Commit()
	a.wait(t, 3)
	if got := fmt.Sprint(a.all[2:]); got != "[a SERVICE_NOT_AVAILABLE 0@0 b SERVICE_NOT_AVAILABLE 0@0 flush a flush b]" {
		t.Errorf("answers %s", got)
	}
	if l.Next(&q) != 1 || l.Next(&other) != 0 || !errors.Is(l.Writable(), ErrNoSpace) || l.Err() != nil {
		t.Errorf("counters %d %d, writable %v", l.Next(&q), l.Next(&other), l.Writable())
	}
	if status, err := l.Append(&q, []Draft{draft("5")}, answer{&a, "refused"}, false); status != ServiceNotAvailable || !errors.Is(err, ErrNoSpace) {
		t.Errorf("refused with %v, %v", status, err)
	}
	full.Store(false)
	l.Retry()
	add(t, l, &q, &a, "again", draft("6"))
	l.Commit()
	a.wait(t, 4)
	if got := a.all[6]; got != "again PUT_OK 1@93" {
		t.Errorf("answer %s", got)
	}
	var r message.Record
	if b, err := l.Record(nil, 93, &r); err != nil || string(r.Body) != "6" || len(b) != 93 {
		t.Errorf("record %q, %v", r.Body, err)
	}
}

var errNoSpace = &os.PathError{Op: "write", Path: "/log", Err: noSpaceErrno}

// Reading gives the same from memory and from the files, while chunks come and go.
func TestReadersBesideAppends(t *testing.T) {
	l := newLog(t, faultfs.NewDisk(), func(c *Config) { c.TailBytes = 16 << 10 })
	l.Start(0)
	var q Counter
	var at []int64
	var mu sync.Mutex
	var all sync.WaitGroup
	done := make(chan struct{})
	for r := range 3 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				if len(at) == 0 {
					mu.Unlock()
					continue
				}
				i := (n*31 + r) % len(at)
				off := at[i]
				mu.Unlock()
				var rec message.Record
				if _, err := l.Record(nil, off, &rec); err != nil || !strings.HasPrefix(string(rec.Body), fmt.Sprint(i, " ")) {
					t.Errorf("record %d at %d: %.10q, %v", i, off, rec.Body, err)
					return
				}
			}
		})
	}
	for i := range 1500 {
		var a told
		if _, err := l.Append(&q, []Draft{draft(fmt.Sprint(i, " ", strings.Repeat("x", i%700)))}, &a, false); err != nil {
			t.Fatal(err)
		}
		for l.Commit(); !a.done.Load(); l.Commit() {
			time.Sleep(time.Microsecond)
		}
		mu.Lock()
		at = append(at, a.PhysicalOffset)
		mu.Unlock()
	}
	close(done)
	all.Wait()
	if n := len(*l.tail.index.Load()); n > 4 {
		t.Errorf("the tail has %d chunks", n)
	}
	if l.InTail(at[0]) || !l.InTail(at[len(at)-1]) || l.TailStart() == 0 {
		t.Error("the tail is not the end of the log")
	}
}

// told remembers an answer.
type told struct {
	PhysicalOffset int64
	done           atomic.Bool
}

func (w *told) Appended(a *Appended) {
	w.PhysicalOffset = a.PhysicalOffset
	w.done.Store(true)
}
func (w *told) Flush() {}

// What a log does to its disk, from an empty folder through a roll-over to the end: the order is what durability
// hangs on.
func TestOperations(t *testing.T) {
	disk := faultfs.NewDisk()
	disk.MkdirAll("/log")
	var ops []string
	var mu sync.Mutex
	disk.Trace(func(op faultfs.Op) {
		mu.Lock()
		defer mu.Unlock()
		ops = append(ops, strings.ReplaceAll(op.String(), "/log/000000000000000", ""))
	})
	l := newLog(t, disk, func(c *Config) { c.Sync, c.Ahead = true, 4096 })
	l.pos, l.started = 0, true // without the other goroutines: the order is theirs otherwise
	l.delivering.Go(l.deliverLoop)
	var a answers
	var q Counter
	add(t, l, &q, &a, "a", draft("one"))
	l.syncAll()
	add(t, l, &q, &a, "b", draft(strings.Repeat("x", 8000)))
	add(t, l, &q, &a, "c", draft("three"))
	l.syncAll()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	got := strings.Join(ops, "\n")
	golden, err := os.ReadFile("testdata/operations.txt")
	if os.Getenv("GODDARD_UPDATE") != "" {
		err = os.WriteFile("testdata/operations.txt", []byte(got+"\n"), 0o644)
	} else if err == nil && got+"\n" != string(golden) {
		t.Errorf("operations:\n%s\nwant:\n%s", got, golden)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSeal(t *testing.T) {
	d := draft("body")
	d.Record.Properties = AppendSeal([]byte("KEYS\x01k\x02"))
	d.Sealed = true
	l := newLog(t, faultfs.NewDisk(), nil)
	l.Start(0)
	var a answers
	var q Counter
	add(t, l, &q, &a, "sealed", d)
	l.Commit()
	a.wait(t, 1)
	var r message.Record
	b, err := l.Record(nil, 0, &r)
	if err != nil {
		t.Fatal(err)
	}
	if present, right := sealState(b); !present || !right {
		t.Errorf("seal present %v, right %v: %q", present, right, r.Properties)
	}
	sc := l.Scan(0, l.Confirmed(), CheckSeal)
	defer sc.Close()
	if _, err := sc.Next(&r); err != nil {
		t.Errorf("scan: %v", err)
	}
	b[50] ^= 1
	if present, right := sealState(b); !present || right {
		t.Errorf("spoiled: present %v, right %v", present, right)
	}
	// The record of the format's description, whose sum is 1925944651.
	vector := append(bytes.Repeat([]byte{0}, 10), AppendSeal(nil)...)
	fillSeal(vector)
	if present, right := sealState(vector); !present || !right {
		t.Error("a seal of nothing but zeros is wrong")
	}
}

func TestLimits(t *testing.T) {
	l := newLog(t, faultfs.NewDisk(), func(c *Config) { c.PendingBytes = 1000 })
	l.Start(0)
	var a answers
	var q Counter
	l.writing.Lock()
	add(t, l, &q, &a, "large but alone", draft(strings.Repeat("x", 2000)))
	if status, err := l.Append(&q, []Draft{draft("x")}, answer{&a, "busy"}, false); status != Busy || !errors.Is(err, ErrBusy) {
		t.Errorf("%v, %v", status, err)
	}
	l.writing.Unlock()
	if status, err := l.Append(&q, []Draft{draft(strings.Repeat("x", 8192-92-7))}, answer{&a, "too large"}, false); status != MessageIllegal || err == nil {
		t.Errorf("%v, %v", status, err)
	}
	l.Commit()
	a.wait(t, 1)
	l.Abandon([]*Counter{&q})
	if _, err := l.Append(&q, []Draft{draft("x")}, answer{&a, "gone"}, false); err != ErrQueueGone {
		t.Errorf("to a removed queue: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var other Counter
	if status, err := l.Append(&other, []Draft{draft("x")}, answer{&a, "closed"}, false); status != ServiceNotAvailable || err != ErrClosed {
		t.Errorf("after closing: %v, %v", status, err)
	}
}
