// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// newClient makes a client that counts its dials; gate, if set, holds them up.
func newClient(t *testing.T, gate chan struct{}) (*Client, *atomic.Int32) {
	var dials atomic.Int32
	c := NewClient(nil, func(ctx context.Context, addr string) (net.Conn, error) {
		dials.Add(1)
		if gate != nil {
			select {
			case <-gate:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}, DefaultConfig())
	t.Cleanup(func() { _ = c.Close() })
	return c, &dials
}

func TestClientSharesOneDial(t *testing.T) {
	addr, _ := serve(t, handlerFunc(echo), nil)
	gate := make(chan struct{})
	c, dials := newClient(t, gate)
	// The caller that came first gives up; the dial goes on for the others.
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() {
		_, err := c.Call(ctx, addr, &Command{})
		first <- err
	}()
	eventually(t, "a dial", func() bool { return dials.Load() == 1 })
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("first caller got %v", err)
	}
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if _, err := c.Call(bounded(t), addr, &Command{}); err != nil {
				t.Error(err)
			}
		})
	}
	close(gate)
	callers.Wait()
	if n := dials.Load(); n != 1 {
		t.Errorf("%d dials", n)
	}
}

func TestClientDialsAgainAfterALoss(t *testing.T) {
	addr, s := serve(t, handlerFunc(echo), nil)
	c, dials := newClient(t, nil)
	for round := int32(1); round <= 3; round++ {
		if _, err := c.Call(bounded(t), addr, &Command{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Oneway(bounded(t), addr, &Command{}); err != nil {
			t.Fatal(err)
		}
		if n := dials.Load(); n != round {
			t.Errorf("%d dials in round %d", n, round)
		}
		conn, _ := c.Conn(bounded(t), addr)
		s.closeAll()
		<-conn.Done()
	}
}

func TestClientTellsWhyItCanNotConnect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	c, dials := newClient(t, nil)
	var op *net.OpError
	for range 2 {
		if _, err := c.Call(bounded(t), addr, &Command{}); !errors.As(err, &op) {
			t.Errorf("got %v", err)
		}
	}
	if dials.Load() != 2 {
		t.Errorf("%d dials", dials.Load())
	}
}

func TestClientDialTimeout(t *testing.T) {
	cfg := DefaultConfig()
	cfg.DialTimeout = 20 * time.Millisecond
	c := NewClient(nil, func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, cfg)
	defer c.Close()
	if _, err := c.Call(bounded(t), "nowhere:1", &Command{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestClientClose(t *testing.T) {
	h := newLater()
	addr, _ := serve(t, h, nil)
	dialling := make(chan struct{})
	c := NewClient(nil, func(ctx context.Context, to string) (net.Conn, error) {
		if to != addr {
			close(dialling)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, "tcp", to)
	}, DefaultConfig())
	failed := make(chan error, 2)
	for _, to := range []string{"nowhere:1", addr} {
		go func() {
			_, err := c.Call(bounded(t), to, &Command{})
			failed <- err
		}()
	}
	<-dialling
	<-h.came
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-failed; !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) {
			t.Errorf("pending call or dial got %v", err)
		}
	}
	if _, err := c.Call(bounded(t), addr, &Command{}); !errors.Is(err, ErrClosed) {
		t.Errorf("call after Close: %v", err)
	}
}
