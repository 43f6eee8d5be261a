// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(dir string) Options {
	return Options{
		Path: filepath.Join(dir, "subscriptionGroup.json"), Logger: slog.New(slog.DiscardHandler),
		AutoCreate: func() bool { return true }, CreateSystem: func() bool { return true },
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestGroupsOfAFreshBroker(t *testing.T) {
	table := open(t, options(t.TempDir()))
	var names []string
	_, all := table.All()
	for _, c := range all {
		names = append(names, c.GroupName)
	}
	want := []string{
		"CID_ONS-HTTP-PROXY", "CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL", "CID_RMQ_SYS_TRANS",
		"FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "TOOLS_CONSUMER",
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Fatal(d)
	}
}

func TestFind(t *testing.T) {
	longest := strings.Repeat("g", 248)
	for _, c := range []struct {
		situation    string
		auto, system bool // what the settings allow
		name         string
		created      bool
	}{
		{"the usual", true, true, "G", true},
		{"not allowed", false, true, "G", false},
		{"a group of the system, groups in general not allowed", false, true, "CID_RMQ_SYS_X", true},
		{"a group of the system, not allowed either", false, false, "CID_RMQ_SYS_X", false},
		{"a group of the system, groups in general allowed", true, false, "CID_RMQ_SYS_X", true},
		{"longest that administrators may make", true, true, strings.Repeat("g", 120), true},
		{"longer, as other clients allow", true, true, strings.Repeat("g", 121), true},
		{"its retry topic just fits", true, true, longest, true},
		{"its retry topic does not fit", true, true, longest + "g", false},
		{"blank", true, true, "", false},
		{"a character not allowed", true, true, "a b", false},
		{"a long name with one", true, true, longest[:247] + ".", false},
	} {
		t.Run(c.situation, func(t *testing.T) {
			o := options(t.TempDir())
			o.AutoCreate, o.CreateSystem = func() bool { return c.auto }, func() bool { return c.system }
			table := open(t, o)
			if table.Get(c.name) != nil || table.GetBytes([]byte(c.name)) != nil {
				t.Fatal("a look-up created it")
			}
			v := table.Version()
			got := table.FindBytes([]byte(c.name))
			if (got != nil) != c.created || got != table.Find(c.name) {
				t.Fatalf("found %v", got)
			}
			if moved := table.Version() != v; moved != c.created {
				t.Fatalf("the version moved: %v", moved)
			}
		})
	}
}

// A group made by use is in memory first; Flush is for those who answer for it.
func TestFlushKeepsGroupsMadeByUse(t *testing.T) {
	dir := t.TempDir()
	table := open(t, options(dir))
	table.Find("G")
	must(t, table.Flush())
	journal, err := os.ReadFile(filepath.Join(dir, "subscriptionGroup.json.journal"))
	must(t, err)
	file, _ := os.ReadFile(filepath.Join(dir, "subscriptionGroup.json"))
	copied := t.TempDir()
	write(t, filepath.Join(copied, "subscriptionGroup.json.journal"), string(journal))
	if file != nil {
		write(t, filepath.Join(copied, "subscriptionGroup.json"), string(file))
	}
	if open(t, options(copied)).Get("G") == nil {
		t.Fatal("a crash forgets the group")
	}
}

func TestUpdateReplacesAllSettings(t *testing.T) {
	table := open(t, options(t.TempDir()))
	c := protocol.NewSubscriptionGroupConfig("G")
	c.RetryMaxTimes = 3
	must(t, table.Update(c))
	c.RetryMaxTimes = 99 // the caller's copy is its own
	if got := table.Get("G"); got.RetryMaxTimes != 3 {
		t.Fatalf("got %+v", got)
	}
	must(t, table.Update(protocol.NewSubscriptionGroupConfig("G"), protocol.NewSubscriptionGroupConfig("H")))
	if table.Get("G").RetryMaxTimes != 16 || table.Get("H") == nil {
		t.Fatal("not replaced")
	}
}

func TestUpdateAttributes(t *testing.T) {
	table := open(t, options(t.TempDir()))
	set := func(name string, attributes map[string]string) error {
		c := protocol.NewSubscriptionGroupConfig(name)
		c.Attributes = attributes
		return table.Update(c)
	}
	must(t, set("G", map[string]string{"+lite.bind.topic": "T"}))
	must(t, set("G", nil))
	if d := cmp.Diff(map[string]string{"lite.bind.topic": "T"}, table.Get("G").Attributes); d != "" {
		t.Fatal(d)
	}
	if err := set("G", map[string]string{"+no.such": "1"}); err == nil || !strings.Contains(err.Error(), "unsupported key: no.such") {
		t.Fatalf("got %v", err)
	}
	if err := set("H", map[string]string{"-lite.bind.topic": ""}); err == nil || table.Get("H") != nil {
		t.Fatalf("got %v", err)
	}
	must(t, set("G", map[string]string{"-lite.bind.topic": ""}))
	if n := len(table.Get("G").Attributes); n != 0 {
		t.Fatalf("%d attributes left", n)
	}
}

func TestDeleteDoesNotBringItBack(t *testing.T) {
	table := open(t, options(t.TempDir()))
	table.Find("G")
	must(t, table.SetReadable("G", "T", false))
	deleted, err := table.Delete("G")
	if err != nil || !deleted || table.Get("G") != nil || len(table.Forbidden()) != 0 {
		t.Fatalf("%v, %v, %v", deleted, err, table.Forbidden())
	}
	if deleted, err = table.Delete("G"); err != nil || deleted {
		t.Fatalf("again: %v, %v", deleted, err)
	}
}

func TestForbidden(t *testing.T) {
	dir := t.TempDir()
	table := open(t, options(dir))
	g, topic := []byte("G"), []byte("T")
	if !table.Readable(g, topic) {
		t.Fatal("forbidden from the start")
	}
	v := table.Version()
	must(t, table.SetReadable("G", "T", true))
	if table.Version() != v {
		t.Fatal("a change of nothing")
	}
	must(t, table.SetReadable("G", "T", false))
	must(t, table.SetReadable("G", "U", false))
	must(t, table.SetReadable("G", "U", true))
	if table.Readable(g, topic) || !table.Readable(g, []byte("U")) || !table.Readable([]byte("H"), topic) {
		t.Fatalf("got %v", table.Forbidden())
	}
	if n := testing.AllocsPerRun(100, func() { table.Readable(g, topic) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
	must(t, table.Close())
	table = open(t, options(dir))
	if d := cmp.Diff(map[string]map[string]int32{"G": {"T": 4}}, table.Forbidden()); d != "" {
		t.Fatal(d)
	}
	must(t, table.SetReadable("G", "T", true))
	must(t, table.Close())
	if again := open(t, options(dir)); len(again.Forbidden()) != 0 {
		t.Fatalf("got %v", again.Forbidden())
	}
}

func TestReopenAfterACrash(t *testing.T) {
	dir := t.TempDir()
	table := open(t, options(dir))
	c := protocol.NewSubscriptionGroupConfig("G")
	c.GroupRetryPolicy = &protocol.GroupRetryPolicy{Type: protocol.RetryCustomized, CustomizedRetryPolicy: &protocol.CustomizedRetryPolicy{Next: []int64{1000, 5000}}}
	c.SubscriptionDataSet = []protocol.SimpleSubscriptionData{{Topic: "T", Expression: "*", ExpressionType: "TAG", Version: 4}}
	must(t, table.Update(c, protocol.NewSubscriptionGroupConfig("Gone")))
	must(t, table.SetReadable("G", "T", false))
	if _, err := table.Delete("Gone"); err != nil {
		t.Fatal(err)
	}
	crashed := filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(crashed, os.DirFS(dir)))
	again := open(t, options(crashed))
	_, want := table.All()
	_, got := again.All()
	if d := cmp.Diff(want, got) + cmp.Diff(table.Forbidden(), again.Forbidden()); d != "" {
		t.Fatal(d)
	}
	if again.Version() != table.Version() {
		t.Fatalf("version %v, want %v", again.Version(), table.Version())
	}
}

func TestFilesOfRocketMQ(t *testing.T) {
	for _, release := range []string{"4.9.7", "5.5.0"} {
		t.Run(release, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", "groups-"+release+".json"))
			must(t, err)
			var want, again file
			must(t, javajson.Unmarshal(b, &want))
			o := options(t.TempDir())
			write(t, o.Path, string(b))
			table := open(t, o)
			must(t, javajson.Unmarshal(table.encode(), &again))
			for name, c := range want.SubscriptionGroupTable {
				if d := cmp.Diff(c, table.Get(name)) + cmp.Diff(c, again.SubscriptionGroupTable[name]); d != "" {
					t.Fatalf("%s: %s", name, d)
				}
			}
			if table.Version() != want.DataVersion {
				t.Fatalf("version %v, want %v", table.Version(), want.DataVersion)
			}
		})
	}
}

func TestDamagedFile(t *testing.T) {
	good := `{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},"subscriptionGroupTable":{"G":{"retryMaxTimes":3}}}`
	for _, damage := range []string{"", strings.Repeat("\x00", 500), good[:len(good)/2], "[]", `{"subscriptionGroupTable":7}`, `{"dataVersion":{}}`} {
		t.Run(fmt.Sprintf("%.20q", damage), func(t *testing.T) {
			o := options(t.TempDir())
			write(t, o.Path, damage)
			if _, err := Open(o); err == nil || !strings.Contains(err.Error(), o.Path) || !strings.Contains(err.Error(), "restore") {
				t.Fatalf("without a generation before: %v", err)
			}
			write(t, o.Path+".bak", good)
			var log strings.Builder
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			table := open(t, o)
			if c := table.Get("G"); c == nil || c.RetryMaxTimes != 3 || !c.ConsumeEnable {
				t.Fatalf("the generation before was not used: %+v", c)
			}
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), o.Path) {
				t.Fatalf("nothing was said: %s", &log)
			}
		})
	}
}

func TestPage(t *testing.T) {
	table := open(t, options(t.TempDir()))
	version, first, total := table.Page(0, 3, nil)
	_, second, _ := table.Page(3, 3, &version)
	if total != table.Len() || len(first) != 3 || first[2].GroupName >= second[0].GroupName {
		t.Fatalf("%d groups, %v, %v", total, first, second)
	}
	if _, again, _ := table.Page(3, 3, &protocol.DataVersion{}); again[0] != first[0] {
		t.Fatal("another version does not begin anew")
	}
}

// Twenty thousand groups come to be by use, from many goroutines.
func TestManyGroups(t *testing.T) {
	table := open(t, options(t.TempDir()))
	var wg sync.WaitGroup
	for w := range 20 {
		wg.Go(func() {
			for i := range 1000 {
				if table.Find(fmt.Sprintf("G-%d-%d", w, i)) == nil {
					t.Error("not created")
				}
			}
		})
	}
	wg.Wait()
	if table.Len() < 20_000 {
		t.Fatalf("%d groups", table.Len())
	}
}
