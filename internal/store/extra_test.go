// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/filter"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// extraBits makes bits that say how long a message's tags are; none for a message without properties.
func extraBits(dst []byte, _ string, properties []byte) []byte {
	if len(properties) == 0 {
		return nil
	}
	tag, _ := message.FindProperty(properties, message.PropTags)
	return append(dst, byte(len(tag)), 0xEE)
}

// extended switches extras on.
func extended(cfg Config) Config {
	cfg.Extra = ExtraConfig{Enable: true, FileBytes: 250}
	return cfg
}

func withBits(d *Deps) { d.FilterBits = extraBits }

// byBits wants messages whose extra has the first byte, and counts what it is asked.
type byBits struct {
	first       byte
	asked, read int
}

func (f *byBits) MatchTags(int64) bool        { return true }
func (f *byBits) NeedsProperties() bool       { return true }
func (f *byBits) MatchProperties([]byte) bool { f.read++; return true }
func (f *byBits) MatchExtra(_ int64, x *Extra) bool {
	f.asked++
	return len(x.Bits) == 0 || x.Bits[0] == f.first
}

// Reads by tags and by bits are the same from memory, from files, with extras that are written or only read, and when
// the files beside the queue are lost, but for the bits.
func TestReadExtended(t *testing.T) {
	const n = 60
	tagOf := func(i int) string { return []string{"", "x", "yy"}[i%3] }
	read := func(t *testing.T, s *Store, f Filter) (found []string) {
		t.Helper()
		for from := int64(0); from < n; {
			b, res := s.Read(nil, &ReadRequest{Topic: "T", Offset: from, MaxCount: 32, Filter: f})
			records, err := message.DecodeAll(b)
			if err != nil || res.Next <= from {
				t.Fatalf("read at %d: %+v, %v", from, res, err)
			}
			for _, r := range records {
				found = append(found, string(r.Body))
			}
			from = res.Next
		}
		return found
	}
	want := func(match func(tag string) bool) (all []string) {
		for i := range n {
			if match(tagOf(i)) {
				all = append(all, fmt.Sprint("body ", i))
			}
		}
		return all
	}
	check := func(t *testing.T, s *Store, bits bool) {
		t.Helper()
		for _, tag := range []string{"x", "yy"} {
			if got := read(t, s, tags(tag)); !slices.Equal(got, want(func(x string) bool { return x == tag })) {
				t.Errorf("tag %s: %q", tag, got)
			}
			f := &byBits{first: byte(len(tag))}
			got := read(t, s, f)
			if wanted := want(func(x string) bool { return x == tag || x == "" }); bits && (!slices.Equal(got, wanted) || f.read != len(wanted)) {
				t.Errorf("bits of %s: %q, %d messages were read", tag, got, f.read)
			}
			if !bits && len(got) != n {
				t.Errorf("without bits: %q", got)
			}
		}
		for i, e := range s.Entries("T", 0, 0, n) {
			if e.TagsCode != message.TagsCode([]byte(tagOf(i))) {
				t.Errorf("entry %d has the code %d", i, e.TagsCode)
			}
			x, ok := s.Extra("T", 0, int64(i))
			if ok != bits || ok && (x.TagsCode != e.TagsCode || len(x.Bits) > 0 != (tagOf(i) != "") || x.StoreTimestamp != s.TimeOf("T", 0, int64(i))) {
				t.Errorf("extra %d is %+v, %v", i, x, ok)
			}
		}
	}
	cfg := extended(small(t.TempDir()))
	s := open(t, cfg, withBits)
	for i := range n {
		m := msg("T", 0, fmt.Sprint("body ", i))
		if tag := tagOf(i); tag != "" {
			m.Properties = message.AppendProperty(nil, message.PropTags, tag)
		}
		put(t, s, m)
		if i == n/2 {
			if err := s.checkpoint(false); err != nil {
				t.Fatal(err)
			}
		}
	}
	check(t, s, true)
	for _, tt := range []struct {
		situation string
		change    func(*Config)
		bits      bool
	}{
		{"opened again", func(*Config) {}, true},
		{"extras are not written any more", func(c *Config) { c.Extra.Enable = false }, true},
		{"the log is not in memory", func(c *Config) { c.Files.TailBytes = 0 }, true},
		{"files of another size", func(c *Config) { c.Extra = ExtraConfig{FileBytes: 4096} }, false},
		{"the files beside the queues are lost", func(c *Config) {
			if err := os.RemoveAll(c.extraDir()); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			changed := cfg
			tt.change(&changed)
			s = open(t, changed, withBits)
			check(t, s, tt.bits)
		})
	}
}

