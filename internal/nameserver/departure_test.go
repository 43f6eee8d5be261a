// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"slices"
	"testing"
	"time"
)

func TestDepartures(t *testing.T) {
	both := []string{"T", "U"}
	pair := func(w *world, acting *bool) {
		w.register(broker{topics: both, acting: acting, conn: 1})
		w.register(broker{id: 1, topics: both, acting: acting, conn: 2})
	}
	for _, row := range []struct {
		situation string
		do        func(w *world)
		want      string
	}{
		{
			situation: "the only broker says goodbye",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.bye("a", 0, "a:0", 1)
			},
			want: "none",
		},
		{
			situation: "the only broker hangs up",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.hangUp(1)
			},
			want: "none",
		},
		{
			situation: "an operator says goodbye for it through another connection",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.bye("a", 0, "a:0", 9)
			},
			want: "none",
		},
		{
			situation: "one of two brokers leaves",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{name: "b", topics: both, conn: 2})
				w.hangUp(1)
			},
			want: "b 4/4 perm 6 0=b:0",
		},
		{
			situation: "the master leaves, the slave stays",
			do: func(w *world) {
				pair(w, nil)
				w.bye("a", 0, "a:0", 1)
			},
			want: "a 4/4 perm 6 1=a:1",
		},
		{
			situation: "the master leaves, the slave stays and may stand in: no writing",
			do: func(w *world) {
				pair(w, yes)
				w.bye("a", 0, "a:0", 1)
			},
			want: "a 4/4 perm 4 1=a:1",
		},
		{
			situation: "the slave leaves",
			do: func(w *world) {
				pair(w, yes)
				w.bye("a", 1, "a:1", 2)
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "the old connection closes after a registration through a new one",
			do: func(w *world) {
				w.register(broker{topics: both, conn: 1})
				w.register(broker{topics: both, conn: 2})
				w.hangUp(1)
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "the old connection says goodbye after a registration through a new one",
			do: func(w *world) {
				w.register(broker{topics: both, conn: 1})
				w.register(broker{topics: both, conn: 2})
				w.bye("a", 0, "a:0", 1)
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "a goodbye that waits in the queue while the broker registers again",
			do: func(w *world) {
				w.register(broker{topics: both})
				d, _ := w.table.goodbye(brokerKey{"C", "a:0"}, "a", 0, 1)
				w.register(broker{topics: both})
				w.depart([]departure{d})
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "a closed connection that waits in the queue while the broker registers again",
			do: func(w *world) {
				w.register(broker{topics: both, conn: 1})
				ds := w.table.connClosed(1)
				w.register(broker{topics: both, conn: 2})
				w.depart(ds)
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "goodbye under the id that the address had before",
			do: func(w *world) {
				w.register(broker{id: 1, addr: "x", topics: both, acting: yes, conn: 1})
				w.register(broker{addr: "x", topics: both, acting: yes, version: 1, conn: 2})
				w.bye("a", 1, "x", 9)
			},
			want: "a 4/4 perm 6 0=x",
		},
		{
			situation: "goodbye of a broker whose id another address has taken",
			do: func(w *world) {
				w.register(broker{addr: "x", topics: both, conn: 1})
				w.register(broker{addr: "y", topics: both, conn: 2})
				w.bye("a", 0, "x", 1)
			},
			want: "a 4/4 perm 6 0=y",
		},
		{
			situation: "a slave that says goodbye with the address of the master",
			do: func(w *world) {
				pair(w, nil)
				w.bye("a", 1, "a:0", 2)
			},
			want: "a 4/4 perm 6 0=a:0 1=a:1",
		},
		{
			situation: "one connection with two brokers closes",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{name: "b", topics: both})
				w.hangUp(1)
			},
			want: "none",
		},
		{
			situation: "goodbye of somebody nobody knows",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.bye("nobody", 0, "z", 5)
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "silent for less than its own timeout",
			do: func(w *world) {
				w.register(broker{topics: both, timeout: 10 * time.Second})
				w.pass(10 * time.Second)
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "silent for longer than its own timeout",
			do: func(w *world) {
				w.register(broker{topics: both, timeout: 10 * time.Second})
				w.pass(10*time.Second + 1)
			},
			want: "none",
		},
		{
			situation: "silent for less than two minutes",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.pass(120 * time.Second)
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "silent for longer than two minutes",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.pass(120*time.Second + 1)
			},
			want: "none",
		},
		{
			situation: "heartbeats keep it",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.pass(100 * time.Second)
				w.table.touch("C", "a:0", w.now)
				w.pass(100 * time.Second)
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "a heartbeat of another cluster does not",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.pass(100 * time.Second)
				w.table.touch("D", "a:0", w.now)
				w.pass(100 * time.Second)
			},
			want: "none",
		},
	} {
		t.Run(row.situation, func(t *testing.T) {
			w := newWorld(t)
			row.do(w)
			if got := w.route("T", routeOptions{}); got != row.want {
				t.Errorf("route %q, want %q", got, row.want)
			}
		})
	}
}

func TestNothingIsLeftOfBrokersThatAreGone(t *testing.T) {
	w := newWorld(t)
	w.register(broker{topics: []string{"T", "U"}, acting: yes})
	w.register(broker{id: 1, acting: yes, conn: 2})
	w.register(broker{addr: "y", topics: []string{"T", "U"}, acting: yes, conn: 3}) // takes id 0 over
	w.hangUp(3)
	w.hangUp(2)
	w.hangUp(1)
	c := w.table
	if len(c.topics)+len(c.brokers)+len(c.clusters)+len(c.live)+len(c.conns) != 0 {
		t.Errorf("left: %d topics %d names %d clusters %d registrations %d connections",
			len(c.topics), len(c.brokers), len(c.clusters), len(c.live), len(c.conns))
	}
}

func TestExpiryClosesConnectionsThatHoldNobodyElse(t *testing.T) {
	w := newWorld(t)
	w.register(broker{timeout: time.Second, conn: 1})
	w.register(broker{name: "b", timeout: time.Second, conn: 2})
	w.register(broker{name: "c", conn: 2})
	if closed := w.pass(2 * time.Second); !slices.Equal(closed, []uint64{1}) {
		t.Errorf("closes %v, want only connection 1: the other one has a live broker", closed)
	}
}

func TestDepartureQueueIsBounded(t *testing.T) {
	q := newDepartures()
	if !q.add(make([]departure, 3), 3) {
		t.Error("three of three refused")
	}
	if q.add(make([]departure, 1), 3) {
		t.Error("a fourth goodbye taken")
	}
	if !q.add(make([]departure, 1), 0) {
		t.Error("a closed connection must always be noted")
	}
	if n := len(q.take()); n != 4 {
		t.Errorf("%d taken", n)
	}
	if !q.add(make([]departure, 3), 3) {
		t.Error("refused although the queue is empty")
	}
}
