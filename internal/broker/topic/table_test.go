// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options of a broker with RocketMQ's defaults.
func options(t testing.TB, dir string) Options {
	return Options{
		Path: filepath.Join(dir, "topics.json"), Logger: slog.New(slog.DiscardHandler),
		Cluster: "DefaultCluster", Broker: "broker-a",
		System: System{
			Template: true, TemplateQueues: 8, ClusterTopic: true, BrokerTopic: true, ReviveQueues: 8, TimerWheel: true,
		},
		AutoCreate: func() bool { return true },
		AllowMixed: func() bool { return false },
	}
}

func open(t testing.TB, o Options) *Table {
	t.Helper()
	table, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

func config(name string, queues int32) *protocol.TopicConfig {
	c := protocol.NewTopicConfig(name)
	c.ReadQueueNums, c.WriteQueueNums = queues, queues
	return c
}

func update(t testing.TB, table *Table, c *protocol.TopicConfig, changes string) bool {
	t.Helper()
	parsed, err := ParseChanges(changes)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := table.Update(c, parsed)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// What a fresh broker of RocketMQ 5.5.0 has: read queues, write queues, permission.
func TestTopicsOfAFreshBroker(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	want := map[string][3]int32{
		"TBW102": {8, 8, 7}, "SELF_TEST_TOPIC": {1, 1, 6}, "BenchmarkTest": {1024, 1024, 6}, "DefaultCluster": {16, 16, 7},
		"broker-a": {1, 1, 7}, "OFFSET_MOVED_EVENT": {1, 1, 6}, "SCHEDULE_TOPIC_XXXX": {18, 18, 6}, "rmq_sys_wheel_timer": {1, 1, 6},
		"RMQ_SYS_TRANS_HALF_TOPIC": {1, 1, 6}, "RMQ_SYS_TRANS_OP_HALF_TOPIC": {1, 1, 6}, "DefaultCluster_REPLY_TOPIC": {1, 1, 6},
		"rmq_sys_REVIVE_LOG_DefaultCluster": {8, 8, 6}, "rmq_sys_SYNC_BROKER_MEMBER_broker-a": {1, 1, 1},
	}
	got := map[string][3]int32{}
	_, all := table.All()
	for _, c := range all {
		got[c.TopicName] = [3]int32{c.ReadQueueNums, c.WriteQueueNums, c.Perm}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	names := []string{
		"BenchmarkTest", "CHECKPOINT_TOPIC", "DefaultCluster", "DefaultCluster_REPLY_TOPIC", "OFFSET_MOVED_EVENT",
		"RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC", "RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRANS_HALF_TOPIC",
		"RMQ_SYS_TRANS_OP_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC", "TBW102", "TRANS_CHECK_MAX_TIME_TOPIC", "broker-a",
		"rmq_sys_REVIVE_LOG_DefaultCluster", "rmq_sys_SYNC_BROKER_MEMBER_broker-a", "rmq_sys_wheel_timer",
	}
	if d := cmp.Diff(names, table.SystemNames()); d != "" {
		t.Fatal(d)
	}
	for _, name := range append(names, "rmq_sys_anything") {
		if !table.IsSystem(name) {
			t.Errorf("%s is not taken for a name of the system", name)
		}
	}
	if table.IsSystem("Orders") {
		t.Error("Orders is taken for a name of the system")
	}
}

func TestSystemTopicsBySettings(t *testing.T) {
	o := options(t, t.TempDir())
	o.System = System{TraceTopic: "RMQ_SYS_TRACE_TOPIC", ReviveQueues: 2}
	table := open(t, o)
	for name, there := range map[string]bool{"TBW102": false, "rmq_sys_wheel_timer": false, "RMQ_SYS_TRACE_TOPIC": true} {
		if (table.Get(name) != nil) != there {
			t.Errorf("%s there: %v", name, !there)
		}
	}
	if p := table.Get("DefaultCluster").Perm; p != 1 {
		t.Errorf("closed cluster topic has permission %d", p)
	}
}

func TestUpdate(t *testing.T) {
	var told []string
	o := options(t, t.TempDir())
	o.Changed = func(names []string) { told = append(told, names...) }
	table := open(t, o)
	v0 := table.Version()
	if !update(t, table, config("Orders", 3), "+message.type=FIFO") {
		t.Fatal("creation is no change")
	}
	v1 := table.Version()
	if update(t, table, config("Orders", 3), "+message.type=FIFO") || update(t, table, config("Orders", 3), "") {
		t.Fatal("the same settings are a change")
	}
	if table.Version() != v1 || v1.Counter != v0.Counter+1 {
		t.Fatalf("versions %v, %v, %v", v0, v1, table.Version())
	}
	before := table.Get("Orders")
	if !update(t, table, config("Orders", 5), "") {
		t.Fatal("more queues are no change")
	}
	after := table.GetBytes([]byte("Orders"))
	if before.ReadQueueNums != 3 || after.ReadQueueNums != 5 || after.MessageType != FIFO || after.QueueType != SimpleQueue {
		t.Fatalf("before %+v, after %+v", before, after)
	}
	if d := cmp.Diff([]string{"Orders", "Orders"}, told); d != "" {
		t.Fatal(d)
	}
}

func TestMixedTopicsNeedTheSetting(t *testing.T) {
	allowed := false
	o := options(t, t.TempDir())
	o.AllowMixed = func() bool { return allowed }
	table := open(t, o)
	_, err := table.Update(config("Any", 1), Changes{"+message.type": "MIXED"})
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.InvalidParameter || e.Remark != "MIXED message type is not supported." {
		t.Fatalf("got %v", err)
	}
	allowed = true
	if _, err := table.Update(config("Any", 1), Changes{"+message.type": "MIXED"}); err != nil {
		t.Fatal(err)
	}
}

func TestDelete(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	update(t, table, config("A", 1), "")
	update(t, table, config("B", 1), "")
	v := table.Version()
	deleted, err := table.Delete("A", "none", "B")
	if err != nil || !slices.Equal(deleted, []string{"A", "B"}) {
		t.Fatalf("%v, %v", deleted, err)
	}
	if table.Get("A") != nil || table.Get("B") != nil || table.Version().Counter != v.Counter+2 {
		t.Fatal("still there, or the version did not move")
	}
	if deleted, err = table.Delete("A"); len(deleted) != 0 || err != nil {
		t.Fatalf("%v, %v", deleted, err)
	}
}

func TestAutoCreate(t *testing.T) {
	for _, c := range []struct {
		situation  string
		template   *protocol.TopicConfig // besides TBW102
		off        bool
		send       FirstSend
		wantQueues int32 // -1: not created
		wantPerm   int32
	}{
		{"the usual", nil, false, FirstSend{Template: "TBW102", Queues: 4}, 4, 6},
		{"more queues than the template has", nil, false, FirstSend{Template: "TBW102", Queues: 100}, 8, 6},
		{"no queues", nil, false, FirstSend{Template: "TBW102", Queues: 0}, 0, 6},
		{"fewer than none", nil, false, FirstSend{Template: "TBW102", Queues: -3}, 0, 6},
		{"no such template", nil, false, FirstSend{Template: "nothing", Queues: 4}, -1, 0},
		{"a template that does not inherit", config("T", 4), false, FirstSend{Template: "T", Queues: 4}, -1, 0},
		{"another template", &protocol.TopicConfig{TopicName: "T", Perm: 5, WriteQueueNums: 3, ReadQueueNums: 9}, false, FirstSend{Template: "T", Queues: 4}, 3, 4},
		{"not allowed", nil, true, FirstSend{Template: "TBW102", Queues: 4}, -1, 0},
		{"TBW102 not allowed, another template", &protocol.TopicConfig{TopicName: "T", Perm: 7, WriteQueueNums: 3}, true, FirstSend{Template: "T", Queues: 4}, 3, 6},
		{"a unit's message", nil, false, FirstSend{Template: "TBW102", Queues: 4, SysFlag: protocol.TopicFlagUnit}, 4, 6},
	} {
		t.Run(c.situation, func(t *testing.T) {
			o := options(t, t.TempDir())
			o.AutoCreate = func() bool { return !c.off }
			table := open(t, o)
			if c.template != nil {
				update(t, table, c.template, "")
			}
			c.send.Topic = "New"
			v := table.Version()
			got, err := table.AutoCreate(c.send)
			if err != nil {
				t.Fatal(err)
			}
			if c.wantQueues < 0 {
				if got != nil || table.Get("New") != nil || table.Version() != v {
					t.Fatalf("created %+v", got)
				}
				return
			}
			if got == nil || got != table.Get("New") {
				t.Fatalf("got %+v", got)
			}
			if got.ReadQueueNums != c.wantQueues || got.WriteQueueNums != c.wantQueues || got.Perm != c.wantPerm || got.TopicSysFlag != c.send.SysFlag {
				t.Fatalf("created %+v", got.TopicConfig)
			}
		})
	}
}

// Turning automatic creation off and on again must bring it back: the template itself
// is left alone.
func TestAutoCreateOffAndOn(t *testing.T) {
	on := false
	o := options(t, t.TempDir())
	o.AutoCreate = func() bool { return on }
	table := open(t, o)
	send := FirstSend{Topic: "New", Template: "TBW102", Queues: 4}
	if c, _ := table.AutoCreate(send); c != nil {
		t.Fatal("created while off")
	}
	if p := table.Get("TBW102").Perm; p != 7 {
		t.Fatalf("the template has permission %d", p)
	}
	on = true
	if c, _ := table.AutoCreate(send); c == nil {
		t.Fatal("not created when on again")
	}
}

func TestAutoCreateAtOnce(t *testing.T) {
	var mu sync.Mutex
	var told []string
	o := options(t, t.TempDir())
	o.Changed = func(names []string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, names...)
	}
	table := open(t, o)
	var wg sync.WaitGroup
	got := make([]*Config, 16)
	for i := range got {
		wg.Go(func() {
			got[i], _ = table.AutoCreate(FirstSend{Topic: "New", Template: "TBW102", Queues: int32(i + 1)})
		})
	}
	wg.Wait()
	for _, c := range got {
		if c == nil || c != got[0] {
			t.Fatal("not all got the same topic")
		}
	}
	if len(told) != 1 {
		t.Fatalf("told of %v", told)
	}
}

func TestEnsure(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	retry := table.EnsureRetry("G", 3, false, 0)
	if retry.TopicName != "%RETRY%G" || retry.Queues() != 3 || retry.Perm != 6 || retry != table.EnsureRetry("G", 2, false, 0) {
		t.Fatalf("retry topic %+v", retry)
	}
	ordered := table.EnsureRetry("G", 2, true, 0)
	if !ordered.Order || ordered.Queues() != 3 || retry.Order {
		t.Fatalf("ordered retry topic %+v", ordered)
	}
	grown := table.EnsureRetry("G", 5, true, 0)
	if !grown.Order || grown.ReadQueueNums != 5 || grown.WriteQueueNums != 5 || grown != table.Get("%RETRY%G") {
		t.Fatalf("retry topic of a group that wants more queues %+v", grown)
	}
	dead, err := table.EnsureDLQ("G")
	if err != nil || dead.TopicName != "%DLQ%G" || dead.Queues() != 1 || dead.Perm != 6 {
		t.Fatalf("dead letters %+v, %v", dead, err)
	}
	// The longest legal group has its topics too.
	long := strings.Repeat("g", protocol.MaxGroupLength)
	if c, err := table.EnsureDLQ(long); err != nil || c == nil || table.EnsureRetry(long, 1, false, 0) == nil {
		t.Fatalf("%v", err)
	}
}

func TestSetOrder(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	update(t, table, config("A", 1), "")
	update(t, table, config("B", 1), "")
	if err := table.SetOrder([]string{"A", "none"}); err != nil {
		t.Fatal(err)
	}
	v := table.Version()
	if err := table.SetOrder([]string{"A"}); err != nil || table.Version() != v {
		t.Fatalf("%v, or a change of nothing", err)
	}
	if !table.Get("A").Order || table.Get("B").Order {
		t.Fatal("wrong topics are ordered")
	}
}

func TestPage(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	total := table.Len()
	version, first, n := table.Page(0, 5, nil)
	if n != total || len(first) != 5 {
		t.Fatalf("%d of %d", len(first), n)
	}
	_, second, _ := table.Page(5, 5, &version)
	if first[4].TopicName >= second[0].TopicName {
		t.Fatalf("%s before %s", first[4].TopicName, second[0].TopicName)
	}
	old := version
	old.Counter--
	if _, again, _ := table.Page(5, 5, &old); again[0] != first[0] {
		t.Fatal("another version does not begin anew")
	}
	for _, c := range [][2]int{{-1, 3}, {total, 3}, {total + 7, 3}, {2, -1}, {0, total * 2}} {
		if _, part, _ := table.Page(c[0], c[1], &version); len(part) > total {
			t.Fatalf("page %v has %d", c, len(part))
		}
	}
}

func TestReopen(t *testing.T) {
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("closed properly: %v", clean), func(t *testing.T) {
			dir := t.TempDir()
			o := options(t, dir)
			table := open(t, o)
			update(t, table, config("Orders", 3), "+message.type=DELAY")
			update(t, table, config("Gone", 3), "")
			if _, err := table.Delete("Gone"); err != nil {
				t.Fatal(err)
			}
			if _, err := table.EnsureDLQ("G"); err != nil {
				t.Fatal(err)
			}
			version, all := table.All()
			if clean {
				if err := table.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				dir = copyFolder(t, dir) // as a crash leaves it
			}
			again := open(t, options(t, dir))
			version2, all2 := again.All()
			if d := cmp.Diff(all, all2, cmpopts.IgnoreUnexported(Config{})); d != "" || version2.Compare(version) < 0 {
				t.Fatalf("versions %v and %v\n%s", version, version2, d)
			}
		})
	}
}

