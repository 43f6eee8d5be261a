// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

const (
	notFound     = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
	notFoundZero = "Not found, do not set to zero, maybe this group boot first"
)

func (r *running) committed(topic, group string, queue any, more ext) answer {
	r.Helper()
	e := ext{"consumerGroup": group, "topic": topic, "queueId": queue}
	for k, v := range more {
		e[k] = v
	}
	return r.call(protocol.QueryConsumerOffset, e)
}

func (r *running) commit(topic, group string, queue, offset any) answer {
	r.Helper()
	return r.call(protocol.UpdateConsumerOffset, ext{"consumerGroup": group, "topic": topic, "queueId": queue, "commitOffset": offset})
}

// offset checks a success and the offset in it.
func (a answer) offset(want string) {
	a.t.Helper()
	a.is(protocol.Success, "")
	if got := a.ext("offset"); got != want {
		a.t.Fatalf("offset %q, want %q", got, want)
	}
}

func TestWhereANewGroupStarts(t *testing.T) {
	r := start(t)
	topic, g := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 2, 2 }), r.group()
	r.committed(topic, g, 0, nil).is(protocol.QueryNotFound, notFound) // no message ever
	r.fill(topic, 2, "")
	r.committed(topic, g, 0, nil).offset("0")
	r.committed(topic, g, 0, ext{"setZeroIfNotFound": true}).offset("0")
	r.committed(topic, g, 0, ext{"setZeroIfNotFound": false}).is(protocol.QueryNotFound, notFoundZero)
	r.committed(topic, g, 1, nil).is(protocol.QueryNotFound, notFound)
	r.committed(topic, g, 7, nil).is(protocol.QueryNotFound, notFound)
	r.committed(name("none"), g, 0, nil).is(protocol.QueryNotFound, notFound)
	r.committed(topic, name("none"), 0, nil).offset("0")
}

func TestCommits(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.fill(topic, 2, "")
	for _, c := range [][2]string{{"2", "2"}, {"1", "1"}, {"100", "100"}, {"-5", "0"}} {
		r.commit(topic, g, 0, c[0]).is(protocol.Success, "")
		r.committed(topic, g, 0, nil).offset(c[1])
	}
	r.commit(topic, g, 9, 1).is(protocol.Success, "")
	r.committed(topic, g, 9, nil).offset("1")
	r.commit(topic, "none", 0, 1).is(protocol.SubscriptionGroupNotExist, "Group none not exist!")
	r.commit("none", g, 0, 1).is(protocol.TopicNotExist, "Topic none not exist!")
	r.commit(topic, g, 0, nil).is(protocol.InvalidParameter, "Offset is null, topic is "+topic)
	r.commit(topic, g, nil, 1).is(protocol.InvalidParameter, "QueueId is null, topic is "+topic)
	if a := r.commit(topic, g, 0, "x"); a.Code != protocol.SystemError {
		t.Errorf("a commit of %q: %d", "x", a.Code)
	}
}

// Queue ids that a topic does not have are kept as in RocketMQ, but not without end: one client must not fill the memory.
func TestCommitsToQueuesThatAreNotThere(t *testing.T) {
	r := start(t)
	topic, g := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 4, 4 }), r.group()
	for queue := range 4 {
		r.commit(topic, g, queue, 1).is(protocol.Success, "")
	}
	stray := append([]int{-1, 1 << 30}, make([]int, offset.MaxStray-2)...)
	for i := range stray[2:] {
		stray[2+i] = 4 + i
	}
	for _, queue := range stray {
		r.commit(topic, g, queue, 7).is(protocol.Success, "")
		r.committed(topic, g, queue, nil).offset("7")
	}
	r.commit(topic, g, 1<<20, 7).is(protocol.InvalidParameter, "QueueId 1048576 is not one of the 4 queues of topic "+topic+", and offsets of 64 others are kept already")
	r.committed(topic, g, 1<<20, nil).is(protocol.QueryNotFound, notFound)
	for _, queue := range append(stray, 0, 1, 2, 3) { // what is known goes on
		r.commit(topic, g, queue, 8).is(protocol.Success, "")
		r.committed(topic, g, queue, nil).offset("8")
	}
	r.commit(topic, r.group(), 1<<20, 7).is(protocol.Success, "") // every group has its own
}

