// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAnswersCarryWhatTheServerIs(t *testing.T) {
	addr, _ := serve(t, handlerFunc(echo), nil)
	for _, s := range []Serializer{JSON, Binary} {
		p := dial(t, addr)
		p.send(request(t, 310, -7, s, "hello"))
		got := p.read()
		if got.Opaque != -7 || got.Flag != FlagResponse || got.Version != 513 || got.Language != LanguageJava ||
			got.Serializer != s || got.Remark != "310" || string(got.Body) != "hello" || got.Fields.Text("topic") != "T" {
			t.Errorf("%s: got %+v", s, got)
		}
	}
}

func TestAnswersToPOPCodesInBinaryForm(t *testing.T) {
	addr, _ := serve(t, handlerFunc(func(x *Exchange) { x.ReplyTo().Queue(&Command{Code: 200050}) }), nil)
	p := dial(t, addr)
	p.send(request(t, 1, 1, Binary, ""))
	if got := p.read(); got.Code != 200050 || got.Serializer != JSON {
		t.Errorf("got %d as %s", got.Code, got.Serializer)
	}
}

func TestFramesInPieces(t *testing.T) {
	addr, _ := serve(t, handlerFunc(echo), nil)
	for _, s := range []Serializer{JSON, Binary} {
		p := dial(t, addr)
		for _, ch := range request(t, 310, 1, s, "one byte at a time") {
			p.send([]byte{ch})
		}
		if got := p.read(); string(got.Body) != "one byte at a time" {
			t.Errorf("body %q", got.Body)
		}
		three := slices.Concat(request(t, 1, 2, s, "a"), request(t, 1, 3, s, "b"), request(t, 1, 4, s, "c"))
		p.send(three[:len(three)-1])
		p.send(three[len(three)-1:])
		for want := int32(2); want <= 4; want++ {
			if got := p.read(); got.Opaque != want {
				t.Errorf("answer to %d, want %d", got.Opaque, want)
			}
		}
	}
}

// Many connections at once, in pieces and joined, some cut off in the middle of a
// frame: nobody may see bytes of another.
func TestConnectionsDoNotMix(t *testing.T) {
	addr, s := serve(t, handlerFunc(func(x *Exchange) {
		sum := sha256.Sum256(x.Request.Body)
		want, _ := x.Request.Fields.Get("sum")
		if string(want) != string(sum[:]) && x.Request.Serializer == Binary {
			t.Errorf("body of %d bytes has another sum", len(x.Request.Body))
		}
		x.ReplyTo().Queue(&Command{Body: x.Request.Body})
	}), nil)
	var clients sync.WaitGroup
	for i := range 24 {
		clients.Go(func() {
			p := dial(t, addr)
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for n := range 40 {
				mixOnce(t, p, rnd, i, int32(n))
			}
			if i%3 == 0 { // abort in the middle of a frame
				half := request(t, 1, 1, Binary, strings.Repeat("x", 5000))
				p.send(half[:rnd.IntN(len(half)-1)+1])
				_ = p.Close()
			}
		})
	}
	clients.Wait()
	eventually(t, "aborted connections are gone", func() bool { return s.Conns() <= 16 })
}

// mixOnce sends three frames in one of several cuts and compares the answers.
func mixOnce(t *testing.T, p *peer, rnd *rand.Rand, client int, n int32) {
	var stream []byte
	var bodies [][]byte
	for k := range int32(3) {
		size := rnd.IntN(3000)
		if rnd.IntN(10) == 0 {
			size = rnd.IntN(64 << 10)
		}
		body := bytes.Repeat([]byte{byte(client), byte(n), byte(k)}, size/3+1)[:size]
		sum := sha256.Sum256(body)
		c := &Command{Code: 310, Opaque: 3*n + k, Serializer: Binary, Body: body}
		c.Fields.Add("sum", string(sum[:]))
		stream, _ = AppendFrame(stream, c)
		bodies = append(bodies, body)
	}
	switch client % 3 {
	case 0:
		p.send(stream)
	default:
		for len(stream) > 0 {
			k := min(len(stream), rnd.IntN(4000)+1)
			if client%3 == 1 && rnd.IntN(4) == 0 {
				k = 1
			}
			p.send(stream[:k])
			stream = stream[k:]
		}
	}
	for k, body := range bodies {
		got := p.read()
		if got.Opaque != 3*n+int32(k) || !bytes.Equal(got.Body, body) {
			t.Errorf("client %d: answer %d has %d bytes, want answer %d with %d", client, got.Opaque, len(got.Body), 3*n+int32(k), len(body))
		}
	}
}

