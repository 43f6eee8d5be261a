// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// model is the store as a plain map.
type model struct {
	t       *testing.T
	cfg     Config
	disk    *faultfs.Disk
	s       *Store
	queues  map[QueueName][]modelMessage
	deleted map[string]bool
	n       int
}

type modelMessage struct {
	body, tag string
	key       string
	physical  int64
}

var (
	modelTopics = []string{"A", "B", "%RETRY%g"}
	modelTags   = []string{"", "x", "y"}
	modelKeys   = []string{"", "k1", "k2"}
)

// The store and a plain map, given the same random calls, answer the same, through proper stops and kills.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{t: t, cfg: crashConfig(rapid.SampledFrom([]FlushDiskType{SyncFlush, AsyncFlush}).Draw(rt, "flush")),
			disk: faultfs.NewDisk(), queues: map[QueueName][]modelMessage{}, deleted: map[string]bool{}}
		m.open(rt)
		defer func() { m.s.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"append":     m.append,
			"batch":      m.batch,
			"read":       m.read,
			"entries":    m.entries,
			"query":      m.query,
			"delete":     m.delete,
			"checkpoint": m.checkpoint,
			"reopen":     m.reopen,
			"kill":       m.kill,
			"":           m.ranges,
		})
	})
}

func (m *model) open(rt *rapid.T) {
	s, err := tryOpen(m.t, m.cfg, on(m.disk), func(d *Deps) { d.TopicExists = func(topic string) bool { return !m.deleted[topic] } })
	if err != nil {
		rt.Fatal(err)
	}
	m.s = s
}

func (m *model) name(rt *rapid.T) QueueName {
	return QueueName{rapid.SampledFrom(modelTopics).Draw(rt, "topic"), int32(rapid.IntRange(0, 1).Draw(rt, "queue"))}
}

func (m *model) draw(rt *rapid.T) modelMessage {
	m.n++
	return modelMessage{
		body: fmt.Sprint(m.n) + strings.Repeat("b", rapid.IntRange(0, 1500).Draw(rt, "size")),
		tag:  rapid.SampledFrom(modelTags).Draw(rt, "tag"), key: rapid.SampledFrom(modelKeys).Draw(rt, "key"),
	}
}

func (x modelMessage) properties() []byte {
	var p []byte
	if x.tag != "" {
		p = message.AppendProperty(p, message.PropTags, x.tag)
	}
	if x.key != "" {
		p = message.AppendProperty(p, message.PropKeys, x.key)
	}
	return p
}

func (m *model) send(rt *rapid.T, name QueueName, x *Message, parts []modelMessage) {
	delete(m.deleted, name.Topic)
	o := newOutcome()
	m.s.Append(x, o)
	m.s.Commit()
	a := o.wait(m.t)
	if a.Status != OK || a.Count != len(parts) || a.QueueOffset != int64(len(m.queues[name])) {
		rt.Fatalf("append to %v with %d messages: %+v", name, len(m.queues[name]), a)
	}
	for i := range parts {
		parts[i].physical = a.PhysicalOffset
		if len(parts) > 1 {
			parts[i].physical = a.PhysicalOffsets[i]
		}
	}
	m.queues[name] = append(m.queues[name], parts...)
}

func (m *model) append(rt *rapid.T) {
	name, x := m.name(rt), m.draw(rt)
	stored := msg(name.Topic, name.QueueID, x.body)
	stored.Properties = x.properties()
	m.send(rt, name, stored, []modelMessage{x})
}

func (m *model) batch(rt *rapid.T) {
	name := m.name(rt)
	stored := msg(name.Topic, name.QueueID, "")
	stored.Batch = true
	var parts []modelMessage
	for range rapid.IntRange(1, 5).Draw(rt, "count") {
		x := m.draw(rt)
		parts = append(parts, x)
		stored.Body = message.AppendBatchItem(stored.Body, message.BatchItem{Body: []byte(x.body), Properties: x.properties()})
	}
	if len(stored.Body) > int(m.cfg.MaxMessageBytes) {
		return
	}
	m.send(rt, name, stored, parts)
}

// ranges checks all queues, and each message by its place in the log.
func (m *model) ranges(rt *rapid.T) {
	for _, topic := range modelTopics {
		for id := range int32(2) {
			want := m.queues[QueueName{topic, id}]
			if low, end := m.s.QueueRange(topic, id); low != 0 || end != int64(len(want)) {
				rt.Fatalf("%s/%d is %d..%d, want 0..%d", topic, id, low, end, len(want))
			}
		}
	}
	if m.s.Info().DispatchBehind != 0 {
		rt.Fatalf("dispatch is behind")
	}
}

