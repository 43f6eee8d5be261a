// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"net"
	"strings"
	"testing"
)

func TestAdvertisedAddress(t *testing.T) {
	cidr := func(s string) net.Addr {
		ip, n, err := net.ParseCIDR(s)
		if err != nil {
			t.Fatal(err)
		}
		return &net.IPNet{IP: ip, Mask: n.Mask}
	}
	lo, lo6, linkLocal, v6, v4 := cidr("127.0.0.1/8"), cidr("::1/128"), cidr("fe80::1/64"), cidr("2001:db8::7/64"), cidr("10.1.2.3/24")
	tests := []struct {
		situation  string
		given      IdentityConfig
		interfaces []net.Addr
		ip, ha     string
		haPort     int32
		warning    string // part of it
	}{
		{"nothing set, one IPv4 address", IdentityConfig{Bind: "0.0.0.0", Port: 10911}, []net.Addr{lo, v4}, "10.1.2.3", "10.1.2.3", 10912, ""},
		{"IPv6 first: IPv4 still wins, old clients cannot read IPv6 hosts", IdentityConfig{Bind: "::", Port: 1}, []net.Addr{lo6, linkLocal, v6, v4}, "10.1.2.3", "10.1.2.3", 2, ""},
		{"IPv6 only", IdentityConfig{Bind: "::", Port: 1}, []net.Addr{lo, lo6, linkLocal, v6}, "2001:db8::7", "2001:db8::7", 2, ""},
		{"no network at all", IdentityConfig{Bind: "0.0.0.0", Port: 1}, []net.Addr{lo, lo6}, "127.0.0.1", "127.0.0.1", 2, "only this machine"},
		{"listening on loopback", IdentityConfig{Bind: "127.0.0.1", Port: 1}, []net.Addr{lo, v4}, "127.0.0.1", "127.0.0.1", 2, ""},
		{"listening on one address", IdentityConfig{Bind: "10.1.2.3", Port: 1}, nil, "10.1.2.3", "10.1.2.3", 2, ""},
		{"address set", IdentityConfig{IP: "192.0.2.1", HAIP: "192.0.2.2", HAPort: 7, Port: 1}, []net.Addr{v4}, "192.0.2.1", "192.0.2.2", 7, ""},
		{"unspecified address set", IdentityConfig{IP: "0.0.0.0", Port: 1}, nil, "0.0.0.0", "0.0.0.0", 2, "no machine"},
		{"loopback set, listening everywhere", IdentityConfig{IP: "127.0.0.1", Bind: "0.0.0.0", Port: 1}, nil, "127.0.0.1", "127.0.0.1", 2, "only this machine"},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			c := tt.given
			warning, err := c.advertise(func() ([]net.Addr, error) { return tt.interfaces, nil })
			if err != nil {
				t.Fatal(err)
			}
			if c.IP != tt.ip || c.HAIP != tt.ha || c.HAPort != tt.haPort {
				t.Errorf("advertised %s, %s:%d; want %s, %s:%d", c.IP, c.HAIP, c.HAPort, tt.ip, tt.ha, tt.haPort)
			}
			if (warning == "") != (tt.warning == "") || !strings.Contains(warning, tt.warning) {
				t.Errorf("warning %q, want %q", warning, tt.warning)
			}
		})
	}
}
