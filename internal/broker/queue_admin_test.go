// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestQueueEntries(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.fill(topic, 3, "TAGS=Aa")
	ask := func(e ext) protocol.ConsumeQueueData {
		t.Helper()
		e["topic"], e["queueId"] = topic, 0
		var d protocol.ConsumeQueueData
		r.success(protocol.QueryConsumeQueue, e).decode(&d)
		return d
	}
	d := ask(ext{"index": 1, "count": 10, "consumerGroup": g})
	if d.MinQueueIndex != 0 || d.MaxQueueIndex != 3 || len(d.QueueData) != 2 || *d.FilterData != g+"@"+topic+" is not online!" || d.SubscriptionData != nil {
		t.Fatalf("got %+v", d)
	}
	e := r.store.Entries(topic, 0, 1, 1)[0]
	if d := cmp.Diff(protocol.ConsumeQueueEntry{PhysicOffset: e.PhysicalOffset, PhysicSize: e.Size, TagsCode: 2112}, d.QueueData[0]); d != "" {
		t.Fatal(d)
	}
	r.join(r.dial(nil), "client", g, protocol.Clustering, subscription(t, topic, "Aa", 1))
	if d = ask(ext{"index": 0, "count": 1, "consumerGroup": g}); !d.QueueData[0].Eval || d.SubscriptionData == nil || *d.FilterData != "null" {
		t.Fatalf("got %+v", d)
	}
	if d = ask(ext{"index": 0, "count": 5}); d.FilterData != nil || d.QueueData[0].Eval || len(d.QueueData) != 3 {
		t.Fatalf("got %+v", d)
	}
	for _, e := range []ext{{"index": 3, "count": 5}, {"index": -1, "count": 0}, {"index": 99, "count": 1 << 30}, {"index": 0, "count": -1}} {
		if d := ask(e); len(d.QueueData) != 0 {
			t.Errorf("%v: %+v", e, d)
		}
	}
	for queue, remark := range map[int]string{7: "7@" + topic + " is not exist!", -1: "-1@" + topic + " is not exist!"} {
		r.call(protocol.QueryConsumeQueue, ext{"topic": topic, "queueId": queue, "index": 0, "count": 1}).is(protocol.SystemError, remark)
	}
	r.call(protocol.QueryConsumeQueue, ext{"topic": "none", "queueId": 0, "index": 0, "count": 1}).is(protocol.SystemError, "0@none is not exist!")
}

func TestCleaning(t *testing.T) {
	r := start(t)
	topic, unused := r.topic(), r.topic()
	r.fill(topic, 1, "")
	r.fill(unused, 1, "")
	if _, err := r.topics.Delete(unused); err != nil { // its queues stay
		t.Fatal(err)
	}
	for _, code := range []int32{protocol.CleanExpiredConsumeQueue, protocol.CleanUnusedTopic, protocol.DeleteExpiredCommitLog} {
		r.call(code, nil).is(protocol.Success, "")
	}
	dir := func(name string) string { return filepath.Join(r.cfg.Store.Root, "consumequeue", name) }
	if _, err := os.Stat(dir(unused)); !os.IsNotExist(err) {
		t.Errorf("queues of a topic that is gone: %v", err)
	}
	if got := r.pull(topic, protocol.GroupTools, 0, nil).bodies(); got != "m0" {
		t.Errorf("read %q", got)
	}
}
