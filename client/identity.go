// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// clientID makes the id by which brokers know a client: "ip@instance[@unit]". Two
// clients of the same id would be taken for one, which then reads half of what it
// should: unless told otherwise the instance holds process, time and a count.
func (c *clusterConfig) clientID() string {
	ip, instance := c.clientIP, c.instance
	if ip == "" {
		ip = localIP()
	}
	if instance == "" {
		instance = fmt.Sprintf("%d#%d", os.Getpid(), uniqueNano())
	}
	id := ip + "@" + instance
	if c.unit != "" {
		id += "@" + c.unit
	}
	return id
}

var lastNano atomic.Int64

// uniqueNano is the time in nanoseconds, never the same twice in a process.
func uniqueNano() int64 {
	for {
		now, last := time.Now().UnixNano(), lastNano.Load()
		if now <= last {
			now = last + 1
		}
		if lastNano.CompareAndSwap(last, now) {
			return now
		}
	}
}

// localIP is an address of this host that others may know it by: the first that is
// no loopback, IPv4 before IPv6.
func localIP() string {
	addrs, _ := net.InterfaceAddrs()
	var v6 string
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.IsLinkLocalUnicast() {
			continue
		}
		if v4 := n.IP.To4(); v4 != nil {
			return v4.String()
		}
		if v6 == "" {
			v6 = n.IP.String()
		}
	}
	if v6 != "" {
		return v6
	}
	return "127.0.0.1"
}
