// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestDiscord(t *testing.T) {
	sql := sub("T", "a > 1", 1)
	sql.ExpressionType = protocol.ExpressionSQL92
	subs := func(s ...*protocol.SubscriptionData) []*protocol.SubscriptionData { return s }
	for _, c := range []struct {
		situation string
		a, b      []*protocol.SubscriptionData
		want      map[string]map[string][]string
	}{
		{"the same, in another order and version", subs(sub("T", "A", 1), sub("U", "*", 1)), subs(sub("U", "*", 7), sub("T", "A", 2)), nil},
		{"the same tags in another order", subs(sub("T", "A||B", 1)), subs(sub("T", " B || A ", 1)), nil},
		{"everything, said in two ways", subs(sub("T", "*", 1)), subs(sub("T", "", 1)), nil},
		{"no subscriptions", subs(), subs(), nil},
		{"other tags", subs(sub("T", "A", 1), sub("U", "*", 1)), subs(sub("T", "B||A", 1), sub("U", "*", 1)),
			map[string]map[string][]string{"T": {"A": {"a"}, "A || B": {"b"}}}},
		{"another topic", subs(sub("T", "A", 1)), subs(sub("U", "*", 1)),
			map[string]map[string][]string{"T": {"A": {"a"}, "": {"b"}}, "U": {"": {"a"}, "*": {"b"}}}},
		{"tags and an expression", subs(sub("T", "a > 1", 1)), subs(sql),
			map[string]map[string][]string{"T": {"a > 1": {"a"}, "SQL92: a > 1": {"b"}}}},
	} {
		t.Run(c.situation, func(t *testing.T) {
			f := newFixture(t)
			a, b, silent := f.connect(), f.connect(), f.connect()
			f.Join(a.as("a"), membership("G", c.a...), time.Now())
			if d := f.Discord("G"); d.Topics != nil || d.Shared != nil {
				t.Fatalf("with one member %+v", d)
			}
			f.Join(b.as("b"), membership("G", c.b...), time.Now())
			unknown := membership("G")
			unknown.Unchanged, unknown.Fingerprint = true, 7
			f.Join(silent.as("c"), unknown, time.Now()) // does not say what it wants
			if diff := cmp.Diff(c.want, f.Discord("G").Topics); diff != "" {
				t.Fatal(diff)
			}
			f.Join(b.as("b"), membership("G", c.a...), time.Now())
			if d := f.Discord("G"); d.Topics != nil {
				t.Fatalf("after the change %+v", d)
			}
		})
	}
	if d := newFixture(t).Discord("nobody"); d.Topics != nil || d.Shared != nil {
		t.Fatalf("%+v", d)
	}
}

func TestSharedClientIDs(t *testing.T) {
	f := newFixture(t)
	start := time.Now()
	old, young, other := f.connect(), f.connect(), f.connect()
	beat := func(p *peer, id string, after time.Duration) { f.Join(p.as(id), membership("G"), start.Add(after)) }
	beat(old, "a", 0)
	beat(other, "b", 0)
	beat(young, "a", time.Second)
	if d := f.Discord("G"); d.Shared != nil {
		t.Fatalf("a client that connected again: %+v", d.Shared)
	}
	beat(young, "a", 30*time.Second)
	beat(other, "b", 30*time.Second)
	if d := f.Discord("G"); d.Shared != nil {
		t.Fatalf("only the new connection beats: %+v", d.Shared)
	}
	beat(old, "a", 31*time.Second)
	want := map[string][]string{"a": {old.conn.RemoteAddr(), young.conn.RemoteAddr()}}
	if diff := cmp.Diff(want, f.Discord("G").Shared); diff != "" {
		t.Fatal(diff)
	}
	f.Leave(old.conn, "G")
	if d := f.Discord("G"); d.Shared != nil {
		t.Fatalf("after one has gone: %+v", d.Shared)
	}
}

func TestHolder(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	locks := NewLocks(lockLife)
	q := queues(0)[0]
	locks.Lock("G", "A", queues(0), now)
	for at, want := range map[time.Duration]string{0: "A", LockLife: "A", LockLife + 1: ""} {
		if got := locks.Holder("G", q, now.Add(at)); got != want {
			t.Errorf("after %v: %q, want %q", at, got, want)
		}
	}
	if got := locks.Holder("H", q, now); got != "" {
		t.Errorf("of another group %q", got)
	}
}
