// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// later keeps addresses until told to answer.
type later struct {
	mu      sync.Mutex
	replies []ReplyTo
	came    chan int32
}

func newLater() *later { return &later{came: make(chan int32, 1000)} }

func (l *later) ServeCommand(x *Exchange) {
	l.mu.Lock()
	l.replies = append(l.replies, x.ReplyTo())
	l.mu.Unlock()
	l.came <- x.Request.Code
}

// answer answers all, the last first, each with its opaque number as code.
func (l *later) answer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.replies) - 1; i >= 0; i-- {
		l.replies[i].Send(&Command{Code: l.replies[i].opaque})
	}
	l.replies = nil
}

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestAnswersOutOfOrder(t *testing.T) {
	h := newLater()
	addr, _ := serve(t, h, nil)
	c := connect(t, addr, nil, nil)
	const n = 20
	type outcome struct {
		opaque int32
		resp   *Command
		err    error
	}
	got := make(chan outcome, n)
	for i := range int32(n) {
		if i%2 == 0 {
			c.Go(&Command{Code: 1}, patience, func(resp *Command, err error) { got <- outcome{i, resp, err} })
		} else {
			go func() {
				resp, err := c.Call(bounded(t), &Command{Code: 1})
				got <- outcome{i, resp, err}
			}()
		}
		<-h.came
	}
	h.answer()
	for range n {
		o := <-got
		if o.err != nil || o.resp.Code != o.opaque+1 { // our numbers begin at 1
			t.Errorf("request %d got %+v, %v", o.opaque, o.resp, o.err)
		}
	}
}

