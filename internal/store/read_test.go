// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

// batchOf is a client batch of n messages with the same body and properties.
func batchOf(topic string, queue int32, n int, body string, properties ...string) *Message {
	m := msg(topic, queue, "", properties...)
	own := m.Properties
	m.Batch, m.Properties = true, nil
	for range n {
		m.Body = message.AppendBatchItem(m.Body, message.BatchItem{Body: []byte(body), Properties: own})
	}
	return m
}

// byTag takes messages with one of some tags, or with a property.
type byTag struct {
	tags     map[int64]bool
	property string
}

func tags(names ...string) *byTag {
	f := &byTag{tags: map[int64]bool{}}
	for _, n := range names {
		f.tags[message.TagsCode([]byte(n))] = true
	}
	return f
}

func (f *byTag) MatchTags(code int64) bool { return len(f.tags) == 0 || f.tags[code] }
func (f *byTag) NeedsProperties() bool     { return f.property != "" }
func (f *byTag) MatchProperties(p []byte) bool {
	_, ok := message.FindProperty(p, f.property)
	return ok
}

func TestReadStatuses(t *testing.T) {
	cfg := small(t.TempDir())
	cfg.LogFileBytes = 2 << 20
	cfg.QueueFileBytes = 2000 * 20
	s := open(t, cfg)
	put(t, s, msg("two", 0, "a"), msg("two", 0, "b"))
	put(t, s, batchOf("fifty", 0, 50, "x"), batchOf("thousand", 0, 1000, "x", message.PropTags, "A"))
	for _, tag := range []string{"A", "B", "A", "C", ""} {
		var p []string
		if tag != "" {
			p = []string{message.PropTags, tag}
		}
		put(t, s, msg("tagged", 0, "x", p...))
	}
	for i := range 4 {
		put(t, s, msg("properties", 0, "x", "a", fmt.Sprint(i), []string{"low", "high"}[i/2], "1"))
	}
	for _, kb := range []int{100, 100, 100, 300} {
		put(t, s, msg("large", 0, strings.Repeat("x", kb<<10)))
	}
	tests := []struct {
		name string
		r    ReadRequest
		want string // status next min max: offsets found
	}{
		{"found", ReadRequest{Topic: "two", MaxCount: 32}, "FOUND 2 0 2: 0..1"},
		{"at the end", ReadRequest{Topic: "two", Offset: 2, MaxCount: 32}, "OFFSET_OVERFLOW_ONE 2 0 2:"},
		{"behind the end", ReadRequest{Topic: "two", Offset: 3, MaxCount: 32}, "OFFSET_OVERFLOW_BADLY 2 0 2:"},
		{"far behind the end", ReadRequest{Topic: "two", Offset: 1000, MaxCount: 32}, "OFFSET_OVERFLOW_BADLY 2 0 2:"},
		{"before the beginning", ReadRequest{Topic: "two", Offset: -1, MaxCount: 32}, "OFFSET_TOO_SMALL 0 0 2:"},
		{"a queue that never had a message", ReadRequest{Topic: "two", QueueID: 1, Offset: 5, MaxCount: 32}, "NO_MESSAGE_IN_QUEUE 0 0 0:"},
		{"an unknown topic", ReadRequest{Topic: "none", MaxCount: 32}, "NO_MESSAGE_IN_QUEUE 0 0 0:"},
		{"32 at most", ReadRequest{Topic: "fifty", MaxCount: 64}, "FOUND 32 0 50: 0..31"},
		{"as many as asked for", ReadRequest{Topic: "fifty", MaxCount: 5}, "FOUND 5 0 50: 0..4"},
		{"one if none is asked for", ReadRequest{Topic: "fifty"}, "FOUND 1 0 50: 0..0"},
		{"one if fewer than none are", ReadRequest{Topic: "fifty", MaxCount: -1}, "FOUND 1 0 50: 0..0"},
		{"from the middle", ReadRequest{Topic: "fifty", Offset: 45, MaxCount: 32}, "FOUND 50 0 50: 45..49"},
		{"256 KiB at most", ReadRequest{Topic: "large", MaxCount: 32}, "FOUND 2 0 4: 0..1"},
		{"but always one", ReadRequest{Topic: "large", Offset: 3, MaxCount: 32}, "FOUND 4 0 4: 3..3"},
		{"a reader's own cap", ReadRequest{Topic: "large", MaxCount: 32, MaxBytes: 1}, "FOUND 1 0 4: 0..0"},
		{"tags", ReadRequest{Topic: "tagged", MaxCount: 32, Filter: tags("A", "C")}, "FOUND 5 0 5: 0..0 2..3"},
		{"no tag that matches", ReadRequest{Topic: "tagged", MaxCount: 32, Filter: tags("Z")}, "NO_MATCHED_MESSAGE 5 0 5:"},
		{"one tagged message is enough", ReadRequest{Topic: "tagged", MaxCount: 1, Filter: tags("B")}, "FOUND 2 0 5: 1..1"},
		{"800 entries looked at, at most", ReadRequest{Topic: "thousand", MaxCount: 32, Filter: tags("B")}, "NO_MATCHED_MESSAGE 800 0 1000:"},
		{"the rest of them", ReadRequest{Topic: "thousand", Offset: 800, MaxCount: 64, Filter: tags("B")}, "NO_MATCHED_MESSAGE 1000 0 1000:"},
		{"properties", ReadRequest{Topic: "properties", MaxCount: 32, Filter: &byTag{property: "high"}}, "FOUND 4 0 4: 2..3"},
		{"no property that matches", ReadRequest{Topic: "properties", MaxCount: 32, Filter: &byTag{property: "other"}}, "NO_MATCHED_MESSAGE 4 0 4:"},
	}
	check := func(t *testing.T, s *Store) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				prefix := []byte("untouched")
				b, res := s.Read(prefix, &tt.r)
				if string(b[:len(prefix)]) != "untouched" {
					t.Error("what dst held is gone")
				}
				got := fmt.Sprintf("%v %d %d %d:%s", res.Status, res.Next, res.Min, res.Max, runs(t, b[len(prefix):], &res))
				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		}
	}
	t.Run("hot", func(t *testing.T) { check(t, s) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("cold", func(t *testing.T) { check(t, open(t, cfg)) })
	cfg.Limits.MemoryRatio = 0 // now all is old
	cfg.Limits.DiskCount, cfg.Limits.DiskBytes = 8, 64<<10
	old := open(t, withRoot(cfg, t.TempDir()))
	put(t, old, batchOf("fifty", 0, 50, "x"))
	put(t, old, msg("large", 0, strings.Repeat("x", 40<<10)), msg("large", 0, strings.Repeat("x", 40<<10)))
	for topic, want := range map[string]string{"fifty": "FOUND 8 0 50: 0..7", "large": "FOUND 1 0 2: 0..0"} {
		b, res := old.Read(nil, &ReadRequest{Topic: topic, MaxCount: 32})
		if got := fmt.Sprintf("%v %d %d %d:%s", res.Status, res.Next, res.Min, res.Max, runs(t, b, &res)); got != want || !res.SuggestSlave {
			t.Errorf("old messages: got %q slave %v, want %q", got, res.SuggestSlave, want)
		}
	}
}

func withRoot(cfg Config, dir string) Config {
	cfg.Root = dir
	return cfg
}

// runs writes the queue offsets of records as runs.
func runs(t *testing.T, b []byte, res *ReadResult) string {
	t.Helper()
	records, err := message.DecodeAll(b)
	if err != nil || len(records) != res.Count || len(b) != res.Bytes {
		t.Errorf("%d records of %d bytes, told %d of %d, %v", len(records), len(b), res.Count, res.Bytes, err)
	}
	text := ""
	for i := 0; i < len(records); {
		j := i
		for j+1 < len(records) && records[j+1].QueueOffset == records[j].QueueOffset+1 {
			j++
		}
		text += fmt.Sprintf(" %d..%d", records[i].QueueOffset, records[j].QueueOffset)
		i = j + 1
	}
	return text
}

func TestReadAcrossQueueFiles(t *testing.T) {
	cfg := small(t.TempDir())
	cfg.QueueFileBytes = 10 * 20
	s := open(t, cfg)
	put(t, s, batchOf("T", 0, 25, "x", message.PropTags, "A"), msg("T", 0, "x", message.PropTags, "B"))
	if got := readAll(t, s, "T", 0, 0); len(got) != 26 {
		t.Errorf("%d messages", len(got))
	}
	// One queue file is looked at in one read.
	if _, res := s.Read(nil, &ReadRequest{Topic: "T", MaxCount: 32, Filter: tags("B")}); res.Status != NoMatchedMessage || res.Next != 10 {
		t.Errorf("%+v", res)
	}
	if _, res := s.Read(nil, &ReadRequest{Topic: "T", Offset: 5, MaxCount: 32}); res.Count != 5 || res.Next != 10 {
		t.Errorf("%+v", res)
	}
}

func TestOffsetByTime(t *testing.T) {
	cfg := small(t.TempDir())
	cfg.QueueFileBytes = 3 * 20
	s := open(t, cfg)
	var at []int64
	for len(at) < 8 { // store times that differ
		if a := put(t, s, msg("T", 0, "x"))[0]; len(at) > 0 && a.StoreTimestamp == at[len(at)-1] {
			t.Fatal("two messages in one millisecond")
		} else {
			at = append(at, a.StoreTimestamp)
		}
		tick(t)
	}
	put(t, s, batchOf("equal", 0, 5, "x"))
	equal := s.TimeOf("equal", 0, 0)
	tick(t)
	tick(t)
	put(t, s, msg("equal", 0, "x"))
	tests := []struct {
		name         string
		topic        string
		ms           int64
		lower, upper int64
	}{
		{"zero", "T", 0, 0, 0},
		{"negative", "T", -1, 0, 0},
		{"before the first", "T", at[0] - 1, 0, 0},
		{"the first", "T", at[0], 0, 0},
		{"the second", "T", at[1], 1, 1},
		{"the end of a file", "T", at[2], 2, 2},
		{"between two files", "T", at[3] - 1, 3, 2},
		{"between two", "T", at[4] + 1, 5, 4},
		{"the last", "T", at[7], 7, 7},
		{"after the last", "T", at[7] + 1, 8, 7},
		{"tomorrow", "T", at[7] + 86400000, 8, 7},
		{"equal times", "equal", equal, 0, 4},
		{"after equal times", "equal", equal + 1, 5, 4},
		{"no such topic", "none", at[0], 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.OffsetByTime(tt.topic, 0, tt.ms, false); got != tt.lower {
				t.Errorf("lower is %d, want %d", got, tt.lower)
			}
			if got := s.OffsetByTime(tt.topic, 0, tt.ms, true); got != tt.upper {
				t.Errorf("upper is %d, want %d", got, tt.upper)
			}
		})
	}
	if s.EarliestTime("T", 0) != at[0] || s.EarliestTime("none", 0) != -1 || s.TimeOf("T", 0, 99) != -1 || s.TimeOf("T", 0, -1) != -1 {
		t.Error("times of messages are wrong")
	}
}

