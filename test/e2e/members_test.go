// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// The members of a group are told when one joins, says goodbye or is gone with its connection, so that they divide the
// queues anew.
func TestMembersAreToldOfChanges(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	dial(t, s.broker).createTopic("divided", 4)
	const group = "dividers"
	a, b, c := dial(t, s.broker), dial(t, s.broker), dial(t, s.broker)
	wants := func(what string, w *wire) {
		t.Helper()
		if got := w.expect(protocol.NotifyConsumerIDsChanged); got != group {
			t.Fatalf("%s: told of group %q", what, got)
		}
	}
	are := func(ids ...string) {
		t.Helper()
		if got := a.members(group); !slices.Equal(got, ids) {
			t.Fatalf("the members are %q, want %q", got, ids)
		}
	}
	a.join(member{id: "a", group: group, topic: "divided"})
	wants("a joined", a)
	are("a")
	b.join(member{id: "b", group: group, topic: "divided"})
	wants("b joined", a)
	wants("b joined", b)
	are("a", "b")
	c.join(member{id: "c", group: group, topic: "divided"})
	for _, w := range []*wire{a, b, c} {
		wants("c joined", w)
	}
	are("a", "b", "c")
	b.join(member{id: "b", group: group, topic: "divided"}) // a heartbeat like the one before
	b.must(protocol.UnregisterClient, protocol.UnregisterClientHeader{ClientID: "b", ConsumerGroup: group}, nil)
	wants("b said goodbye", a)
	wants("b said goodbye", c)
	are("a", "c")
	began := time.Now()
	c.close()
	wants("c's connection closed", a)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("told after %v", took)
	}
	are("a")
	if n := len(a.news); n != 0 {
		t.Errorf("%d more notices than changes", n)
	}
}

// Members of a broadcasting group divide nothing: they are not told of each other, and each gets every message.
func TestBroadcastingMembers(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := dial(t, s.broker)
	w.createTopic("broadcast", 1)
	a, b := dial(t, s.broker), dial(t, s.broker)
	for _, m := range []struct {
		*wire
		id string
	}{{a, "a"}, {b, "b"}} {
		m.join(member{id: m.id, group: "listeners", topic: "broadcast", model: protocol.Broadcasting})
	}
	if got := w.members("listeners"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the members are %q", got)
	}
	for i := range 5 {
		w.send(outgoing{topic: "broadcast", body: fmt.Appendf(nil, "%d", i)})
	}
	for _, m := range []*wire{a, b} {
		got := m.pull(pull{group: "listeners", topic: "broadcast"})
		wantBodies(t, "a member", got.messages, "0", "1", "2", "3", "4")
	}
	b.close()
	eventually(t, "one member left", func() bool { return len(w.members("listeners")) == 1 })
	a.must(protocol.GetMaxOffset, protocol.QueueHeader{Topic: "broadcast"}, nil) // what was sent before the answer has come
	if n := len(a.news); n != 0 {
		t.Errorf("told of changes %d times", n)
	}
}

// A queue is locked by one client of a group at a time.
func TestQueueLocks(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	a, b := dial(t, s.broker), dial(t, s.broker)
	a.createTopic("locked", 4)
	wants := func(what string, got []int32, want ...int32) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	wants("a locks two", a.lock("g", "a", "locked", 0, 1), 0, 1)
	wants("b wants three of which a has two", b.lock("g", "b", "locked", 0, 1, 2), 2)
	wants("a renews", a.lock("g", "a", "locked", 0, 1), 0, 1)
	wants("another group", b.lock("h", "b", "locked", 0, 1), 0, 1)
	b.unlock("g", "b", "locked", 0, 1) // not b's
	wants("b after unlocking what is not its own", b.lock("g", "b", "locked", 0, 1))
	a.unlock("g", "a", "locked", 0)
	wants("b after a gave one back", b.lock("g", "b", "locked", 0, 1), 0)
	wants("a wants it back", a.lock("g", "a", "locked", 0, 1), 1)
	a.close()
	wants("locks outlive a connection", b.lock("g", "b", "locked", 1))

	// Many clients at once: each queue has one owner.
	type owner struct {
		client string
		queues []int32
	}
	owners := make(chan owner, 8)
	for i := range cap(owners) {
		w := dial(t, s.broker)
		go func() {
			client := fmt.Sprintf("c%d", i)
			o := owner{client: client}
			if answer, err := w.ask(request(protocol.LockBatchMQ, nil, lockBody("many", client, "locked", []int32{0, 1, 2, 3}))); err == nil {
				var got protocol.LockBatchAnswer
				w.decode(answer, &got)
				for _, q := range got.LockOKMQSet {
					o.queues = append(o.queues, q.QueueID)
				}
			}
			owners <- o
		}()
	}
	held := map[int32]string{}
	for range cap(owners) {
		o := <-owners
		for _, q := range o.queues {
			if before, taken := held[q]; taken {
				t.Errorf("queue %d was given to %s and %s", q, before, o.client)
			}
			held[q] = o.client
		}
	}
	if len(held) != 4 {
		t.Errorf("%d queues of 4 have an owner", len(held))
	}
}
