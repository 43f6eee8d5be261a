// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package longpoll

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type wants int64

func (w wants) MatchTags(code int64) bool   { return code == int64(w) }
func (w wants) MatchProperties([]byte) bool { return true }

// wantsText wants messages with just these properties.
type wantsText string

func (wantsText) MatchTags(int64) bool                { return true }
func (w wantsText) MatchProperties(props []byte) bool { return string(props) == string(w) }

// held notes when it was resumed.
type held struct {
	Pull
	at      atomic.Int64 // ns, 0: not yet
	resumed atomic.Int32
}

func (h *held) Resume() {
	h.at.Store(time.Now().UnixNano())
	h.resumed.Add(1)
}

func newHeld(topic string, queue int32, offset int64, hold time.Duration) *held {
	h := &held{}
	h.Pull = Pull{Topic: topic, QueueID: queue, Offset: offset, Deadline: time.Now().Add(hold).UnixNano(), Owner: h}
	return h
}

func capacity(n int) func() int { return func() int { return n } }

func TestWhenAPullIsResumed(t *testing.T) {
	type news struct {
		after time.Duration
		queue int32
		next  int64
		tags  int64
		props string
	}
	const hold = 15 * time.Second
	tests := []struct {
		situation string
		filter    Filter
		quiet     bool
		news      []news
		want      time.Duration // since parking
	}{
		{"a message arrives", nil, false, []news{{time.Second, 0, 6, 0, ""}}, time.Second},
		{"nothing arrives", nil, false, nil, hold},
		{"a message arrives in another queue", nil, false, []news{{time.Second, 1, 6, 0, ""}}, hold},
		{"news of what the pull has already", nil, false, []news{{time.Second, 0, 5, 0, ""}}, hold},
		{"a message with the wanted tag", wants(7), false, []news{{time.Second, 0, 6, 7, ""}}, time.Second},
		{"a message with another tag: some seconds later", wants(7), false, []news{{time.Second, 0, 6, 8, ""}}, time.Second + DefaultMissDelay},
		{"the first of several with another tag counts", wants(7), false,
			[]news{{time.Second, 0, 6, 8, ""}, {2 * time.Second, 0, 7, 8, ""}}, time.Second + DefaultMissDelay},
		{"the wanted tag after another one", wants(7), false, []news{{time.Second, 0, 6, 8, ""}, {2 * time.Second, 0, 7, 7, ""}}, 2 * time.Second},
		{"a message with the wanted properties", wantsText("a"), false, []news{{time.Second, 0, 6, 0, "a"}}, time.Second},
		{"a message with other properties: some seconds later", wantsText("a"), false, []news{{time.Second, 0, 6, 0, "b"}}, time.Second + DefaultMissDelay},
		{"another tag just before the end", wants(7), false, []news{{hold - time.Second, 0, 6, 8, ""}}, hold},
		{"short polling: arrivals do not count", nil, true, []news{{time.Second, 0, 6, 0, ""}}, hold},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, stop := running(t, Config{Capacity: capacity(10), Workers: 2})
				defer stop()
				p := newHeld("T", 0, 5, hold)
				p.Filter, p.Quiet = tt.filter, tt.quiet
				start := time.Now()
				if err := l.Park(&p.Pull); err != nil {
					t.Fatal(err)
				}
				for _, n := range tt.news {
					time.Sleep(time.Until(start.Add(n.after)))
					l.Arrived("T", n.queue, n.next, n.tags, []byte(n.props))
				}
				time.Sleep(time.Minute)
				got := time.Duration(p.at.Load() - start.UnixNano())
				if got < tt.want || got > tt.want+2*time.Duration(tick) {
					t.Errorf("resumed after %v, want %v", got, tt.want)
				}
				if n := p.resumed.Load(); n != 1 || l.Held() != 0 {
					t.Errorf("resumed %d times, %d still held", n, l.Held())
				}
			})
		})
	}
}

// running starts a lot; stop ends it and its goroutines.
func running(t *testing.T, cfg Config) (l *Lot, stop func()) {
	t.Helper()
	l = NewLot(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.Run(ctx) }()
	return l, func() { l.Close(); cancel(); <-done }
}

