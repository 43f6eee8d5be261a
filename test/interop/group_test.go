// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/test/interop/rig"
)

// inFlight is how much of one queue a member may have been given without the broker knowing that it is done with it: each pull
// brings along the progress at that time, so it is what the member had cached then, and what that pull and the ones under way
// before and after it brought.
const inFlight = cachedPerQueue + 3*pullBatch

// TestMixedGroupUnderLoad: members of four clients share a topic; while four producers send, members are killed and others join.
// Nothing that was acknowledged is missed, and only what was in flight at a change comes twice.
func TestMixedGroupUnderLoad(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		name := "members come and go"
		if restart {
			name = "and the broker is killed"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mixedGroup(t, restart)
		})
	}
}

func mixedGroup(t *testing.T, restart bool) {
	const queues = 8
	s := rig.Start(t, "flushConsumerOffsetInterval=1000")
	topic, group := goTopic(t, s, "Mixed", queues), "MixedGroup"
	l := newLedger()
	join := func(client string) *peer {
		return startPeer(t, s, l, client, "worker", topic, group, "concurrent", "none", 16)
	}
	var producers, members []*peer
	for i, client := range []string{javaV5, javaV4, goV2, goSDK} {
		members = append(members, join(client))
		producers = append(producers, startPeer(t, s, l, client, "load", topic, "p"+strconv.Itoa(i), 0, 1))
	}
	for _, p := range append(producers, members...) {
		p.awaitReady()
	}
	working := func(what string, members ...*peer) {
		t.Helper()
		for _, m := range members {
			before := l.got(m)
			eventually(t, 60*time.Second, func() string { return fmt.Sprintf("%s: %s gets messages", what, m.client) }, func() bool {
				l.check(t)
				return l.got(m) > before
			})
		}
	}
	working("at the start", members...)
	changes := len(members)
	allowed := len(members) * queues * inFlight
	// A killed member's successor is another client, so that each takes over from each.
	for i, client := range []string{goSDK, javaV5, javaV4, goV2} {
		if restart && i == 2 {
			allowed += restartBroker(t, s, l, topic, group, len(members)) + 2*len(members)*queues*inFlight // each is gone, and there again
			changes += 2 * len(members)
			working("after the broker's restart", members...)
		}
		members[i].kill()
		members[i] = join(client)
		changes, allowed = changes+2, allowed+2*queues*inFlight
		members[i].awaitReady()
		working("after a kill", members...)
	}
	// At least twice as many as may come again, or the bound would say little.
	enough := max(2*allowed, l.ackedCount()+100)
	eventually(t, 2*time.Minute, func() string { return fmt.Sprintf("%d messages, %d so far", enough, l.ackedCount()) }, func() bool {
		l.check(t)
		return l.ackedCount() >= enough
	})
	for _, p := range producers {
		p.leave()
	}
	l.awaitAll(t, 60*time.Second)
	l.check(t)
	repeats, most := l.repeats()
	t.Logf("%d messages acknowledged, %d came again, one at most %d times; allowed after %d changes: %d", l.ackedCount(), repeats, most, changes, allowed)
	if repeats > allowed {
		t.Errorf("%d messages came again, %d at most may", repeats, allowed)
	}
	if most > 1+changes {
		t.Errorf("a message was delivered %d times in %d changes", most, changes)
	}
	for _, d := range l.all() {
		if d.reconsumed != 0 || d.topic != topic {
			t.Fatalf("message %s came as one that had failed: topic %s, %d times", d.body, d.topic, d.reconsumed)
		}
	}
}

// restartBroker kills the broker, starts it again and waits until it knows so many members. It gives how many messages may come
// again because of it: the progress that was not on its disk; and what was consumed until all members were back, as one that the
// new broker hears of late (Go's client beats every 30 s) goes on where it was, although others had its queues meanwhile.
func restartBroker(t *testing.T, s rig.Server, l *ledger, topic, group string, members int) (again int) {
	t.Helper()
	eventually(t, 60*time.Second, func() string { return "progress of all queues is on disk" }, func() bool {
		return len(progressOnDisk(t, s, topic, group)) == len(l.ends())
	})
	s.KillBroker()
	onDisk, before := progressOnDisk(t, s, topic, group), l.distinct()
	lost := 0
	for queue, end := range l.ends() {
		lost += int(max(end-onDisk[queue], 0))
	}
	if err := s.StartBroker(); err != nil {
		t.Fatal(err)
	}
	known := 0
	eventually(t, 90*time.Second, func() string { return fmt.Sprintf("%d members, the broker knows %d", members, known) }, func() bool {
		l.check(t)
		known = membersOf(t, s, group)
		return known == members
	})
	meanwhile := l.distinct() - before
	t.Logf("progress that the broker had not written: %d messages; consumed until all members were back: %d", lost, meanwhile)
	return lost + meanwhile
}