// Delayed messages are due when they are due, whatever is kept beside their queue or lost of it.
func TestDelaysExtended(t *testing.T) {
	cfg := extended(small(t.TempDir()))
	hour := func(d *Deps) { d.DelayOf = func(level int) time.Duration { return time.Duration(level) * time.Hour } }
	s := open(t, cfg, hour)
	a := put(t, s, msg(scheduleTopic, 1, "x", message.PropDelay, "2", message.PropTags, "A"))[0]
	for _, lose := range []bool{false, true} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if lose {
			if err := os.RemoveAll(cfg.extraDir()); err != nil {
				t.Fatal(err)
			}
		}
		s = open(t, cfg, hour)
		if e := s.Entries(scheduleTopic, 1, 0, 1); len(e) != 1 || e[0].TagsCode != a.StoreTimestamp+2*time.Hour.Milliseconds() {
			t.Errorf("lost %v: due %+v, stored %d", lose, e, a.StoreTimestamp)
		}
	}
}

// Units and extras are whole after any sequence of sends, stops, kills, power cuts, retention and deletions, with extras
// switched on and off.
func TestExtendedModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := lit(extended(crashConfig(SyncFlush)))
		disk := faultfs.NewDisk()
		reopen := func() *Store {
			s, err := tryOpen(t, cfg, on(disk), withBits)
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		s := reopen()
		defer func() { s.Close() }()
		type sent struct {
			body, tag string
			extended  bool // known to have an extra
		}
		want := map[string][]sent{}
		n := 0
		send := func(rt *rapid.T) {
			for range rapid.IntRange(1, 20).Draw(rt, "count") {
				n++
				x := sent{fmt.Sprint(n, strings.Repeat("b", rapid.IntRange(0, 400).Draw(rt, "size"))), rapid.SampledFrom([]string{"", "x", "yy"}).Draw(rt, "tag"), cfg.Extra.Enable}
				m := msg(rapid.SampledFrom([]string{"T", "U"}).Draw(rt, "topic"), 0, x.body)
				if x.tag != "" {
					m.Properties = message.AppendProperty(m.Properties, message.PropTags, x.tag)
				}
				put(t, s, m)
				want[m.Topic] = append(want[m.Topic], x)
			}
		}
		again := func(d *faultfs.Disk) {
			s.Close()
			disk = d
			s = reopen()
		}
		rt.Repeat(map[string]func(*rapid.T){
			"send":      send,
			"more":      send,
			"reopen":    func(*rapid.T) { again(disk) },
			"kill":      func(*rapid.T) { again(disk.Kill()) },
			"power cut": func(rt *rapid.T) { again(disk.Survive(rapid.Uint64().Draw(rt, "seed"))) },
			"checkpoint": func(rt *rapid.T) {
				if err := s.checkpoint(false); err != nil {
					rt.Fatal(err)
				}
			},
			"retention": func(rt *rapid.T) {
				if rapid.IntRange(0, 2).Draw(rt, "rarely") == 0 {
					// A queue all of whose messages go must be durable before.
					if err := errors.Join(s.checkpoint(false), s.log.RemoveFirst(), s.CleanExpired()); err != nil {
						rt.Fatal(err)
					}
				}
			},
			"delete": func(rt *rapid.T) {
				if rapid.IntRange(0, 4).Draw(rt, "rarely") == 0 {
					topic := rapid.SampledFrom([]string{"T", "U"}).Draw(rt, "topic")
					if err := s.DeleteTopic(topic); err != nil {
						rt.Fatal(err)
					}
					delete(want, topic)
				}
			},
			"switch": func(*rapid.T) {
				cfg.Extra.Enable = !cfg.Extra.Enable
				again(disk)
			},
			"": func(rt *rapid.T) {
				for topic, all := range want {
					low, end := s.QueueRange(topic, 0)
					if end != int64(len(all)) {
						rt.Fatalf("%s ends at %d, want %d", topic, end, len(all))
					}
					for i, r := range readAll(t, s, topic, 0, low) {
						at := low + int64(i)
						if x := all[at]; string(r.Body) != x.body {
							rt.Fatalf("message %d of %s is another", at, topic)
						}
						e := s.Entries(topic, 0, at, 1)[0]
						if e.TagsCode != message.TagsCode([]byte(all[at].tag)) {
							rt.Fatalf("entry %d of %s has the code %d", at, topic, e.TagsCode)
						}
						x, ok := s.Extra(topic, 0, at)
						if bits := extraBits(nil, topic, r.Properties); ok && (x.StoreTimestamp != r.StoreTimestamp || !bytes.Equal(x.Bits, bits)) {
							rt.Fatalf("extra %d of %s is %+v", at, topic, x)
						}
					}
				}
			},
		})
	})
}