func TestEntriesAndHot(t *testing.T) {
	cfg := small(t.TempDir())
	s := open(t, cfg)
	a := put(t, s, msg("T", 0, "x", message.PropTags, "A"), msg("T", 0, "y"))
	want := []QueueEntry{{PhysicalOffset: a[0].PhysicalOffset, Size: int32(a[1].PhysicalOffset - a[0].PhysicalOffset), TagsCode: 65}}
	if got := s.Entries("T", 0, 0, 1); len(got) != 1 || got[0] != want[0] {
		t.Errorf("entries %v, want %v", got, want)
	}
	if got := s.Entries("T", 0, 0, 100); len(got) != 2 {
		t.Errorf("entries %v", got)
	}
	for _, from := range []int64{-1, 2, 100} {
		if got := s.Entries("T", 0, from, 10); got != nil {
			t.Errorf("entries from %d: %v", from, got)
		}
	}
	if !s.Hot("T", 0, 1) || s.Hot("T", 0, 2) || s.Hot("T", 1, 0) || s.Hot("none", 0, 0) {
		t.Error("hot is wrong")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg)
	if s.Hot("T", 0, 1) {
		t.Error("a message is hot after a restart")
	}
	if _, err := s.View(a[0].PhysicalOffset + 1); err != ErrNoMessage {
		t.Errorf("view inside a record: %v", err)
	}
	for _, off := range []int64{-1, 1 << 40, s.Info().LogMax} {
		if _, err := s.View(off); err != ErrNoMessage {
			t.Errorf("view of %d: %v", off, err)
		}
	}
}