func TestCommitsSurviveARestart(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.commit(topic, g, 0, 3)
	r.stop()
	again := startWith(t, r.cfg)
	again.committed(topic, g, 0, nil).offset("3")
	// One whose file was cut in half goes on with the generation before, and says so.
	again.commit(topic, g, 0, 4)
	again.stop()
	path := filepath.Join(r.cfg.Store.Root, "config", "consumerOffset.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	startWith(t, r.cfg).committed(topic, g, 0, nil).offset("3")
}

func TestQueueBounds(t *testing.T) {
	r := start(t)
	topic := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 2, 2 })
	r.fill(topic, 3, "")
	for _, c := range []struct {
		topic     string
		queue     any
		max, time string
	}{
		{topic, 0, "3", "a time"}, {topic, 1, "0", "-1"}, {topic, 5, "0", "-1"}, {topic, -1, "0", "-1"}, {topic, 1<<31 - 1, "0", "-1"},
		{name("none"), 0, "0", "-1"},
	} {
		e := ext{"topic": c.topic, "queueId": c.queue}
		r.call(protocol.GetMaxOffset, e).offset(c.max)
		r.call(protocol.GetMinOffset, e).offset("0")
		got := r.success(protocol.GetEarliestMsgStoreTime, e).ext("timestamp")
		if (got == "-1") != (c.time == "-1") {
			t.Errorf("%v: earliest %s", e, got)
		}
		e["timestamp"] = 1
		r.call(protocol.SearchOffsetByTimestamp, e).offset("0")
		e["committed"] = false
		r.call(protocol.GetMaxOffset, e).offset(c.max)
	}
	if made, err := filepath.Glob(filepath.Join(r.cfg.Store.Root, "consumequeue", "none*")); err != nil || len(made) > 0 {
		t.Errorf("asking made %v, %v", made, err)
	}
}

func TestOffsetByTime(t *testing.T) {
	r := start(t)
	topic := r.topic()
	r.fill(topic, 1, "")
	r.until("the clock moves on", func() bool { return r.store.TimeOf(topic, 0, 0) < nowMillis() })
	r.send(topic, "m1", nil)
	r.readable(topic, 0, 2)
	first, last := r.store.TimeOf(topic, 0, 0), r.store.TimeOf(topic, 0, 1)
	ask := func(ms int64, boundary any, want string) {
		t.Helper()
		r.call(protocol.SearchOffsetByTimestamp, ext{"topic": topic, "queueId": 0, "timestamp": ms, "boundaryType": boundary}).offset(want)
	}
	ask(first, nil, "0")
	ask(first+1, "LOWER", "1")
	ask(last, "no such thing", "1")
	ask(last+1, nil, "2")
	ask(last+86_400_000, "lower", "2")
	ask(last, "UPPER", "1")
	ask(last-1, "upper", "0")
	ask(0, "UPPER", "0")
}

func TestAllOffsets(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.commit(topic, g, 0, 3)
	r.commit(topic, g, 2, 5)
	var all protocol.ConsumerOffsets
	r.success(protocol.GetAllConsumerOffset, nil).decode(&all)
	if d := cmp.Diff(map[int32]int64{0: 3, 2: 5}, all.OffsetTable[topic+"@"+g]); d != "" {
		t.Fatal(d)
	}
}

func TestCommitTakesLittleMemory(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	h := &offsetHandler{cfg: r.Broker.cfg, topics: r.topics, groups: r.groups, offsets: r.offsets, store: r.store}
	fields := ext{"consumerGroup": g, "topic": topic, "queueId": 0, "commitOffset": 7}.fields()
	x := &remoting.Exchange{Request: remoting.Command{Code: protocol.UpdateConsumerOffset, Fields: fields}}
	if n := testing.AllocsPerRun(100, func() {
		if a, err := h.update(x); err != nil || a.Code != protocol.Success {
			t.Fatal(a, err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
