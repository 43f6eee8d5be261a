// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/filter"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// filterWorld is a Filters, the groups whose members it follows, and a clock.
type filterWorld struct {
	*Filters
	t    *testing.T
	log  *lockedText
	now  time.Time
	keep time.Duration

	logEnd int64

	mu     sync.Mutex
	groups map[string]*Consumers
}

func newFilterWorld(t *testing.T) *filterWorld {
	w := &filterWorld{
		t: t, log: new(lockedText), now: time.UnixMilli(1_700_000_000_000), keep: 24 * time.Hour, groups: map[string]*Consumers{},
	}
	w.open(filepath.Join(t.TempDir(), "consumerFilter.json"))
	return w
}

func (w *filterWorld) open(path string) {
	w.Filters = OpenFilters(FiltersOptions{
		Path: path, Logger: slog.New(slog.NewTextHandler(w.log, nil)), Compile: filter.Compile,
		Consumers: func(group string) *Consumers {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.groups[group]
		},
		Keep:  func() time.Duration { return w.keep },
		Bloom: filter.NewBloom(20, 32), Now: func() time.Time { return w.now }, LogEnd: func() int64 { return w.logEnd },
	})
}

// subscribe makes the expressions, "topic:type:version:expression", what the members of the group want; none: nobody is
// in the group.
func (w *filterWorld) subscribe(group string, expressions ...string) {
	var c *Consumers
	if len(expressions) > 0 {
		c = &Consumers{Group: group, Subscriptions: map[string]*protocol.SubscriptionData{}}
	}
	for _, e := range expressions {
		part := strings.SplitN(e, ":", 4)
		s := &protocol.SubscriptionData{Topic: part[0], ExpressionType: part[1], SubString: part[3]}
		fmt.Sscan(part[2], &s.SubVersion)
		c.Subscriptions[s.Topic] = s
	}
	w.mu.Lock()
	w.groups[group] = c
	w.mu.Unlock()
	w.Follow(group)
}

// is checks the filter of group G on topic T; "" for none.
func (w *filterWorld) is(want string) {
	w.t.Helper()
	got := ""
	if x := w.Get("T", "G"); x != nil {
		got = fmt.Sprintf("%s v%d", x.Compiled, x.Version)
	}
	if got != want {
		w.t.Fatalf("the filter is %q, want %q; the log:\n%s", got, want, w.log)
	}
}

func TestFiltersFollowSubscriptions(t *testing.T) {
	w := newFilterWorld(t)
	w.is("")
	w.subscribe("G", "T:TAG:1:a", "U:SQL92:1:b = 1")
	w.is("")
	w.subscribe("G", "T:SQL92:5:a > 1")
	w.is("(a > 1) v5")
	first := w.Get("T", "G")
	w.subscribe("G", "T:SQL92:5:a > 1") // the next heartbeat
	if w.Get("T", "G") != first {
		t.Error("what did not change was registered again")
	}
	w.subscribe("G", "T:SQL92:6:a > 2")
	w.is("(a > 2) v6")
	w.subscribe("G", "T:SQL92:7:a > 2")
	w.is("(a > 2) v7")
	w.subscribe("other", "T:SQL92:1:c = 1")
	w.is("(a > 2) v7")
	w.subscribe("G") // pulls in flight may still need it
	w.is("(a > 2) v7")
	// All members were gone, so the group's subscriptions begin anew, whatever the clocks of the clients say.
	w.subscribe("G", "T:SQL92:3:a > 3")
	w.is("(a > 3) v3")
}

