// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package rig starts the servers that the suites of this module run against:
// the built Goddard binary, or the real Java server.
package rig

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a name server and a broker, each a process of its own, so that either can be killed and started again.
type Server interface {
	NameServer() string
	Broker() string
	KillBroker()              // kill -9
	StartBroker() error       // again, on the same data
	RestartBroker() error     // both
	RestartNameServer() error // the same
	Store() string            // the broker's store folder
}

// Start gives the server that the environment asks for (INTEROP_SERVER=oracle: the Java server), stopped when the
// test ends. set are broker settings, key=value.
func Start(t *testing.T, set ...string) Server {
	t.Helper()
	if os.Getenv("INTEROP_SERVER") == "oracle" {
		return StartJava(t, os.Getenv("INTEROP_ORACLE"), set...)
	}
	return startGoddard(t, set)
}

// built is Goddard, built once per run, or what E2E_BINARY names.
var built = sync.OnceValues(func() (string, error) {
	if b := os.Getenv("E2E_BINARY"); b != "" {
		return b, nil
	}
	dir, err := os.MkdirTemp("", "goddard-bin")
	if err != nil {
		return "", err
	}
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	b := filepath.Join(dir, "goddard")
	build := exec.Command("go", "build", "-o", b, "./cmd/goddard")
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build goddard: %w\n%s", err, out)
	}
	return b, nil
})

// Goddard runs a command of the built binary and gives what it prints.
func Goddard(t *testing.T, args ...string) string {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, bin, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("goddard %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// process is a child whose output is shown when the test failed.
type process struct {
	mu   sync.Mutex
	cmd  *exec.Cmd
	args []string
	log  bytes.Buffer
}

func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	return p.cmd.Start()
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
}

type goddard struct {
	ns, addr, data     string
	nameserver, broker *process
}

func startGoddard(t *testing.T, set []string) *goddard {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	g := &goddard{ns: FreeAddr(t), addr: FreeAddr(t, -2), data: filepath.Join(dir, "broker")}
	g.nameserver = &process{args: []string{bin, "nameserver",
		"--data", filepath.Join(dir, "ns"), "--nameserver-listen", g.ns, "--http-listen", "127.0.0.1:0"}}
	args := []string{bin, "broker", "-n", g.ns, "--data", g.data, "--broker-listen", g.addr,
		"--ha-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--set", "brokerName=broker-a"}
	for _, kv := range set {
		args = append(args, "--set", kv)
	}
	g.broker = &process{args: args}
	for _, p := range []*process{g.nameserver, g.broker} {
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			p.kill()
			if t.Failed() {
				t.Logf("%s:\n%s", strings.Join(p.args, " "), Tail(p.log.Bytes(), 6000))
			}
		})
	}
	if err := registered(g.ns); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *goddard) NameServer() string { return g.ns }
func (g *goddard) Store() string      { return filepath.Join(g.data, "store") }
func (g *goddard) Broker() string     { return g.addr }

func (g *goddard) KillBroker() { g.broker.kill() }

func (g *goddard) StartBroker() error {
	if err := g.broker.start(); err != nil {
		return err
	}
	return registered(g.ns)
}

func (g *goddard) RestartBroker() error {
	g.KillBroker()
	return g.StartBroker()
}

func (g *goddard) RestartNameServer() error {
	g.nameserver.kill()
	if err := g.nameserver.start(); err != nil {
		return err
	}
	return registered(g.ns)
}

// oracle is the real Java server, started by its script.
type oracle struct {
	script, dir string
	port        int
	set         []string
}

// StartJava gives the real Java server, started by the script.
func StartJava(t *testing.T, script string, set ...string) Server {
	t.Helper()
	o := &oracle{script: script, dir: t.TempDir(), set: set}
	if o.script == "" {
		t.Fatal("INTEROP_ORACLE must name the script that starts the Java server")
	}
	_, port, _ := net.SplitHostPort(FreeAddr(t, 8, 10, 11)) // beside the name server: the broker's fast, main and replication port
	fmt.Sscan(port, &o.port)
	if err := o.run(append([]string{"start", "5", o.dir, fmt.Sprint(o.port)}, set...)...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.run("kill", o.dir) })
	return o
}

