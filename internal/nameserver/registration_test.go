// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"errors"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestRegistrations(t *testing.T) {
	both := []string{"T", "U"}
	for _, row := range []struct {
		situation string
		do        func(w *world)
		topic     string // T when empty
		options   routeOptions
		want      string
	}{
		{
			situation: "a master with two topics",
			do:        func(w *world) { w.register(broker{topics: both}) },
			want:      "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "two brokers with the same topic",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{name: "b", topics: both, read: 2})
			},
			want: "a 4/4 perm 6 0=a:0, b 2/4 perm 6 0=b:0",
		},
		{
			situation: "a topic more, told alone, of a known broker: the others stay",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{topics: []string{"V"}, version: 1})
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "the topic told alone is there",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{topics: []string{"V"}, version: 1})
			},
			topic: "V",
			want:  "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "other queue numbers at the same data version",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{topics: both, read: 9})
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "other queue numbers at a new data version",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{topics: both, read: 9, version: 1})
			},
			want: "a 9/4 perm 6 0=a:0",
		},
		{
			situation: "a topic forgotten by request comes back at the same data version",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.table.deleteTopic("T", "")
				w.register(broker{topics: both})
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "a slave's own topics are not taken",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{id: 1, topics: []string{"V", "W"}})
			},
			topic: "V",
			want:  "none",
		},
		{
			situation: "a slave shows in the route",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{id: 1, topics: both})
			},
			want: "a 4/4 perm 6 0=a:0 1=a:1",
		},
		{
			situation: "a slave without master that knows of acting masters: topics taken, not writable",
			do:        func(w *world) { w.register(broker{id: 2, topics: both, acting: yes}) },
			want:      "a 4/4 perm 4 2=a:2",
		},
		{
			situation: "a slave without master that knows of acting masters and does not want them",
			do:        func(w *world) { w.register(broker{id: 2, topics: both, acting: no}) },
			want:      "a 4/4 perm 6 2=a:2",
		},
		{
			situation: "a slave of an old broker without master: topics not taken",
			do:        func(w *world) { w.register(broker{id: 2, topics: both}) },
			want:      "none",
		},
		{
			situation: "the slave shown as master where the name server supports it",
			do:        func(w *world) { w.register(broker{id: 2, topics: both, acting: yes}) },
			options:   routeOptions{actingMaster: true},
			want:      "a 4/4 perm 4 0=a:2",
		},
		{
			situation: "not for the topic by which brokers find their members",
			do: func(w *world) {
				w.register(broker{id: 2, topics: []string{"rmq_sys_SYNC_BROKER_MEMBER_a", "T"}, acting: yes})
			},
			topic:   "rmq_sys_SYNC_BROKER_MEMBER_a",
			options: routeOptions{actingMaster: true},
			want:    "a 4/4 perm 4 2=a:2",
		},
		{
			situation: "the master comes back: its permission counts, id 0 is its own",
			do: func(w *world) {
				w.register(broker{id: 2, topics: both, acting: yes})
				w.register(broker{topics: both, acting: yes})
			},
			options: routeOptions{actingMaster: true},
			want:    "a 4/4 perm 6 0=a:0 2=a:2",
		},
		{
			situation: "a slave becomes master at its old address",
			do: func(w *world) {
				w.register(broker{id: 1, addr: "x", topics: both, acting: yes})
				w.register(broker{addr: "x", topics: both, acting: yes, version: 1})
			},
			want: "a 4/4 perm 6 0=x",
		},
		{
			situation: "another address for the id with an older state: nothing changes",
			do: func(w *world) {
				w.register(broker{topics: both, addr: "x", state: 5})
				if got := w.register(broker{topics: both, addr: "y", state: 4, read: 9, version: 7}); !got.stale {
					w.t.Error("not recognized as stale")
				}
			},
			want: "a 4/4 perm 6 0=x",
		},
		{
			situation: "another address for the id with the same state takes over",
			do: func(w *world) {
				w.register(broker{topics: both, addr: "x", state: 5})
				w.register(broker{topics: both, addr: "y", state: 5})
			},
			want: "a 4/4 perm 6 0=y",
		},
		{
			situation: "the address goes by another broker name now",
			do: func(w *world) {
				w.register(broker{topics: both, addr: "x"})
				w.register(broker{name: "b", topics: []string{"V", "W"}, addr: "x", conn: 2})
			},
			want: "none",
		},
		{
			situation: "a registration is the whole truth: a topic it lacks is gone",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{topics: []string{"U", "V"}, version: 1, whole: true})
			},
			want: "none",
		},
		{
			situation: "not with static topics",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{topics: []string{"U", "V"}, version: 1, whole: true,
					mapping: map[string]*protocol.TopicQueueMappingInfo{"U": {BrokerName: "a", Topic: "U"}}})
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "write permission wiped",
			do: func(w *world) {
				w.register(broker{topics: both, perm: 7})
				if n := w.table.wipeWritePerm("a"); n != 2 {
					w.t.Errorf("%d topics", n)
				}
			},
			want: "a 4/4 perm 5 0=a:0",
		},
		{
			situation: "and given back: the inherit bit is lost",
			do: func(w *world) {
				w.register(broker{topics: both, perm: 7})
				w.table.wipeWritePerm("a")
				if n := w.table.addWritePerm("a"); n != 2 {
					w.t.Errorf("%d topics", n)
				}
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "wiped, then an unchanged registration",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.table.wipeWritePerm("a")
				w.register(broker{topics: both})
			},
			want: "a 4/4 perm 4 0=a:0",
		},
		{
			situation: "wiped, then a changed registration",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.table.wipeWritePerm("a")
				w.register(broker{topics: both, version: 1})
			},
			want: "a 4/4 perm 6 0=a:0",
		},
		{
			situation: "deleted in another cluster",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{name: "b", cluster: "D", topics: both})
				w.table.deleteTopic("T", "C")
			},
			want: "b 4/4 perm 6 0=b:0",
		},
		{
			situation: "queues set by request, up to the first unknown broker",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.register(broker{name: "b", topics: both})
				w.table.registerTopic("T", []protocol.QueueData{
					{BrokerName: "a", ReadQueueNums: 1, WriteQueueNums: 2, Perm: 2}, {BrokerName: "nobody"}, {BrokerName: "b", Perm: 4}})
			},
			want: "a 1/2 perm 2 0=a:0, b 4/4 perm 6 0=b:0",
		},
		{
			situation: "a new topic set by request with an unknown broker: nothing",
			do: func(w *world) {
				w.register(broker{topics: both})
				w.table.registerTopic("V", []protocol.QueueData{{BrokerName: "a", Perm: 6}, {BrokerName: "nobody"}})
			},
			topic: "V",
			want:  "none",
		},
	} {
		t.Run(row.situation, func(t *testing.T) {
			w := newWorld(t)
			row.do(w)
			if got := w.route(or(row.topic, "T"), row.options); got != row.want {
				t.Errorf("route %q, want %q", got, row.want)
			}
			w.route(or(row.topic, "T"), routeOptions{}) // with other options, and kept
			w.check()
		})
	}
}