// membersOf asks the broker how many members it knows.
func membersOf(t *testing.T, s rig.Server, group string) int {
	t.Helper()
	header, body, err := rig.Ask(t.Context(), s.Broker(), 38, map[string]string{"consumerGroup": group}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header.Code != 0 {
		return 0 // nobody
	}
	var list struct {
		IDs []string `json:"consumerIdList"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return len(list.IDs)
}

// bareNumber is a number without quotes where a name belongs.
var bareNumber = regexp.MustCompile(`([{,]\s*)(\d+)\s*:`)

// progressOnDisk reads the file of the broker's committed offsets.
func progressOnDisk(t *testing.T, s rig.Server, topic, group string) map[int]int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Store(), "config", "consumerOffset.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	// The Java server writes numbers as keys without quotes, which no JSON has.
	text = bareNumber.ReplaceAll(text, []byte(`$1"$2":`))
	var file struct {
		OffsetTable map[string]map[string]int64 `json:"offsetTable"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	offsets := map[int]int64{}
	for queue, offset := range file.OffsetTable[topic+"@"+group] {
		n, err := strconv.Atoi(queue)
		if err != nil {
			t.Fatal(err)
		}
		offsets[n] = offset
	}
	return offsets
}

// TestOrderedGroupUnderLoad: members that consume in order share a topic whose messages have sharding keys; one is killed and one
// joins while producers send. Within a queue, and so for each key, messages are handled one at a time and none is passed over.
func TestOrderedGroupUnderLoad(t *testing.T) {
	t.Parallel()
	const queues, keys = 8, 8
	// A killed member's queues stay locked until its locks are too old for anybody to trust: clients do for 30 s, and the answer
	// to a renewal takes 1 s at most.
	s := rig.Start(t, lockLife(33*time.Second)...)
	topic, group := goTopic(t, s, "Ordered", queues), "OrderedGroup"
	l := newLedger()
	join := func(client string) *peer {
		return startPeer(t, s, l, client, "worker", topic, group, "orderly", "none", -1)
	}
	members := []*peer{join(javaV5), join(javaV4), join(goV2)}
	var producers []*peer
	for i, client := range []string{javaV5, javaV4, goV2, goSDK} {
		producers = append(producers, startPeer(t, s, l, client, "load", topic, "p"+string(rune('a'+i)), keys, 25))
	}
	for _, p := range append(producers, members...) {
		p.awaitReady()
	}
	for _, m := range members {
		eventually(t, 60*time.Second, func() string { return m.client + " gets messages" }, func() bool { l.check(t); return l.got(m) > 0 })
	}
	for _, m := range members[1:] { // of Java and of Go
		m.kill()
	}
	late := join(javaV5)
	members = []*peer{members[0], late, join(javaV4)}
	changes := 3 + 2 + 2
	sent := l.ackedCount()
	for _, m := range members {
		m.awaitReady()
	}
	// Until the locks of the killed ones have run out and every queue goes on.
	ends := l.ends()
	eventually(t, 90*time.Second, func() string { return fmt.Sprintf("queues go on: they were at %v and are at %v", ends, l.ends()) }, func() bool {
		l.check(t)
		now := l.ends()
		for queue, end := range ends {
			if now[queue] <= end {
				return false
			}
		}
		return l.ackedCount() > sent+100 && l.got(late) > 0
	})
	for _, p := range producers {
		p.leave()
	}
	l.awaitAll(t, 60*time.Second)
	l.check(t)
	all := l.all()
	inOrder(t, all, func(d delivery) string { return fmt.Sprint("queue ", d.queue) }, func(d delivery) int64 { return d.offset })
	inOrder(t, all, func(d delivery) string { return "key " + d.key }, func(d delivery) int64 { return int64(d.seq) })
	repeats, most := l.repeats()
	allowed := changes * queues * inFlight
	t.Logf("%d messages acknowledged, %d came again, one at most %d times; allowed after %d changes: %d", l.ackedCount(), repeats, most, changes, allowed)
	if repeats > allowed {
		t.Errorf("%d messages came again, of which at most %d were in flight at a change", repeats, allowed)
	}
}

// lockLife sets how long queue locks live. The Java server has a system property for it, and keeps its 60 s here.
func lockLife(d time.Duration) []string {
	if os.Getenv("INTEROP_SERVER") == "oracle" {
		return nil
	}
	return []string{fmt.Sprint("rocketmq.broker.rebalance.lockMaxLiveTime=", d.Milliseconds())}
}
