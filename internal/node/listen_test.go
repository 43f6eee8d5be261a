// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
)

func listenLocal(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestOpenPortsFillsInWhatItGot(t *testing.T) {
	cfg := Defaults(true, true)
	cfg.NameServer.Listen.Bind, cfg.NameServer.Listen.Port = "127.0.0.1", 0
	cfg.Broker.Identity.Bind, cfg.Broker.Identity.Port = "localhost", 0
	cfg.HTTP = "127.0.0.1:0"
	p, err := openPorts(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if cfg.NameServer.Listen.Port == 0 || cfg.Broker.Identity.Port != portOf(p.broker) || p.http == nil {
		t.Errorf("ports %d, %d, http %v", cfg.NameServer.Listen.Port, cfg.Broker.Identity.Port, p.http)
	}
	if ip := net.ParseIP(cfg.Broker.Identity.Bind); ip == nil || !ip.IsLoopback() {
		t.Errorf("the broker is bound to %q, want the address of localhost", cfg.Broker.Identity.Bind)
	}
	if p.fast == nil || portOf(p.fast) != portOf(p.broker)-2 {
		t.Errorf("fast port %v, main port %v", p.fast, p.broker)
	}
}

// One port in use ends the start, and those that were opened before it are free again.
func TestOpenPortsInUse(t *testing.T) {
	taken := listenLocal(t, "127.0.0.1:0")
	free := listenLocal(t, "127.0.0.1:0")
	_ = free.Close()
	cfg := Defaults(true, true)
	cfg.NameServer.Listen.Bind, cfg.NameServer.Listen.Port = "127.0.0.1", portOf(free)
	cfg.Broker.Identity.Bind, cfg.Broker.Identity.Port = "127.0.0.1", portOf(taken)

	_, err := openPorts(t.Context(), &cfg)
	fault, ok := errors.AsType[*ListenError](err)
	if !ok || fault.Role != RoleBroker || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v, want that the broker's port is in use", err)
	}
	if want := "the broker cannot listen on " + taken.Addr().String() + ": address already in use"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	listenLocal(t, free.Addr().String())
}

// The fast port is not worth failing for: only clients of long ago use it.
func TestFastPortInUse(t *testing.T) {
	main := listenLocal(t, "127.0.0.1:0")
	listenLocal(t, hostPort("127.0.0.1", portOf(main)-fastBelow))
	_ = main.Close()
	main, fast, err := listenTwice(t.Context(), "127.0.0.1", portOf(main))
	if err != nil {
		t.Fatal(err)
	}
	_ = main.Close()
	if fast != nil {
		_ = fast.Close()
		t.Error("the fast port was opened twice")
	}
}

func TestReachable(t *testing.T) {
	for bound, want := range map[string]string{
		"0.0.0.0": "127.0.0.1:7", "::": "127.0.0.1:7", "": "127.0.0.1:7", "192.0.2.7": "192.0.2.7:7", "2001:db8::7": "[2001:db8::7]:7",
	} {
		if got := reachable(bound, 7); got != want {
			t.Errorf("reachable(%q) = %s, want %s", bound, got, want)
		}
	}
}

func TestListenErrorWithoutNumber(t *testing.T) {
	_, err := listen(t.Context(), RoleHTTP, "nowhere.invalid:0")
	if err == nil || !strings.HasPrefix(err.Error(), "the HTTP server cannot listen on nowhere.invalid:0: ") {
		t.Errorf("got %v", err)
	}
}
