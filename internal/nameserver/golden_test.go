// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// exchange is a request as a RocketMQ client or broker sent it and what RocketMQ's
// name server answered, both as captured.
type exchange struct {
	Name              string
	Conn              int
	RequestHeader     string // JSON header, or
	RequestHeaderHex  string // compact header
	RequestBody       string
	ResponseHeader    string // both absent: oneway
	ResponseHeaderHex string
	ResponseBody      string
	Unchecked         bool // the answer depends on what is not in the file
}

// TestCapturedExchanges plays captured traffic in its order and compares each
// answer byte by byte. What 4.9.7 says otherwise (its version, the link of
// TOPIC_NOT_EXIST, no enableActingMaster) is translated first.
func TestCapturedExchanges(t *testing.T) {
	since497 := strings.NewReplacer(`"version":407`, `"version":513`,
		`http://rocketmq.apache.org/docs/faq/`, `https://rocketmq.apache.org/docs/bestPractice/06FAQ`)
	for _, row := range []struct {
		file   string
		change func(*Config)
	}{
		{"golden-5.5.0-json.jsonl", nil},
		{"golden-5.5.0-binary.jsonl", nil},
		{"golden-5.5.0-acting.jsonl", func(c *Config) { c.Routes.ActingMaster, c.Brokers.NotifyMinID = true, true }},
		{"golden-4.9.7-json.jsonl", nil},
	} {
		t.Run(row.file, func(t *testing.T) {
			s := start(t, row.change)
			conns := map[int]net.Conn{}
			for n, x := range readExchanges(t, row.file) {
				if strings.Contains(row.file, "4.9.7") {
					x.ResponseHeader = since497.Replace(x.ResponseHeader)
					x.ResponseBody = strings.ReplaceAll(x.ResponseBody, `"cluster":"DefaultCluster"}`, `"cluster":"DefaultCluster","enableActingMaster":false}`)
				}
				if conns[x.Conn] == nil {
					nc, err := net.Dial("tcp", s.addr)
					if err != nil {
						t.Fatal(err)
					}
					defer nc.Close()
					_ = nc.SetDeadline(time.Now().Add(patience))
					conns[x.Conn] = nc
				}
				x.play(t, n+1, conns[x.Conn])
			}
		})
	}
}

// play sends the request and compares the answer. A question is repeated while the
// answer is another one: departures are applied a moment later.
func (x *exchange) play(t *testing.T, line int, nc net.Conn) {
	t.Helper()
	request := frameOf(x.RequestHeader, x.RequestHeaderHex, x.RequestBody)
	want := frameOf(x.ResponseHeader, x.ResponseHeaderHex, x.ResponseBody)
	deadline := time.Now().Add(patience / 5)
	for {
		if _, err := nc.Write(request); err != nil {
			t.Fatal(err)
		}
		if x.ResponseHeader == "" && x.ResponseHeaderHex == "" {
			return
		}
		got := readFrame(t, nc)
		if bytes.Equal(got, want) || x.Unchecked {
			return
		}
		if !strings.HasPrefix(x.Name, "GET_") || time.Now().After(deadline) {
			t.Errorf("line %d, %s:\n got %q\nwant %q", line, x.Name, got, want)
			return
		}
	}
}

func readExchanges(t *testing.T, file string) []exchange {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []exchange
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatalf("line %d: %v", len(out)+1, err)
		}
		out = append(out, x)
	}
	if err := lines.Err(); err != nil || len(out) == 0 {
		t.Fatal(err, len(out))
	}
	return out
}

func frameOf(header, headerHex, body string) []byte {
	h, form := []byte(header), uint32(0)
	if headerHex != "" {
		h, _ = hex.DecodeString(headerHex)
		form = 1 << 24
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(h)+len(body)))
	b = binary.BigEndian.AppendUint32(b, form|uint32(len(h)))
	return append(append(b, h...), body...)
}

func readFrame(t *testing.T, nc net.Conn) []byte {
	t.Helper()
	frame := make([]byte, 4)
	if _, err := io.ReadFull(nc, frame); err != nil {
		t.Fatal(err)
	}
	frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
	if _, err := io.ReadFull(nc, frame[4:]); err != nil {
		t.Fatal(err)
	}
	return frame
}
