// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// badFrames are bytes that are no frame, whatever comes after them.
var badFrames = []struct {
	name string
	data func(i int) []byte // variants, by number
}{
	{"length below the header word", func(i int) []byte { return append([]byte{0, 0, 0, byte(i % 4)}, "1234"...) }},
	{"header longer than the frame", func(int) []byte { return append([]byte{0, 0, 0, 20, 0, 0, 3, 232}, make([]byte, 16)...) }},
	{"negative length", func(i int) []byte {
		return append([]byte{0xFF, 0xFF, 0xFF, byte(0xF0 + i%16), 0, 0, 0, 10}, make([]byte, 100)...)
	}},
	{"length one above the limit", func(int) []byte {
		return append([]byte{1, 0, 0, 1, 0, 0, 0, 100}, strings.Repeat("{", 16<<10)...) // 16,777,217
	}},
	{"unknown form of header", func(int) []byte { return frameOf(7, `{"code":30,"opaque":1,"extFields":{}}`, "") }},
	{"binary header whose remark is 2 GiB", func(int) []byte {
		return frameOf(1, "\x00\x1e\x00\x02\x01\x00\x00\x00\x01\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x00", "")
	}},
	{"binary header whose fields are 2 GiB", func(int) []byte {
		return frameOf(1, "\x00\x1e\x00\x02\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x01a", "")
	}},
	{"header that is not JSON", func(i int) []byte {
		return frameOf(0, []string{"rubbish!", `{"code":`, `[]`, strings.Repeat("[", 5000)}[i%4], "")
	}},
}

// Bytes that are no frames end the connection that they came on and nothing else: who asks for something beside them is
// answered all the time, memory does not grow with the numbers in them, and each connection costs a log line at most.
func TestBadFramesHurtNobodyElse(t *testing.T) {
	t.Parallel()
	const repeats = 250
	names := start(t, setup{command: "nameserver"})
	broker := start(t, setup{nameServers: []string{names.nameServer}})
	asking := dial(t, names.nameServer)
	eventually(t, "the broker to register", func() bool { code, _ := asking.route("TBW102"); return code == 0 })

	for _, at := range []struct {
		role    string
		process *server
		addr    string
		good    *remoting.Command // what a good client asks meanwhile
	}{
		{"name server", names, names.nameServer, request(protocol.GetRouteInfoByTopic, protocol.RouteRequest{Topic: "TBW102"}, nil)},
		{"broker", broker, broker.broker, outgoing{topic: "beside_bad_frames", body: []byte("good")}.command()},
	} {
		t.Run(at.role, func(t *testing.T) {
			client := dial(t, at.addr)
			for range 100 { // what the first requests cost is not what is measured
				if _, err := client.ask(at.good); err != nil {
					t.Fatal(err)
				}
			}
			memory, logged := at.process.rss(), len(at.process.log.String())
			served := beside(t, client, at.good, func() { sendBadFrames(t, at.addr, repeats) })
			t.Logf("%d good requests meanwhile", served)
			if grown := at.process.rss() - memory; grown > 64<<20 {
				t.Errorf("memory grew by %d MiB", grown>>20)
			}
			lines := strings.Count(at.process.log.String()[logged:], "\n")
			if want := repeats * len(badFrames); lines > want+20 {
				t.Errorf("%d log lines for %d bad connections", lines, want)
			}
		})
	}
}

// beside sends a good request again and again while f runs. Each must be answered with success, and soon.
func beside(t *testing.T, client *wire, good *remoting.Command, f func()) int64 {
	t.Helper()
	var served atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			began := time.Now()
			answer, err := client.ask(good)
			switch took := time.Since(began); {
			case err != nil:
				t.Errorf("the good client: %v", err)
				return
			case answer.Code != 0:
				t.Errorf("the good client was answered %d: %s", answer.Code, answer.Remark)
				return
			case took > 3*time.Second: // much more than it needs; the machine may be busy
				t.Errorf("the good client waited %v", took)
			}
			served.Add(1)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	f()
	stop()
	wait.Wait()
	if served.Load() < 10 {
		t.Errorf("the good client was served %d times only", served.Load())
	}
	return served.Load()
}

// sendBadFrames sends each kind so many times, each on a connection of its own, some of them after a good request, and
// wants the connection closed, after an error answer or without one.
func sendBadFrames(t *testing.T, addr string, repeats int) {
	const workers = 8
	first := frame(t, remoting.JSON, 77, request(protocol.GetMaxOffset, protocol.QueueHeader{Topic: "none"}, nil))
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for i := worker; i < repeats; i += workers {
				for _, bad := range badFrames {
					data := bad.data(i / workers)
					if i%5 == 0 {
						data = append(first[:len(first):len(first)], data...)
					}
					if err := sendBadFrame(addr, data, i%5 == 0); err != nil {
						t.Errorf("%s: %v", bad.name, err)
						return
					}
				}
			}
		})
	}
	wait.Wait()
}

func sendBadFrame(addr string, data []byte, hasGood bool) error {
	r, err := tryDialRaw(addr)
	if err != nil {
		return err
	}
	defer r.abort()
	_, _ = r.Write(data) // the other side may have closed before it took everything
	if hasGood {
		answer, err := r.read()
		if err != nil {
			return fmt.Errorf("the good request before it got no answer: %w", err)
		}
		if answer.Opaque != 77 {
			return fmt.Errorf("the good request before it got the answer of %d", answer.Opaque)
		}
	}
	_, err = r.ended()
	return err
}

// Other protocols on the port: the connection ends soon, and nothing that looks like an answer of theirs comes back.
func TestOtherProtocolsOnThePort(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	clientHello := append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3}, make([]byte, 506)...)
	for _, row := range []struct {
		name, data string
		log        string // what the log says of it
	}{
		{"HTTP", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""},
		{"SSH", "SSH-2.0-OpenSSH_9.6\r\n", "SSH"},
		{"TLS", string(clientHello), "TLS"},
		{"Redis", "*1\r\n$4\r\nPING\r\n", ""},
		{"noise", strings.Repeat("\xa5\x5a\x00\xff", 1000), ""},
	} {
		for role, addr := range map[string]string{"name server": s.nameServer, "broker": s.broker} {
			t.Run(row.name+" to the "+role, func(t *testing.T) {
				r := dialRaw(t, addr)
				from := r.LocalAddr().String()
				_, _ = r.Write([]byte(row.data))
				got, err := r.ended()
				if err != nil {
					t.Fatal(err)
				}
				if len(got) > 16 {
					t.Errorf("got %d bytes back: %.60q", len(got), got)
				}
				line := ""
				eventually(t, "a log line about the connection", func() bool {
					line = lineWith(s.log.String(), from)
					return line != ""
				})
				if !strings.Contains(line, row.log) {
					t.Errorf("the log says %q, want something of %s", line, row.log)
				}
				if n := strings.Count(s.log.String(), from); n != 1 {
					t.Errorf("%d log lines about the connection", n)
				}
			})
		}
	}
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}
