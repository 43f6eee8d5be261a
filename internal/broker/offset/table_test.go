// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package offset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/goddard-mq/goddard/internal/javajson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(dir string) Options {
	return Options{
		Path: filepath.Join(dir, "consumerOffset.json"), Logger: slog.New(slog.DiscardHandler),
		FlushInterval: func() time.Duration { return time.Hour }, VersionStep: func() int64 { return 500 },
	}
}

func open(t testing.TB, o Options) *Table {
	t.Helper()
	table, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCommitAndQuery(t *testing.T) {
	table := open(t, options(t.TempDir()))
	if _, ok := table.Query("T", "G", 0); ok {
		t.Fatal("an offset from the start")
	}
	for _, v := range []int64{2, 1, 100, 0} {
		table.CommitBytes([]byte("T"), []byte("G"), 0, v)
		if got, ok := table.QueryBytes([]byte("T"), []byte("G"), 0); !ok || got != v {
			t.Fatalf("committed %d, got %d, %v", v, got, ok)
		}
	}
	table.Commit("T", "G", 0, -5)
	if _, ok := table.Query("T", "G", 0); ok {
		t.Fatal("a negative offset counts")
	}
	table.Commit("T", "G", 1<<30, 7) // queue ids are not checked
	if got, ok := table.Query("T", "G", 1<<30); !ok || got != 7 {
		t.Fatalf("got %d, %v", got, ok)
	}
}

func TestPulled(t *testing.T) {
	table := open(t, options(t.TempDir()))
	table.SetPulled([]byte("T"), []byte("G"), 0, Pull{Next: 9})
	if got, ok := table.Pulled("T", "G", 0); !ok || got != 9 {
		t.Fatalf("got %d, %v", got, ok)
	}
	if _, ok := table.Query("T", "G", 0); ok {
		t.Fatal("pulling commits")
	}
	if len(table.TopicsOf("G")) != 0 || len(table.GroupsOf("T")) != 0 {
		t.Fatal("a group that only pulls has offsets")
	}
	if _, ok := table.Pulled("T", "G", 1); ok {
		t.Fatal("a queue that was not pulled")
	}
	if _, ok := table.Pulled("none", "G", 0); ok {
		t.Fatal("a topic that was not pulled")
	}
}

func TestReset(t *testing.T) {
	table := open(t, options(t.TempDir()))
	topic, group := []byte("T"), []byte("G")
	table.Commit("T", "G", 0, 5)
	if _, ok := table.TakeReset(topic, group, 0); ok {
		t.Fatal("a reset from the start")
	}
	table.Reset("T", "G", 0, 2)
	table.Reset("T", "G", 0, 3)
	table.Commit("T", "G", 0, 5) // as the flag of a pull does
	if got, ok := table.Query("T", "G", 0); !ok || got != 3 || !table.PendingReset(topic, group, 0) {
		t.Fatalf("got %d, %v", got, ok)
	}
	if table.PendingReset(topic, group, 1) || table.PendingReset(topic, []byte("H"), 0) {
		t.Fatal("other queues or groups are reset too")
	}
	if got, ok := table.TakeReset(topic, group, 0); !ok || got != 3 {
		t.Fatalf("took %d, %v", got, ok)
	}
	if _, ok := table.TakeReset(topic, group, 0); ok || table.PendingReset(topic, group, 0) {
		t.Fatal("taken twice")
	}
	if got, _ := table.Query("T", "G", 0); got != 5 {
		t.Fatalf("got %d", got)
	}
	if n := table.pending.Load(); n != 0 {
		t.Fatalf("%d pending", n)
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct {
		situation string
		remove    func(*Table)
		left      []string
	}{
		{"a topic", func(t *Table) { t.RemoveTopic("T") }, []string{"U@G", "U@H"}},
		{"a group", func(t *Table) { t.RemoveGroup("G") }, []string{"T@H", "U@H"}},
		{"an unknown topic", func(t *Table) { t.RemoveTopic("X") }, []string{"T@G", "T@H", "U@G", "U@H"}},
		{"everything", func(t *Table) { t.RemoveGroup("G"); t.RemoveTopic("T"); t.RemoveTopic("U") }, nil},
	} {
		t.Run(c.situation, func(t *testing.T) {
			table := open(t, options(t.TempDir()))
			for _, topic := range []string{"T", "U"} {
				for _, group := range []string{"G", "H"} {
					table.Reset(topic, group, 0, 1)
					table.SetPulled([]byte(topic), []byte(group), 0, Pull{Next: 2})
				}
			}
			c.remove(table)
			var left []string
			for _, topic := range []string{"T", "U"} {
				for _, group := range table.GroupsOf(topic) {
					left = append(left, topic+"@"+group)
					if _, ok := table.Pulled(topic, group, 0); !ok {
						t.Fatal("pulled offset is gone")
					}
				}
			}
			if d := cmp.Diff(c.left, left); d != "" {
				t.Fatal(d)
			}
			if int(table.pending.Load()) != len(c.left) || table.entries.Len() != len(c.left) {
				t.Fatalf("%d pending resets, %d entries", table.pending.Load(), table.entries.Len())
			}
			table.Commit("T", "G", 0, 9) // a removed entry must not take it
			if got, ok := table.Query("T", "G", 0); (!ok || got != 9) && !table.PendingReset([]byte("T"), []byte("G"), 0) {
				t.Fatalf("got %d, %v", got, ok)
			}
		})
	}
}

func TestClone(t *testing.T) {
	table := open(t, options(t.TempDir()))
	table.Commit("T", "A", 0, 7)
	table.Commit("T", "A", 1, 8)
	table.Commit("T", "B", 2, 1)
	table.Clone("T", "A", "B")
	table.Clone("T", "none", "A")
	table.Commit("T", "A", 0, 100)
	if d := cmp.Diff(map[int32]int64{0: 7, 1: 8}, table.Offsets("T", "B")); d != "" {
		t.Fatal(d)
	}
	if table.Offsets("T", "none") != nil {
		t.Fatal("offsets of nobody")
	}
}

func TestVersion(t *testing.T) {
	o := options(t.TempDir())
	o.VersionStep = func() int64 { return 10 }
	table := open(t, o)
	for range 25 {
		table.Commit("T", "G", 0, 1)
	}
	if v := table.Version(); v.Counter != 2 {
		t.Fatalf("version %v after 25 commits", v)
	}
}

// Random operations against plain maps, with the file in between.
func TestTableIsAMap(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		o := options(dir)
		_ = os.Remove(o.Path)
		_ = os.Remove(o.Path + ".bak")
		table, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		model := map[[2]string]map[int32]int64{}
		names := rapid.SampledFrom([]string{"a", "b", "%RETRY%a"})
		queue := rapid.SampledFrom([]int32{0, 1, 7})
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				k, q, v := [2]string{names.Draw(t, "topic"), names.Draw(t, "group")}, queue.Draw(t, "queue"), rapid.Int64Range(0, 9).Draw(t, "offset")
				table.CommitBytes([]byte(k[0]), []byte(k[1]), q, v)
				if model[k] == nil {
					model[k] = map[int32]int64{}
				}
				model[k][q] = v
			},
			"remove topic": func(t *rapid.T) {
				n := names.Draw(t, "topic")
				table.RemoveTopic(n)
				maps.DeleteFunc(model, func(k [2]string, _ map[int32]int64) bool { return k[0] == n })
			},
			"remove group": func(t *rapid.T) {
				n := names.Draw(t, "group")
				table.RemoveGroup(n)
				maps.DeleteFunc(model, func(k [2]string, _ map[int32]int64) bool { return k[1] == n })
			},
			"write and read": func(t *rapid.T) {
				if err := table.Flush(); err != nil {
					t.Fatal(err)
				}
				if table, err = Open(o); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				for k, want := range model {
					if d := cmp.Diff(want, table.Offsets(k[0], k[1])); d != "" {
						t.Fatal(d)
					}
				}
				if table.entries.Len() != len(model) {
					t.Fatalf("%d entries, want %d", table.entries.Len(), len(model))
				}
			},
		})
	})
}