// Answers of all sizes, some written directly, some queued, to a peer that reads
// late: each must arrive whole and none within another.
func TestLargeAnswersToASlowPeer(t *testing.T) {
	addr, _ := serve(t, handlerFunc(func(x *Exchange) {
		n := binary.BigEndian.Uint32(x.Request.Body)
		body := bytes.Repeat([]byte{byte(x.Request.Opaque)}, int(n))
		x.ReplyTo().Queue(&Command{Body: body})
		clear(body) // the answer must have taken what it needs
	}), func(c *Config) { c.OutgoingLimit = 1 << 30 })
	p := dial(t, addr)
	sizes := []uint32{0, 1, directBody - 1, directBody, 3, 100_000, 5 << 20, 7, 12 << 20, 50, directBody, 1 << 20, 1}
	for i, n := range sizes {
		p.send(request(t, 1, int32(i), Binary, string(binary.BigEndian.AppendUint32(nil, n))))
	}
	for i, n := range sizes {
		got := p.read()
		if got.Opaque != int32(i) || len(got.Body) != int(n) || bytes.Count(got.Body, []byte{byte(i)}) != int(n) {
			t.Fatalf("answer %d: %d bytes, of them %d right; want answer %d with %d", got.Opaque, len(got.Body),
				bytes.Count(got.Body, []byte{byte(i)}), i, n)
		}
	}
}

func TestAnswerThatFitsNoFrame(t *testing.T) {
	var log logLines
	addr, _ := serve(t, handlerFunc(func(x *Exchange) {
		x.ReplyTo().Send(&Command{Body: make([]byte, 1<<20)})
	}), func(c *Config) { c.MaxFrameBytes, c.Logger = 1<<20, log.logger() })
	p := dial(t, addr)
	for opaque := range int32(2) {
		p.send(request(t, 1, opaque, JSON, ""))
		if got := p.read(); got.Code != codeSystemError || got.Opaque != opaque || !strings.Contains(got.Remark, "does not fit") {
			t.Errorf("got %+v", got)
		}
	}
}

func TestOnewayRequestsGetNoAnswer(t *testing.T) {
	served := make(chan int32, 2)
	addr, _ := serve(t, handlerFunc(func(x *Exchange) {
		echo(x)
		served <- x.Request.Code
	}), nil)
	p := dial(t, addr)
	frame, _ := AppendFrame(nil, &Command{Code: 15, Flag: FlagOneway})
	p.send(frame)
	if code := <-served; code != 15 {
		t.Errorf("served %d", code)
	}
	p.send(request(t, 30, 9, JSON, ""))
	if got := p.read(); got.Opaque != 9 {
		t.Errorf("got an answer to %d", got.Opaque)
	}
}

func TestNoHandler(t *testing.T) {
	addr, _ := serve(t, nil, nil)
	p := dial(t, addr)
	for _, code := range []int32{3442, 9999, -1} {
		p.send(request(t, code, code, Binary, ""))
		got := p.read()
		if want := fmt.Sprintf(" request type %d not supported", code); got.Code != 3 || got.Remark != want || got.Opaque != code {
			t.Errorf("got %d %q for %d, want 3 %q", got.Code, got.Remark, got.Opaque, want)
		}
	}
}

