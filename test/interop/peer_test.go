// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/test/interop/rig"
)

// The clients that peers are made of.
const (
	javaV5 = "java-5.5.0"
	javaV4 = "java-4.9.8"
	goV2   = "go-v2"
	goSDK  = "sdk" // Goddard's own client
)

// peer is a process with one client, a consumer ("worker") or a producer ("load"), which says line by line what it does.
// Being a process of its own it can be ended by kill -9. What the lines tell is kept in a ledger.
type peer struct {
	t      *testing.T
	client string
	number int // among the ledger's peers
	ledger *ledger
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer

	ready, ended chan struct{}

	mu     sync.Mutex
	wanted bool // that it ends
	err    error
}

// startPeer starts one: "worker TOPIC GROUP MODE FAIL MAX" or "load TOPIC PREFIX KEYS PAUSE" (see Worker.java and Load.java, which
// golang_peer_test.go does in Go). It does not wait until the client has started.
func startPeer(t *testing.T, s rig.Server, l *ledger, client string, words ...any) *peer {
	t.Helper()
	args := strings.Fields(fmt.Sprintln(words...))
	p := &peer{t: t, client: client, ledger: l, ready: make(chan struct{}), ended: make(chan struct{})}
	switch client {
	case javaV5:
		p.cmd = javaCommand(t, "v5", append([]string{s.NameServer()}, args...)...)
	case javaV4:
		p.cmd = javaCommand(t, "v4", append([]string{s.NameServer()}, args...)...)
	default:
		p.cmd = exec.Command(os.Args[0])
		p.cmd.Env = append(os.Environ(), peerVariable+"="+strings.Join(append([]string{client, s.NameServer()}, args...), " "))
	}
	p.number = l.join(client + " " + args[0])
	out, err := p.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%d %s: %s", p.number, client, rig.Tail(p.stderr.Bytes(), 3000))
		}
	})
	go p.listen(out)
	return p
}

func (p *peer) start() (io.Reader, error) {
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return out, p.cmd.Start()
}

// mostStarts bounds how often a peer is started whose client did not get ready: clients give up at the first question
// that is not answered in 3 s, which happens where ten JVMs start on two cores.
const mostStarts = 5

// listen writes down what the peer says, to its end.
func (p *peer) listen(out io.Reader) {
	defer close(p.ended)
	ready := false
	for starts := 1; ; starts++ {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line, ok := strings.CutPrefix(lines.Text(), "@")
			switch {
			case !ok:
			case line == "ready":
				ready = true
				close(p.ready)
			default:
				p.ledger.note(p.number, line)
			}
		}
		if out = p.again(p.cmd.Wait(), !ready && starts < mostStarts); out == nil {
			return
		}
	}
}

// again starts a peer anew that ended with err, if it may and was not told to end; else it gives nil.
func (p *peer) again(err error, may bool) (out io.Reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wanted {
		return nil
	}
	if may {
		env := p.cmd.Env
		p.cmd = exec.Command(p.cmd.Args[0], p.cmd.Args[1:]...)
		p.cmd.Env = env
		if out, err = p.start(); err == nil {
			return out
		}
	}
	p.err = fmt.Errorf("%s ended by itself: %v", p.client, err)
	p.ledger.fail(p.err)
	return nil
}

// awaitReady waits until the client has started.
func (p *peer) awaitReady() {
	p.t.Helper()
	select {
	case <-p.ready:
	case <-p.ended:
		p.t.Fatal(p.err)
	case <-time.After(90 * time.Second):
		p.t.Fatalf("%s does not start", p.client)
	}
}

func (p *peer) expectEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = true
}

// kill is kill -9. Everything that the peer said before is in the ledger when it returns.
func (p *peer) kill() {
	p.mu.Lock()
	p.wanted = true
	_ = p.cmd.Process.Kill()
	p.mu.Unlock()
	<-p.ended
}

// leave has the peer end in order, and waits for it.
func (p *peer) leave() {
	p.t.Helper()
	p.expectEnd()
	_ = p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(60 * time.Second):
		p.t.Fatalf("%s does not end", p.client)
	}
}
