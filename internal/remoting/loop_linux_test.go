// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// serveOnOneLoop serves all connections with one goroutine.
func serveOnOneLoop(t *testing.T, h Handler, change func(*Config)) (addr string, s *Server) {
	return serve(t, h, func(c *Config) {
		c.Loops = 1
		if change != nil {
			change(c)
		}
	})
}

func TestHandlerThatWaitsHoldsUpItsConnectionOnly(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	addr, _ := serveOnOneLoop(t, handlerFunc(func(x *Exchange) {
		if x.Request.Code == 99 {
			close(held)
			<-release
		}
		echo(x)
	}), nil)
	others := []*peer{dial(t, addr), dial(t, addr)}
	waits := dial(t, addr)
	waits.send(request(t, 99, 1, Binary, "first"))
	<-held
	waits.send(request(t, 1, 2, Binary, "second"))
	for i := range int32(50) {
		for _, p := range others {
			p.send(request(t, 1, i, Binary, "x"))
			if got := p.read(); got.Opaque != i {
				t.Fatalf("answer to %d, want %d", got.Opaque, i)
			}
		}
	}
	late := dial(t, addr)
	late.send(request(t, 1, 7, Binary, "x"))
	late.read()
	waits.silent()
	close(release)
	for want := int32(1); want <= 3; want++ {
		if want == 3 { // it is on the loop again
			waits.send(request(t, 1, 3, Binary, "third"))
		}
		if got := waits.read(); got.Opaque != want {
			t.Fatalf("answer to %d, want %d", got.Opaque, want)
		}
	}
}

// The end of a connection is told once, perhaps while its handler waits.
func TestPeerThatLeavesWhileItsHandlerWaits(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	closed := make(chan error, 2)
	addr, _ := serveOnOneLoop(t, handlerFunc(func(x *Exchange) {
		if x.Request.Code == 99 {
			close(held)
			<-release
		}
		echo(x)
	}), func(c *Config) { c.ConnClosed = func(_ *Conn, err error) { closed <- err } })
	waits, other := dial(t, addr), dial(t, addr)
	waits.send(request(t, 99, 1, Binary, ""))
	<-held
	waits.send(request(t, 1, 2, Binary, ""))
	if err := waits.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // whoever drives now has seen the end
		other.send(request(t, 1, 1, Binary, ""))
		other.read()
	}
	close(release)
	for want := int32(1); want <= 2; want++ {
		if got := waits.read(); got.Opaque != want {
			t.Fatalf("answer to %d, want %d", got.Opaque, want)
		}
	}
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the connection is still open")
	}
}

// Who sends its last byte with a request gets the answer, and so does who sends rubbish behind it.
func TestAnswersBeforeTheEnd(t *testing.T) {
	addr, _ := serveOnOneLoop(t, handlerFunc(echo), nil)
	for i := range 200 {
		p := dial(t, addr)
		b := request(t, 1, 7, Binary, "x")
		if i%2 == 0 {
			p.send(b)
			if err := p.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		} else {
			p.send(append(b, 0xFF, 0xFF, 0xFF, 0xFF))
		}
		if got := p.read(); got.Opaque != 7 {
			t.Fatalf("answer to %d", got.Opaque)
		}
		p.rest()
	}
}

func TestCommitThatWaitsHoldsUpItsRoundOnly(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	addr, _ := serveOnOneLoop(t, handlerFunc(echo), func(c *Config) {
		c.AfterBatch = func() {
			first := false
			once.Do(func() { first = true })
			if first {
				close(held)
				<-release
			}
		}
	})
	waits, other := dial(t, addr), dial(t, addr)
	waits.send(request(t, 1, 1, Binary, ""))
	<-held
	for i := range int32(50) {
		other.send(request(t, 1, i, Binary, ""))
		if got := other.read(); got.Opaque != i {
			t.Fatalf("answer to %d, want %d", got.Opaque, i)
		}
	}
	waits.silent()
	close(release)
	waits.read()
}

