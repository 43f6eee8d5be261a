// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// lit switches light queues on.
func lit(cfg Config) Config {
	cfg.Light = LightConfig{Enable: true, Dispatch: true}
	return cfg
}

// light is a message of topic T for light queues.
func light(body, names string) *Message {
	return msg("T", 1, body, message.PropTags, "A", message.PropMultiDispatch, names)
}

// lightBodies are those of a queue's messages.
func lightBodies(t testing.TB, s *Store, topic string) []string {
	t.Helper()
	var all []string
	for _, r := range readAll(t, s, topic, 0, 0) {
		all = append(all, string(r.Body))
	}
	return all
}

// The bytes and the order of the properties are those of a RocketMQ 5.5.0 broker that was sent the same messages.
func TestLightRecordsAreJavas(t *testing.T) {
	s := open(t, lit(small(t.TempDir())))
	as := func(properties ...string) *Message {
		m := msg("LT", 0, "hello", properties...)
		m.Properties = message.AppendInMapOrder(nil, m.Properties, nil)
		return m
	}
	common := []string{"UNIQ_KEY", "7F00000100002A9F0000000000000001", "CLUSTER", "DefaultCluster", "MSG_REGION", "DefaultRegion", "TRACE_ON", "true"}
	for range 12 {
		put(t, s, as(append([]string{"TAGS", "TagA", "WAIT", "true", "INNER_MULTI_DISPATCH", "%LMQ%a,%LMQ%b"}, common...)...))
	}
	put(t, s,
		as(append([]string{"INNER_MULTI_DISPATCH", "%LMQ%a,"}, common...)...),
		as(append([]string{"TAGS", "TagB", "INNER_MULTI_DISPATCH", "%LMQ%a", "INNER_MULTI_QUEUE_OFFSET", "77"}, common...)...))
	const before = "MSG_REGION\x01DefaultRegion\x02UNIQ_KEY\x017F00000100002A9F0000000000000001\x02CLUSTER\x01DefaultCluster\x02"
	want := map[int]string{
		0:  before + "INNER_MULTI_QUEUE_OFFSET\x010,0\x02TAGS\x01TagA\x02WAIT\x01true\x02TRACE_ON\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02",
		9:  before + "INNER_MULTI_QUEUE_OFFSET\x019,9\x02TAGS\x01TagA\x02WAIT\x01true\x02TRACE_ON\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02",
		10: before + "INNER_MULTI_QUEUE_OFFSET\x0110,10\x02TAGS\x01TagA\x02WAIT\x01true\x02TRACE_ON\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02",
		12: before + "INNER_MULTI_QUEUE_OFFSET\x0112\x02TRACE_ON\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a,\x02",
		13: before + "INNER_MULTI_QUEUE_OFFSET\x0113\x02TAGS\x01TagB\x02TRACE_ON\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a\x02",
	}
	own := readAll(t, s, "LT", 0, 0)
	for i, properties := range want {
		if got := string(own[i].Properties); got != properties {
			t.Errorf("message %d:\n got %q\nwant %q", i, got, properties)
		}
	}
	// In a light queue is the record of the topic it was sent to.
	there := readAll(t, s, "%LMQ%a", 0, 0)
	if len(there) != 14 {
		t.Fatalf("%d messages in the light queue", len(there))
	}
	for i, r := range there {
		if r.PhysicalOffset != own[i].PhysicalOffset || r.QueueOffset != int64(i) || string(r.Topic) != "LT" {
			t.Errorf("light message %d is that at %d of %s", i, r.PhysicalOffset, r.Topic)
		}
	}
	if low, end := s.QueueRange("%LMQ%b", 0); low != 0 || end != 12 {
		t.Errorf("queue b is %d..%d", low, end)
	}
	b, res := s.Read(nil, &ReadRequest{Topic: "%LMQ%a", Offset: 0, MaxCount: 32, Filter: tags("TagB")})
	if found, err := message.DecodeAll(b); err != nil || len(found) != 1 || found[0].PhysicalOffset != own[13].PhysicalOffset || res.Next != 14 {
		t.Errorf("with the tag: %d messages, %+v, %v", len(found), res, err)
	}
}

