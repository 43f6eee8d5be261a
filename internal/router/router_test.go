// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// asker is a client of a router behind a real connection.
type asker struct {
	t    testing.TB
	conn *remoting.Conn
}

// serve puts r behind a connection, as a client of the given version sees it.
func serve(t testing.TB, r *Router, version int32) *asker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := remoting.NewServer(r, remoting.DefaultConfig())
	ended := make(chan struct{})
	go func() {
		_ = s.Serve(l)
		close(ended)
	}()
	cfg := remoting.DefaultConfig()
	cfg.Version = version
	c := remoting.NewClient(nil, nil, cfg)
	t.Cleanup(func() {
		_ = c.Close()
		_ = s.Close()
		<-ended
	})
	conn, err := c.Conn(context.Background(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return &asker{t: t, conn: conn}
}

// ask sends a request and gives the answer as "code remark".
func (a *asker) ask(code int32) string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := a.conn.Call(ctx, &remoting.Command{Code: code, Body: []byte("body")})
	if err != nil {
		a.t.Fatal(err)
	}
	return strings.TrimSuffix(fmt.Sprintf("%d %s", resp.Code, resp.Remark), " ")
}

// start sends a request whose answer will come on the channel.
func (a *asker) start(code int32) <-chan string {
	got := make(chan string, 1)
	a.conn.Go(&remoting.Command{Code: code, Body: []byte("body")}, patience, func(resp *remoting.Command, err error) {
		if err != nil {
			got <- err.Error()
			return
		}
		got <- strings.TrimSuffix(fmt.Sprintf("%d %s", resp.Code, resp.Remark), " ")
	})
	return got
}

func fixed(code int32, remark string) HandlerFunc {
	return func(*remoting.Exchange) (*remoting.Command, error) {
		return &remoting.Command{Code: code, Remark: remark}, nil
	}
}

func failing(err error) HandlerFunc {
	return func(*remoting.Exchange) (*remoting.Command, error) { return nil, err }
}

