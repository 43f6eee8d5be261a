// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// batchTopics makes the topics whose names begin with B those of batch queues.
func batchTopics(d *Deps) {
	d.BatchTopic = func(topic string) (bool, bool) { return strings.HasPrefix(topic, "B"), true }
}

// inner is a batch that becomes one record.
func inner(topic string, queue int32, bodies ...string) *Message {
	m := msg(topic, queue, "", message.PropUniqueKey, "K")
	for _, body := range bodies {
		m.Body = message.AppendBatchItem(m.Body, message.BatchItem{Body: []byte(body)})
	}
	m.Batch, m.InnerBatch = true, true
	return m
}

// numbered are n bodies that are all different, from number from on.
func numbered(from, n int) (bodies []string) {
	for i := range n {
		bodies = append(bodies, fmt.Sprint("body ", from+i))
	}
	return bodies
}

// unwrapped gives the messages of a queue, inner batches taken apart, and checks that each is at its offset.
func unwrapped(t testing.TB, s *Store, topic string, queue int32, from int64) (all []string) {
	t.Helper()
	for _, r := range readAll(t, s, topic, queue, from) {
		if r.SysFlag&message.FlagInnerBatch == 0 {
			all = append(all, string(r.Body))
			from++
			continue
		}
		base := from
		if err := message.EachBatchItem(r.Body, func(it message.BatchItem) error {
			all = append(all, string(it.Body))
			from++
			return nil
		}); err != nil {
			t.Error(err)
		}
		p := message.ParseProperties(r.Properties)
		if r.QueueOffset != base || p[message.PropInnerBase] != fmt.Sprint(base) || p[message.PropInnerNum] != fmt.Sprint(from-base) || r.SysFlag != innerFlags {
			t.Errorf("at %d: offset %d flags %#x properties %v", base, r.QueueOffset, r.SysFlag, p)
		}
	}
	return all
}

// The messages are the same after any sequence of appends, proper stops and kills.
func TestBatchQueueModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := crashConfig(rapid.SampledFrom([]FlushDiskType{SyncFlush, AsyncFlush}).Draw(rt, "flush"))
		cfg.BatchFileBytes = 5 * consumequeue.BatchUnitSize
		cfg.Recovery.AppendSeal = rapid.Bool().Draw(rt, "seal")
		disk := faultfs.NewDisk()
		reopen := func() *Store {
			s, err := tryOpen(t, cfg, on(disk), batchTopics)
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		s := reopen()
		defer func() { s.Close() }()
		want := map[string][]string{}
		n := 0
		send := func(m *Message, bodies []string) {
			a := put(t, s, m)[0]
			if a.QueueOffset != int64(len(want[m.Topic])) || a.Count != len(bodies) {
				rt.Fatalf("%d messages to %s with %d: %+v", len(bodies), m.Topic, len(want[m.Topic]), a)
			}
			want[m.Topic] = append(want[m.Topic], bodies...)
			n += len(bodies)
		}
		topic := func() string { return rapid.SampledFrom([]string{"B1", "B2"}).Draw(rt, "topic") }
		rt.Repeat(map[string]func(*rapid.T){
			"inner": func(rt *rapid.T) {
				b := numbered(n, rapid.IntRange(1, 12).Draw(rt, "count"))
				send(inner(topic(), 0, b...), b)
			},
			"batch": func(rt *rapid.T) {
				b := numbered(n, rapid.IntRange(1, 3).Draw(rt, "count"))
				m := inner(topic(), 0, b...)
				m.InnerBatch = false
				send(m, b)
			},
			"single": func(*rapid.T) { b := numbered(n, 1); send(msg(topic(), 0, b[0]), b) },
			"simple": func(*rapid.T) { b := numbered(n, 1); send(msg("T", 0, b[0]), b) },
			"delete": func(rt *rapid.T) {
				if rapid.IntRange(0, 5).Draw(rt, "rarely") > 0 {
					return
				}
				name := topic()
				if err := s.DeleteTopic(name); err != nil {
					rt.Fatal(err)
				}
				delete(want, name)
			},
			"checkpoint": func(rt *rapid.T) {
				if err := s.checkpoint(false); err != nil {
					rt.Fatal(err)
				}
			},
			"reopen": func(rt *rapid.T) {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = reopen()
			},
			"kill": func(*rapid.T) {
				killed := disk.Kill()
				s.Close()
				disk = killed
				s = reopen()
			},
			"": func(rt *rapid.T) {
				for _, name := range []string{"B1", "B2", "T"} {
					if low, end := s.QueueRange(name, 0); low != 0 || end != int64(len(want[name])) {
						rt.Fatalf("%s is %d..%d, want 0..%d", name, low, end, len(want[name]))
					}
					if got := unwrapped(t, s, name, 0, 0); !slices.Equal(got, want[name]) {
						rt.Fatalf("%s has %q, want %q", name, got, want[name])
					}
				}
			},
		})
	})
}

