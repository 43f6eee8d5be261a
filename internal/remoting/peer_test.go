// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// loopsInTests is Config.Loops of the servers.
var loopsInTests int

// All tests run with a goroutine for each connection, and with goroutines that read for many.
func TestMain(m *testing.M) {
	for _, loopsInTests = range []int{0, 2} {
		code := m.Run()
		if err := goleak.Find(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		if code != 0 {
			fmt.Fprintf(os.Stderr, "with %d loops\n", loopsInTests)
			os.Exit(code)
		}
	}
}

// patience bounds every wait of these tests; none of them needs it when all is well.
const patience = 10 * time.Second

type handlerFunc func(x *Exchange)

func (f handlerFunc) ServeCommand(x *Exchange) { f(x) }

// echo answers with the code as remark, and the fields and body of the request.
func echo(x *Exchange) {
	x.ReplyTo().Queue(&Command{Remark: fmt.Sprint(x.Request.Code), Fields: x.Request.Fields, Body: x.Request.Body})
}

// serve runs a server until the test ends.
func serve(t testing.TB, h Handler, change func(*Config)) (addr string, s *Server) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Loops = loopsInTests
	if change != nil {
		change(&cfg)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = NewServer(h, cfg)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String(), s
}

// connect makes a Conn of ours to addr.
func connect(t testing.TB, addr string, h Handler, change func(*Config)) *Conn {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Language = LanguageGo
	if change != nil {
		change(&cfg)
	}
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	full := cfg.withDefaults()
	c := startConn(nc, h, full, newWatch(full), false, func() {})
	t.Cleanup(func() {
		_ = c.Close()
		<-c.Done()
	})
	return c
}

// peer speaks bytes.
type peer struct {
	t testing.TB
	net.Conn
}

func dial(t testing.TB, addr string) *peer {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return &peer{t: t, Conn: nc}
}

func (p *peer) send(b []byte) {
	p.t.Helper()
	if _, err := p.Write(b); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

// read reads one frame.
func (p *peer) read() *Command {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	head := make([]byte, lengthBytes)
	if _, err := io.ReadFull(p, head); err != nil {
		p.t.Fatalf("read an answer: %v", err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head))
	if _, err := io.ReadFull(p, b); err != nil {
		p.t.Fatalf("read an answer: %v", err)
	}
	c := new(Command)
	if err := DecodeFrame(c, b); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// rest reads until the other side closes, and fails if it does not.
func (p *peer) rest() []byte {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(p)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		p.t.Fatalf("wait for the end of the connection: %v", err)
	}
	return b
}

// silent fails if a byte arrives within a moment.
func (p *peer) silent() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	var b [1]byte
	if n, err := p.Conn.Read(b[:]); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Fatalf("got %d bytes and %v, want silence", n, err)
	}
}

// request encodes a request with a topic field.
func request(t testing.TB, code, opaque int32, s Serializer, body string) []byte {
	t.Helper()
	c := &Command{Code: code, Opaque: opaque, Version: 513, Serializer: s, Body: []byte(body)}
	c.Fields.Add("topic", "T")
	frame, err := AppendFrame(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// logLines collects what a logger writes at Info and above.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logLines) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.FieldsFunc(l.b.String(), func(r rune) bool { return r == '\n' })
}

// eventually waits for a state that comes without a signal.
func eventually(t testing.TB, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