// copyFolder gives a copy as a crash leaves it. The journal comes first: what the table writes into its file meanwhile was
// in the journal before.
func copyFolder(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	for _, pattern := range []string{"*.journal", "*.journal.old", "*.json", "*.json.bak"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(to, filepath.Base(name)), string(b))
		}
	}
	return to
}

// A message may be in a topic only when the topic survives a crash. Heartbeats make retry topics in memory first; whoever
// finds one then waits, too.
func TestNobodyGetsATopicThatACrashForgets(t *testing.T) {
	const retry = "%RETRY%G"
	for _, c := range []struct {
		situation string
		get       func(table *Table) (*Config, error)
	}{
		{"by a heartbeat, then a send-back", func(table *Table) (*Config, error) {
			c := table.EnsureRetry("G", 1, false, 0)
			return c, table.Await(c)
		}},
		{"by a heartbeat of ordered members, which changes it at once", func(table *Table) (*Config, error) {
			table.EnsureRetry("G", 1, false, 0)
			c := table.EnsureRetry("G", 1, true, 0)
			return c, table.Await(c)
		}},
		{"found by a first send", func(table *Table) (*Config, error) {
			table.EnsureRetry("G", 1, false, 0)
			return table.AutoCreate(FirstSend{Topic: retry, Template: "TBW102", Queues: 1})
		}},
		{"found by an Ensure", func(table *Table) (*Config, error) {
			table.EnsureRetry("G", 1, false, 0)
			return table.Ensure(config(retry, 1))
		}},
		{"made by a first send", func(table *Table) (*Config, error) {
			return table.AutoCreate(FirstSend{Topic: retry, Template: "TBW102", Queues: 1})
		}},
		{"removed and made again", func(table *Table) (*Config, error) {
			if _, err := table.Ensure(config(retry, 1)); err != nil {
				return nil, err
			}
			done := make(chan error)
			go func() { _, err := table.Delete(retry); done <- err }()
			for table.Get(retry) != nil {
				time.Sleep(time.Millisecond)
			}
			c := table.EnsureRetry("G", 1, false, 0)
			return c, errors.Join(table.Await(c), <-done)
		}},
	} {
		t.Run(c.situation, func(t *testing.T) {
			dir := t.TempDir()
			table := open(t, options(t, dir))
			got, err := c.get(table)
			if err != nil {
				t.Fatal(err)
			}
			if !table.Kept(got) {
				t.Error("a topic was given that is not kept")
			}
			if open(t, options(t, copyFolder(t, dir))).Get(retry) == nil {
				t.Error("the crash forgot the topic")
			}
		})
	}
}