func (m *model) read(rt *rapid.T) {
	name := m.name(rt)
	want := m.queues[name]
	from := rapid.IntRange(-1, len(want)+1).Draw(rt, "offset")
	r := &ReadRequest{Topic: name.Topic, QueueID: name.QueueID, Offset: int64(from), MaxCount: rapid.IntRange(0, 40).Draw(rt, "count")}
	tag := rapid.SampledFrom(modelTags).Draw(rt, "filter")
	if tag != "" {
		r.Filter = tags(tag)
	}
	b, res := m.s.Read(nil, r)
	records, err := message.DecodeAll(b)
	if err != nil || len(records) != res.Count {
		rt.Fatalf("%v, %d records, told %d", err, len(records), res.Count)
	}
	if from < 0 || from >= len(want) {
		if res.Count > 0 || res.Status == Found {
			rt.Fatalf("read at %d of %d: %+v", from, len(want), res)
		}
		return
	}
	next := from
	for _, got := range records {
		for tag != "" && want[next].tag != tag {
			next++
		}
		if string(got.Body) != want[next].body || got.QueueOffset != int64(next) || got.PhysicalOffset != want[next].physical {
			rt.Fatalf("read at %d: got %d %.9q, want %d %.9q", from, got.QueueOffset, got.Body, next, want[next].body)
		}
		next++
	}
	if res.Next < int64(next) || res.Next <= int64(from) {
		rt.Fatalf("read at %d with %d found: next is %d", from, res.Count, res.Next)
	}
	for ; next < int(res.Next); next++ {
		if tag == "" || want[next].tag == tag {
			rt.Fatalf("read at %d passed over the message at %d", from, next)
		}
	}
}

func (m *model) entries(rt *rapid.T) {
	name := m.name(rt)
	want := m.queues[name]
	if len(want) == 0 {
		return
	}
	from := rapid.IntRange(0, len(want)-1).Draw(rt, "from")
	for i, e := range m.s.Entries(name.Topic, name.QueueID, int64(from), 10) {
		x := want[from+i]
		if e.PhysicalOffset != x.physical || e.TagsCode != message.TagsCode([]byte(x.tag)) {
			rt.Fatalf("entry %d is %+v, want %+v", from+i, e, x)
		}
		b, err := m.s.View(e.PhysicalOffset)
		if err != nil || len(b) != int(e.Size) || !strings.Contains(string(b), x.body) {
			rt.Fatalf("view of %d: %d bytes, %v", e.PhysicalOffset, len(b), err)
		}
	}
}

func (m *model) query(rt *rapid.T) {
	topic, key := rapid.SampledFrom(modelTopics).Draw(rt, "topic"), rapid.SampledFrom(modelKeys[1:]).Draw(rt, "key")
	want := 0
	for name, queue := range m.queues {
		for _, x := range queue {
			if name.Topic == topic && x.key == key {
				want++
			}
		}
	}
	res, err := m.s.Query(topic, key, 1000, 0, 1<<62)
	if err != nil {
		rt.Fatal(err)
	}
	// Messages of a topic that was deleted and made anew are found, too: their records are still there.
	if res.Count < min(want, 64) {
		rt.Fatalf("%d messages with key %s of %s, want %d", res.Count, key, topic, want)
	}
}

func (m *model) delete(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "rarely") > 0 {
		return
	}
	topic := rapid.SampledFrom(modelTopics).Draw(rt, "topic")
	m.deleted[topic] = true
	if err := m.s.DeleteTopic(topic); err != nil {
		rt.Fatal(err)
	}
	for id := range int32(2) {
		delete(m.queues, QueueName{topic, id})
	}
}

func (m *model) checkpoint(rt *rapid.T) {
	if err := m.s.checkpoint(false); err != nil {
		rt.Fatal(err)
	}
}

func (m *model) reopen(rt *rapid.T) {
	if err := m.s.Close(); err != nil {
		rt.Fatal(err)
	}
	m.open(rt)
}

func (m *model) kill(rt *rapid.T) {
	disk := m.disk.Kill()
	m.s.Close()
	m.disk = disk
	m.open(rt)
}
