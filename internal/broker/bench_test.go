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

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// wire is a client that costs next to nothing: frames made once, answers counted and not read. What a benchmark says of
// memory is the server's.
type wire struct {
	b      *testing.B
	nc     net.Conn
	r      *bufio.Reader
	frames []byte
	count  int
}

// newWire repeats cmd as often as answers are to be waited for together.
func newWire(b *testing.B, addr string, cmd *remoting.Command, depth int) *wire {
	b.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = nc.Close() })
	w := &wire{b: b, nc: nc, r: bufio.NewReaderSize(nc, 1<<20), count: depth}
	for i := range depth {
		cmd.Opaque = int32(i + 1)
		if w.frames, err = remoting.AppendFrame(w.frames, cmd); err != nil {
			b.Fatal(err)
		}
	}
	return w
}

func (w *wire) round() {
	if _, err := w.nc.Write(w.frames); err != nil {
		w.b.Fatal(err)
	}
	for range w.count {
		size, err := w.r.Peek(4)
		if err == nil {
			_, err = w.r.Discard(4 + int(binary.BigEndian.Uint32(size)))
		}
		if err != nil && err != io.EOF {
			w.b.Fatal(err)
		}
	}
}

func benchmarkSend(b *testing.B, flush store.FlushDiskType, serializer remoting.Serializer, depth int) {
	r := start(b, func(c *Config) { c.Store.Flush, c.Store.LogFileBytes = flush, 256<<20 })
	topic := r.topic()
	w := newWire(b, r.addr, &remoting.Command{
		Code: protocol.SendMessageV2, Version: protocol.CurrentVersion, Serializer: serializer,
		Fields: sendExt(topic, props("UNIQ_KEY=FD0000000000000000000000000000020CBF5FFD2B27979F17110000 WAIT=true TAGS=TagA")).fields(),
		Body:   []byte(strings.Repeat("x", 1024)),
	}, depth)
	for range 100 {
		w.round()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		w.round()
	}
	b.StopTimer()
	perRequest(b, depth)
}

func perRequest(b *testing.B, depth int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(depth), "ns/request")
}

// One op is a write of so many requests of 1 KiB and their answers; divide allocs/op by the depth.
func BenchmarkSendAsync1(b *testing.B) { benchmarkSend(b, store.AsyncFlush, remoting.JSON, 1) }
func BenchmarkSendAsync32(b *testing.B) {
	benchmarkSend(b, store.AsyncFlush, remoting.JSON, 32)
}
func BenchmarkSendAsync32Binary(b *testing.B) {
	benchmarkSend(b, store.AsyncFlush, remoting.Binary, 32)
}
func BenchmarkSendSync32(b *testing.B) { benchmarkSend(b, store.SyncFlush, remoting.JSON, 32) }

func BenchmarkPull32(b *testing.B) {
	r := start(b)
	topic, group := r.topic(), r.group()
	for range 32 {
		r.send(topic, strings.Repeat("x", 1024), nil)
	}
	r.readable(topic, 0, 32)
	const depth = 4
	w := newWire(b, r.addr, &remoting.Command{
		Code: protocol.PullMessage, Version: protocol.CurrentVersion, Fields: pullExt(topic, group, 0, nil).fields(),
	}, depth)
	w.round()
	b.ReportAllocs()
	for b.Loop() {
		w.round()
	}
	perRequest(b, depth)
}
