// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// A queue whose first five messages are gone and which ends at ten: wherever a pull begins, the answer says what to do next.
func TestPullAtEveryPlaceOfAQueue(t *testing.T) {
	t.Parallel()
	s := start(t, setup{set: []string{"mappedFileSizeCommitLog=8192", "fileReservedTime=0", "cleanResourceInterval=100", "autoCreateSubscriptionGroup=false"}})
	w := dial(t, s.broker)
	w.createTopic("aged", 1)
	w.createTopic("empty", 1)
	unreadable := topicHeader("unreadable", 1)
	unreadable.Perm = protocol.PermWrite
	w.must(protocol.UpdateAndCreateTopic, unreadable, nil)
	w.createGroup(readers, true)
	w.createGroup("disabled", false)
	for i := range 10 { // five to a file of the log
		w.send(outgoing{topic: "aged", body: make([]byte, 1300), props: properties(true, "n", fmt.Sprint(i))})
	}
	w.must(protocol.DeleteExpiredCommitLog, nil, nil)
	queue := protocol.QueueHeader{Topic: "aged"}
	eventually(t, "a queue from 5 to 10", func() bool {
		return w.offset(protocol.GetMinOffset, queue) == 5 && w.offset(protocol.GetMaxOffset, queue) == 10
	})
	none := int64(-1)
	for _, test := range []struct {
		situation string
		pull
		code     int32
		next     int64 // none: an error, which has no offsets
		messages int
	}{
		{"a negative offset", pull{topic: "aged", offset: -1}, protocol.PullOffsetMoved, 5, 0},
		{"the beginning that was", pull{topic: "aged", offset: 0}, protocol.PullOffsetMoved, 5, 0},
		{"the last that is gone", pull{topic: "aged", offset: 4}, protocol.PullOffsetMoved, 5, 0},
		{"the first that is there", pull{topic: "aged", offset: 5}, protocol.Success, 10, 5},
		{"the last one", pull{topic: "aged", offset: 9}, protocol.Success, 10, 1},
		{"the end", pull{topic: "aged", offset: 10}, protocol.PullNotFound, 10, 0},
		{"the end, held", pull{topic: "aged", offset: 10, hold: 200 * time.Millisecond}, protocol.PullNotFound, 10, 0},
		{"behind the end", pull{topic: "aged", offset: 11}, protocol.PullOffsetMoved, 10, 0},
		{"behind the end, not held", pull{topic: "aged", offset: 11, hold: time.Hour}, protocol.PullOffsetMoved, 10, 0},
		{"the largest offset", pull{topic: "aged", offset: math.MaxInt64}, protocol.PullOffsetMoved, 10, 0},
		{"an empty queue", pull{topic: "empty"}, protocol.PullNotFound, 0, 0},
		{"an empty queue, not at its beginning", pull{topic: "empty", offset: 7}, protocol.PullOffsetMoved, 0, 0},
		{"an unknown topic", pull{topic: "unknown"}, protocol.TopicNotExist, none, 0},
		{"a topic that may not be read", pull{topic: "unreadable"}, protocol.NoPermission, none, 0},
		{"a group that may not read", pull{group: "disabled", topic: "aged"}, protocol.NoPermission, none, 0},
		{"an unknown group, none come to be by use", pull{group: "unknown", topic: "aged", offset: 5}, protocol.SubscriptionGroupNotExist, none, 0},
	} {
		t.Run(test.situation, func(t *testing.T) {
			answer, err := w.ask(test.command())
			if err != nil {
				t.Fatal(err)
			}
			if answer.Code != test.code {
				t.Fatalf("answered %d %s, want %d", answer.Code, answer.Remark, test.code)
			}
			if test.next == none {
				return
			}
			got, err := pulledOf(answer)
			if err != nil || got.NextBeginOffset != test.next || len(got.messages) != test.messages {
				t.Errorf("next %d with %d messages, %v; want %d with %d", got.NextBeginOffset, len(got.messages), err, test.next, test.messages)
			}
		})
	}
}