func TestWhatIsInLightQueues(t *testing.T) {
	half := light("half", "%LMQ%a")
	half.SysFlag = message.TransactionPrepared
	elsewhere := func(topic string) *Message {
		m := light("x", "%LMQ%a")
		m.Topic = topic
		return m
	}
	batch := msg("T", 1, "")
	batch.Batch = true
	batch.Body = message.AppendBatchItem(nil, message.BatchItem{Body: []byte("x"), Properties: message.AppendProperty(nil, message.PropMultiDispatch, "%LMQ%a")})
	tests := []struct {
		situation string
		m         *Message
		change    func(*Config)
		in        bool // the queue %LMQ%a
		offset    bool // is in the record
	}{
		{situation: "a message", m: light("x", "%LMQ%a"), in: true, offset: true},
		{situation: "of a dead-letter topic", m: elsewhere("%DLQ%G"), in: true, offset: true},
		{situation: "of a retry topic", m: elsewhere("%RETRY%G")},
		{situation: "of the system", m: elsewhere("rmq_sys_X")},
		{situation: "waiting for its delay", m: elsewhere("SCHEDULE_TOPIC_XXXX")},
		{situation: "a prepared message", m: half},
		{situation: "a half message", m: elsewhere("RMQ_SYS_TRANS_HALF_TOPIC")},
		{situation: "in a batch", m: batch},
		{situation: "a name of blanks", m: light("x", " ")},
		{situation: "no light queues", m: light("x", "%LMQ%a"), change: func(c *Config) { c.Light = LightConfig{} }},
		{situation: "multi-dispatch only", m: light("x", "%LMQ%a"), change: func(c *Config) { c.Light.Enable = false }},
		{situation: "light queues that are not dispatched to", m: light("x", "%LMQ%a"), change: func(c *Config) { c.Light.Dispatch = false }, offset: true},
		{situation: "no light queues, but offsets", m: msg("T", 1, "x", message.PropMultiDispatch, "%LMQ%a", message.PropMultiQueueOffset, "0"),
			change: func(c *Config) { c.Light = LightConfig{} }, offset: true},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			var a told
			cfg := lit(small(t.TempDir()))
			if tt.change != nil {
				tt.change(&cfg)
			}
			s := open(t, cfg, func(d *Deps) { d.Arrived = a.arrived })
			put(t, s, tt.m)
			_, end := s.QueueRange("%LMQ%a", 0)
			b, err := s.View(0)
			if err != nil {
				t.Fatal(err)
			}
			if offset := strings.Contains(string(b), "INNER_MULTI_QUEUE_OFFSET\x010\x02"); end > 0 != tt.in || offset != tt.offset {
				t.Errorf("in the light queue %v, offset in the record %v", end > 0, offset)
			}
			if arrived := slices.Contains(a.all, "%LMQ%a/0->1 A 65"); arrived != tt.in {
				t.Errorf("arrived: %q", a.all)
			}
		})
	}
}