func (o *oracle) NameServer() string { return fmt.Sprintf("127.0.0.1:%d", o.port) }
func (o *oracle) Store() string      { return filepath.Join(o.dir, "store") }
func (o *oracle) Broker() string     { return fmt.Sprintf("127.0.0.1:%d", o.port+10) }

func (o *oracle) run(args ...string) error {
	out, err := exec.Command(o.script, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", o.script, strings.Join(args, " "), err, out)
	}
	return nil
}

func (o *oracle) kill(name string) {
	b, _ := os.ReadFile(filepath.Join(o.dir, name+".pid"))
	pid := 0
	if n, _ := fmt.Sscan(string(b), &pid); n == 1 && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func (o *oracle) KillBroker() { o.kill("broker") }

func (o *oracle) RestartBroker() error {
	o.KillBroker()
	return o.StartBroker()
}

func (o *oracle) StartBroker() error {
	if err := o.run(append([]string{"broker", "5", o.dir, fmt.Sprint(o.port + 10), o.NameServer()}, o.set...)...); err != nil {
		return err
	}
	return registered(o.NameServer())
}

func (o *oracle) RestartNameServer() error {
	o.kill("namesrv")
	if err := o.run("namesrv", "5", o.dir, fmt.Sprint(o.port)); err != nil {
		return err
	}
	return registered(o.NameServer())
}

// Ports of servers, which are started again at the same place: below those that the system gives to connections and to
// whoever asks for any.
const (
	firstPort = 20_000
	portSpan  = 12_000
)

var given struct {
	sync.Mutex
	ports map[int]bool
}

// FreeAddr is a loopback address whose port, and those at the given distances from it, are free and were not given before.
func FreeAddr(t *testing.T, around ...int) string {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
	for range 1000 {
		port := firstPort + rand.IntN(portSpan)
		if free(port) && !slices.ContainsFunc(around, func(distance int) bool { return !free(port + distance) }) {
			for _, distance := range append(around, 0) {
				given.ports[port+distance] = true
			}
			return fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	t.Fatal("no free ports")
	return ""
}

// free tells whether nobody has the port and it was not given. given is locked.
func free(port int) bool {
	if given.ports[port] {
		return false
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// registered waits until the name server knows the route of the cluster topic: a broker has registered.
func registered(ns string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for {
		ok, err := HasRoute(ctx, ns, "DefaultCluster")
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("no broker registered with %s", ns), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// HasRoute asks for a topic's route in one raw frame.
func HasRoute(ctx context.Context, ns, topic string) (bool, error) {
	header, _, err := Ask(ctx, ns, 105, map[string]string{"topic": topic}, nil)
	return err == nil && header.Code == 0, err
}

// Header of a command, as JSON.
type Header struct {
	Code      int               `json:"code"`
	Flag      int               `json:"flag"`
	Language  string            `json:"language"`
	Opaque    int               `json:"opaque"`
	Remark    string            `json:"remark,omitempty"`
	Version   int               `json:"version"`
	ExtFields map[string]string `json:"extFields,omitempty"`
}

// Ask sends one raw frame on a connection of its own and reads the answer, within 10 s.
func Ask(ctx context.Context, addr string, code int, fields map[string]string, body []byte) (Header, []byte, error) {
	var answer Header
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return answer, nil, err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	h, err := json.Marshal(Header{Code: code, Language: "JAVA", Opaque: 1, Version: 513, ExtFields: fields})
	if err != nil {
		return answer, nil, err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(h)+len(body)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(h)))
	if _, err := c.Write(slices.Concat(frame, h, body)); err != nil {
		return answer, nil, err
	}
	var lengths [8]byte
	if _, err := io.ReadFull(c, lengths[:]); err != nil {
		return answer, nil, err
	}
	rest := make([]byte, binary.BigEndian.Uint32(lengths[:])-4)
	if _, err := io.ReadFull(c, rest); err != nil {
		return answer, nil, err
	}
	n := binary.BigEndian.Uint32(lengths[4:])
	return answer, rest[n:], json.Unmarshal(rest[:n], &answer)
}

// Tail is the end of b, at most n bytes.
func Tail(b []byte, n int) []byte {
	if len(b) > n {
		return b[len(b)-n:]
	}
	return b
}
