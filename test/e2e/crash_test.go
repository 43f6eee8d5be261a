// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// kill -9 under load, ten times: each acknowledged message is at the offset that was acknowledged, offsets have no gap,
// nothing is there twice and nothing that was not sent. So it is with both ways to flush: what the process wrote is in
// the page cache, which a kill leaves alone.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		set  []string
	}{
		{"SYNC_FLUSH", nil},
		{"ASYNC_FLUSH", []string{"flushDiskType=ASYNC_FLUSH"}},
		{"small files", []string{"mappedFileSizeCommitLog=262144", "mappedFileSizeConsumeQueue=2000", "maxIndexNum=5000", "maxHashSlotNum=1000", "checkpointBytes=65536"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			const kills, senders, queues = 10, 4, 4
			s := start(t, setup{set: row.set})
			dial(t, s.broker).createTopic("load", queues)
			l := newLoadLedger(queues)
			for round := range kills {
				var wait sync.WaitGroup
				enough := l.total() + 200 // acknowledged in this round before the kill
				for i := range senders {
					w := dial(t, s.broker)
					wait.Go(func() { l.send(w, fmt.Sprintf("%d-%d", round, i), queues) })
				}
				eventually(t, "messages acknowledged", func() bool { return l.total() >= enough })
				<-time.After(time.Duration(rand.IntN(150)) * time.Millisecond) // any moment will do
				s.kill()
				wait.Wait()
				s.begin()
				l.check(t, dial(t, s.broker))
				if t.Failed() {
					return
				}
			}
			// All of it once more: what was right after its own crash must not have been hurt by a later one.
			l.checkAll(t, dial(t, s.broker))
			t.Logf("%d acknowledged, %d sent", l.total(), len(l.attempted))
		})
	}
}

// loadLedger is what senders sent and what of it was acknowledged.
type loadLedger struct {
	mu           sync.Mutex
	acknowledged []map[int64]string // by queue and offset: the body
	attempted    map[string]bool    // all bodies
	twice        []string           // places that were acknowledged twice

	checked []int64         // by queue: how far check has come
	stored  map[string]bool // bodies that check met
}

func newLoadLedger(queues int) *loadLedger {
	l := &loadLedger{attempted: map[string]bool{}, checked: make([]int64, queues), stored: map[string]bool{}}
	for range queues {
		l.acknowledged = append(l.acknowledged, map[int64]string{})
	}
	return l
}

func (l *loadLedger) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, m := range l.acknowledged {
		n += len(m)
	}
	return n
}

// send sends without pause, 16 at a time, until the connection breaks.
func (l *loadLedger) send(w *wire, name string, queues int32) {
	window := make(chan struct{}, 16)
	for n := 0; !w.c.Closed(); n++ {
		body := fmt.Sprintf("%s-%d-%0*d", name, n, rand.IntN(1500), 0)
		l.attempt(body)
		m := outgoing{topic: "load", queue: rand.Int32N(queues), body: []byte(body), props: properties(true, "KEYS", "k"+name, "TAGS", "t")}
		window <- struct{}{}
		w.c.Go(m.command(), patience, func(answer *remoting.Command, err error) {
			defer func() { <-window }()
			if err != nil {
				return // it is not known whether the message is stored
			}
			if place, err := storedOf(answer); err == nil {
				l.acknowledge(place, body)
			}
		})
	}
	for range cap(window) {
		window <- struct{}{}
	}
}

func (l *loadLedger) attempt(body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempted[body] = true
}

func (l *loadLedger) acknowledge(place stored, body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.acknowledged[place.queue][place.offset]; ok {
		l.twice = append(l.twice, fmt.Sprintf("queue %d at %d: %.30s and %.30s", place.queue, place.offset, before, body))
	}
	l.acknowledged[place.queue][place.offset] = body
}

// check reads what is there since the last check and compares.
func (l *loadLedger) check(t *testing.T, w *wire) {
	t.Helper()
	for _, place := range l.twice {
		t.Errorf("acknowledged twice: %s", place)
	}
	for queue := range l.acknowledged {
		from := l.checked[queue]
		for _, m := range w.readFrom("load", int32(queue), from) { // which fails when offsets have gaps
			body := string(m.Body)
			switch want, acknowledged := l.acknowledged[queue][m.QueueOffset]; {
			case acknowledged && body != want:
				t.Fatalf("queue %d at %d: acknowledged was %.30s, there is %.30s", queue, m.QueueOffset, want, body)
			case !l.attempted[body]:
				t.Fatalf("queue %d at %d: nobody sent %.60q", queue, m.QueueOffset, body)
			case l.stored[body]:
				t.Fatalf("queue %d at %d: %.30s is there twice", queue, m.QueueOffset, body)
			}
			l.stored[body] = true
			l.checked[queue]++
		}
		for offset, body := range l.acknowledged[queue] {
			if offset >= l.checked[queue] {
				t.Fatalf("queue %d ends at %d, acknowledged at %d was %.30s", queue, l.checked[queue], offset, body)
			}
		}
	}
}

// checkAll compares everything.
func (l *loadLedger) checkAll(t *testing.T, w *wire) {
	t.Helper()
	clear(l.checked)
	clear(l.stored)
	l.check(t, w)
}