// Work gathered by the handlers of one batch is committed once, and the answers
// that the commit gives are written with it.
func TestBatchIsCommittedBeforeItsAnswersAreWritten(t *testing.T) {
	var mu sync.Mutex
	var waiting []ReplyTo
	var commits, flushedEmpty int
	addr, _ := serve(t, handlerFunc(func(x *Exchange) {
		mu.Lock()
		waiting = append(waiting, x.ReplyTo())
		mu.Unlock()
	}), func(c *Config) {
		c.AfterBatch = func() {
			mu.Lock()
			defer mu.Unlock()
			commits++
			if len(waiting) == 0 {
				flushedEmpty++
			}
			for _, r := range waiting {
				r.Queue(&Command{Remark: fmt.Sprint(commits)})
			}
			waiting = nil
		}
	})
	p := dial(t, addr)
	var batch []byte
	for i := range int32(32) {
		batch = append(batch, request(t, 310, i, Binary, "x")...)
	}
	p.send(batch)
	for i := range int32(32) {
		if got := p.read(); got.Opaque != i {
			t.Errorf("answer to %d, want %d", got.Opaque, i)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if commits > 4 || flushedEmpty > 0 { // one, unless TCP cut the batch
		t.Errorf("%d commits for one write, %d of them of nothing", commits, flushedEmpty)
	}
}

// Below its limit a slow peer costs memory, above it is no longer listened to;
// nothing is lost.
func TestSlowPeerIsNoLongerRead(t *testing.T) {
	var served atomic.Int32
	const limit = 256 << 10
	body := bytes.Repeat([]byte("b"), 8<<10)
	addr, s := serve(t, handlerFunc(func(x *Exchange) {
		served.Add(1)
		x.ReplyTo().Queue(&Command{Body: body})
	}), func(c *Config) { c.OutgoingLimit = limit })
	p := dial(t, addr)
	const requests = 4000 // 32 MB of answers: more than sockets hold
	var all []byte
	for i := range int32(requests) {
		all = append(all, request(t, 11, i, Binary, "")...)
	}
	go func() { _, _ = p.Write(all) }()
	var conn *Conn
	eventually(t, "the server gives up reading", func() bool {
		s.Each(func(c *Conn) { conn = c })
		return conn != nil && conn.out.overLimit()
	})
	stuck := served.Load()
	if most := conn.out.pending.Load(); most > limit+int64(len(body))+headerRoom {
		t.Errorf("%d bytes wait, limit %d", most, limit)
	}
	if stuck == requests {
		t.Fatalf("all %d requests were served", stuck)
	}
	for i := range int32(requests) {
		if got := p.read(); got.Opaque != i || len(got.Body) != len(body) {
			t.Fatalf("answer to %d with %d bytes, want %d", got.Opaque, len(got.Body), i)
		}
	}
}

func TestPeerThatTakesNothingIsClosed(t *testing.T) {
	var log logLines
	closed := make(chan error, 1)
	addr, _ := serve(t, handlerFunc(func(x *Exchange) { x.ReplyTo().Send(&Command{Body: make([]byte, 12<<20)}) }), func(c *Config) {
		c.StallTimeout, c.OutgoingLimit, c.Logger = 200*time.Millisecond, 1<<20, log.logger()
		c.ConnClosed = func(_ *Conn, err error) { closed <- err }
	})
	p := dial(t, addr)
	p.send(request(t, 11, 1, Binary, ""))
	select {
	case err := <-closed:
		if err != errStalled {
			t.Errorf("closed because of %v", err)
		}
	case <-time.After(patience):
		t.Fatal("still open")
	}
	if lines := log.lines(); len(lines) != 1 {
		t.Errorf("log lines: %q", lines)
	}
}

func TestIdleConnections(t *testing.T) {
	const idle = 300 * time.Millisecond
	addr, _ := serve(t, handlerFunc(echo), func(c *Config) { c.IdleTimeout = idle })
	for _, tt := range []struct {
		what  string
		bytes []byte
	}{
		{"silent", nil},
		{"half a frame", request(t, 1, 1, JSON, "body")[:20]},
		{"half a length", []byte{0}},
		{"half a PROXY header", []byte("PROX")},
	} {
		t.Run(tt.what, func(t *testing.T) {
			start := time.Now()
			p := dial(t, addr)
			p.send(tt.bytes)
			if got := p.rest(); len(got) > 0 {
				t.Errorf("got %q", got)
			}
			if took := time.Since(start); took < idle*3/4 {
				t.Errorf("closed after %v", took)
			}
		})
	}
	t.Run("busy", func(t *testing.T) {
		p := dial(t, addr)
		for i := range int32(8) {
			p.send(request(t, 1, i, JSON, ""))
			p.read()
			p.silent() // 50 ms
		}
	})
}

func TestHandlerMayClose(t *testing.T) {
	addr, s := serve(t, handlerFunc(func(x *Exchange) { _ = x.Conn.Close() }), nil)
	p := dial(t, addr)
	p.send(slices.Concat(request(t, 1, 1, JSON, ""), request(t, 1, 2, JSON, "")))
	p.rest()
	eventually(t, "connection gone", func() bool { return s.Conns() == 0 })
}

func TestAnswerAfterTheEndIsDropped(t *testing.T) {
	replies := make(chan ReplyTo, 1)
	addr, _ := serve(t, handlerFunc(func(x *Exchange) { replies <- x.ReplyTo() }), nil)
	p := dial(t, addr)
	p.send(request(t, 11, 1, JSON, ""))
	r := <-replies
	_ = p.Close()
	<-r.Conn().Done()
	r.Send(&Command{Body: make([]byte, 1<<20)})
	r.Queue(&Command{})
	r.Conn().Flush()
}

func TestHooksTellOfConnections(t *testing.T) {
	var open atomic.Int32
	closed := make(chan error, 1)
	addr, s := serve(t, handlerFunc(func(x *Exchange) {
		if l, v := x.Conn.Peer(); l != LanguageJava || v != 513 {
			t.Errorf("peer is %s %d", l, v)
		}
		echo(x)
	}), func(c *Config) {
		c.ConnOpened = func(*Conn) { open.Add(1) }
		c.ConnClosed = func(c *Conn, err error) { open.Add(-1); closed <- err }
	})
	p := dial(t, addr)
	p.send(request(t, 1, 1, JSON, ""))
	p.read()
	if n, m := open.Load(), s.Conns(); n != 1 || m != 1 {
		t.Errorf("%d open, %d known", n, m)
	}
	_ = p.Close()
	if err := <-closed; err != nil {
		t.Errorf("the peer closed, reason %v", err)
	}
	if open.Load() != 0 {
		t.Error("not told")
	}
}

func TestPipe(t *testing.T) {
	a, b := net.Pipe()
	server := NewConn(a, handlerFunc(echo), DefaultConfig())
	client := NewConn(b, nil, DefaultConfig())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, n := range []int{0, 1000, 300_000} {
		resp, err := client.Call(ctx, &Command{Code: 1, Body: make([]byte, n)})
		if err != nil || len(resp.Body) != n {
			t.Fatalf("got %+v, %v", resp, err)
		}
	}
	_ = client.Close()
	<-client.Done()
	<-server.Done()
}