func TestAnswers(t *testing.T) {
	wrapped := fmt.Errorf("look up: %w", &protocol.Error{Code: 17, Remark: "No topic route info"})
	routes := []Route{
		{Code: 1, Name: "OK", Handle: fixed(0, "")},
		{Code: 2, Name: "REMARK", Handle: fixed(0, "as it is")},
		{Code: 3, Name: "PROTOCOL", Handle: failing(&protocol.Error{Code: 26, Remark: "no group"})},
		{Code: 4, Name: "WRAPPED", Handle: failing(wrapped)},
		{Code: 5, Name: "FIELD", Handle: failing(&header.FieldError{Field: "queueId", Reason: "is missing"})},
		{Code: 6, Name: "OTHER", Handle: failing(errors.New("disk on fire"))},
		{Code: 7, Name: "PANIC", Handle: func(*remoting.Exchange) (*remoting.Command, error) { panic("oops") }},
		{Code: 8, Name: "LATER", Handle: func(x *remoting.Exchange) (*remoting.Command, error) {
			r := x.ReplyTo()
			go r.Send(&remoting.Command{Remark: "late"})
			return nil, nil
		}},
		{Code: 9, Name: "REJECTED", Handle: fixed(0, "not asked"), Reject: func() error {
			return &protocol.Error{Code: protocol.SystemBusy, Remark: "[REJECTREQUEST]system busy, start flow control for a while"}
		}},
		{Code: 10, Name: "TAKEN", Handle: fixed(0, "taken"), Reject: func() error { return nil }},
		{Code: 200050, Name: "HIGH", Handle: fixed(0, "high")},
	}
	lane := NewLane(LaneConfig{Name: "test", Workers: 2, Capacity: 10})
	for _, r := range routes {
		r.Code, r.Lane = r.Code+1000, lane
		routes = append(routes, r)
	}
	a := serve(t, New(Config{}, routes), 513)
	for code, want := range map[int32]string{
		1: "0", 2: "0 as it is", 3: "26 no group", 4: "17 No topic route info", 5: "1 header field queueId is missing",
		6: "1 disk on fire", 7: "1 internal error: oops", 8: "0 late",
		9: "2 [REJECTREQUEST]system busy, start flow control for a while", 10: "0 taken", 200050: "0 high",
	} {
		for _, c := range []int32{code, code + 1000} {
			if got := a.ask(c); got != want {
				t.Errorf("code %d: got %q, want %q", c, got, want)
			}
		}
	}
	for _, code := range []int32{0, 999, 3442, 4095, 4096, 9999, 12345, 200051, -1} {
		if got, want := a.ask(code), fmt.Sprintf("3  request type %d not supported", code); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTwoRoutesForOneCode(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(Config{}, []Route{{Code: 5}, {Code: 5}})
}

// lockedBuffer is written by the goroutines of connections.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	var log lockedBuffer
	r := New(Config{Role: "broker", Logger: slog.New(slog.NewTextHandler(&log, nil))}, []Route{
		{Code: 7, Name: "PANIC", Handle: func(*remoting.Exchange) (*remoting.Command, error) { panic("oops") }},
		{Code: 6, Name: "OTHER", Handle: failing(errors.New("disk on fire"))},
		{Code: 5, Name: "FIELD", Handle: failing(&header.FieldError{Field: "queueId", Reason: "is missing"})},
	})
	a := serve(t, r, 513)
	a.ask(7)
	a.ask(6)
	a.ask(5)
	got := log.String()
	for _, want := range []string{"oops", "router_test.go", "role=broker", "request=PANIC", "disk on fire", "request=OTHER"} {
		if !strings.Contains(got, want) {
			t.Errorf("log lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "FIELD") {
		t.Errorf("a mistake of the peer is logged:\n%s", got)
	}
}

// watcher counts what an Observer is told.
type watcher struct {
	mu   sync.Mutex
	seen []string
}

func (w *watcher) Route(code int32, name, lane string) RouteObserver {
	return &watched{w, fmt.Sprintf("%d %s %s", code, name, lane)}
}

type watched struct {
	w     *watcher
	route string
}

func (r *watched) Done(answer int32, took time.Duration) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.w.seen = append(r.w.seen, fmt.Sprintf("%s -> %d", r.route, answer))
	if took < 0 || took > patience {
		r.w.seen = append(r.w.seen, "took "+took.String())
	}
}

func TestObserver(t *testing.T) {
	var w watcher
	lane := NewLane(LaneConfig{Name: "slow"})
	kept := make(chan remoting.ReplyTo, 1)
	a := serve(t, New(Config{Observer: &w}, []Route{
		{Code: 1, Name: "INLINE", Handle: fixed(0, "")},
		{Code: 2, Name: "LANE", Handle: failing(errors.New("no")), Lane: lane},
		{Code: 3, Name: "LATER", Handle: func(x *remoting.Exchange) (*remoting.Command, error) {
			kept <- x.ReplyTo()
			return nil, nil
		}},
		{Code: 4, Name: "REFUSED", Handle: fixed(0, ""), Reject: func() error { return &protocol.Error{Code: 2} }},
	}), 513)
	a.ask(1)
	a.ask(2)
	later := a.start(3)
	(<-kept).Send(&remoting.Command{})
	<-later
	a.ask(4)
	a.ask(1) // the reader has been past all of the others
	want := []string{"1 INLINE  -> 0", "2 LANE slow -> 1", "3 LATER  -> -1", "4 REFUSED  -> 2"}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range want {
		if !strings.Contains(strings.Join(w.seen, "\n"), s) {
			t.Errorf("not told %q, but %q", s, w.seen)
		}
	}
}

func TestGoingAway(t *testing.T) {
	r := New(Config{}, []Route{{Code: 1, Handle: fixed(0, "served")}})
	young, old := serve(t, r, 477), serve(t, r, 475)
	r.GoAway()
	if got := young.ask(1); got != "1500 please go away" {
		t.Errorf("new client got %q", got)
	}
	if got := old.ask(1); got != "0 served" {
		t.Errorf("old client got %q", got)
	}
	if got := young.ask(2); got != "3  request type 2 not supported" {
		t.Errorf("unknown code got %q", got)
	}
	r.Close(time.Second)
	if got := young.ask(1); got != "1500 please go away" {
		t.Errorf("new client got %q after Close", got)
	}
	if got := old.ask(1); got != "14 shutting down" {
		t.Errorf("old client got %q after Close", got)
	}
}
