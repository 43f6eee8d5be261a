// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// brokerName is the name of brokers that are told none.
const brokerName = "broker-a"

// server is a process of one or both roles and where it listens. A role that it does not have has no address.
type server struct {
	*process
	data       string
	nameServer string
	broker     string
}

// setup says what to start. The zero value: a broker alone, registered nowhere.
type setup struct {
	command     string   // server, nameserver or broker
	nameServers []string // that a broker registers with
	data        string   // "": a new folder
	nameServer  string   // address; "": a free one
	broker      string   // the same
	set         []string // key=value
}

// start starts a server and waits until it answers.
func start(t testing.TB, what setup) *server {
	t.Helper()
	s := prepare(t, what)
	s.begin()
	return s
}

// prepare makes a server that is not started yet.
func prepare(t testing.TB, what setup) *server {
	t.Helper()
	if what.command == "" {
		what.command = "broker"
	}
	s := &server{data: what.data, nameServer: what.nameServer, broker: what.broker}
	if s.data == "" {
		s.data = t.TempDir()
	}
	args := []string{what.command, "--data", s.data, "--http-listen", "127.0.0.1:0"}
	if what.command != "broker" {
		if s.nameServer == "" {
			s.nameServer = address(freePort(t))
		}
		args = append(args, "--nameserver-listen", s.nameServer)
	}
	if what.command != "nameserver" {
		if s.broker == "" {
			s.broker = address(freePort(t))
		}
		host, port, _ := net.SplitHostPort(s.broker)
		n, _ := strconv.Atoi(port)
		args = append(args, "--broker-listen", s.broker, "--ha-listen", net.JoinHostPort(host, strconv.Itoa(n+1)),
			"--set", "brokerName="+brokerName)
	}
	if len(what.nameServers) > 0 {
		args = append(args, "-n", strings.Join(what.nameServers, ";"))
	}
	for _, kv := range what.set {
		args = append(args, "--set", kv)
	}
	s.process = newProcess(t, args...)
	return s
}

// begin starts the process and waits until all its roles answer.
func (s *server) begin() {
	s.t.Helper()
	if err := s.tryBegin(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) tryBegin() error {
	if err := s.start(); err != nil {
		return err
	}
	if s.broker != "" {
		queue := header.Of(protocol.QueueHeader{Topic: "TBW102"})
		if err := s.answers(s.broker, &remoting.Command{Code: protocol.GetMaxOffset, Header: queue}); err != nil {
			return err
		}
	}
	if s.nameServer != "" {
		route := header.Of(protocol.RouteRequest{Topic: "TBW102"})
		return s.answers(s.nameServer, &remoting.Command{Code: protocol.GetRouteInfoByTopic, Header: route})
	}
	return nil
}

// answers waits until the request gets an answer, whatever it is.
func (s *server) answers(addr string, req *remoting.Command) error {
	_, exited := s.running()
	client := remoting.NewClient(nil, nil, remoting.DefaultConfig())
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		_, err := client.Call(ctx, addr, req)
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("the process ended before it served: %s", tail(s.log.String(), 2000))
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w", addr, err)
		case <-time.After(3 * time.Millisecond):
		}
	}
}

// crash is kill -9 and a new start on the same data.
func (s *server) crash() {
	s.t.Helper()
	s.kill()
	s.begin()
}

// restart is SIGTERM and a new start on the same data.
func (s *server) restart() {
	s.t.Helper()
	s.stop()
	s.begin()
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Ports are taken from below the range that systems choose from for outgoing connections: a server that is down for a
// moment must find its port free when it comes back.
const firstPort, portSpan = 15000, 16000

var ports struct {
	mu   sync.Mutex
	used map[int]bool
}

// freePort gives a port that is free, as are those of a broker around it: the fast one two below, the one for replicas
// above.
func freePort(t testing.TB) int {
	t.Helper()
	ports.mu.Lock()
	defer ports.mu.Unlock()
	if ports.used == nil {
		ports.used = make(map[int]bool)
	}
	for range 1000 {
		port := firstPort + rand.IntN(portSpan/4)*4
		if !ports.used[port] && isFree(port) && isFree(port-2) && isFree(port+1) {
			ports.used[port] = true
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