func TestFile(t *testing.T) {
	o := options(t.TempDir())
	o.Now = func() time.Time { return time.UnixMilli(42) }
	table := open(t, o)
	table.Commit("Orders", "G1", 1, 98)
	table.Commit("Orders", "G1", 0, 120)
	table.Commit("%RETRY%G1", "G1", 0, 3)
	table.SetPulled([]byte("Orders"), []byte("G2"), 0, Pull{Next: 5})
	must(t, table.Flush())
	b, err := os.ReadFile(o.Path)
	must(t, err)
	want := `{"dataVersion":{"counter":0,"stateVersion":0,"timestamp":42},
"groupTopicMap":{"G1":["%RETRY%G1","Orders"]},
"offsetTable":{
"%RETRY%G1@G1":{0:3},
"Orders@G1":{0:120,1:98}},
"pullOffsetTable":{
"Orders@G2":{0:5}}}
`
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Fatal(d)
	}
}

func TestFilesOfRocketMQ(t *testing.T) {
	for _, release := range []string{"4.9.7", "5.5.0"} {
		t.Run(release, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", "offsets-"+release+".json"))
			must(t, err)
			var want, again file
			must(t, javajson.Unmarshal(b, &want))
			o := options(t.TempDir())
			must(t, os.WriteFile(o.Path, b, 0o644))
			table := open(t, o)
			must(t, javajson.Unmarshal(table.Encode(), &again))
			if d := cmp.Diff(want.OffsetTable, again.OffsetTable) + cmp.Diff(want.DataVersion, again.DataVersion); d != "" {
				t.Fatal(d)
			}
			if want.PullOffsetTable != nil {
				if d := cmp.Diff(want.PullOffsetTable, again.PullOffsetTable); d != "" {
					t.Fatal(d)
				}
			}
		})
	}
}