// Keys with equal hashes, keys whose hash is the smallest number, doubled keys: only the right messages, each once.
func TestQueryIsExact(t *testing.T) {
	cfg := small(t.TempDir())
	cfg.Index.Slots = 1 // all in one chain
	s := open(t, cfg)
	for _, topic := range []string{"AaTopic", "BBTopic"} {
		for _, key := range []string{"Aa", "BB"} {
			put(t, s, msg(topic, 0, topic+key, message.PropKeys, key))
		}
	}
	put(t, s, msg("T", 0, "three", message.PropKeys, "one two  three"), msg("T", 0, "double", message.PropKeys, "d d"),
		msg("T", 0, "unique", message.PropUniqueKey, "U1", message.PropKeys, "k"), msg("T", 0, "tag", message.PropTags, "Aa"))
	for i := range 100 {
		put(t, s, msg("T", 0, fmt.Sprint(i), message.PropKeys, "many"))
	}
	tests := []struct {
		topic, key string
		most       int
		want       string
	}{
		{"AaTopic", "Aa", 32, "AaTopicAa"}, {"AaTopic", "BB", 32, "AaTopicBB"}, {"BBTopic", "Aa", 32, "BBTopicAa"},
		{"T", "one", 32, "three"}, {"T", "two", 32, "three"}, {"T", "three", 32, "three"}, {"T", "d", 32, "double"},
		{"T", "U1", 32, "unique"}, {"T", "k", 32, "unique"}, {"T", "", 32, ""}, {"T", "none", 32, ""}, {"none", "Aa", 32, ""},
		{"T", "many", 3, "97 98 99"}, {"T", "many", 0, ""}, {"T", "polygenelubricants", 32, ""},
	}
	for _, tt := range tests {
		res, err := s.Query(tt.topic, tt.key, tt.most, 0, 1<<62)
		if got := bodies(t, res.Records); err != nil || got != tt.want {
			t.Errorf("%s#%s: %q, %v, want %q", tt.topic, tt.key, got, err, tt.want)
		}
	}
	if res, err := s.Query("T", "many", 1000, 0, 1<<62); err != nil || res.Count != 64 || !strings.HasPrefix(bodies(t, res.Records), "36 37 ") {
		t.Errorf("%d of many, %v", res.Count, err)
	}
	if res, err := s.QueryTags("T", "Aa", 32, 0, 1<<62); err != nil || bodies(t, res.Records) != "tag" {
		t.Errorf("by tags: %q, %v", bodies(t, res.Records), err)
	}
	at := s.TimeOf("AaTopic", 0, 0)
	for _, tt := range []struct {
		begin, end int64
		want       int
	}{{at, at, 1}, {at + 1, at + 5000, 0}, {at - 5000, at - 1, 0}, {at - 5000, at + 5000, 1}, {at + 5000, at - 5000, 0}} {
		if res, err := s.Query("AaTopic", "Aa", 32, tt.begin, tt.end); err != nil || res.Count != tt.want {
			t.Errorf("from %d to %d: %d found, %v", tt.begin-at, tt.end-at, res.Count, err)
		}
	}
	last, _ := s.Query("T", "many", 1, 0, 1<<62)
	if last.LastTimestamp == 0 || last.LastPhysicalOffset == 0 {
		t.Errorf("the index's last message is %+v", last)
	}
}

func bodies(t *testing.T, b []byte) string {
	t.Helper()
	records, err := message.DecodeAll(b)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range records {
		all = append(all, string(r.Body))
	}
	return strings.Join(all, " ")
}
