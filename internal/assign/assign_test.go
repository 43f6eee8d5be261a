// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package assign

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// vector is one division computed by the Java classes of RocketMQ 5.5.0. Queues are
// broker:number; the topic is T and a fifth of the row's number.
type vector struct {
	Strategy string
	Queues   []string
	Clients  []string
	Result   map[string]json.RawMessage
}

func strategyOf(t *testing.T, name string) Strategy {
	t.Helper()
	switch name {
	case "CONSISTENT_HASH virtualNodes=3":
		return ConsistentHash{Nodes: 3}
	case "MACHINE_ROOM room1,room2":
		return MachineRoom{Rooms: []string{"room1", "room2"}}
	}
	s, ok := ByName(name)
	if !ok {
		t.Fatalf("no strategy %q", name)
	}
	if s.Name() != name {
		t.Fatalf("strategy %q calls itself %q", name, s.Name())
	}
	return s
}

func queuesOf(t *testing.T, topic string, names []string) []Queue {
	t.Helper()
	var queues []Queue
	for _, name := range names {
		i := strings.LastIndexByte(name, ':')
		n, err := strconv.Atoi(name[i+1:])
		if err != nil {
			t.Fatal(err)
		}
		queues = append(queues, Queue{Topic: topic, BrokerName: name[:i], QueueID: int32(n)})
	}
	return queues
}

func namesOf(queues []Queue) []string {
	names := []string{}
	for _, q := range queues {
		names = append(names, fmt.Sprintf("%s:%d", q.BrokerName, q.QueueID))
	}
	return names
}

func TestSharesAreThoseOfJava(t *testing.T) {
	text, err := os.ReadFile("testdata/allocate.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, v := range vectors {
		s := strategyOf(t, v.Strategy)
		queues := queuesOf(t, fmt.Sprintf("T%d", i/5), v.Queues)
		for self, raw := range v.Result {
			var want []string
			if err := json.Unmarshal(raw, &want); err != nil {
				// Java refuses to divide nothing; here nothing is divided into nothing.
				want = []string{}
			}
			if diff := cmp.Diff(want, namesOf(s.Share(self, queues, v.Clients))); diff != "" {
				t.Errorf("row %d, %s, member %s (-want +got):\n%s", i, v.Strategy, self, diff)
			}
			compared++
		}
	}
	if compared < 500 {
		t.Errorf("compared only %d shares", compared)
	}
}

func TestShare(t *testing.T) {
	queue := func(names ...string) []Queue { return queuesOf(t, "T", names) }
	roomOf := map[string]string{"A": "A", "B": "B", "C": "C", "c0": "A", "c1": "A", "c2": "C"}
	nearby := Nearby{
		Inner:        Average{},
		RoomOfBroker: func(q Queue) string { return roomOf[q.BrokerName] },
		RoomOfMember: func(m string) string { return roomOf[m] },
	}
	for _, test := range []struct {
		situation string
		strategy  Strategy
		self      string
		queues    []Queue
		members   []string
		want      []string
	}{
		{"fewer queues than members, the last goes empty", Average{}, "c2", queue("a:0", "a:1"), []string{"c0", "c1", "c2"}, []string{}},
		{"not a member", Average{}, "x", queue("a:0"), []string{"c0"}, []string{}},
		{"no members", AverageByCircle{}, "x", queue("a:0"), nil, []string{}},
		{"no queues", ConsistentHash{}, "c0", nil, []string{"c0"}, []string{}},
		{"a fixed list, whatever there is", Config{Queues: queue("z:9")}, "x", queue("a:0"), []string{"c0"}, []string{"z:9"}},
		{"brokers without a room are left out", MachineRoom{Rooms: []string{"A"}}, "c0", queue("A@b:0", "b:0", "A@b@c:0"), []string{"c0"}, []string{"A@b:0"}},
		{"two members of one room, the odd queue to the first", MachineRoom{Rooms: []string{"A"}}, "c0",
			queue("A@b:0", "A@b:1", "A@b:2", "A@b:3", "A@b:4"), []string{"c0", "c1"}, []string{"A@b:0", "A@b:1", "A@b:4"}},
		{"own room first, then the share of a room without members", nearby, "c0",
			queue("A:0", "A:1", "B:0", "B:1", "B:2"), []string{"c0", "c1"}, []string{"A:0", "B:0", "B:1"}},
		{"a room with members keeps its queues to itself", nearby, "c0",
			queue("A:0", "C:0"), []string{"c0", "c2"}, []string{"A:0"}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			got := namesOf(test.strategy.Share(test.self, test.queues, test.members))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryQueueHasOneOwner is what every strategy that divides owes the group.
func TestEveryQueueHasOneOwner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]Strategy{Average{}, AverageByCircle{}, ConsistentHash{}, ConsistentHash{Nodes: 3}}).Draw(t, "strategy")
		members := rapid.SliceOfNDistinct(rapid.StringMatching(`[0-9]{1,3}@[0-9]{1,4}`), 1, 9, rapid.ID[string]).Draw(t, "members")
		var queues []Queue
		for b := range rapid.IntRange(0, 3).Draw(t, "brokers") {
			for q := range rapid.IntRange(0, 8).Draw(t, "queues") {
				queues = append(queues, Queue{Topic: "T", BrokerName: fmt.Sprint("b", b), QueueID: int32(q)})
			}
		}
		Sort(queues, members)
		var all []Queue
		for _, m := range members {
			all = append(all, s.Share(m, queues, members)...)
		}
		slices.SortFunc(all, Queue.Compare)
		if diff := cmp.Diff(namesOf(queues), namesOf(all)); diff != "" {
			t.Fatalf("(-topic +owned):\n%s", diff)
		}
	})
}

func TestSortIsByTextAndNumber(t *testing.T) {
	queues := queuesOf(t, "T", []string{"b:10", "a:2", "b:9", "a:10"})
	members := []string{"10.0.0.9@1", "10.0.0.10@1"}
	Sort(queues, members)
	if diff := cmp.Diff([]string{"a:2", "a:10", "b:9", "b:10"}, namesOf(queues)); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10.0.0.10@1", "10.0.0.9@1"}, members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
