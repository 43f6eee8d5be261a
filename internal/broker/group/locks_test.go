// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func queues(ids ...int32) []protocol.MessageQueue {
	list := make([]protocol.MessageQueue, 0, len(ids))
	for _, id := range ids {
		list = append(list, protocol.MessageQueue{BrokerName: "broker-a", QueueID: id, Topic: "T"})
	}
	return list
}

func lockLife() time.Duration { return LockLife }

func TestLocks(t *testing.T) {
	start := time.UnixMilli(1_000_000)
	type step struct {
		at            time.Duration
		group, client string
		unlock        bool
		ask, want     []int32
	}
	for _, c := range []struct {
		situation string
		steps     []step
	}{
		{"first come, others none, the owner again and more", []step{
			{0, "G", "A", false, []int32{0, 1}, []int32{0, 1}},
			{0, "G", "B", false, []int32{0, 1, 2}, []int32{2}},
			{0, "G", "A", false, []int32{1, 0, 2}, []int32{1, 0}},
		}},
		{"only the owner unlocks", []step{
			{0, "G", "A", false, []int32{0}, []int32{0}},
			{0, "G", "B", true, []int32{0}, nil},
			{0, "G", "B", false, []int32{0}, []int32{}},
			{0, "G", "A", true, []int32{0, 7}, nil},
			{0, "G", "B", false, []int32{0}, []int32{0}},
		}},
		{"groups apart", []step{
			{0, "G", "A", false, []int32{0}, []int32{0}},
			{0, "H", "B", false, []int32{0}, []int32{0}},
		}},
		{"not before 60 s", []step{
			{0, "G", "A", false, []int32{0}, []int32{0}},
			{60 * time.Second, "G", "B", false, []int32{0}, []int32{}},
			{60*time.Second + time.Millisecond, "G", "B", false, []int32{0}, []int32{0}},
			{60*time.Second + time.Millisecond, "G", "A", false, []int32{0}, []int32{}},
		}},
		{"renewed", []step{
			{0, "G", "A", false, []int32{0}, []int32{0}},
			{50 * time.Second, "G", "A", false, []int32{0}, []int32{0}},
			{100 * time.Second, "G", "B", false, []int32{0}, []int32{}},
		}},
		{"no queues", []step{{0, "G", "A", false, nil, []int32{}}}},
	} {
		t.Run(c.situation, func(t *testing.T) {
			locks := NewLocks(lockLife)
			for i, s := range c.steps {
				if s.unlock {
					locks.Unlock(s.group, s.client, queues(s.ask...))
					continue
				}
				got := locks.Lock(s.group, s.client, queues(s.ask...), start.Add(s.at))
				if d := cmp.Diff(queues(s.want...), got); d != "" {
					t.Fatalf("step %d: %s", i, d)
				}
			}
		})
	}
}

// A setting that changes applies to locks that were taken before.
func TestLockLifeChanges(t *testing.T) {
	life, start := LockLife, time.UnixMilli(1_000_000)
	locks := NewLocks(func() time.Duration { return life })
	locks.Lock("G", "A", queues(0), start)
	after := start.Add(31 * time.Second)
	if held := locks.Lock("G", "B", queues(0), after); len(held) != 0 {
		t.Fatal("taken from its owner")
	}
	life = 30 * time.Second
	if held := locks.Lock("G", "B", queues(0), after); len(held) != 1 {
		t.Fatal("not taken although its time is over")
	}
}

func TestAllExpired(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	locks := NewLocks(lockLife)
	if !locks.AllExpired("G", now) {
		t.Fatal("locked from the start")
	}
	locks.Lock("G", "A", queues(0), now)
	locks.Lock("G", "B", queues(1), now.Add(30*time.Second))
	for at, want := range map[time.Duration]bool{0: false, 80 * time.Second: false, 91 * time.Second: true} {
		if got := locks.AllExpired("G", now.Add(at)); got != want {
			t.Errorf("after %v: %v", at, got)
		}
	}
}

func TestExpiredLocksAreForgotten(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	locks := NewLocks(lockLife)
	for i := range int32(100) {
		locks.Lock("G", "A", queues(i), now)
	}
	locks.Lock("H", "A", queues(0), now.Add(2*LockLife))
	if len(locks.groups) != 1 {
		t.Fatalf("%d groups remembered", len(locks.groups))
	}
}
