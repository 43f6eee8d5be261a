// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package router

import (
	"regexp"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// gate is a handler that tells when it runs and waits to be let through.
type gate struct {
	running, most atomic.Int32
	entered, open chan struct{}
}

func newGate() *gate {
	return &gate{entered: make(chan struct{}, 1000), open: make(chan struct{})}
}

func (g *gate) handle(x *remoting.Exchange) (*remoting.Command, error) {
	n := g.running.Add(1)
	defer g.running.Add(-1)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			break
		}
	}
	g.entered <- struct{}{}
	<-g.open
	return &remoting.Command{Remark: string(x.Request.Body)}, nil
}

func TestLaneBoundsWhatRunsAndWaits(t *testing.T) {
	g := newGate()
	lane := NewLane(LaneConfig{Name: "pull", Workers: 3, Capacity: 5})
	a := serve(t, New(Config{}, []Route{
		{Code: 1, Name: "SLOW", Handle: g.handle, Lane: lane},
		{Code: 2, Name: "INLINE", Handle: fixed(0, "inline")},
	}), 513)
	var taken []<-chan string
	for range 8 {
		taken = append(taken, a.start(1))
	}
	for range 3 {
		<-g.entered
	}
	if got := a.ask(2); got != "0 inline" { // the reader has queued them all
		t.Errorf("inline route got %q", got)
	}
	if lane.Size() != 5 || lane.Capacity() != 5 || lane.HeadWait() <= 0 {
		t.Errorf("%d of %d waiting, the first %v", lane.Size(), lane.Capacity(), lane.HeadWait())
	}
	want := "2 [OVERLOAD]system busy, start flow control for a while, lane pull has 5 waiting"
	if got := a.ask(1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	close(g.open)
	for _, c := range taken {
		if got := <-c; got != "0 body" {
			t.Errorf("got %q", got)
		}
	}
	if g.most.Load() != 3 || lane.Size() != 0 || lane.HeadWait() != 0 {
		t.Errorf("%d ran at once, %d wait, the first %v", g.most.Load(), lane.Size(), lane.HeadWait())
	}
}

func TestLaneBoundsBytes(t *testing.T) {
	g := newGate()
	lane := NewLane(LaneConfig{Name: "admin", Workers: 1, Capacity: 100, MaxBytes: 10})
	a := serve(t, New(Config{}, []Route{{Code: 1, Handle: g.handle, Lane: lane}, {Code: 2, Handle: fixed(0, "")}}), 513)
	running := a.start(1)
	<-g.entered
	waiting := []<-chan string{a.start(1), a.start(1)} // 4 bytes each
	want := "2 [OVERLOAD]system busy, start flow control for a while, lane admin has 2 waiting"
	if got := a.ask(1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	close(g.open)
	for _, c := range append(waiting, running) {
		if got := <-c; got != "0 body" {
			t.Errorf("got %q", got)
		}
	}
	if got := a.ask(1); got != "0 body" {
		t.Errorf("after it emptied: %q", got)
	}
}

// A request that waited too long is refused in time, although no worker is free to
// look at it.
func TestLaneRefusesWhatWaitedTooLong(t *testing.T) {
	g := newGate()
	const wait = 50 * time.Millisecond
	lane := NewLane(LaneConfig{Name: "send", Workers: 1, Capacity: 100, MaxWait: wait})
	a := serve(t, New(Config{}, []Route{{Code: 1, Handle: g.handle, Lane: lane}}), 513)
	running := a.start(1)
	<-g.entered
	start := time.Now()
	refusal := regexp.MustCompile(`^2 \[TIMEOUT_CLEAN_QUEUE\]broker busy, start flow control for a while, ` +
		`period in queue: \d+ms, size of queue: [12], lane send$`)
	for _, c := range []<-chan string{a.start(1), a.start(1)} {
		if got := <-c; !refusal.MatchString(got) {
			t.Errorf("got %q", got)
		}
	}
	if took := time.Since(start); took < wait {
		t.Errorf("refused after %v", took)
	}
	close(g.open)
	if got := <-running; got != "0 body" {
		t.Errorf("the one that ran got %q", got)
	}
	if got := a.ask(1); got != "0 body" {
		t.Errorf("afterwards: %q", got)
	}
}

func TestLaneHasNoGoroutinesWithoutWork(t *testing.T) {
	lane := NewLane(LaneConfig{Name: "x", Workers: 8, Capacity: 100})
	a := serve(t, New(Config{}, []Route{{Code: 1, Handle: fixed(0, ""), Lane: lane}}), 513)
	a.ask(1)
	<-lane.whenIdle()
	before := runtime.NumGoroutine()
	for range 100 {
		a.ask(1)
	}
	<-lane.whenIdle()
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestLaneRequestsAreTheHandlersOwn(t *testing.T) {
	kept := make(chan *remoting.Exchange, 100)
	lane := NewLane(LaneConfig{Name: "x", Workers: 4, Capacity: 100})
	a := serve(t, New(Config{}, []Route{{Code: 1, Lane: lane, Handle: func(x *remoting.Exchange) (*remoting.Command, error) {
		kept <- x
		return &remoting.Command{}, nil
	}}}), 513)
	for range 50 {
		a.ask(1)
	}
	close(kept)
	for x := range kept {
		if string(x.Request.Body) != "body" {
			t.Errorf("body became %q", x.Request.Body)
		}
	}
}

func TestCloseWaitsForLanes(t *testing.T) {
	g := newGate()
	lane := NewLane(LaneConfig{Name: "x", Workers: 1, Capacity: 10})
	r := New(Config{}, []Route{{Code: 1, Handle: g.handle, Lane: lane}})
	a := serve(t, r, 400)
	answers := []<-chan string{a.start(1), a.start(1)}
	<-g.entered
	for lane.Size() == 0 {
		runtime.Gosched()
	}
	r.Close(10 * time.Millisecond) // returns although one is stuck
	closed := make(chan struct{})
	go func() {
		r.Close(patience)
		close(closed)
	}()
	select {
	case <-closed:
		t.Fatal("Close did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	close(g.open)
	<-closed
	for _, c := range answers {
		if got := <-c; got != "0 body" {
			t.Errorf("got %q", got)
		}
	}
}

func TestJobQueueKeepsOrder(t *testing.T) {
	var q jobQueue
	next, out := 0, 0
	for round := range 200 {
		for range round%7 + 1 {
			q.push(job{bytes: next})
			next++
		}
		for range round % 6 {
			if got := q.pop(); got.bytes != out {
				t.Fatalf("got %d, want %d", got.bytes, out)
			}
			out++
		}
	}
	for q.len() > 0 {
		if got := q.pop(); got.bytes != out {
			t.Fatalf("got %d, want %d", got.bytes, out)
		}
		out++
	}
	if out != next || q.ring != nil {
		t.Errorf("%d of %d came out, ring of %d kept", out, next, len(q.ring))
	}
}
