// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package route

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Caller sends a request to an address and waits for the answer. *remoting.Client
// is one. It must not change what the command means, so that it can be sent again.
type Caller interface {
	Call(ctx context.Context, addr string, req *remoting.Command) (*remoting.Command, error)
}

// ErrNoNameServer is in the error of a question that no name server answered.
var ErrNoNameServer = errors.New("no name server answers")

const (
	listEvery    = 2 * time.Minute // between two readings of a service that lists name servers
	listTimeout  = 3 * time.Second
	listMaxBytes = 64 << 10
)

// NameServers asks one name server and stays with it until it fails; then the
// next one is asked, within the same question.
type NameServers struct {
	caller  Caller
	timeout time.Duration // for one name server
	lists   []string
	fixed   []string

	// listing guards listedAt and is held while lists are read; mu nests in it.
	listing  sync.Mutex
	listedAt time.Time

	// mu guards the fields below.
	mu    sync.Mutex
	addrs []string
	at    int // index of the one in use
}

// NewNameServers starts with a random one of a, so that clients spread. Timeout is
// how long each may take to answer.
func NewNameServers(a Addresses, caller Caller, timeout time.Duration) *NameServers {
	n := &NameServers{caller: caller, timeout: timeout, lists: a.Lists, fixed: a.Fixed, addrs: slices.Clone(a.Fixed)}
	if len(n.addrs) > 0 {
		n.at = rand.IntN(len(n.addrs))
	}
	return n
}

// All gives the addresses known, the one in use first.
func (n *NameServers) All(ctx context.Context) ([]string, error) {
	if err := n.readLists(ctx); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.addrs) == 0 {
		return nil, nil
	}
	return append(slices.Clone(n.addrs[n.at:]), n.addrs[:n.at]...), nil
}

// Call asks the name server in use and, when it does not answer, each other one
// once. An answer with an error code is an answer, except that a name server which
// is not ready (SYSTEM_ERROR) or leaving (GO_AWAY) is passed over while another one
// is left. Without any answer the error wraps ErrNoNameServer and names each try.
func (n *NameServers) Call(ctx context.Context, req *remoting.Command) (*remoting.Command, error) {
	addrs, err := n.All(ctx)
	if err != nil {
		return nil, err
	}
	var failures []error
	var refusal *remoting.Command
	for i, addr := range addrs {
		resp, err := n.ask(ctx, addr, len(addrs)-i, req)
		switch {
		case err == nil && resp.Code != protocol.SystemError && resp.Code != protocol.GoAway:
			n.use(addr)
			return resp, nil
		case err == nil:
			refusal = resp
			n.pass(addr)
		case ctx.Err() != nil:
			n.pass(addr)
			return nil, fmt.Errorf("ask name server %s: %w", addr, err)
		default:
			n.pass(addr)
			failures = append(failures, fmt.Errorf("%s: %w", addr, err))
		}
	}
	if refusal != nil {
		return refusal, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrNoNameServer, errors.Join(failures...))
}

// ask gives one name server its part of the time, so that the left-1 after it have
// theirs.
func (n *NameServers) ask(ctx context.Context, addr string, left int, req *remoting.Command) (*remoting.Command, error) {
	timeout := n.timeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/time.Duration(left))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return n.caller.Call(ctx, addr, req)
}

// use makes addr the one that is asked first from now on.
func (n *NameServers) use(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.addrs, addr); i >= 0 {
		n.at = i
	}
}

// pass makes the one behind addr be asked first, if addr was that.
func (n *NameServers) pass(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.addrs) > 0 && n.addrs[n.at] == addr {
		n.at = (n.at + 1) % len(n.addrs)
	}
}

// readLists asks the listing services, if there are any, when it is time to; others
// wait for the one that asks. What they said last stays in force while they do not
// answer.
func (n *NameServers) readLists(ctx context.Context) error {
	if len(n.lists) == 0 {
		return nil
	}
	n.listing.Lock()
	defer n.listing.Unlock()
	if time.Since(n.listedAt) < listEvery {
		return nil
	}
	addrs := slices.Clone(n.fixed)
	var failures []error
	for _, list := range n.lists {
		found, err := readList(ctx, list)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		addrs = append(addrs, found...)
	}
	if len(failures) < len(n.lists) {
		n.set(addrs)
	} else if !n.known() {
		return fmt.Errorf("%w: %w", ErrNoNameServer, errors.Join(failures...)) // the next question asks again
	}
	n.listedAt = time.Now()
	return nil
}

func (n *NameServers) known() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.addrs) > 0
}

// set replaces the addresses; the one in use stays in use when it is still there.
func (n *NameServers) set(addrs []string) {
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	n.mu.Lock()
	defer n.mu.Unlock()
	at := -1
	if len(n.addrs) > 0 {
		at = slices.Index(addrs, n.addrs[n.at])
	}
	if at < 0 {
		at = rand.IntN(len(addrs))
	}
	n.addrs, n.at = addrs, at
}

// listClient keeps no connection: the next reading is minutes away.
var listClient = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}

func readList(ctx context.Context, list string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, list, nil)
	if err != nil {
		return nil, fmt.Errorf("name server list %s: %w", list, err)
	}
	resp, err := listClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("name server list: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, listMaxBytes))
	if err != nil {
		return nil, fmt.Errorf("name server list %s: %w", list, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("name server list %s: %s", list, resp.Status)
	}
	found, err := ParseAddresses(string(text))
	if err != nil {
		return nil, fmt.Errorf("name server list %s: %w", list, err)
	}
	if len(found.Fixed) == 0 {
		return nil, fmt.Errorf("name server list %s has no addresses", list)
	}
	return found.Fixed, nil
}
