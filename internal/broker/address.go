// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"net"
	"net/netip"
)

// advertise settles the addresses that clients and slaves are told: those of the settings, or found ones. A warning says
// that the main port listens for everybody while its address can be reached from this machine only.
func (c *IdentityConfig) advertise(interfaces func() ([]net.Addr, error)) (warning string, err error) {
	bind, _ := netip.ParseAddr(c.Bind) // a name, or nothing: not an address, taken for "everywhere"
	if c.IP == "" {
		ip, err := findIP(bind, interfaces)
		if err != nil {
			return "", err
		}
		c.IP = ip.String()
	}
	if c.HAIP == "" {
		c.HAIP = c.IP
	}
	if c.HAPort == 0 {
		c.HAPort = c.Port + 1
	}
	ip, err := netip.ParseAddr(c.IP)
	if err != nil {
		return "", fmt.Errorf("brokerIP1=%q: %w", c.IP, err)
	}
	switch {
	case ip.IsUnspecified():
		warning = fmt.Sprintf("clients are told to connect to %s, which no machine can reach; set brokerIP1 to this machine's address", ip)
	case ip.IsLoopback() && !bind.IsLoopback():
		warning = fmt.Sprintf("clients are told to connect to %s, which only this machine can reach; set brokerIP1 to this machine's address", ip)
	}
	return warning, nil
}

// findIP gives the address the port is bound to, or the machine's first usable one: IPv4 before IPv6, none that is
// loopback or link-local; loopback when there is no other (RocketMQ: NetworkUtil.getLocalAddress).
func findIP(bind netip.Addr, interfaces func() ([]net.Addr, error)) (netip.Addr, error) {
	if bind.IsValid() && !bind.IsUnspecified() {
		return bind.Unmap(), nil
	}
	addrs, err := interfaces()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("look for an address to advertise: %w", err)
	}
	best := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	for _, a := range addrs {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		ip := prefix.Addr().Unmap().WithZone("")
		switch {
		case !ip.IsGlobalUnicast(): // loopback, link-local, multicast
		case ip.Is4():
			return ip, nil
		case best.IsLoopback():
			best = ip
		}
	}
	return best, nil
}