// Lists of names that cannot be are told by CheckLights, and are no reason to lose a message that was stored before.
func TestListsThatCannotBe(t *testing.T) {
	tests := []struct{ situation, topic, list, why string }{
		{"a name that is no light queue", "T", "plain", `names "plain", which is no light queue`},
		{"one such name among others", "T", "%LMQ%a,plain", `names "plain"`},
		{"an empty name in between", "T", "%LMQ%a,,%LMQ%b", `names ""`},
		{"commas only", "T", ",,", `names ""`},
		{"a prefix without a name", "T", "%LMQ%", `names "%LMQ%"`},
		{"a path", "T", "%LMQ%../a", "cannot be the name of a folder"},
		{"a long name", "T", "%LMQ%" + strings.Repeat("x", 251), "cannot be the name of a folder"},
		{"twice the same", "T", "%LMQ%a,%LMQ%b,%LMQ%a", `names "%LMQ%a" twice`},
		{"the topic itself", "%LMQ%self", "%LMQ%self", "the topic of the message itself"},
		{"commas at the end", "T", "%LMQ%a,,", ""},
		{"for a topic that has none", "%RETRY%G", "plain", ""},
		{"nothing", "T", "", ""},
	}
	s := open(t, lit(small(t.TempDir())))
	for i, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			if err := CheckLights(tt.topic, []byte(tt.list)); (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%v, want %s", err, tt.why)
			}
			if tt.why == "" {
				return
			}
			m := light("x", tt.list)
			m.Topic, m.QueueID = tt.topic, int32(i)
			a := put(t, s, m)[0]
			if b, err := s.View(a.PhysicalOffset); err != nil || bytes.Contains(b, []byte(message.PropMultiQueueOffset)) {
				t.Errorf("stored as %q, %v", b, err)
			}
		})
	}
	for _, name := range s.Queues() {
		if strings.HasPrefix(name.Topic, "%LMQ%") && name.Topic != "%LMQ%self" {
			t.Errorf("there is a queue %s", name.Topic)
		}
	}
}

func TestLightMessagesRefused(t *testing.T) {
	own := msg("T", 1, "")
	own.Batch = true
	own.Body = message.AppendBatchItem(nil, message.BatchItem{Body: []byte("x"), Properties: []byte("INNER_MULTI_QUEUE_OFFSET\x013\x02")})
	s := open(t, lit(small(t.TempDir())))
	for _, tt := range []struct {
		situation string
		m         *Message
		status    Status
		why       string
	}{
		{"offsets in a batch", own, MessageIllegal, "INNER_MULTI_QUEUE_OFFSET"},
		{"properties that become too long", msg("T", 1, "x", "P", strings.Repeat("p", message.MaxProperties-40), message.PropMultiDispatch, "%LMQ%a"), PropertiesTooLong, "properties of"},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			if a := try(t, s, tt.m); a.Status != tt.status || a.Err == nil || !strings.Contains(a.Err.Error(), tt.why) {
				t.Errorf("%v: %v", a.Status, a.Err)
			}
		})
	}
	if a := put(t, s, light("x", "%LMQ%a"))[0]; a.QueueOffset != 0 {
		t.Errorf("refused messages took offsets: %+v", a)
	}
	if got := lightBodies(t, s, "%LMQ%a"); len(got) != 1 {
		t.Errorf("%d messages in the light queue", len(got))
	}
}

// Many senders at once, to queues that share light queues: offsets are given out once, and stand in the records.
func TestLightQueuesOfManySenders(t *testing.T) {
	s := open(t, lit(small(t.TempDir())))
	var all sync.WaitGroup
	const each = 60
	for sender := range 4 {
		all.Go(func() {
			for i := range each {
				names := "%LMQ%a,%LMQ%b"
				if i%3 == 0 {
					names = "%LMQ%b"
				}
				m := light(fmt.Sprintf("%d-%d", sender, i), names)
				m.QueueID = int32(sender)
				o := newOutcome()
				s.Append(m, o)
				s.Commit()
				if a := o.wait(t); a.Status != OK {
					t.Error(a.Err)
				}
			}
		})
	}
	all.Wait()
	checkLightOffsets(t, s, "%LMQ%a", 4*each*2/3)
	checkLightOffsets(t, s, "%LMQ%b", 4*each)
}

// checkLightOffsets checks that each record of a light queue says its place there.
func checkLightOffsets(t testing.TB, s *Store, name string, want int) {
	t.Helper()
	records := readAll(t, s, name, 0, 0)
	if len(records) != want {
		t.Errorf("%d messages in %s, want %d", len(records), name, want)
	}
	for i, r := range records {
		p := message.ParseProperties(r.Properties)
		names, offsets := strings.Split(p[message.PropMultiDispatch], ","), strings.Split(p[message.PropMultiQueueOffset], ",")
		if at := slices.Index(names, name); at < 0 || len(offsets) != len(names) || offsets[at] != fmt.Sprint(i) {
			t.Fatalf("message %d of %s says %v %v", i, name, names, offsets)
		}
	}
}