// extrasManifest is what a Java broker answered about the store in testdata/extras, which it wrote with light queues,
// extras and filters: physical offsets of what can be read.
type extrasManifest struct {
	Queues []struct {
		Topic    string
		Queue    int32
		Physical []int64
	}
	Pulls []struct {
		Group, Topic, Tags string
		Queue              int32
		Physical           []int64
	}
}

func unpackExtras(t *testing.T) (Config, extrasManifest) {
	t.Helper()
	cfg := lit(unpack(t, "testdata/extras"))
	cfg.LogFileBytes, cfg.MaxMessageBytes = 65536, 16384
	cfg.Extra = ExtraConfig{Enable: true, FileBytes: 1024}
	f, err := os.Open("testdata/extras/manifest.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var m extrasManifest
	if err := json.NewDecoder(z).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return cfg, m
}

// javaGroup is a group's filter in the store in testdata/extras, as its consumerFilter.json has it.
type javaGroup struct {
	name string
	expr *filter.Expr
}

func javaGroups(t *testing.T) []javaGroup {
	t.Helper()
	var all []javaGroup
	for name, expression := range map[string]string{"FG1": "a > 5", "FG2": "a <= 5 AND TAGS is not null"} {
		expr, err := filter.Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, javaGroup{name, expr})
	}
	return all
}

var javaBloom = filter.NewBloom(20, 32)

// javaBits makes the bits that the Java broker made: groups came between the phases 0 and 1.
func javaBits(t *testing.T) func(d *Deps) {
	groups := javaGroups(t)
	return func(d *Deps) {
		d.DelayOf = func(level int) time.Duration {
			return map[int]time.Duration{1: time.Second, 2: 5 * time.Second, 18: 2 * time.Hour}[level]
		}
		d.FilterBits = func(_ []byte, topic string, properties []byte) []byte {
			if phase, _ := message.FindProperty(properties, "phase"); topic != "FT" || string(phase) == "0" {
				return nil
			}
			bits := make([]byte, javaBloom.Bits/8)
			for _, g := range groups {
				if g.expr.Test(properties) == filter.True {
					filter.Set(bits, javaBloom.Positions(filter.BloomKey(g.name, "FT")))
				}
			}
			return bits
		}
	}
}

// javaFilter is the filter of a group, which counts the messages it had to read.
type javaFilter struct {
	filter.Filter
	name       string
	read, kept int
}

func (f *javaFilter) MatchExtra(_ int64, x *Extra) bool {
	may := len(x.Bits)*8 != javaBloom.Bits || filter.Has(x.Bits, javaBloom.Positions(filter.BloomKey(f.name, "FT")))
	if !may {
		f.kept++
	}
	return may
}

func (f *javaFilter) MatchProperties(properties []byte) bool {
	f.read++
	return f.Filter.MatchProperties(properties)
}