func TestAnswersOfOthersAreWrittenSoon(t *testing.T) {
	replies := make(chan ReplyTo, 1000)
	addr, _ := serveOnOneLoop(t, handlerFunc(func(x *Exchange) { replies <- x.ReplyTo() }), nil)
	peers := make([]*peer, 20)
	for i := range peers {
		peers[i] = dial(t, addr)
	}
	for round := range int32(50) {
		for _, p := range peers {
			p.send(request(t, 1, round, Binary, ""))
		}
		for range peers {
			r := <-replies
			r.Queue(&Command{Body: []byte("body")})
			r.Conn().FlushSoon()
		}
		for _, p := range peers {
			if got := p.read(); got.Opaque != round || string(got.Body) != "body" {
				t.Fatalf("round %d: answer to %d with %q", round, got.Opaque, got.Body)
			}
		}
	}
}

// Connections come, ask for little and much, wait or not, are cut at any point, and the server ends among them.
func TestManyConnectionsOnLoops(t *testing.T) {
	addr, s := serve(t, handlerFunc(func(x *Exchange) {
		if x.Request.Code == 2 {
			time.Sleep(3 * guardPeriod)
		}
		x.ReplyTo().Queue(&Command{Body: x.Request.Body})
	}), func(c *Config) { c.Loops, c.OutgoingLimit = 2, 256<<10 })
	var clients sync.WaitGroup
	for seed := range uint64(24) {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 12 {
				if err := visit(t, addr, r); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	clients.Wait()
	stays := dial(t, addr)
	stays.send(request(t, 1, 1, Binary, ""))
	stays.read()
	if err := s.Shutdown(bounded(t)); err != nil {
		t.Error(err)
	}
	if n := s.Conns(); n > 0 {
		t.Errorf("%d connections left", n)
	}
}

// visit is one connection: requests in flights of random sizes, all answered in order, then perhaps one that is cut.
func visit(t *testing.T, addr string, r *rand.Rand) error {
	p := dial(t, addr)
	defer p.Close()
	for flight := range 6 {
		var batch []byte
		n := 1 + r.IntN(8)
		sizes := make([]int, n)
		for i := range sizes {
			code := int32(1)
			switch r.IntN(40) {
			case 0:
				code = 2
			case 1:
				sizes[i] = r.IntN(400 << 10)
			default:
				sizes[i] = r.IntN(2 << 10)
			}
			batch = append(batch, request(t, code, int32(i), Binary, string(make([]byte, sizes[i])))...)
		}
		sent := make(chan error, 1)
		go func() { _, err := p.Write(batch); sent <- err }()
		for i, size := range sizes {
			if got := p.read(); got.Opaque != int32(i) || len(got.Body) != size {
				return fmt.Errorf("flight %d: answer to %d with %d bytes, want %d with %d", flight, got.Opaque, len(got.Body), i, size)
			}
		}
		if err := <-sent; err != nil {
			return err
		}
	}
	if r.IntN(2) == 0 {
		b := request(t, 1, 1, Binary, "cut off")
		p.send(b[:r.IntN(len(b))])
	}
	return nil
}

// The guard looks while there is work, and sleeps otherwise.
func TestGuardSleeps(t *testing.T) {
	addr, s := serveOnOneLoop(t, handlerFunc(echo), nil)
	p := dial(t, addr)
	for range 3 {
		p.send(request(t, 1, 1, Binary, ""))
		p.read()
		ls := s.loopsFor()
		eventually(t, "the guard sleeps", func() bool { return !ls.awake.Load() })
	}
}

func TestFewConnectionsHaveGoroutinesOfTheirOwn(t *testing.T) {
	addr, s := serveOnOneLoop(t, handlerFunc(echo), func(c *Config) { c.LoopsFrom = 2 })
	for i := range int32(4) {
		p := dial(t, addr)
		p.send(request(t, 1, i, Binary, ""))
		p.read()
	}
	onLoops := 0
	s.Each(func(c *Conn) {
		if c.onALoop() {
			onLoops++
		}
	})
	if onLoops != 2 {
		t.Errorf("%d of 4 connections are on the loop, want those from the third on", onLoops)
	}
}