// The file of a broker with light topics has the progress of light groups in a table of its own.
func TestLightFileOfRocketMQ(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "light-offsets-5.5.0.json"))
	must(t, err)
	o := options(t.TempDir())
	o.Light = true
	must(t, os.WriteFile(o.Path, b, 0o644))
	table := open(t, o)
	for group, want := range map[string]int64{"%LMQ%g": 5, "GG": 7} {
		if got, ok := table.Query("%LMQ%a", group, 0); !ok || got != want {
			t.Errorf("%s is at %d, %v", group, got, ok)
		}
	}
	var want, again file
	must(t, javajson.Unmarshal(b, &want))
	must(t, javajson.Unmarshal(table.Encode(), &again))
	if d := cmp.Diff(want, again); d != "" {
		t.Error(d)
	}
	var topics struct {
		GroupTopicMap map[string][]string `json:"groupTopicMap"`
	}
	must(t, javajson.Unmarshal(table.Encode(), &topics))
	if d := cmp.Diff(map[string][]string{"GG": {"%LMQ%a"}}, topics.GroupTopicMap); d != "" {
		t.Error(d)
	}
}

// A broker whose light topics were just switched on goes on with what it knew.
func TestProgressFromBefore(t *testing.T) {
	dir := t.TempDir()
	before := options(dir)
	must(t, os.WriteFile(before.Path, []byte(`{"offsetTable":{"T@G":{0:5}}}`), 0o644))
	o := options(dir)
	o.Path, o.Before, o.Light = filepath.Join(dir, "lmqConsumerOffset.json"), before.Path, true
	table := open(t, o)
	table.Commit("T", "H", 1, 6)
	must(t, table.Flush())
	must(t, os.WriteFile(before.Path, []byte(`{"offsetTable":{"T@G":{0:99}}}`), 0o644))
	table = open(t, o)
	for group, want := range map[string]int64{"G": 5, "H": 6} {
		if got := table.Offsets("T", group); len(got) != 1 || got[0]+got[1] != want {
			t.Errorf("%s is at %v, want %d", group, got, want)
		}
	}
}

func TestQuotedQueueIDs(t *testing.T) {
	o := options(t.TempDir())
	must(t, os.WriteFile(o.Path, []byte(`{"offsetTable":{"T@G":{"0":5,1:"6"},"rubbish":{0:1},"T@G@broadcast":{0:2}}}`), 0o644))
	table := open(t, o)
	if d := cmp.Diff(map[int32]int64{0: 5, 1: 6}, table.Offsets("T", "G")); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff(map[int32]int64{0: 2}, table.Offsets("T", "G@broadcast")); d != "" {
		t.Fatal(d)
	}
}

