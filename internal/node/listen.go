// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// ListenError says that a role got no port.
type ListenError struct {
	Role string // RoleNameServer, RoleBroker, RoleHTTP
	Addr string
	Err  error
}

func (e *ListenError) Error() string {
	why := e.Err
	var number syscall.Errno
	if errors.As(e.Err, &number) {
		why = number
	}
	return fmt.Sprintf("the %s cannot listen on %s: %v", e.Role, e.Addr, why)
}

// Unwrap gives the fault itself.
func (e *ListenError) Unwrap() error { return e.Err }

// ports are the listeners of a node. All are opened before any role starts, so that a port in use ends the start before
// anything was touched on disk.
type ports struct {
	nameServer, broker, fast, http net.Listener
}

func openPorts(ctx context.Context, cfg *Config) (p *ports, err error) {
	p = &ports{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if c := cfg.NameServer; c != nil {
		if p.nameServer, err = listen(ctx, RoleNameServer, hostPort(c.Listen.Bind, c.Listen.Port)); err != nil {
			return p, err
		}
		c.Listen.Bind, c.Listen.Port = bound(c.Listen.Bind, p.nameServer), portOf(p.nameServer)
	}
	if c := cfg.Broker; c != nil {
		if p.broker, p.fast, err = listenTwice(ctx, c.Identity.Bind, c.Identity.Port); err != nil {
			return p, err
		}
		c.Identity.Bind, c.Identity.Port = bound(c.Identity.Bind, p.broker), portOf(p.broker)
	}
	if cfg.HTTP != "" {
		if p.http, err = listen(ctx, RoleHTTP, cfg.HTTP); err != nil {
			return p, err
		}
	}
	return p, nil
}

// fastBelow is how far the fast port is below the main one; clients subtract it themselves.
const fastBelow = 2

// listenTwice opens the broker's main port and the fast port below it. The fast one is nil when it is taken: only
// clients before 4.5 miss it. A main port that may be any is chosen so that both are there.
func listenTwice(ctx context.Context, host string, port int32) (main, fast net.Listener, err error) {
	tries := 1
	if port == 0 {
		tries = 20
	}
	for range tries {
		if main != nil {
			_ = main.Close() // had no free port below it
		}
		if main, err = listen(ctx, RoleBroker, hostPort(host, port)); err != nil {
			return nil, nil, err
		}
		fast, err = listen(ctx, RoleBroker, hostPort(host, portOf(main)-fastBelow))
		if err == nil {
			return main, fast, nil
		}
	}
	return main, nil, nil
}

func listen(ctx context.Context, role, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, &ListenError{Role: role, Addr: addr, Err: err}
	}
	return l, nil
}

// close closes what no role has taken over; closing twice does no harm.
func (p *ports) close() {
	for _, l := range []net.Listener{p.nameServer, p.broker, p.fast, p.http} {
		if l != nil {
			_ = l.Close()
		}
	}
}

func portOf(l net.Listener) int32 {
	return int32(l.Addr().(*net.TCPAddr).Port)
}

// bound is the host as an address: as it was given, or what the name that was given stands for.
func bound(host string, l net.Listener) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	return l.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap().String()
}

func hostPort(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// reachable is the address under which this process reaches a listener of its own.
func reachable(host string, port int32) string {
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsUnspecified() {
		host = "127.0.0.1" // a socket bound to :: takes IPv4 too
	}
	return hostPort(host, port)
}
