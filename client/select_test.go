// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// twoBrokers is a:0..3 b:0..3.
func twoBrokers() []protocol.MessageQueue {
	var queues []protocol.MessageQueue
	for _, b := range []string{"a", "b"} {
		for id := range int32(4) {
			queues = append(queues, protocol.MessageQueue{Topic: "T", BrokerName: b, QueueID: id})
		}
	}
	return queues
}

func TestRotation(t *testing.T) {
	queues := twoBrokers()
	for _, test := range []struct {
		situation string
		begin     uint32
		avoid     string
		tests     []func(string) bool
		want      []int // index of the queues picked
	}{
		{"one after another", 6, "", nil, []int{6, 7, 0, 1}},
		{"across the end of the numbers", math.MaxUint32, "", nil, []int{7, 0, 1}},
		{"after a failure at a, the next queue of b", 1, "a", nil, []int{4, 5, 6, 7, 4}},
		{"there is no other broker", 1, "c", nil, []int{1, 2}},
		{"b is left alone for now", 3, "", []func(string) bool{func(b string) bool { return b == "a" }}, []int{3, 0}},
		{"b is left alone, and a just failed: the next test decides", 0, "a",
			[]func(string) bool{func(b string) bool { return b == "a" }, func(string) bool { return true }}, []int{4}},
		{"no test passes: simply the next", 2, "", []func(string) bool{func(string) bool { return false }}, []int{2}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			r := newRotation()
			r.next["T"] = test.begin
			var got []int
			for range test.want {
				q := r.pick("T", queues, test.avoid, test.tests...)
				got = append(got, int(q.QueueID)+map[string]int{"a": 0, "b": 4}[q.BrokerName])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRotationUsesAllQueuesAlike(t *testing.T) {
	r, queues, used := newRotation(), twoBrokers(), map[protocol.MessageQueue]int{}
	for range 10 * len(queues) {
		used[r.pick("T", queues, "")]++
	}
	for _, q := range queues {
		if used[q] != 10 {
			t.Errorf("%v was used %d times, want 10", q, used[q])
		}
	}
}

// The places were chosen by a Java producer with SelectMessageQueueByHash.
func TestShardingKeyGoesWhereJavaPutsIt(t *testing.T) {
	for key, want := range map[string]string{"k1": "b:2", "k2": "b:3", "polygenelubricants": "a:0"} {
		if q := queueOf(byKey(key, twoBrokers())); q.Broker+":"+string(rune('0'+q.ID)) != want {
			t.Errorf("key %s goes to %v, want %s", key, q, want)
		}
	}
}