// A pull of young messages brings 32 of them, or 256 KiB, at most.
func TestPullBringsSoManyAtMost(t *testing.T) {
	t.Parallel()
	s := start(t, setup{set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w := dial(t, s.broker)
	w.createTopic("many", 2)
	var all []outgoing
	for i := range 1100 {
		all = append(all, outgoing{topic: "many", body: fmt.Appendf(nil, "%d", i)})
	}
	for range 8 {
		all = append(all, outgoing{topic: "many", queue: 1, body: make([]byte, 60<<10)})
	}
	w.sendAll(all)
	for asked, want := range map[int32]int{-1: 1, 1: 1, 32: 32, 33: 32, 1000: 32} {
		if got := w.pull(pull{topic: "many", count: asked}); got.code != 0 || len(got.messages) != want {
			t.Errorf("asked for %d: %d, %d messages, want %d", asked, got.code, len(got.messages), want)
		}
	}
	zero := pull{topic: "many", count: 1}
	req := zero.command()
	req.Header.(*protocol.PullRequest).MaxMessages = 0
	answer, err := w.ask(req)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pulledOf(answer); err != nil || got.code != 0 || len(got.messages) != 1 {
		t.Errorf("asked for none: %d, %d messages, %v", got.code, len(got.messages), err)
	}
	if got := w.pull(pull{topic: "many", queue: 1}); len(got.messages) != 4 {
		t.Errorf("%d messages of 60 KiB, want 4, which are less than 256 KiB", len(got.messages))
	}
}

// Queue ids that a topic does not have are refused, or known to be nothing; no folder is made for them.
func TestQueueIDsOutsideTheTopic(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := dial(t, s.broker)
	for _, topic := range []struct {
		name        string
		read, write int32
	}{{"wide", 2, 4}, {"narrow", 4, 2}} {
		header := topicHeader(topic.name, topic.read)
		header.WriteQueueNums = topic.write
		w.must(protocol.UpdateAndCreateTopic, header, nil)
		if got := w.send(outgoing{topic: topic.name, queue: -1, body: []byte("x")}); got.queue < 0 || got.queue >= topic.write {
			t.Errorf("%s: queue -1 became %d", topic.name, got.queue)
		}
		for _, queue := range []int32{-1, 4, 127, 128, math.MaxInt32} {
			if _, err := w.trySend(outgoing{topic: topic.name, queue: queue, body: []byte("x")}); queue >= 0 && protocol.CodeOf(err) != protocol.InvalidParameter {
				t.Errorf("%s: send to queue %d: %v, want code %d", topic.name, queue, err, protocol.InvalidParameter)
			}
			if got := w.pull(pull{topic: topic.name, queue: queue}); got.code != protocol.InvalidParameter {
				t.Errorf("%s: pull from queue %d: %d, want %d", topic.name, queue, got.code, protocol.InvalidParameter)
			}
			header := protocol.QueueHeader{Topic: topic.name, QueueID: queue}
			if first, end := w.offset(protocol.GetMinOffset, header), w.offset(protocol.GetMaxOffset, header); first != 0 || end != 0 {
				t.Errorf("%s: queue %d goes from %d to %d", topic.name, queue, first, end)
			}
			if at := w.offsetAt(topic.name, queue, time.Now().UnixMilli(), false); at != 0 {
				t.Errorf("%s: offset by time in queue %d: %d", topic.name, queue, at)
			}
			w.commit(readers, topic.name, queue, 7) // kept as in RocketMQ, for a few
		}
		// The last one that may be read, and not written, or the reverse.
		if got := w.pull(pull{topic: topic.name, queue: topic.read - 1}); got.code == protocol.InvalidParameter {
			t.Errorf("%s: pull from queue %d is refused", topic.name, topic.read-1)
		}
		if got := w.pull(pull{topic: topic.name, queue: topic.read}); got.code != protocol.InvalidParameter {
			t.Errorf("%s: pull from queue %d: %d", topic.name, topic.read, got.code)
		}
		w.send(outgoing{topic: topic.name, queue: max(topic.read, topic.write) - 1, body: []byte("x")})
		for _, queue := range []string{"-1", "4", "127", "128", fmt.Sprint(math.MaxInt32)} {
			if _, err := os.Stat(filepath.Join(s.data, "store", "consumequeue", topic.name, queue)); !os.IsNotExist(err) {
				t.Errorf("%s: a folder of queue %s: %v", topic.name, queue, err)
			}
		}
	}
}

// createGroup makes a consumer group that may read, or may not.
func (w *wire) createGroup(group string, enabled bool) {
	w.t.Helper()
	c := protocol.NewSubscriptionGroupConfig(group)
	c.ConsumeEnable = enabled
	w.must(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(c))
}
