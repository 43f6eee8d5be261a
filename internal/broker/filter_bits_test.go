// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

func filterBits(c *Config) {
	c.Filter.Properties, c.Filter.Bits = true, true
	c.Store.Extra.Enable = true
}

// countedFilter counts what a read looks at.
type countedFilter struct {
	pullFilter
	read *int
}

func (f *countedFilter) MatchProperties(p []byte) bool {
	*f.read++
	return f.pullFilter.MatchProperties(p)
}

// Beside the queue stands which groups' filters match, those of groups whose members are gone included; pulls read only
// what may match.
func TestFilterBitsOfMessages(t *testing.T) {
	r := start(t, filterBits)
	topic, g, offline := r.topic(), r.group(), r.group()
	r.fillWith(topic, "a=9 n=before")
	member := r.dial(nil)
	r.join(member, "here", g, protocol.Clustering, bySQL(topic, "a > 5", 1))
	gone := r.dial(nil)
	r.join(gone, "gone", offline, protocol.Clustering, bySQL(topic, "a <= 5", 1))
	_ = gone.Close()
	r.until("the group has no members", func() bool { return r.members.Consumers(offline) == nil })
	registered := time.Now().UnixMilli()
	r.until("a millisecond is over", func() bool { return time.Now().UnixMilli() > registered })
	for _, pairs := range []string{"a=1", "a=6", "a=2", "b=1", "a=7"} {
		r.send(topic, pairs, props(pairs))
	}
	r.readable(topic, 0, 6)

	pull := func(groupName string) (bodies string, read int) {
		t.Helper()
		f := r.filters.Get(topic, groupName)
		if f == nil {
			t.Fatalf("%s has no filter", groupName)
		}
		h := &pullHandler{}
		p := &pulling{group: r.groups.Get(groupName), topic: r.topics.Get(topic)}
		counted := countedFilter{pullFilter: h.sqlFilter(p, r.Config(), f.Compiled), read: &read}
		counted.registered = f
		b, res := r.store.Read(nil, &store.ReadRequest{Topic: topic, MaxCount: 32, Filter: &counted})
		if res.Next != 6 {
			t.Errorf("%s goes on at %d", groupName, res.Next)
		}
		return (answer{&remoting.Command{Body: b}, t}).bodies(), read
	}
	for groupName, want := range map[string]struct {
		bodies string
		read   int
	}{g: {"a=9 n=before a=6 a=7", 3}, offline: {"a=1 a=2", 3}} { // the first message was there before the filters
		if bodies, read := pull(groupName); bodies != want.bodies || read != want.read {
			t.Errorf("%s: %q, %d messages were read, want %q and %d", groupName, bodies, read, want.bodies, want.read)
		}
	}
	if a := r.ask(member, protocol.PullMessage, pullExt(topic, g, 0, ext{"sysFlag": 0})); a.bodies() != "a=9 n=before a=6 a=7" {
		t.Errorf("pulled %q", a.bodies())
	}

	// The texts are those of RocketMQ 5.5.0.
	var d protocol.ConsumeQueueData
	r.success(protocol.QueryConsumeQueue, ext{"topic": topic, "queueId": 0, "index": 0, "count": 9, "consumerGroup": g}).decode(&d)
	for i, want := range []struct{ eval, bits bool }{{true, false}, {false, true}, {true, true}, {false, true}, {false, true}, {true, true}} {
		e := d.QueueData[i]
		if e.Eval != want.eval || e.BitMap != "" != want.bits || strings.Contains(e.ExtendDataJSON, `"size":34`) != want.bits || !strings.HasPrefix(e.ExtendDataJSON, "{") {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if e := d.QueueData[4]; !strings.HasPrefix(e.ExtendDataJSON, `{"filterBitMap":[0,0,0,0,0,0,0,0,0,0,0,0,0,0],"msgStoreTime":`) ||
		e.BitMap != strings.Repeat("0", 48)+"\n"+strings.Repeat("0", 64)+"\n" {
		t.Errorf("nobody wants it: %+v", e)
	}
}

func TestTextsOfExtras(t *testing.T) {
	x := store.Extra{TagsCode: 2598902, StoreTimestamp: 1796055028459, Bits: []byte{0, 2, 0, 16, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0}}
	if got := extraText(&x); got != `{"filterBitMap":[0,2,0,16,0,-128,0,0,0,0,0,0,0,0],"msgStoreTime":1796055028459,"size":34,"tagsCode":2598902}` {
		t.Error(got)
	}
	if got := bitsText(x.Bits); got != "000000000000000000000000000000000000000000000000\n0000000000000000100000000000000000010000000000000000001000000000\n" {
		t.Errorf("%q", got)
	}
	x.Bits = nil
	if got := extraText(&x); got != `{"msgStoreTime":1796055028459,"size":20,"tagsCode":2598902}` {
		t.Error(got)
	}
}

// After a crash the bits are made again by the filters that are on disk, and mean the same.
func TestFilterBitsAfterCrash(t *testing.T) {
	r := start(t, filterBits)
	topic, g := r.topic(), r.group()
	member := r.dial(nil)
	r.join(member, "c", g, protocol.Clustering, bySQL(topic, "a > 5", 1))
	if err := r.filters.Flush(); err != nil {
		t.Fatal(err)
	}
	r.fillWith(topic, "a=1", "a=6", "a=7", "a=2")
	again := r.afterCrash()
	member = again.dial(nil)
	again.join(member, "c", g, protocol.Clustering, bySQL(topic, "a > 5", 1))
	if a := again.ask(member, protocol.PullMessage, pullExt(topic, g, 0, ext{"sysFlag": 0})); a.bodies() != "a=6 a=7" {
		t.Errorf("pulled %q", a.bodies())
	}
	for i, want := range []bool{false, true, true, false} {
		e := again.store.Entries(topic, 0, int64(i), 1)[0]
		x, ok := again.store.Extra(topic, 0, int64(i))
		if f := again.filters.Get(topic, g); !ok || f.MatchBits(e.PhysicalOffset, x.StoreTimestamp+1<<40, x.Bits) != want {
			t.Errorf("message %d: %v, bits %x", i, ok, x.Bits)
		}
	}
}
