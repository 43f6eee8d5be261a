// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// proxyHeader is what a load balancer puts before a connection to tell whom it
// speaks for (the PROXY protocol, versions 1 and 2).
type proxyHeader struct {
	size   int            // bytes of the header, 0: more must arrive
	source netip.AddrPort // not valid: the balancer speaks for itself
}

const (
	proxyV1Start = "PROXY "
	proxyV1Max   = 107 // with CR LF
	proxyV2Start = "\r\n\r\n\x00\r\nQUIT\n"
	proxyV2Fixed = 16
)

var errBadProxy = badFrame("malformed PROXY header")

func parseProxy(b []byte) (proxyHeader, error) {
	for _, start := range []string{proxyV1Start, proxyV2Start} {
		n := min(len(b), len(start))
		if string(b[:n]) != start[:n] {
			continue
		}
		switch {
		case n < len(start):
			return proxyHeader{}, nil
		case start == proxyV1Start:
			return parseProxyV1(b)
		default:
			return parseProxyV2(b)
		}
	}
	return proxyHeader{}, badFrame("not RocketMQ's protocol, but " + describe(b))
}

// parseProxyV1 reads a line like: PROXY TCP4 192.0.2.1 192.0.2.2 4711 10911.
func parseProxyV1(b []byte) (proxyHeader, error) {
	end := bytes.Index(b[:min(len(b), proxyV1Max)], []byte("\r\n"))
	if end < 0 {
		if len(b) >= proxyV1Max {
			return proxyHeader{}, errBadProxy
		}
		return proxyHeader{}, nil
	}
	h := proxyHeader{size: end + 2}
	words := strings.Split(string(b[:end]), " ")
	if words[1] == "UNKNOWN" {
		return h, nil
	}
	if len(words) != 6 || words[1] != "TCP4" && words[1] != "TCP6" {
		return proxyHeader{}, errBadProxy
	}
	ip, err := netip.ParseAddr(words[2])
	port, err2 := strconv.ParseUint(words[4], 10, 16)
	if err != nil || err2 != nil {
		return proxyHeader{}, errBadProxy
	}
	h.source = netip.AddrPortFrom(ip.Unmap(), uint16(port))
	return h, nil
}

// parseProxyV2 reads the binary form:
//
//	signature 12, version and command 1, family 1, length 2, addresses and more
func parseProxyV2(b []byte) (proxyHeader, error) {
	if len(b) < proxyV2Fixed {
		return proxyHeader{}, nil
	}
	h := proxyHeader{size: proxyV2Fixed + int(binary.BigEndian.Uint16(b[14:]))}
	if b[12]>>4 != 2 || b[12]&15 > 1 {
		return proxyHeader{}, errBadProxy
	}
	if len(b) < h.size {
		return proxyHeader{}, nil
	}
	if b[12]&15 == 0 { // LOCAL: a health check of the balancer's own
		return h, nil
	}
	addr := b[proxyV2Fixed:h.size]
	ipBytes := map[byte]int{1: 4, 2: 16}[b[13]>>4]
	if ipBytes == 0 {
		return h, nil
	}
	if len(addr) < 2*ipBytes+4 {
		return proxyHeader{}, errBadProxy
	}
	ip, _ := netip.AddrFromSlice(addr[:ipBytes])
	h.source = netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(addr[2*ipBytes:]))
	return h, nil
}
