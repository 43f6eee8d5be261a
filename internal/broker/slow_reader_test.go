// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// pipeline sends so many equal pulls on a connection whose answers nobody reads yet.
func (r *running) pipeline(n int, fields ext) *net.TCPConn {
	r.Helper()
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = nc.Close() })
	conn := nc.(*net.TCPConn)
	if err := conn.SetReadBuffer(64 << 10); err != nil {
		r.Fatal(err)
	}
	var b []byte
	for i := range n {
		b, err = remoting.AppendFrame(b, &remoting.Command{Code: protocol.PullMessage, Opaque: int32(i), Fields: fields.fields()})
		if err != nil {
			r.Fatal(err)
		}
	}
	go func() { _, _ = conn.Write(b) }() // ends with the connection at the latest
	return conn
}

// answers reads n answers and counts them by code.
func (r *running) answers(conn net.Conn, n int) map[int32]int {
	r.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		r.Fatal(err)
	}
	in := bufio.NewReaderSize(conn, 1<<20)
	codes, seen := map[int32]int{}, map[int32]bool{}
	for i := range n {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			r.Fatalf("after %d answers: %v", i, err)
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(in, frame); err != nil {
			r.Fatalf("after %d answers: %v", i, err)
		}
		var cmd remoting.Command
		if err := remoting.DecodeFrame(&cmd, frame); err != nil {
			r.Fatal(err)
		}
		codes[cmd.Code]++
		seen[cmd.Opaque] = true
	}
	if len(seen) != n {
		r.Errorf("%d pulls were answered, want %d", len(seen), n)
	}
	return codes
}

// A client that asks and asks and never reads makes the broker hold some MiB, not all the answers; others do not feel it; and
// when it reads, nothing is lost.
func TestPullsOfAClientThatDoesNotRead(t *testing.T) {
	r := start(t)
	topic, other, slow, quick := r.topic(), r.topic(), r.group(), r.group()
	for range 3 {
		r.send(topic, strings.Repeat("x", 64<<10), nil)
	}
	r.readable(topic, 0, 3)
	r.fill(other, 3, "")
	before := r.store.Info().Transferred
	handedOut := func() int64 { return (r.store.Info().Transferred - before) * (64 << 10) }
	const (
		pulls = 600 // answers of 115 MiB
		bound = 40 << 20
	)
	conn := r.pipeline(pulls, pullExt(topic, slow, 0, nil))
	r.until("the client is behind", func() bool { return handedOut() > 8<<20 })
	for range 100 {
		if a := r.pull(other, quick, 0, nil); a.bodies() != "m0 m1 m2" {
			t.Fatalf("another group got %s", status(a))
		}
		if n := handedOut(); n > bound {
			t.Fatalf("%d MiB wait for a client that does not read", n>>20)
		}
	}
	if codes := r.answers(conn, pulls); codes[protocol.Success] != pulls {
		t.Errorf("answers by code: %v", codes)
	}
}

// The same for pulls that were held: an arrival answers all of them at once.
func TestHeldPullsOfAClientThatDoesNotRead(t *testing.T) {
	r := start(t)
	topic, slow, quick := r.topic(), r.group(), r.group()
	const pulls = 300
	conn := r.pipeline(pulls, pullExt(topic, slow, 0, ext{"sysFlag": holdFlag, "suspendTimeoutMillis": time.Minute.Milliseconds()}))
	r.nowHeld(pulls)
	r.send(topic, strings.Repeat("x", 1<<20), nil)
	r.readable(topic, 0, 1)
	if a := r.pull(topic, quick, 0, nil); a.Code != protocol.Success || len(a.records()) != 1 {
		t.Fatalf("another group got %s", status(a))
	}
	r.nowHeld(0)
	codes := r.answers(conn, pulls)
	// 8 MiB may wait, what the sockets hold and one answer of each that runs at once come on top.
	if found := codes[protocol.Success]; found == 0 || found > pulls/2 || found+codes[protocol.PullNotFound] != pulls {
		t.Errorf("answers by code: %v", codes)
	}
}