// What an administrator changes about a topic that is on disk must not hold up the messages to it.
func TestAChangedTopicIsStillKept(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	update(t, table, config("Orders", 1), "")
	table.mu.Lock()
	table.putLocked(newConfig(config("Orders", 2)))
	table.mu.Unlock()
	if c := table.Get("Orders"); c.WriteQueueNums != 2 || !table.Kept(c) {
		t.Fatalf("%d queues, kept %v", c.WriteQueueNums, table.Kept(c))
	}
}

// A file with the broker's own topics of other sizes keeps them; what is missing is
// added, and the version tells name servers so.
func TestOpenAddsMissingSystemTopics(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir)
	write(t, o.Path, `{"dataVersion":{"counter":7,"stateVersion":0,"timestamp":5},"topicConfigTable":{
		"TBW102":{"perm":6,"readQueueNums":2,"writeQueueNums":2,"topicName":"TBW102"},
		"Orders":{"order":true}}}`)
	table := open(t, o)
	if c := table.Get("TBW102"); c.Perm != 6 || c.WriteQueueNums != 2 {
		t.Fatalf("TBW102 is %+v", c.TopicConfig)
	}
	if c := table.Get("Orders"); !c.Order || c.TopicName != "Orders" || c.ReadQueueNums != 16 || c.Perm != 6 {
		t.Fatalf("Orders is %+v", c.TopicConfig)
	}
	if table.Get("SCHEDULE_TOPIC_XXXX") == nil || table.Version().Counter != 8 {
		t.Fatalf("version %v", table.Version())
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if again := open(t, o); again.Version().Counter != 8 {
		t.Fatalf("opened again: version %v", again.Version())
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What RocketMQ wrote must be read, and what is written must be what RocketMQ reads:
// the same keys, nothing else.
func TestFilesOfRocketMQ(t *testing.T) {
	for _, release := range []string{"4.9.7", "5.5.0"} {
		t.Run(release, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", "topics-"+release+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want file
			if err := javajson.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			o := options(t, t.TempDir())
			write(t, o.Path, string(b))
			table := open(t, o)
			for name, c := range want.TopicConfigTable {
				if got := table.Get(name); got == nil || !got.Equal(c) {
					t.Fatalf("%s: got %+v, want %+v", name, got, c)
				}
			}
			if err := table.Close(); err != nil {
				t.Fatal(err)
			}
			var again file
			if err := javajson.Unmarshal(table.encode(), &again); err != nil {
				t.Fatal(err)
			}
			for name, c := range want.TopicConfigTable {
				if !again.TopicConfigTable[name].Equal(c) {
					t.Fatalf("%s was written as %+v, want %+v", name, again.TopicConfigTable[name], c)
				}
			}
		})
	}
}

func TestDamagedFile(t *testing.T) {
	good := `{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},"topicConfigTable":{"Orders":{"perm":6}}}`
	for _, damage := range []string{"", strings.Repeat("\x00", 500), good[:len(good)/2], "[]", `{"topicConfigTable":7}`, `{"dataVersion":{}}`, "null"} {
		t.Run(fmt.Sprintf("%.20q", damage), func(t *testing.T) {
			o := options(t, t.TempDir())
			write(t, o.Path, damage)
			if _, err := Open(o); err == nil || !strings.Contains(err.Error(), o.Path) || !strings.Contains(err.Error(), "restore") {
				t.Fatalf("without a generation before: %v", err)
			}
			write(t, o.Path+".bak", good)
			var log strings.Builder
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			table := open(t, o)
			if table.Get("Orders") == nil {
				t.Fatal("the generation before was not used")
			}
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), o.Path) {
				t.Fatalf("nothing was said: %s", &log)
			}
		})
	}
}