func TestFirstRegistrationOfOneTopic(t *testing.T) {
	w := newWorld(t)
	_, err := w.try(broker{topics: []string{"T"}})
	var refusal *protocol.Error
	if !errors.As(err, &refusal) || *refusal != (protocol.Error{Code: protocol.SystemError, Remark: "register broker failed"}) {
		t.Fatalf("error %v", err)
	}
	if info := w.table.clusterInfo(); len(info.BrokerAddrTable["a"].BrokerAddrs) != 0 || len(info.ClusterAddrTable["C"]) != 1 {
		t.Errorf("cluster info %+v: the name must be listed, without address", info)
	}
	w.table.registerTopic("T", []protocol.QueueData{{BrokerName: "a", Perm: 6}})
	if got := w.route("T", routeOptions{}); got != "none" {
		t.Errorf("route %q through a broker without address", got)
	}
	w.pass(defaultTimeout + time.Second)
	if len(w.table.clusterInfo().BrokerAddrTable) != 0 || len(w.table.topics) != 0 {
		t.Error("a name without address must be forgotten in time")
	}
}

func TestSlaveIsToldOfItsMaster(t *testing.T) {
	w := newWorld(t)
	if got := w.register(broker{id: 1, topics: nil}); got.masterAddr != "" || got.haAddr != "" {
		t.Errorf("without a master: %+v", got)
	}
	if got := w.register(broker{topics: nil}); got.masterAddr != "" || !got.newcomer {
		t.Errorf("the master itself: %+v", got)
	}
	if got := w.register(broker{id: 1, topics: nil}); got.masterAddr != "a:0" || got.haAddr != "a:0/ha" || got.newcomer {
		t.Errorf("with a master: %+v", got)
	}
}