// What a full disk took back has no offsets in light queues either.
func TestLightQueuesOnFullDisk(t *testing.T) {
	flushTypes(t, func(t *testing.T, flush FlushDiskType) {
		cfg := lit(small("/store"))
		cfg.Flush = flush
		cfg.Retention.MaxUsedPercent, cfg.Retention.CleanForcibly = 95, false
		disk := faultfs.NewDisk()
		s := open(t, cfg, on(disk))
		put(t, s, light("first", "%LMQ%a,%LMQ%b"))
		disk.SetRoom(disk.Taken())
		stored, refused := 1, 0
		for i := 0; refused < 10; i++ {
			outcomes := []*outcome{newOutcome(), newOutcome(), newOutcome()} // in one group
			for _, o := range outcomes {
				s.Append(light(strings.Repeat("b", 2000), "%LMQ%b,%LMQ%a"), o)
			}
			s.Commit()
			for _, o := range outcomes {
				if o.wait(t).Status == OK {
					stored++
				} else {
					refused++
				}
			}
			if i > 1000 {
				t.Fatal("the disk never gets full")
			}
		}
		disk.SetRoom(disk.Taken() * 10)
		soon(t, "messages are accepted again", func() bool { return s.Writable() == nil })
		put(t, s, light("again", "%LMQ%b"))
		checkLightOffsets(t, s, "%LMQ%a", stored)
		checkLightOffsets(t, s, "%LMQ%b", stored+1)
	})
}

// A deleted light queue begins at 0 again, also after a crash.
func TestDeletedLightQueue(t *testing.T) {
	disk := faultfs.NewDisk()
	cfg := lit(crashConfig(SyncFlush))
	s := open(t, cfg, on(disk))
	put(t, s, light("1", "%LMQ%a,%LMQ%b"), light("2", "%LMQ%a"))
	if err := s.DeleteTopic("%LMQ%a"); err != nil {
		t.Fatal(err)
	}
	put(t, s, light("3", "%LMQ%a"))
	disk = disk.Kill()
	s.Close()
	s = open(t, cfg, on(disk))
	if got := lightBodies(t, s, "%LMQ%a"); fmt.Sprint(got) != "[3]" {
		t.Errorf("queue a: %v", got)
	}
	if got := lightBodies(t, s, "%LMQ%b"); fmt.Sprint(got) != "[1]" {
		t.Errorf("queue b: %v", got)
	}
}