func TestOneMessageResumesAllThatWantIt(t *testing.T) {
	l, stop := running(t, Config{Capacity: capacity(100), Workers: 3})
	defer stop()
	var all, others []*held
	for i := range 50 {
		p := newHeld("T", 0, 0, time.Hour)
		if i%5 == 4 {
			p.Filter = wants(9)
			others = append(others, p)
		} else {
			all = append(all, p)
		}
		if err := l.Park(&p.Pull); err != nil {
			t.Fatal(err)
		}
	}
	l.Arrived("T", 0, 1, 3, nil)
	waitFor(t, func() bool { return l.Held() == len(others) })
	for _, p := range all {
		waitFor(t, func() bool { return p.resumed.Load() == 1 })
	}
	l.Arrived("T", 0, 2, 9, nil)
	for _, p := range others {
		waitFor(t, func() bool { return p.resumed.Load() == 1 })
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("did not happen")
		}
	}
}

func TestParkRefuses(t *testing.T) {
	l, stop := running(t, Config{Capacity: capacity(1), Workers: 1})
	a, b := newHeld("T", 0, 0, time.Hour), newHeld("T", 0, 0, time.Hour)
	if err := l.Park(&a.Pull); err != nil {
		t.Fatal(err)
	}
	if err := l.Park(&b.Pull); !errors.Is(err, ErrFull) {
		t.Errorf("second pull: %v, want %v", err, ErrFull)
	}
	l.Wake(&a.Pull)
	waitFor(t, func() bool { return a.resumed.Load() == 1 })
	l.Wake(&a.Pull) // not parked any more: nothing
	if err := l.Park(&b.Pull); err != nil {
		t.Errorf("after the first was resumed: %v", err)
	}
	stop()
	if b.resumed.Load() != 1 {
		t.Error("closing did not resume what was held")
	}
	if err := l.Park(&a.Pull); !errors.Is(err, ErrClosed) {
		t.Errorf("after closing: %v, want %v", err, ErrClosed)
	}
}

// A pull that is slow to resume must not hold up whoever brings news.
func TestArrivalsDoNotWait(t *testing.T) {
	l, stop := running(t, Config{Capacity: capacity(1000), Workers: 1})
	release := make(chan struct{})
	for i := range 100 {
		p := &blocked{release: release}
		p.Pull = Pull{Topic: "T", QueueID: int32(i), Deadline: time.Now().Add(time.Hour).UnixNano(), Owner: p}
		if err := l.Park(&p.Pull); err != nil {
			t.Fatal(err)
		}
	}
	told := make(chan struct{})
	go func() {
		for i := range 100 {
			l.Arrived("T", int32(i), 1, 0, nil)
		}
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(5 * time.Second):
		t.Error("arrivals wait for the pulls they resume")
	}
	close(release)
	stop()
}

type blocked struct {
	Pull
	release chan struct{}
}

func (b *blocked) Resume() { <-b.release }

// Random parking, arrivals, wakes and deadlines from many goroutines: each pull is resumed exactly once.
func TestEachPullIsResumedOnce(t *testing.T) {
	l, stop := running(t, Config{Capacity: capacity(100_000), Workers: 4, MissDelay: 5 * time.Millisecond})
	const perWorker = 2000
	var wg sync.WaitGroup
	all := make([][]*held, 4)
	for w := range all {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			for range perWorker {
				p := newHeld("T", rnd.Int32N(8), rnd.Int64N(4), time.Duration(rnd.IntN(30))*time.Millisecond)
				if rnd.IntN(2) == 0 {
					p.Filter = wants(rnd.Int64N(3))
				}
				if err := l.Park(&p.Pull); err != nil {
					t.Error(err)
					return
				}
				all[w] = append(all[w], p)
				switch rnd.IntN(4) {
				case 0:
					l.Arrived("T", rnd.Int32N(8), rnd.Int64N(6), rnd.Int64N(3), nil)
				case 1:
					l.Wake(&all[w][rnd.IntN(len(all[w]))].Pull)
				}
			}
		})
	}
	wg.Wait()
	waitFor(t, func() bool { return l.Held() == 0 })
	stop()
	for _, ps := range all {
		for _, p := range ps {
			if n := p.resumed.Load(); n != 1 {
				t.Fatalf("resumed %d times", n)
			}
		}
	}
	for i := range l.shards {
		if s := &l.shards[i]; len(s.queues) != 0 || len(s.due) != 0 {
			t.Errorf("shard %d keeps %d queues, %d pulls", i, len(s.queues), len(s.due))
		}
	}
}

// What news costs while 50,000 pulls are held on other queues.
func BenchmarkArrived(b *testing.B) {
	l := NewLot(Config{Capacity: capacity(100_000), Workers: 1})
	for i := range 50_000 {
		p := newHeld("T", int32(i), 0, time.Hour)
		if err := l.Park(&p.Pull); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Arrived("other", 0, 1, 0, nil)
	}
}
