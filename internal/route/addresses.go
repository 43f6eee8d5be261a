// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package route

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// DefaultPort is the name server's port where an address gives none.
const DefaultPort = "9876"

// Addresses tell where name servers are: addresses, and services that list them.
type Addresses struct {
	Fixed []string // host:port
	Lists []string // http or https URLs whose answer is a text of addresses
}

// ParseAddresses reads what people write: one or many texts, addresses in them
// separated by semicolons, commas or blanks; host:port, a host alone (port 9876),
// IPv6 with or without brackets, or http://host/path of a service that lists them.
// Doubles count once. The error names the entry that cannot be an address.
func ParseAddresses(texts ...string) (Addresses, error) {
	var a Addresses
	for _, text := range texts {
		for _, entry := range strings.FieldsFunc(text, separates) {
			if err := a.add(entry); err != nil {
				return Addresses{}, err
			}
		}
	}
	if len(a.Fixed)+len(a.Lists) == 0 {
		return Addresses{}, fmt.Errorf("no name server given: expected an address such as 127.0.0.1:%s", DefaultPort)
	}
	return a, nil
}

func separates(r rune) bool {
	return r == ';' || r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r'
}

func (a *Addresses) add(entry string) error {
	if strings.Contains(entry, "://") {
		if err := checkURL(entry); err != nil {
			return err
		}
		if !slices.Contains(a.Lists, entry) {
			a.Lists = append(a.Lists, entry)
		}
		return nil
	}
	addr, err := parseAddress(entry)
	if err != nil {
		return err
	}
	if !slices.Contains(a.Fixed, addr) {
		a.Fixed = append(a.Fixed, addr)
	}
	return nil
}

func checkURL(entry string) error {
	u, err := url.Parse(entry)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("name server list %q is not an http address", entry)
	}
	return nil
}

func parseAddress(entry string) (string, error) {
	bare := entry
	if strings.HasPrefix(entry, "[") && strings.HasSuffix(entry, "]") {
		bare = entry[1 : len(entry)-1]
	}
	if ip, err := netip.ParseAddr(bare); err == nil && validZone(ip) {
		return net.JoinHostPort(ip.String(), DefaultPort), nil
	}
	if !strings.Contains(entry, ":") {
		entry += ":" + DefaultPort
	}
	host, port, err := net.SplitHostPort(entry)
	if err != nil || !validHost(host) {
		return "", fmt.Errorf("name server %q is not an address: expected host:port", entry)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("name server %q has no valid port: expected host:port with a port of 1 to 65535", entry)
	}
	return net.JoinHostPort(host, port), nil
}

// validHost takes IP addresses and what may be a name of the domain name system.
func validHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return validZone(ip)
	}
	odd := func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return host != "" && strings.IndexFunc(host, odd) < 0
}

// validZone takes zones of IPv6 addresses that can be names of interfaces.
func validZone(ip netip.Addr) bool { return !strings.ContainsAny(ip.Zone(), "[]:%/") }