func TestCallGivenUpDoesNotHurtTheConnection(t *testing.T) {
	h := newLater()
	addr, _ := serve(t, h, nil)
	c := connect(t, addr, nil, nil)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-h.came; cancel() }()
	if _, err := c.Call(ctx, &Command{Code: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	h.answer() // too late, dropped
	if c.Closed() {
		t.Error("connection closed")
	}
	go func() { <-h.came; h.answer() }()
	if resp, err := c.Call(bounded(t), &Command{Code: 1}); err != nil || resp.Code != 2 {
		t.Errorf("got %+v, %v", resp, err)
	}
	if n := len(c.calls.byID); n > 0 {
		t.Errorf("%d calls left in the table", n)
	}
	if _, err := c.Call(ctx, &Command{Code: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("call with an ended context: %v", err)
	}
}

func TestTimeouts(t *testing.T) {
	h := newLater()
	addr, _ := serve(t, h, nil)
	c := connect(t, addr, nil, nil)
	type outcome struct {
		after time.Duration
		err   error
	}
	start := time.Now()
	var waits []chan outcome
	for _, ms := range []int{300, 50, 150, 50} {
		done := make(chan outcome, 1)
		waits = append(waits, done)
		c.Go(&Command{Code: 1}, time.Duration(ms)*time.Millisecond, func(_ *Command, err error) {
			done <- outcome{time.Since(start), err}
		})
	}
	for i, ms := range []int{300, 50, 150, 50} {
		o := <-waits[i]
		if !errors.Is(o.err, ErrTimeout) || o.after < time.Duration(ms)*time.Millisecond {
			t.Errorf("%d ms: %v after %v", ms, o.err, o.after)
		}
	}
	h.answer()
	if c.Closed() {
		t.Error("connection closed")
	}
}

func TestPendingCallsFailWhenTheConnectionCloses(t *testing.T) {
	h := newLater()
	addr, s := serve(t, h, nil)
	c := connect(t, addr, nil, nil)
	failed := make(chan error, 2)
	c.Go(&Command{Code: 1}, time.Hour, func(_ *Command, err error) { failed <- err })
	go func() {
		_, err := c.Call(context.Background(), &Command{Code: 1})
		failed <- err
	}()
	<-h.came
	<-h.came
	s.closeAll()
	for range 2 {
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	<-c.Done()
	if _, err := c.Call(bounded(t), &Command{}); !errors.Is(err, ErrClosed) {
		t.Errorf("call on a closed connection: %v", err)
	}
	c.Go(&Command{}, time.Hour, func(_ *Command, err error) { failed <- err })
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("Go on a closed connection: %v", err)
	}
	if err := c.Oneway(&Command{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Oneway on a closed connection: %v", err)
	}
}

func TestAnswersNobodyWaitsForAreDropped(t *testing.T) {
	addr, _ := serve(t, handlerFunc(echo), nil)
	p := dial(t, addr)
	stray, _ := AppendFrame(nil, &Command{Code: 0, Opaque: 77, Flag: FlagResponse})
	p.send(stray)
	p.send(request(t, 1, 5, JSON, ""))
	if got := p.read(); got.Opaque != 5 {
		t.Errorf("got %+v", got)
	}
}

// The server asks its client, in the form that the client speaks.
func TestServerAsksClient(t *testing.T) {
	for _, s := range []Serializer{JSON, Binary} {
		t.Run(s.String(), func(t *testing.T) {
			conns := make(chan *Conn, 1)
			addr, _ := serve(t, handlerFunc(func(x *Exchange) {
				echo(x)
				conns <- x.Conn
			}), nil)
			var forms []Serializer
			asked := make(chan int32, 2)
			c := connect(t, addr, handlerFunc(func(x *Exchange) {
				forms = append(forms, x.Request.Serializer)
				echo(x)
				asked <- x.Request.Code
			}), func(c *Config) { c.Serializer = s })
			if _, err := c.Call(bounded(t), &Command{Code: 34}); err != nil {
				t.Fatal(err)
			}
			sc := <-conns
			if resp, err := sc.Call(bounded(t), &Command{Code: 307}); err != nil || resp.Remark != "307" {
				t.Errorf("got %+v, %v", resp, err)
			}
			if resp, err := sc.Call(bounded(t), &Command{Code: 200050}); err != nil || resp.Remark != "200050" {
				t.Errorf("got %+v, %v", resp, err)
			}
			if err := sc.Oneway(&Command{Code: 40}); err != nil {
				t.Error(err)
			}
			if want := []int32{307, 200050, 40}; <-asked != want[0] || <-asked != want[1] || <-asked != want[2] {
				t.Error("wrong order")
			}
			if forms[0] != s || forms[1] != JSON || forms[2] != s {
				t.Errorf("client speaks %s, was asked in %v", s, forms)
			}
		})
	}
}

func TestManyCallersShareAConnection(t *testing.T) {
	addr, _ := serve(t, handlerFunc(echo), nil)
	c := connect(t, addr, nil, func(c *Config) { c.Serializer = Binary })
	var callers sync.WaitGroup
	for i := range int32(64) {
		callers.Go(func() {
			for n := range int32(50) {
				resp, err := c.Call(bounded(t), &Command{Code: 100*i + n, Body: make([]byte, n*100)})
				if err != nil || resp.Remark != fmt.Sprint(100*i+n) || len(resp.Body) != int(n*100) {
					t.Errorf("got %+v, %v", resp, err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// A caller that would overfill the connection waits for the peer instead.
func TestCallWaitsForASlowPeer(t *testing.T) {
	release := make(chan struct{})
	addr, _ := serve(t, handlerFunc(func(x *Exchange) { <-release; x.ReplyTo().Queue(&Command{}) }), nil)
	c := connect(t, addr, nil, func(c *Config) { c.OutgoingLimit = 1 << 20 })
	var sent sync.WaitGroup
	for range 8 {
		sent.Go(func() {
			if _, err := c.Call(bounded(t), &Command{Body: make([]byte, 4<<20)}); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "the connection is full", c.out.overLimit)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, &Command{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("call that got no room: %v", err)
	}
	close(release)
	sent.Wait()
}

// Requests queued by callbacks keep the connection busy without a flush of their
// own.
func TestQueueFromCallbacks(t *testing.T) {
	addr, _ := serve(t, handlerFunc(echo), nil)
	c := connect(t, addr, nil, nil)
	const depth, total = 8, 400
	var mu sync.Mutex
	left, failed := total, 0
	ended := make(chan struct{}, depth)
	var next func(*Command, error)
	next = func(resp *Command, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil || string(resp.Body) != "body" {
			failed++
		}
		if left <= 0 {
			ended <- struct{}{}
			return
		}
		left--
		c.Queue(&Command{Body: []byte("body")}, patience, next)
	}
	for range depth {
		c.Queue(&Command{Body: []byte("body")}, patience, next)
	}
	c.Flush()
	for range depth {
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("stuck")
		}
	}
	if failed > 0 {
		t.Errorf("%d failed", failed)
	}
}