// Records that were stored while there were no light queues, and say anything, harm no rebuild.
func TestRebuildWithLyingOffsets(t *testing.T) {
	cfg := small(t.TempDir())
	s := open(t, cfg)
	lie := func(names, offsets string) *Message {
		return msg("T", 0, "lie", message.PropMultiDispatch, names, message.PropMultiQueueOffset, offsets)
	}
	put(t, s, lie("%LMQ%a", "9000000000000000000"), lie("%LMQ%a", "-1"), lie("%LMQ%a,%LMQ%b", "0"), lie("%LMQ%a", "x"), lie("plain", "0"), lie("%LMQ%../../x", "0"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg = lit(cfg)
	s = open(t, cfg)
	put(t, s, light("1", "%LMQ%a"), light("2", "%LMQ%a,%LMQ%b"), light("3", "%LMQ%b"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(cfg.Root, "consumequeue")); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg)
	if a, b := lightBodies(t, s, "%LMQ%a"), lightBodies(t, s, "%LMQ%b"); fmt.Sprint(a, b) != "[1 2] [2 3]" {
		t.Errorf("rebuilt: %v, %v", a, b)
	}
	if n := len(readAll(t, s, "T", 0, 0)); n != 6 {
		t.Errorf("%d messages in the topic", n)
	}
}

// The messages of light queues are the same after any sequence of sends, deletions, proper stops, kills, power cuts and lost
// queue folders.
func TestLightQueueModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := lit(crashConfig(SyncFlush))
		cfg.Recovery.AppendSeal = rapid.Bool().Draw(rt, "seal")
		disk := faultfs.NewDisk()
		reopen := func() *Store {
			s, err := tryOpen(t, cfg, on(disk))
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		s := reopen()
		defer func() { s.Close() }()
		names := []string{"%LMQ%a", "%LMQ%b", "%LMQ%c"}
		want := map[string][]string{}
		n := 0
		rt.Repeat(map[string]func(*rapid.T){
			"send": func(rt *rapid.T) {
				for range rapid.IntRange(1, 12).Draw(rt, "count") {
					n++
					body := fmt.Sprint(n, strings.Repeat("b", rapid.IntRange(0, 300).Draw(rt, "size")))
					to := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID[string]).Draw(rt, "to")
					put(t, s, light(body, strings.Join(to, ",")))
					for _, name := range to {
						want[name] = append(want[name], body)
					}
				}
			},
			"delete": func(rt *rapid.T) {
				if rapid.IntRange(0, 5).Draw(rt, "rarely") > 0 {
					return
				}
				name := rapid.SampledFrom(names).Draw(rt, "name")
				if err := s.DeleteTopic(name); err != nil {
					rt.Fatal(err)
				}
				delete(want, name)
			},
			"reopen": func(rt *rapid.T) {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = reopen()
			},
			"checkpoint": func(rt *rapid.T) {
				if err := s.checkpoint(false); err != nil {
					rt.Fatal(err)
				}
			},
			"kill": func(rt *rapid.T) {
				d := disk.Kill()
				s.Close()
				disk = d
				s = reopen()
			},
			"power cut": func(rt *rapid.T) {
				d := disk.Survive(rapid.Uint64().Draw(rt, "seed"))
				s.Close()
				disk = d
				s = reopen()
			},
			"": func(rt *rapid.T) {
				for _, name := range names {
					if got := lightBodies(t, s, name); !slices.Equal(got, want[name]) {
						rt.Fatalf("%s has %d messages, want %d", name, len(got), len(want[name]))
					}
					checkLightOffsets(t, s, name, len(want[name]))
				}
			},
		})
	})
}

// Light queues stay whole when the log loses its first files, and when their folders are lost.
func TestLightQueuesAfterLoss(t *testing.T) {
	cfg := lit(small(t.TempDir()))
	cfg.LogFileBytes = 16 << 10
	s := open(t, cfg)
	for i := range 200 {
		put(t, s, light(fmt.Sprint(i, strings.Repeat("x", 200)), "%LMQ%a"))
	}
	first := s.log.Min()
	if err := s.log.RemoveFirst(); err != nil || s.log.Min() == first {
		t.Fatalf("nothing was removed: %v", err)
	}
	low, end := s.QueueRange("%LMQ%a", 0)
	if low == 0 || end != 200 {
		t.Fatalf("the queue is %d..%d", low, end)
	}
	if err := errors.Join(s.Close(), os.RemoveAll(filepath.Join(cfg.Root, "consumequeue"))); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg)
	if l, e := s.QueueRange("%LMQ%a", 0); l != low || e != end {
		t.Errorf("rebuilt the queue is %d..%d, was %d..%d", l, e, low, end)
	}
	if a := put(t, s, light("next", "%LMQ%a")); a[0].Status != OK {
		t.Error(a)
	}
	records := readAll(t, s, "%LMQ%a", 0, low)
	p := message.ParseProperties(records[len(records)-1].Properties)
	if len(records) != int(end-low)+1 || p[message.PropMultiQueueOffset] != "200" {
		t.Errorf("%d messages, the last one %v", len(records), slices.Sorted(maps.Keys(p)))
	}
}