func TestJournalOlderThanTheFile(t *testing.T) {
	dir := t.TempDir()
	table := open(t, options(t, dir))
	update(t, table, config("Orders", 3), "")
	crashed := copyFolder(t, dir)
	// Another server opens the folder, knows no journal, and goes on for a while.
	o := options(t, crashed)
	write(t, o.Path, fmt.Sprintf(`{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":%d},"topicConfigTable":{"Other":{"perm":6}}}`,
		time.Now().Add(time.Hour).UnixMilli()))
	again := open(t, o)
	if again.Get("Orders") != nil || again.Get("Other") == nil {
		t.Fatal("an old journal was put over a newer file")
	}
}

// Twenty thousand topics, each safe on disk before the next: far from a rewrite of
// the whole file for each.
func TestManyTopics(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	const n = 20_000
	var wg sync.WaitGroup
	for w := range 20 {
		wg.Go(func() {
			for i := range n / 20 {
				if _, err := table.AutoCreate(FirstSend{Topic: fmt.Sprintf("T-%d-%d", w, i), Template: "TBW102", Queues: 4}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	began := time.Now()
	wg.Wait()
	if took := time.Since(began); took > 60*time.Second {
		t.Errorf("took %v", took)
	}
	if table.Len() < n {
		t.Fatalf("%d topics", table.Len())
	}
}

func TestLookUpsTakeNoMemory(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	name := []byte("TBW102")
	if n := testing.AllocsPerRun(100, func() {
		if table.GetBytes(name) == nil || table.EnsureRetry("", 1, false, 0) == nil {
			t.Fatal("lost")
		}
	}); n > 1 { // the retry topic's name
		t.Fatalf("%v allocations", n)
	}
}