func TestInnerBatchIsRefused(t *testing.T) {
	s := open(t, small(t.TempDir()), batchTopics)
	delayed, flagged, lone := inner("B", 0, "x"), msg("B", 0, "x"), msg("B", 0, "x")
	delayed.Properties = message.AppendProperty(delayed.Properties, message.PropDelay, "3")
	flagged.SysFlag = message.FlagInnerBatch
	lone.InnerBatch = true
	prepared := inner("B", 0, "x")
	prepared.SysFlag = message.TransactionPrepared
	torn := inner("B", 0, "x")
	torn.Body = torn.Body[:len(torn.Body)-1]
	tests := []struct {
		situation string
		m         *Message
	}{
		{"a topic of simple queues", inner("T", 0, "x")},
		{"no messages", inner("B", 0)},
		{"more messages than the unit can tell", inner("B", 0, make([]string, maxInner+1)...)},
		{"a delay", delayed},
		{"a transaction", prepared},
		{"the flag on a single message", flagged},
		{"a single message", lone},
		{"a body that is no batch", torn},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			o := newOutcome()
			s.Append(tt.m, o)
			if a := o.wait(t); a.Status != MessageIllegal || a.Err == nil {
				t.Errorf("%v: %v", a.Status, a.Err)
			}
		})
	}
	if _, end := s.QueueRange("B", 0); end != 0 {
		t.Errorf("%d messages were stored", end)
	}
}