// The store is read as its Java broker read it: after a proper stop and after a kill, with extras and light queues
// switched on or off, and with everything that is derived lost, where it is the same again byte for byte.
func TestOpenJavaExtras(t *testing.T) {
	for _, tt := range []struct {
		situation string
		change    func(t *testing.T, cfg *Config)
		noBits    bool
		compare   bool
	}{
		{situation: "as it was"},
		{situation: "killed", change: func(t *testing.T, cfg *Config) { mustWrite(t, cfg.abortPath(), "1") }},
		{situation: "no extras, no light queues", change: func(_ *testing.T, cfg *Config) {
			cfg.Extra.Enable, cfg.Light = false, LightConfig{}
		}},
		{situation: "the extras are lost", noBits: true, change: func(t *testing.T, cfg *Config) {
			if err := os.RemoveAll(cfg.extraDir()); err != nil {
				t.Fatal(err)
			}
		}},
		{situation: "all that is derived is lost", compare: true, change: func(t *testing.T, cfg *Config) {
			for _, dir := range []string{"consumequeue", "consumequeue_ext", "index"} {
				if err := os.Rename(filepath.Join(cfg.Root, dir), filepath.Join(cfg.Root, dir+".java")); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			cfg, m := unpackExtras(t)
			if tt.change != nil {
				tt.change(t, &cfg)
			}
			s := open(t, cfg, javaBits(t))
			checkJavaExtras(t, s, m, !tt.noBits)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if tt.compare {
				units, extras := compareFiles(t, filepath.Join(cfg.Root, "consumequeue")), compareFiles(t, filepath.Join(cfg.Root, "consumequeue_ext"))
				if units < 10 || extras < 15 {
					t.Errorf("%d files of queues and %d beside them compared", units, extras)
				}
				return
			}
			s = open(t, cfg, javaBits(t)) // and goes on
			a := put(t, s, msg("FT", 1, "ours", message.PropTags, "Tag1", "a", "9"), light("ours", "%LMQ%a"))
			for i := range m.Pulls {
				if p := &m.Pulls[i]; p.Queue == 1 && (p.Group == "FG1" || p.Tags != "") {
					p.Physical = append(p.Physical, a[0].PhysicalOffset)
				}
			}
			for i := range m.Queues {
				if q := &m.Queues[i]; q.Topic == "FT" && q.Queue == 1 {
					q.Physical = append(q.Physical, a[0].PhysicalOffset)
				} else if q.Topic == "%LMQ%a" && cfg.Light.Enable {
					q.Physical = append(q.Physical, a[1].PhysicalOffset)
				}
			}
			checkJavaExtras(t, s, m, !tt.noBits)
		})
	}
}

func mustWrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func checkJavaExtras(t *testing.T, s *Store, m extrasManifest, bits bool) {
	t.Helper()
	if len(m.Queues) < 9 || len(m.Pulls) < 6 {
		t.Fatalf("the manifest has %d queues and %d pulls", len(m.Queues), len(m.Pulls))
	}
	for _, q := range m.Queues {
		var got []int64
		for _, r := range readAll(t, s, q.Topic, q.Queue, 0) {
			got = append(got, r.PhysicalOffset)
		}
		if !slices.Equal(got, q.Physical) {
			t.Errorf("%s/%d:\n got %v\nwant %v", q.Topic, q.Queue, got, q.Physical)
		}
	}
	groups := javaGroups(t)
	for _, p := range m.Pulls {
		var f Filter
		by := &javaFilter{name: p.Group}
		if p.Tags != "" {
			f = tags(strings.Split(p.Tags, " || ")...)
		} else {
			i := slices.IndexFunc(groups, func(g javaGroup) bool { return g.name == p.Group })
			by.Filter = filter.SQL(groups[i].expr)
			f = by
		}
		var got []int64
		_, end := s.QueueRange(p.Topic, p.Queue)
		for from := int64(0); from < end; {
			b, res := s.Read(nil, &ReadRequest{Topic: p.Topic, QueueID: p.Queue, Offset: from, MaxCount: 32, Filter: f})
			records, err := message.DecodeAll(b)
			if err != nil || res.Next <= from {
				t.Fatalf("read at %d: %+v, %v", from, res, err)
			}
			for _, r := range records {
				got = append(got, r.PhysicalOffset)
			}
			from = res.Next
		}
		if !slices.Equal(got, p.Physical) {
			t.Errorf("%s of %s/%d %s:\n got %v\nwant %v", p.Group, p.Topic, p.Queue, p.Tags, got, p.Physical)
		}
		if kept := by.kept > 1; p.Tags == "" && kept != bits { // 1: what we added has bits in any case
			t.Errorf("%s of %s/%d: %d messages were not read for their bits, %d were", p.Group, p.Topic, p.Queue, by.kept, by.read)
		}
	}
	if _, ok := s.Extra("FT", 0, 3); ok != bits {
		t.Errorf("there are extras: %v", ok)
	}
	if u, err := s.lookup("FT", 0).Unit(3); err != nil || !consumequeue.IsAddress(u.TagsCode) {
		t.Errorf("unit 3 is %+v, %v", u, err)
	}
}

// With many queues the whole file system is synced; what lies beside the queues is durable, too.
func TestExtrasOfManyQueues(t *testing.T) {
	disk := faultfs.NewDisk()
	cfg := extended(crashConfig(SyncFlush))
	s := open(t, cfg, on(disk), withBits)
	const queues = syncSingly + 10
	for q := range queues {
		put(t, s, msg("T", int32(q), "x", message.PropTags, "x"))
	}
	if err := s.checkpoint(false); err != nil {
		t.Fatal(err)
	}
	disk = disk.Survive(7)
	s.Close()
	s = open(t, cfg, on(disk), withBits)
	for q := range queues {
		if x, ok := s.Extra("T", int32(q), 0); !ok || !bytes.Equal(x.Bits, []byte{1, 0xEE}) {
			t.Fatalf("queue %d: %+v, %v", q, x, ok)
		}
	}
}
