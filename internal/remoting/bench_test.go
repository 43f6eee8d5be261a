// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"testing"

	"github.com/goddard-mq/goddard/internal/header"
)

// sendV2 and pull are requests as clients send them; their answers are like the
// broker's.
func sendV2(opaque int32, s Serializer) *Command {
	c := &Command{Code: 310, Opaque: opaque, Version: 513, Language: LanguageJava, Serializer: s, Body: make([]byte, 1024)}
	for _, kv := range [][2]string{
		{"a", "benchmark_producer_group"}, {"b", "BenchmarkTest"}, {"c", "TBW102"}, {"d", "4"}, {"e", "7"}, {"f", "0"},
		{"g", "1796034985746"}, {"h", "0"},
		{"i", "KEYS\x01order-4711\x02UNIQ_KEY\x01FD0000000000000000000000000000026D525FFD2B2797B6587F0000\x02WAIT\x01true\x02TAGS\x01TagA"},
		{"j", "0"}, {"k", "false"}, {"m", "false"}, {"n", "broker-a"},
	} {
		c.Fields.Add(kv[0], kv[1])
	}
	return c
}

func pull(opaque int32, s Serializer) *Command {
	c := &Command{Code: 11, Opaque: opaque, Version: 513, Language: LanguageJava, Serializer: s}
	for _, kv := range [][2]string{
		{"queueId", "2"}, {"maxMsgBytes", "262144"}, {"maxMsgNums", "32"}, {"sysFlag", "2"}, {"suspendTimeoutMillis", "15000"},
		{"commitOffset", "4711"}, {"bname", "broker-a"}, {"topic", "BenchmarkTest"}, {"queueOffset", "123456"},
		{"expressionType", "TAG"}, {"subVersion", "1796036566091"}, {"consumerGroup", "benchmark_consumer"},
	} {
		c.Fields.Add(kv[0], kv[1])
	}
	return c
}

type sendAnswer struct{ offset int64 }

func (a *sendAnswer) EncodeFields(w header.Writer) {
	w.Text("msgId", "7F00000100002A9F000000000000002A")
	w.Int32("queueId", 7)
	w.Int64("queueOffset", a.offset)
	w.Text("MSG_REGION", "DefaultRegion")
	w.Bool("TRACE_ON", true)
}

type pullAnswer struct{ next int64 }

func (a *pullAnswer) EncodeFields(w header.Writer) {
	w.Int64("suggestWhichBrokerId", 0)
	w.Int64("nextBeginOffset", a.next)
	w.Int64("minOffset", 0)
	w.Int64("maxOffset", a.next+5)
}

// benchHandler answers at once, reading the fields that a broker would, without
// memory of its own but for the header.
type benchHandler struct{ body []byte }

func (h *benchHandler) ServeCommand(x *Exchange) {
	sum := 0
	for i := range x.Request.Fields {
		sum += len(x.Request.Fields[i].Value)
	}
	resp := x.Response()
	if x.Request.Code == 11 {
		resp.Header, resp.Body = &pullAnswer{next: int64(sum)}, h.body
	} else {
		resp.Header = &sendAnswer{offset: int64(sum)}
	}
	x.ReplyTo().Queue(resp)
}

func BenchmarkDecode(b *testing.B) {
	for _, s := range []Serializer{JSON, Binary} {
		for name, cmd := range map[string]*Command{"send": sendV2(7, s), "pull": pull(7, s)} {
			b.Run(fmt.Sprintf("%s/%s", s, name), func(b *testing.B) {
				frame, err := AppendFrame(nil, cmd)
				if err != nil {
					b.Fatal(err)
				}
				scratch := make([]byte, len(frame))
				var c Command
				b.ReportAllocs()
				for b.Loop() {
					copy(scratch, frame) // escapes are resolved in place
					if err := DecodeFrame(&c, scratch[lengthBytes:]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, s := range []Serializer{JSON, Binary} {
		b.Run(s.String(), func(b *testing.B) {
			var e encoder
			resp := &Command{Header: &sendAnswer{offset: 123456}}
			b.ReportAllocs()
			for b.Loop() {
				e.b = e.b[:0]
				if err := e.frame(resp, meta{opaque: 7, flag: 1, version: 513, serializer: s}, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoopback is what a request costs server and peer together over TCP,
// with 8 connections and depth requests in flight on each.
func BenchmarkLoopback(b *testing.B) {
	for _, s := range []Serializer{JSON, Binary} {
		for name, make := range map[string]func(int32, Serializer) *Command{"send": sendV2, "pull": pull} {
			for _, depth := range []int{1, 32} {
				b.Run(fmt.Sprintf("%s/%s/depth=%d", s, name, depth), func(b *testing.B) {
					benchLoopback(b, &benchHandler{}, make(7, s), depth)
				})
			}
		}
	}
}

// BenchmarkLargeAnswers is pulls that find something.
func BenchmarkLargeAnswers(b *testing.B) {
	for _, size := range []int{8 << 10, 32 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("body=%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			benchLoopback(b, &benchHandler{body: make([]byte, size)}, pull(7, JSON), 4)
		})
	}
}

func benchLoopback(b *testing.B, h Handler, req *Command, depth int) {
	const conns = 8
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := NewServer(h, DefaultConfig())
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	var batch []byte
	for range depth {
		if batch, err = AppendFrame(batch, req); err != nil {
			b.Fatal(err)
		}
	}
	done := make(chan error, conns)
	cpu := cpuTime()
	b.ReportAllocs()
	b.ResetTimer()
	for range conns {
		go func() { done <- pump(l.Addr().String(), batch, depth, b.N/conns+1) }()
	}
	for range conns {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/op") // steadier on a busy machine
}

func TestServingMakesNoGarbage(t *testing.T) {
	if raceDetector {
		t.Skip("counts allocations")
	}
	addr, _ := serve(t, handlerFunc(func(x *Exchange) {
		resp := x.Response()
		resp.Header = fixedAnswer
		x.ReplyTo().Queue(resp)
	}), nil)
	for _, s := range []Serializer{JSON, Binary} {
		for _, req := range []*Command{sendV2(7, s), pull(7, s)} {
			var batch []byte
			for range 32 {
				batch, _ = AppendFrame(batch, req)
			}
			const n = 6400
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := pump(addr, batch, 32, n); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if per := float64(after.Mallocs-before.Mallocs) / n; per > 0.2 {
				t.Errorf("%s, code %d: %.2f allocations per request", s, req.Code, per)
			}
		}
	}
}

var fixedAnswer = &sendAnswer{offset: 123456}

// cpuTime is what the process has used so far, in nanoseconds.
func cpuTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// pump sends batch until n requests are answered, a new batch when the last one is.
func pump(addr string, batch []byte, depth, n int) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	buf := make([]byte, 1<<20)
	for ; n > 0; n -= depth {
		if _, err := nc.Write(batch); err != nil {
			return err
		}
		have := 0
		for answers := 0; answers < depth; {
			k, err := nc.Read(buf[have:])
			if err != nil {
				return err
			}
			have += k
			at := 0
			for have-at >= lengthBytes {
				end := at + lengthBytes + int(binary.BigEndian.Uint32(buf[at:]))
				if end > have {
					break
				}
				at = end
				answers++
			}
			have = copy(buf, buf[at:have])
		}
	}
	return nil
}