// A store whose folders and settings disagree about the form of a topic's queues is not opened, nor changed.
func TestLayoutMustBeThatOfTheSettings(t *testing.T) {
	cfg := small(t.TempDir())
	s := open(t, cfg, batchTopics)
	put(t, s, inner("B", 0, "a", "b"), msg("T", 0, "x"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, batch := range []bool{true, false} {
		d := Deps{Logger: quiet(t), BatchTopic: func(string) (bool, bool) { return batch, true }}
		s, err := Open(context.Background(), cfg, d)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "queue.type") {
			t.Errorf("opened with all topics of batch queues %v: %v", batch, err)
		}
	}
	s = open(t, cfg) // settings that know nothing of them
	if got := unwrapped(t, s, "B", 0, 0); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	put(t, s, inner("B", 1, "c", "d"))
}

func TestBatchQueueEntriesAndRetention(t *testing.T) {
	cfg := small(t.TempDir())
	cfg.BatchFileBytes = 10 * consumequeue.BatchUnitSize
	s := open(t, cfg, batchTopics)
	body := strings.Repeat("x", 2000)
	for range 60 {
		put(t, s, inner("B", 0, body, body, body))
	}
	if e := s.Entries("B", 0, 4, 3); len(e) != 3 || e[0].Base != 3 || e[2].Base != 9 || e[2].Count != 3 {
		t.Errorf("entries from 4 on: %+v", e)
	}
	if err := s.log.RemoveFirst(); err != nil {
		t.Fatal(err)
	}
	if err := s.log.RemoveFirst(); err != nil {
		t.Fatal(err)
	}
	low, end := s.QueueRange("B", 0)
	if err := s.CleanExpired(); err != nil {
		t.Fatal(err)
	}
	check := func(s *Store) {
		t.Helper()
		if l, e := s.QueueRange("B", 0); l != low || e != end || low == 0 || low%3 != 0 || end != 180 {
			t.Errorf("range %d..%d, before %d..%d", l, e, low, end)
		}
		if got := unwrapped(t, s, "B", 0, low); len(got) != int(end-low) {
			t.Errorf("%d messages from %d to %d", len(got), low, end)
		}
		if _, res := s.Read(nil, &ReadRequest{Topic: "B", Offset: low - 1, MaxCount: 32}); res.Status != OffsetTooSmall || res.Next != low {
			t.Errorf("read below: %v, next %d", res.Status, res.Next)
		}
	}
	check(s)
	if files := s.lookup("B", 0).Files(); files > 5 {
		t.Errorf("%d files", files)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg, batchTopics)
	check(s)
}

// A queue whose files are lost is put again from the log.
func TestBatchQueueIsRebuilt(t *testing.T) {
	cfg := small("/store")
	disk := faultfs.NewDisk()
	s := open(t, cfg, batchTopics, on(disk))
	put(t, s, inner("B", 0, "a", "b", "c"), msg("B", 0, "d"), inner("B", 0, "e", "f"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := disk.RemoveAll(cfg.batchQueueDir()); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg, batchTopics, on(disk))
	if got := unwrapped(t, s, "B", 0, 0); !slices.Equal(got, []string{"a", "b", "c", "d", "e", "f"}) {
		t.Errorf("%q", got)
	}
}

// With many connections at once each inner batch has an INNER_BASE that is its place, though its digits are made before.
func TestInnerBatchesAtOnce(t *testing.T) {
	s := open(t, small(t.TempDir()), batchTopics)
	const senders, each = 8, 40
	done := make(chan []*outcome)
	for range senders {
		go func() {
			var outcomes []*outcome
			for i := range each {
				o := newOutcome()
				s.Append(inner("B", 0, numbered(i, 1+i%5)...), o)
				outcomes = append(outcomes, o)
			}
			s.Commit()
			done <- outcomes
		}()
	}
	for range senders {
		for _, o := range <-done {
			if a := o.wait(t); a.Status != OK {
				t.Fatal(a.Err)
			}
		}
	}
	if got := unwrapped(t, s, "B", 0, 0); len(got) != senders*each*3 {
		t.Errorf("%d messages", len(got))
	}
}

// Where damage took a batch the queue goes on behind it, at the offsets that the messages had.
func TestBatchQueueWithDamage(t *testing.T) {
	cfg := small(t.TempDir())
	s := open(t, cfg, batchTopics)
	put(t, s, inner("B", 0, "a", "b", "c"))
	lost := put(t, s, inner("B", 0, "d", "e", "f"))[0].PhysicalOffset
	put(t, s, inner("B", 0, "g", "h"), msg("B", 0, "i"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(cfg.Root, "commitlog", segment.Name(0)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("damage"), lost+95); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.RemoveAll(cfg.batchQueueDir()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // put again from the log, then loaded
		s = open(t, cfg, batchTopics)
		if low, end := s.QueueRange("B", 0); low != 0 || end != 9 {
			t.Errorf("range %d..%d", low, end)
		}
		for from, next := range map[int64]int64{0: 9, 3: 9, 5: 9, 7: 9, 8: 9} {
			b, res := s.Read(nil, &ReadRequest{Topic: "B", Offset: from, MaxCount: 32})
			records, err := message.DecodeAll(b)
			if err != nil || res.Status != Found || res.Next != next || records[len(records)-1].QueueOffset != 8 {
				t.Errorf("read at %d: %+v, %d records, %v", from, res, len(records), err)
			}
		}
		if a := put(t, s, msg("T", 0, "x"))[0]; a.Status != OK {
			t.Error(a.Err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
