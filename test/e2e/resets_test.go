// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// resetTo sets a group's progress in all queues to a time, ms, below zero to the end; it gives what the broker says it set.
func (w *wire) resetTo(group, topic string, ms int64, force bool) map[int32]int64 {
	w.t.Helper()
	answer := w.must(protocol.InvokeBrokerToResetOffset, protocol.ResetOffsetHeader{Topic: topic, Group: group, Timestamp: ms, IsForce: force}, nil)
	var body protocol.ResetOffsetBody
	w.decode(answer, &body)
	set := map[int32]int64{}
	for q, offset := range body.OffsetTable {
		set[q.QueueID] = offset
	}
	return set
}

// A group's offsets are reset to now, to a time that was, to one that is to come, with and without force, while a member is there
// and while none is: what is told is what is set, and the group goes on from there.
func TestResetDoesWhatItSays(t *testing.T) {
	for _, online := range []bool{true, false} {
		for _, test := range []struct {
			to    string
			force bool
			again int // of ten early and ten late messages, which were consumed
		}{
			{"now", true, 0}, {"now", false, 0}, {"the beginning", true, 20}, {"the beginning", false, 20},
			{"between them", true, 10}, {"tomorrow", true, 0}, {"tomorrow", false, 0},
		} {
			t.Run(fmt.Sprintf("%s, force %t, online %t", test.to, test.force, online), func(t *testing.T) {
				t.Parallel()
				s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH"}})
				w, p := dial(t, s.broker), sdkProducer(t, s)
				w.createTopic("reset", 4)
				s.routable("reset")
				early, late := numbered("early", 10), numbered("late", 10)
				sendBodies(t, p, "reset", "", early...)
				between := time.Now().UnixMilli() + 1
				eventually(t, "the next millisecond", func() bool { return time.Now().UnixMilli() > between })
				sendBodies(t, p, "reset", "", late...)
				box := &inbox{}
				c := sdkConsumer(t, s, "resetters", box.handle, all("reset"))
				idle := func(n int) func() bool {
					return func() bool {
						total := 0
						for _, times := range box.got() {
							total += times
						}
						lag, _ := w.lag("resetters", "reset")
						return total == n && lag == 0
					}
				}
				eventually(t, "all consumed", idle(20))
				if !online {
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
				}
				to := map[string]int64{"now": -1, "the beginning": 0, "between them": between, "tomorrow": time.Now().Add(24 * time.Hour).UnixMilli()}[test.to]
				set := w.resetTo("resetters", "reset", to, test.force)
				if len(set) != 4 {
					t.Fatalf("set %v, want four queues", set)
				}
				if !online {
					for queue, offset := range set {
						if got := w.committed("resetters", "reset", queue); got != offset {
							t.Errorf("queue %d: told %d, set %d", queue, offset, got)
						}
					}
					sdkConsumer(t, s, "resetters", box.handle, all("reset"))
				}
				sendBodies(t, p, "reset", "", "after")
				eventually(t, "what was asked for, and a new message", idle(20+test.again+1))
				want := slices.Concat(early, late, late[:min(test.again, 10)], early[:max(test.again-10, 0)], []string{"after"})
				counts := map[string]int{}
				for _, body := range want {
					counts[body]++
				}
				for body, n := range counts {
					if got := box.got()[body]; got != n {
						t.Errorf("%s came %d times, want %d", body, got, n)
					}
				}
			})
		}
	}
}

// What is not there is an error, and a reset in the middle of consuming loses nothing.
func TestResetOfWhatIsNotThereAndUnderLoad(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w, p := dial(t, s.broker), sdkProducer(t, s)
	w.createTopic("busy", 4)
	s.routable("busy")
	for _, test := range []struct {
		topic, group string
		code         int32
	}{{"unknown", "busy_group", protocol.TopicNotExist}, {"busy", "unknown_group", protocol.SubscriptionGroupNotExist}} {
		answer := w.call(protocol.InvokeBrokerToResetOffset, protocol.ResetOffsetHeader{Topic: test.topic, Group: test.group, Timestamp: 0, IsForce: true}, nil)
		if answer.Code != test.code {
			t.Errorf("topic %s, group %s: %d %s, want %d", test.topic, test.group, answer.Code, answer.Remark, test.code)
		}
	}
	box := &inbox{answer: func(*client.Received) error { time.Sleep(time.Millisecond); return nil }}
	sdkConsumer(t, s, "busy_group", box.handle, all("busy"), client.Concurrency(2))
	bodies := numbered("b", 300)
	sendBodies(t, p, "busy", "", bodies[:150]...)
	eventually(t, "consuming", func() bool { return len(box.got()) > 20 })
	w.resetTo("busy_group", "busy", 0, true)
	sendBodies(t, p, "busy", "", bodies[150:]...)
	eventually(t, "everything", func() bool {
		lag, least := w.lag("busy_group", "busy")
		if least < 0 {
			t.Fatalf("the lag is %d", least)
		}
		return lag == 0 && len(box.got()) == len(bodies)
	})
	again := 0
	for _, n := range box.got() {
		if n > 1 {
			again++
		}
	}
	if again < 20 {
		t.Errorf("%d messages came again after a reset to the beginning, 20 were consumed before", again)
	}
}

// A group that wants a tag that never comes is not left behind: its lag is none, and when a message with the tag does come it gets
// it.
func TestFilteredGroupKeepsUp(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w, p := dial(t, s.broker), sdkProducer(t, s)
	w.createTopic("filtered", 4)
	s.routable("filtered")
	var others []outgoing
	for i := range 10_000 {
		others = append(others, outgoing{topic: "filtered", queue: int32(i % 4), body: []byte("other"), props: properties(true, "TAGS", "other")})
	}
	box := &inbox{}
	sdkConsumer(t, s, "filter_group", box.handle, client.Subscribe("filtered", client.Tags("wanted")))
	dial(t, s.broker).sendAll(others)
	eventually(t, "no lag", func() bool { lag, _ := w.lag("filter_group", "filtered"); return lag == 0 })
	began := time.Now()
	sendBodies(t, p, "filtered", "wanted", "wanted")
	eventually(t, "the one that is wanted", func() bool { return len(box.got()) == 1 })
	t.Logf("it came after %v", time.Since(began).Round(time.Millisecond))
	box.exactly(t, "in all", "wanted")
}
