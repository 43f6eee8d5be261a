// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// badStreams are bytes of a connection that must be closed for them, without an
// answer, and a word of the log line that says why.
func badStreams() map[string]struct{ bytes, why string } {
	length := func(n int64, rest string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(n))) + rest
	}
	m := map[string]struct{ bytes, why string }{
		"length 0":                {length(0, "xxxx"), "length 0"},
		"length 3":                {length(3, "xxx"), "length 3"},
		"length negative":         {length(-1, "xxxxxxxx"), "not RocketMQ"},
		"length 16 MiB - 3":       {length(16<<20-3, "xxxxxxxx"), "length 16777213"},
		"length 16777217":         {length(16777217, strings.Repeat("x", 100)), "length 16777217"},
		"length 1.3 GB":           {"PUTS\n", "PUTS"},
		"HTTP":                    {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP"},
		"HTTP POST":               {"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP"},
		"HTTP/2":                  {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP"},
		"SSH":                     {"SSH-2.0-OpenSSH_9.9\r\n", "SSH"},
		"blank line":              {"\r\nEHLO\r\n", "not RocketMQ"},
		"PROXY without addresses": {"PROXY TCP4\r\n", "PROXY"},
		"PROXY with bad address":  {"PROXY TCP4 1.2.3 4.5.6.7 1 2\r\n", "PROXY"},
		"PROXY with bad port":     {"PROXY TCP4 1.2.3.4 4.5.6.7 65536 2\r\n", "PROXY"},
		"PROXY without end":       {"PROXY " + strings.Repeat("x", 200), "PROXY"},
		"PROXY version 3":         {proxyV2Start + "\x31\x11\x00\x0c" + strings.Repeat("x", 12), "PROXY"},
		"PROXY command 2":         {proxyV2Start + "\x22\x11\x00\x0c" + strings.Repeat("x", 12), "PROXY"},
		"PROXY v2 cut addresses":  {proxyV2Start + "\x21\x11\x00\x04" + "xxxx", "PROXY"},
	}
	for what, frame := range hostile() {
		if len(frame) >= lengthBytes {
			m[what] = struct{ bytes, why string }{length(int64(len(frame)), string(frame)), "bad frame"}
		}
	}
	return m
}

// Whatever is wrong with its bytes, a connection is closed with one line in the
// log, its good requests before are answered, and nobody else notices.
func TestBadStreams(t *testing.T) {
	var log logLines
	addr, _ := serve(t, handlerFunc(echo), func(c *Config) { c.Logger = log.logger() })
	good := dial(t, addr)
	opaque := int32(0)
	for what, bad := range badStreams() {
		t.Run(what, func(t *testing.T) {
			before := len(log.lines())
			p := dial(t, addr)
			p.send([]byte(bad.bytes))
			if got := p.rest(); len(got) > 0 {
				t.Errorf("answered %q", got)
			}
			q := dial(t, addr)
			q.send(slices.Concat(request(t, 30, 1, JSON, "before"), []byte(bad.bytes)))
			if got := q.read(); string(got.Body) != "before" {
				t.Errorf("answer to the good request is %+v", got)
			}
			if got := q.rest(); len(got) > 0 {
				t.Errorf("answered %q", got)
			}
			eventually(t, "two log lines", func() bool { return len(log.lines()) >= before+2 })
			lines := log.lines()[before:]
			if len(lines) != 2 || !strings.Contains(lines[0]+lines[1], bad.why) {
				t.Errorf("want %q in one line per connection, got %q", bad.why, lines)
			}
			opaque++
			good.send(request(t, 30, opaque, JSON, ""))
			if got := good.read(); got.Opaque != opaque {
				t.Errorf("neighbour got an answer to %d", got.Opaque)
			}
		})
	}
}

// proxyV2 makes a binary PROXY header.
func proxyV2(command, family byte, addresses string) string {
	h := proxyV2Start + string([]byte{0x20 | command, family<<4 | 1})
	return h + string(binary.BigEndian.AppendUint16(nil, uint16(len(addresses)))) + addresses
}

func TestProxyHeaders(t *testing.T) {
	v6 := strings.Repeat("\x00", 15) + "\x01"
	addrs := make(chan string, 1)
	addr, _ := serve(t, handlerFunc(func(x *Exchange) { addrs <- x.Conn.RemoteAddr(); echo(x) }), nil)
	for _, tt := range []struct{ what, bytes, want string }{
		{"v1 IPv4", "PROXY TCP4 192.0.2.1 192.0.2.2 4711 10911\r\n", "192.0.2.1:4711"},
		{"v1 IPv6", "PROXY TCP6 2001:db8::1 2001:db8::2 4711 10911\r\n", "[2001:db8::1]:4711"},
		{"v1 unknown", "PROXY UNKNOWN\r\n", ""},
		{"v1 unknown with text", "PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", ""},
		{"v2 IPv4", proxyV2(1, 1, "\xc0\x00\x02\x01\xc0\x00\x02\x02\x12\x67\x2a\x9f"), "192.0.2.1:4711"},
		{"v2 IPv6 and TLVs", proxyV2(1, 2, v6+v6+"\x12\x67\x2a\x9f"+"\x04\x00\x03abc"), "[::1]:4711"},
		{"v2 local", proxyV2(0, 0, ""), ""},
		{"v2 unix socket", proxyV2(1, 3, strings.Repeat("x", 216)), ""},
	} {
		for _, pieces := range []bool{false, true} {
			p := dial(t, addr)
			stream := append([]byte(tt.bytes), request(t, 30, 1, JSON, "")...)
			if pieces {
				for _, ch := range stream {
					p.send([]byte{ch})
				}
			} else {
				p.send(stream)
			}
			p.read()
			want := tt.want
			if want == "" {
				want = p.LocalAddr().String()
			}
			if got := <-addrs; got != want {
				t.Errorf("%s (pieces %v): got %s, want %s", tt.what, pieces, got, want)
			}
		}
	}
}

func FuzzParseProxy(f *testing.F) {
	f.Add([]byte("PROXY TCP4 192.0.2.1 192.0.2.2 4711 10911\r\n"))
	f.Add([]byte("PROXY UNKNOWN\r\nxxx"))
	f.Add([]byte(proxyV2(1, 1, "\xc0\x00\x02\x01\xc0\x00\x02\x02\x12\x67\x2a\x9f") + "rest"))
	f.Add([]byte(proxyV2(0, 0, "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseProxy(b)
		if err == nil && h.size > 0 {
			if h.size > len(b) {
				t.Errorf("takes %d of %d bytes", h.size, len(b))
			}
			more, err := parseProxy(append(bytes.Clone(b), "more"...))
			if more != h || err != nil {
				t.Errorf("what follows changes it: %+v, then %+v, %v", h, more, err)
			}
		}
	})
}

// certificate makes a self-signed one for 127.0.0.1.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := x509.ParseCertificate(der)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{RootCAs: roots}
}

func TestTLSBesidePlain(t *testing.T) {
	server, client := certificate(t)
	addr, _ := serve(t, handlerFunc(echo), func(c *Config) { c.TLS = server })
	for _, conf := range []*tls.Config{client, nil} {
		cfg := DefaultConfig()
		cfg.TLS = conf
		c := NewClient(nil, nil, cfg)
		defer c.Close()
		for _, n := range []int{0, 100, 100_000, 3 << 20} {
			body := bytes.Repeat([]byte("t"), n)
			resp, err := c.Call(bounded(t), addr, &Command{Code: 1, Body: body})
			if err != nil || !bytes.Equal(resp.Body, body) {
				t.Fatalf("TLS %v, %d bytes: %v", conf != nil, n, err)
			}
		}
	}
}

func TestTLSRequired(t *testing.T) {
	server, client := certificate(t)
	addr, _ := serve(t, handlerFunc(echo), func(c *Config) { c.TLS, c.RequireTLS = server, true })
	p := dial(t, addr)
	p.send(request(t, 1, 1, JSON, ""))
	if got := p.rest(); len(got) > 0 {
		t.Errorf("plain request was answered %q", got)
	}
	cfg := DefaultConfig()
	cfg.TLS = client
	c := NewClient(nil, nil, cfg)
	defer c.Close()
	if _, err := c.Call(bounded(t), addr, &Command{Code: 1}); err != nil {
		t.Error(err)
	}
}

func TestTLSWithoutTLS(t *testing.T) {
	var log logLines
	addr, _ := serve(t, handlerFunc(echo), func(c *Config) { c.Logger = log.logger() })
	_, client := certificate(t)
	_, err := (&tls.Dialer{Config: client}).DialContext(context.Background(), "tcp", addr)
	if err == nil || !strings.Contains(err.Error(), "handshake failure") {
		t.Errorf("client sees %v", err)
	}
	eventually(t, "a log line", func() bool { return len(log.lines()) == 1 })
	if line := log.lines()[0]; !strings.Contains(line, "TLS is not configured") {
		t.Errorf("log says %s", line)
	}
}

func TestTLSHandshakeThatFails(t *testing.T) {
	server, _ := certificate(t)
	addr, s := serve(t, handlerFunc(echo), func(c *Config) { c.TLS = server })
	p := dial(t, addr)
	p.send([]byte("\x16\x03\x01\x00\x05rubbish"))
	if _, err := io.ReadAll(p); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	eventually(t, "connection gone", func() bool { return s.Conns() == 0 })
}