func TestFiltersThatDoNotCompile(t *testing.T) {
	w := newFilterWorld(t)
	w.subscribe("G", "T:SQL92:5:a > 1")
	for range 3 {
		w.subscribe("G", "T:SQL92:6:a >")
		w.is("") // what the group no longer wants is gone
	}
	if n := strings.Count(w.log.String(), "does not compile"); n != 1 {
		t.Errorf("said %d times", n)
	}
	if !strings.Contains(w.log.String(), "line 1, column 4") {
		t.Error("the place is not said")
	}
	w.subscribe("G", "T:SQL92:7:")
	w.is("")
	w.subscribe("G", "T:JAVASCRIPT:8:a > 1")
	w.is("")
	w.subscribe("G", "T:SQL92:9:a > 1 && b")
	w.is("")
	w.subscribe("G", "T:SQL92:10:a > 1 garbage")
	w.is("(a > 1) v10")
	if !strings.Contains(w.log.String(), "unread=garbage") {
		t.Error("nothing was said of the part without effect")
	}
	w.subscribe("G")
	w.sweep()
	if len(w.refused) != 0 {
		t.Error("refused expressions of a group without members are remembered")
	}
}

func TestFiltersNobodyWants(t *testing.T) {
	w := newFilterWorld(t)
	w.subscribe("G", "T:SQL92:5:a > 1")
	pass := func(d time.Duration) {
		w.now = w.now.Add(d)
		w.sweep()
	}
	pass(48 * time.Hour)
	w.is("(a > 1) v5")
	w.subscribe("G")
	pass(time.Second)
	pass(w.keep - time.Second)
	w.is("(a > 1) v5")
	w.subscribe("G", "T:SQL92:5:a > 1") // back in time
	if w.Get("T", "G").dead != 0 {
		t.Error("it is subscribed to, and counts as dead")
	}
	pass(time.Second)
	pass(time.Hour)
	w.is("(a > 1) v5")
	w.subscribe("G", "T:TAG:6:x") // by tags now
	pass(time.Second)
	pass(w.keep)
	w.is("")
}

func TestFilterFile(t *testing.T) {
	w := newFilterWorld(t)
	must(t, w.Flush())
	if _, err := os.Stat(w.o.Path); !os.IsNotExist(err) {
		t.Fatal("a file without filters was written")
	}
	w.subscribe("G1", "Topic:SQL92:1700000000001:a > 1")
	must(t, w.Flush())
	got, err := os.ReadFile(w.o.Path)
	must(t, err)
	data := `{"bloomFilterData":{"bitNum":112,"bitPos":[62,13,35]},"bornTime":1700000000000,"clientVersion":1700000000001,"consumerGroup":"G1",` +
		`"dead":false,"deadTime":0,"expression":"a > 1","expressionType":"SQL92","topic":"Topic"}`
	if d := cmp.Diff("{\"filterDataByTopic\":{\n\"Topic\":{\"groupFilterData\":{\"G1\":"+data+"},\"topic\":\"Topic\"}}}\n", string(got)); d != "" {
		t.Fatal(d)
	}
	if w.Describe("Topic", "G1") != data || w.Describe("Topic", "G2") != "null" {
		t.Errorf("described as %s and %s", w.Describe("Topic", "G1"), w.Describe("Topic", "G2"))
	}

	w.now = w.now.Add(time.Hour)
	w.groups = map[string]*Consumers{}
	w.open(w.o.Path)
	x := w.Get("Topic", "G1")
	if x == nil || x.Compiled.String() != "(a > 1)" || x.Version != 1700000000001 || x.born != 1700000000000 {
		t.Fatalf("read back: %+v", x)
	}
	if x.dead != w.now.Add(-30*time.Second).UnixMilli() {
		t.Errorf("its members left at %d", x.dead)
	}
}