func TestDamagedFile(t *testing.T) {
	good := `{"offsetTable":{"T@G":{0:5}}}`
	for _, damage := range []string{"", strings.Repeat("\x00", 500), good[:len(good)/2], "[]", `{"offsetTable":[1]}`, `{"dataVersion":{}}`, `{"offsetTable":{"T@G":{0:"x"}}}`} {
		t.Run(fmt.Sprintf("%.20q", damage), func(t *testing.T) {
			o := options(t.TempDir())
			must(t, os.WriteFile(o.Path, []byte(damage), 0o644))
			if _, err := Open(o); err == nil || !strings.Contains(err.Error(), o.Path) || !strings.Contains(err.Error(), "restore") {
				t.Fatalf("without a generation before: %v", err)
			}
			must(t, os.WriteFile(o.Path+".bak", []byte(good), 0o644))
			var log strings.Builder
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			table := open(t, o)
			if got, ok := table.Query("T", "G", 0); !ok || got != 5 {
				t.Fatal("the generation before was not used")
			}
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), o.Path) {
				t.Fatalf("nothing was said: %s", &log)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	for _, c := range []struct {
		situation string
		other     bool
	}{{"a new broker", false}, {"one that has topics", true}} {
		t.Run(c.situation, func(t *testing.T) {
			var log strings.Builder
			o := options(t.TempDir())
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if c.other {
				must(t, os.WriteFile(filepath.Join(filepath.Dir(o.Path), "topics.json"), []byte("{}"), 0o644))
			}
			table := open(t, o)
			if said := strings.Contains(log.String(), "level=WARN"); said != c.other {
				t.Fatalf("said: %q", &log)
			}
			must(t, table.Flush()) // from now on there is a file
			if _, err := os.Stat(o.Path); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestRunWritesAtItsEnd(t *testing.T) {
	o := options(t.TempDir())
	table := open(t, o)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- table.Run(ctx) }()
	table.Commit("T", "G", 0, 5)
	stop()
	must(t, <-done)
	if got, ok := open(t, o).Query("T", "G", 0); !ok || got != 5 {
		t.Fatalf("read back %d, %v", got, ok)
	}
}

func TestFlushWritesOnlyChanges(t *testing.T) {
	o := options(t.TempDir())
	table := open(t, o)
	table.Commit("T", "G", 0, 5)
	must(t, table.Flush())
	must(t, os.Remove(o.Path))
	table.Commit("T", "G", 0, 5)
	table.SetPulled([]byte("T"), []byte("G"), 0, Pull{Next: 5})
	table.SetPulled([]byte("T"), []byte("G"), 0, Pull{Next: 5})
	must(t, table.Flush()) // the pulled offset is new
	if _, err := os.Stat(o.Path); err != nil {
		t.Fatal(err)
	}
	must(t, os.Remove(o.Path))
	table.SetPulled([]byte("T"), []byte("G"), 0, Pull{Next: 5})
	must(t, table.Flush())
	if _, err := os.Stat(o.Path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("written without a change: %v", err)
	}
}

func TestHotPathTakesNoMemory(t *testing.T) {
	table := open(t, options(t.TempDir()))
	topic, group := []byte("%RETRY%some_group_of_usual_length"), []byte("some_group_of_usual_length")
	table.CommitBytes(topic, group, 3, 0)
	table.SetPulled(topic, group, 3, Pull{Next: 0})
	n := int64(0)
	if got := testing.AllocsPerRun(1000, func() {
		n++
		table.CommitBytes(topic, group, 3, n)
		table.SetPulled(topic, group, 3, Pull{Next: n})
		table.QueryBytes(topic, group, 3)
		table.TakeReset(topic, group, 3)
	}); got != 0 {
		t.Fatalf("%v allocations", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	table := open(t, options(t.TempDir()))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 500 {
				topic, group := fmt.Sprint("T", i%3), fmt.Sprint("G", w%4)
				table.Commit(topic, group, int32(w), int64(i))
				table.SetPulled([]byte(topic), []byte(group), int32(w), Pull{Next: int64(i)})
				switch i % 50 {
				case 1:
					table.RemoveTopic(topic)
				case 2:
					table.RemoveGroup(group)
				case 3:
					table.Reset(topic, group, 0, 1)
				case 4:
					table.TakeReset([]byte(topic), []byte(group), 0)
				case 5:
					table.Clone(topic, group, "C")
				case 6:
					if err := table.Flush(); err != nil {
						t.Error(err)
					}
				}
				table.TopicsOf(group)
			}
		})
	}
	wg.Wait()
	for _, topic := range []string{"T0", "T1", "T2"} {
		table.RemoveTopic(topic)
	}
	if table.entries.Len() != 0 || len(table.groups) != 0 || len(table.topics) != 0 || table.pending.Load() != 0 {
		t.Fatalf("left: %d entries, %d groups, %d topics, %d resets", table.entries.Len(), len(table.groups), len(table.topics), table.pending.Load())
	}
}

func BenchmarkCommit(b *testing.B) {
	table := open(b, options(b.TempDir()))
	topic, group := []byte("Orders"), []byte("G1")
	b.ReportAllocs()
	for n := range b.N {
		table.CommitBytes(topic, group, int32(n&7), int64(n))
	}
}

func BenchmarkEncode(b *testing.B) {
	table := open(b, options(b.TempDir()))
	for g := range 20_000 {
		for q := range int32(4) {
			table.Commit("Orders", fmt.Sprint("group-", g), q, 12345678)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(table.Encode())))
	}
}
