// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// delivery is one time that a member was given a message.
type delivery struct {
	member     int
	queue      int
	offset     int64
	reconsumed int
	begin, end int64 // of its listener, ns since 1970
	topic      string
	id         string
	keys       string
	body       string
	key        string // body is key:seq
	seq        int
}

// place is where a message lies.
type place struct {
	topic  string
	queue  int
	offset int64
}

// ledger has what the peers of a scenario said.
type ledger struct {
	mu         sync.Mutex
	peers      []string
	deliveries []delivery
	count      map[int]int // deliveries by member
	consumed   map[string]int
	acked      map[string]bool
	errs       []error
}

func newLedger() *ledger {
	return &ledger{count: map[int]int{}, consumed: map[string]int{}, acked: map[string]bool{}}
}

func (l *ledger) join(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peers = append(l.peers, name)
	return len(l.peers) - 1
}

func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

// note takes one line of a peer.
func (l *ledger) note(member int, line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "acked":
		l.mu.Lock()
		defer l.mu.Unlock()
		l.acked[rest] = true
	case "did":
		d := delivery{member: member}
		if _, err := fmt.Sscan(rest, &d.queue, &d.offset, &d.reconsumed, &d.begin, &d.end, &d.topic, &d.id, &d.keys, &d.body); err != nil {
			l.fail(fmt.Errorf("line %q: %w", line, err))
			return
		}
		key, seq, _ := strings.Cut(d.body, ":")
		d.key = key
		_, _ = fmt.Sscan(seq, &d.seq)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.deliveries = append(l.deliveries, d)
		l.count[member]++
		l.consumed[d.body]++
	case "stopped":
	default:
		l.fail(fmt.Errorf("peer %d says %q", member, line))
	}
}

// check fails the test with what went wrong in peers.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.errs...); err != nil {
		t.Fatal(err)
	}
}

func (l *ledger) ackedCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// got is how many deliveries a peer had.
func (l *ledger) got(p *peer) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[p.number]
}

// missing are acknowledged messages that nobody got, some of them.
func (l *ledger) missing() (some []string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for body := range l.acked {
		if l.consumed[body] == 0 {
			if n++; n <= 20 {
				some = append(some, body)
			}
		}
	}
	return some, n
}

// of gives the deliveries to one peer, in order.
func (l *ledger) of(p *peer) []delivery {
	return slices.DeleteFunc(l.all(), func(d delivery) bool { return d.member != p.number })
}

// all gives the deliveries in the order in which listeners began.
func (l *ledger) all() []delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(slices.Values(l.deliveries), func(a, b delivery) int { return cmp.Compare(a.begin, b.begin) })
}

// distinct is how many different messages were delivered.
func (l *ledger) distinct() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.consumed)
}

// ends gives per queue the offset behind the last that was delivered.
func (l *ledger) ends() map[int]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends := map[int]int64{}
	for _, d := range l.deliveries {
		ends[d.queue] = max(ends[d.queue], d.offset+1)
	}
	return ends
}

// repeats tells how many deliveries were not the first of their message, and how often the one delivered most came.
func (l *ledger) repeats() (total, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := map[place]int{}
	for _, d := range l.deliveries {
		p := place{d.topic, d.queue, d.offset}
		if times[p]++; times[p] > 1 {
			total++
		}
		most = max(most, times[p])
	}
	return total, most
}

// awaitAll waits until every acknowledged message was delivered.
func (l *ledger) awaitAll(t *testing.T, d time.Duration) {
	t.Helper()
	eventually(t, d, func() string {
		some, n := l.missing()
		return fmt.Sprintf("%d acknowledged messages are missing: %v", n, some)
	}, func() bool {
		l.check(t)
		_, n := l.missing()
		return n == 0
	})
}

// inOrder looks at each lane of deliveries, a queue or a sharding key, in the order in which the listeners began: one message at
// a time, and none before all that lie before it were delivered. After a member is gone its successor may go back, never ahead.
func inOrder(t *testing.T, all []delivery, lane func(delivery) string, position func(delivery) int64) {
	t.Helper()
	last, highest := map[string]delivery{}, map[string]int64{}
	for _, d := range all {
		name := lane(d)
		before, any := last[name]
		last[name] = d
		top := int64(-1)
		if any {
			top = highest[name]
		}
		if position(d) > top+1 {
			t.Errorf("%s: %d was delivered to member %d after %d: what lies between was passed over", name, position(d), d.member, top)
		}
		if any && d.begin < before.end {
			t.Errorf("%s: member %d began %q before member %d had ended %q", name, d.member, d.body, before.member, before.body)
		}
		if any && d.member == before.member && position(d) < position(before) {
			t.Logf("%s: member %d went back from %d to %d", name, d.member, position(before), position(d))
		}
		highest[name] = max(top, position(d))
	}
}