// What Java's broker writes, and files that were damaged.
func TestReadFilterFile(t *testing.T) {
	w := newFilterWorld(t)
	java := "{\n\t\"filterDataByTopic\":{\"T\":{\n\t\t\"groupFilterData\":{\"G\":{\"bloomFilterData\":{\"bitNum\":112,\"bitPos\":[1,2,3]},\"bornTime\":1700000000000,\n" +
		"\"clientVersion\":7,\"consumerGroup\":\"G\",\"dead\":true,\"deadTime\":1700000000500,\"expression\":\"a > 1\",\"expressionType\":\"SQL92\",\"topic\":\"T\"},\n" +
		"\"bad\":{\"consumerGroup\":\"bad\",\"topic\":\"T\",\"expression\":\"a >\",\"expressionType\":\"SQL92\"},\"none\":null},\n\"topic\":\"T\"\n},\"none\":null}}"
	write(t, w.o.Path, java)
	w.open(w.o.Path)
	w.is("(a > 1) v7")
	if x := w.Get("T", "G"); x.dead != 1700000000500 || len(w.byName) != 1 {
		t.Errorf("%+v, %d filters", x, len(w.byName))
	}
	write(t, w.o.Path+".bak", java)
	write(t, w.o.Path, java[:50])
	w.open(w.o.Path)
	w.is("(a > 1) v7") // of the generation before
	write(t, w.o.Path, `{}`)
	write(t, w.o.Path+".bak", `{"filterDataByTopic":7}`)
	w.open(w.o.Path)
	w.is("")
	if !strings.Contains(w.log.String(), "members register them again") {
		t.Error("nothing was said")
	}
	w.subscribe("G", "T:SQL92:8:a > 2")
	must(t, w.Flush())
	w.open(w.o.Path)
	w.is("(a > 2) v8")
}

func TestFiltersAreWrittenWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFilterWorld(t)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		w.subscribe("G", "T:SQL92:1:a > 1")
		time.Sleep(saveFilters + time.Second)
		b, err := os.ReadFile(w.o.Path)
		if err != nil || !strings.Contains(string(b), "a > 1") {
			t.Errorf("after 11 s: %s, %v", b, err)
		}
		w.subscribe("G", "T:SQL92:2:a > 2")
		stop()
		must(t, <-done)
		b, err = os.ReadFile(w.o.Path)
		if err != nil || !strings.Contains(string(b), "a > 2") {
			t.Errorf("at the end: %s, %v", b, err)
		}
	})
}