func TestSmallestIDChanges(t *testing.T) {
	w := newWorld(t)
	if got := w.register(broker{id: 3, acting: yes}); got.minID != nil {
		t.Errorf("the first one of a name: %+v", got.minID)
	}
	got := w.register(broker{id: 1, acting: yes, conn: 2}).minID
	if got == nil || got.id != 1 || got.addr != "a:1" || got.haAddr != "a:1/ha" || len(got.notify) != 1 || got.notify[0] != "a:3" {
		t.Errorf("a smaller one came: %+v", got)
	}
	if got := w.register(broker{id: 2, acting: yes, conn: 3}); got.minID != nil {
		t.Errorf("one in the middle came: %+v", got.minID)
	}
	if got := w.hangUp(3); got != nil {
		t.Errorf("one in the middle left: %+v", got)
	}
	left := w.hangUp(2)
	if len(left) != 1 || left[0].id != 3 || left[0].addr != "a:3" || left[0].offline != "a:1" || len(left[0].notify) != 1 {
		t.Errorf("the smallest left: %+v", left)
	}
	if left := w.hangUp(1); left != nil {
		t.Errorf("the last one left: %+v", left)
	}
}

func TestFilterServersAndMappingsTravelWithTheRoute(t *testing.T) {
	w := newWorld(t)
	mapping := map[string]*protocol.TopicQueueMappingInfo{"T": {BrokerName: "a", Topic: "T", TotalQueues: 4, CurrIDMap: map[int32]int32{0: 0}}}
	route := func() *protocol.TopicRouteData {
		w.t.Helper()
		w.route("T", routeOptions{})
		r := w.table.assembleLocked("T", w.table.topics["T"], routeOptions{})
		if r == nil {
			t.Fatal("no route")
		}
		return r
	}
	w.register(broker{topics: []string{"T", "U"}, filters: []string{"f:1"}, mapping: mapping})
	if r := route(); len(r.FilterServerTable["a:0"]) != 1 || r.TopicQueueMappingByBroker["a"].TotalQueues != 4 {
		t.Errorf("route %+v", r)
	}
	w.register(broker{topics: []string{"T", "U"}}) // nil: as they were
	if r := route(); len(r.FilterServerTable["a:0"]) != 1 || r.TopicQueueMappingByBroker["a"] == nil {
		t.Errorf("after a registration that says nothing of them: %+v", r)
	}
	w.register(broker{topics: []string{"T", "U"}, filters: []string{}})
	if r := route(); len(r.FilterServerTable) != 0 {
		t.Errorf("after they were removed: %+v", r)
	}
	w.table.deleteTopic("T", "")
	w.register(broker{topics: []string{"T", "U"}, mapping: mapping})
	if r := route(); r.TopicQueueMappingByBroker["a"] == nil {
		t.Error("a deleted static topic came back without its mapping")
	}
}

func TestDataVersionQuestion(t *testing.T) {
	w := newWorld(t)
	w.register(broker{version: 3, timeout: 10 * time.Second})
	if _, ok := w.table.dataVersion("C", "nobody", w.now); ok {
		t.Error("a broker that never registered is known")
	}
	for range 3 { // each question is a sign of life
		if closed := w.pass(9 * time.Second); closed != nil {
			t.Fatal("expired although it asked")
		}
		if v, ok := w.table.dataVersion("C", "a:0", w.now); !ok || v.Counter != 3 {
			t.Errorf("version %+v %v", v, ok)
		}
	}
}