// Heartbeats of all members come at the same time as pulls.
func TestFiltersFromManySides(t *testing.T) {
	w := newFilterWorld(t)
	var running sync.WaitGroup
	for g := range 4 {
		running.Go(func() {
			for i := range 200 {
				w.subscribe(fmt.Sprint("G", g), fmt.Sprintf("T:SQL92:%d:a > %d", i, i))
				if x := w.Get("T", fmt.Sprint("G", g)); x.Version != int64(i) {
					t.Errorf("version %d, want %d", x.Version, i)
				}
			}
		})
		running.Go(func() {
			for range 20 {
				w.sweep()
				if err := w.Flush(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
}

// The file of a RocketMQ 5.5.0 broker is taken over whole, and written again with the same content.
func TestFilterFileOfJava(t *testing.T) {
	w := newFilterWorld(t)
	java, err := os.ReadFile(filepath.Join("testdata", "filters-5.5.0.json"))
	must(t, err)
	write(t, w.o.Path, string(java))
	w.now = time.UnixMilli(1796056715152).Add(time.Hour)
	w.open(w.o.Path)
	if n := len(w.all()); n != 3 {
		t.Fatalf("%d filters", n)
	}
	w.dirty.Store(true)
	must(t, w.Flush())
	ours, err := os.ReadFile(w.o.Path)
	must(t, err)
	var was, is filterFile
	must(t, javajson.Unmarshal(java, &was))
	must(t, javajson.Unmarshal(ours, &is))
	if d := cmp.Diff(was, is); d != "" {
		t.Error(d)
	}
	w.now = w.now.Add(24 * time.Hour)
	w.sweep()
	if n := len(w.all()); n != 0 {
		t.Errorf("a day after their death there are %d filters", n)
	}
}

// What the bit maps beside the queues say of a group counts for messages that were dispatched after its filter was
// registered, and no others.
func TestFilterBits(t *testing.T) {
	w := newFilterWorld(t)
	bits := func(properties string) []byte { return w.Bits(nil, "T", []byte(properties)) }
	if b := bits("a\x015\x02"); b != nil {
		t.Errorf("a topic without filters: %x", b)
	}
	w.logEnd = 1000
	w.subscribe("G", "T:SQL92:5:a > 1")
	w.subscribe("H", "T:SQL92:5:a > 7")
	w.subscribe("I", "U:SQL92:5:a > 0")
	of := func(group string) *Filter { return w.Get("T", group) }
	later := w.now.UnixMilli() + 1
	for _, tt := range []struct {
		properties string
		g, h       bool
	}{{"a\x011\x02", false, false}, {"a\x015\x02", true, false}, {"a\x018\x02", true, true}, {"a\x01x\x02", false, false}, {"", false, false}} {
		b := bits(tt.properties)
		if len(b) != 14 || of("G").MatchBits(1000, later, b) != tt.g || of("H").MatchBits(1000, later, b) != tt.h {
			t.Errorf("%q: %x", tt.properties, b)
		}
	}
	none := make([]byte, 14)
	for _, tt := range []struct {
		situation   string
		offset, now int64
		bits        []byte
		want        bool
	}{
		{"a message that the group does not want", 1000, later, none, false},
		{"written before the filter was there", 999, later, none, true},
		{"stored before", 1000, later - 1, none, true},
		{"without bits", 1000, later, nil, true},
		{"with those of another size of the filter", 1000, later, make([]byte, 13), true},
	} {
		if got := of("G").MatchBits(tt.offset, tt.now, tt.bits); got != tt.want {
			t.Errorf("%s: %v", tt.situation, got)
		}
	}

	w.now, w.logEnd = w.now.Add(time.Hour), 2000
	w.subscribe("G", "T:SQL92:6:a > 1") // a newer version of the same
	if of("G").MatchBits(1000, later, none) {
		t.Error("a newer version of the same expression begins anew")
	}
	w.subscribe("G", "T:SQL92:7:a > 2")
	if !of("G").MatchBits(1999, w.now.UnixMilli()+1, none) || of("G").MatchBits(2000, w.now.UnixMilli()+1, none) {
		t.Error("another expression does not begin at the end of the log")
	}
	w.subscribe("G") // nobody is there; its bits go on
	w.sweep()
	if b := bits("a\x015\x02"); !of("G").MatchBits(2000, w.now.UnixMilli()+1, b) || filter.Has(b, of("H").positions) {
		t.Errorf("of a group without members: %x", b)
	}
	w.now = w.now.Add(w.keep)
	w.sweep()
	if of("G") != nil || len(w.byTopic["T"]) != 1 {
		t.Errorf("forgotten: %v", w.byTopic["T"])
	}
}

// Settings of the bit maps that changed make what is there worthless.
func TestFilterBitsOfOtherSettings(t *testing.T) {
	w := newFilterWorld(t)
	w.subscribe("G", "T:SQL92:5:a > 1")
	must(t, w.Flush())
	born := w.Get("T", "G").born
	for _, tt := range []struct {
		bloom filter.Bloom
		born  time.Duration
	}{{filter.NewBloom(20, 32), 0}, {filter.NewBloom(10, 32), time.Hour}, {filter.NewBloom(20, 64), time.Hour}} {
		o := w.o
		o.Bloom, o.Now = tt.bloom, func() time.Time { return w.now.Add(time.Hour) }
		f := OpenFilters(o)
		if x := f.Get("T", "G"); x == nil || x.born != born+tt.born.Milliseconds() || x.mapSize != tt.bloom.Bits/8 {
			t.Errorf("%+v: %+v", tt.bloom, x)
		}
	}
}

func BenchmarkFilterBits(b *testing.B) {
	f := OpenFilters(FiltersOptions{Path: filepath.Join(b.TempDir(), "none"), Logger: slog.Default(), Compile: filter.Compile, Bloom: filter.NewBloom(20, 32),
		Consumers: func(string) *Consumers { return nil }, Keep: func() time.Duration { return time.Hour }})
	for g := range 4 {
		expr, err := filter.Compile(fmt.Sprintf("a > %d", g))
		must(b, err)
		name := fmt.Sprint("G", g)
		f.put(filterName{"T", name}, f.filter("T", name, "", 1, expr))
	}
	properties := []byte("UNIQ_KEY\x017F00000100002A9F0000000000000001\x02a\x012\x02TAGS\x01TagA\x02")
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = f.Bits(dst, "T", properties)
	}
}
