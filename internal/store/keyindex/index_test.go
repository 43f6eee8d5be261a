// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package keyindex

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

func openIndex(t testing.TB, fs faultfs.FS, dir string, slots, entries int32) *Index {
	t.Helper()
	x, err := Open(Config{FS: fs, Dir: dir, Slots: slots, Entries: entries, Tags: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func record(topic string, physical, storeTime int64, properties ...string) *message.Record {
	r := &message.Record{Topic: []byte(topic), PhysicalOffset: physical, StoreTimestamp: storeTime}
	for i := 0; i+1 < len(properties); i += 2 {
		r.Properties = message.AppendProperty(r.Properties, properties[i], properties[i+1])
	}
	return r
}

func add(t testing.TB, x *Index, records ...*message.Record) {
	t.Helper()
	for _, r := range records {
		if err := x.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

// find gives what a query for a key finds, newest first.
func find(t testing.TB, x *Index, topic, key string, begin, end int64) (found []int64) {
	t.Helper()
	err := x.Query([]byte(topic), []byte(key), false, begin, end, func(physical int64) bool {
		found = append(found, physical)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHash(t *testing.T) {
	tests := []struct {
		topic, key string
		tags       bool
		want       int32
	}{
		{"TopicTest", "KEY1", false, 1656969516},
		{"", "polygenelubricants", false, positive(31 * 0)}, // filled in below
		{"AaTopic", "Aa", false, 10606476},
		{"BBTopic", "BB", false, 10606476},
		{"S_Normal", "TagA", true, 341033702},
	}
	tests[1].want = positive(message.HashString([]byte("#polygenelubricants")))
	for _, tt := range tests {
		if got := keyHash([]byte(tt.topic), []byte(tt.key), tt.tags); got != tt.want {
			t.Errorf("%s#%s: %d, want %d", tt.topic, tt.key, got, tt.want)
		}
	}
	if positive(math.MinInt32) != 0 || positive(-5) != 5 || positive(7) != 7 {
		t.Error("positive is wrong")
	}
	for _, key := range []string{"", "k", "标签", "a标签b", "x\U0001F600y", "\xff"} {
		if got, want := keyHash([]byte("T"), []byte(key), false), positive(message.HashString([]byte("T#"+key))); got != want {
			t.Errorf("T#%s: %d, want %d", key, got, want)
		}
	}
}

// The first entry of a file, byte for byte.
func TestFileBytes(t *testing.T) {
	dir := t.TempDir()
	x := openIndex(t, faultfs.OS, dir, 5_000_000, 100)
	add(t, x, record("TopicTest", 4096, 1700000000123, message.PropKeys, "KEY1"))
	if _, err := x.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	names, _ := os.ReadDir(dir)
	if len(names) != 1 || len(names[0].Name()) != 17 {
		t.Fatalf("files %v", names)
	}
	b, err := os.ReadFile(filepath.Join(dir, names[0].Name()))
	if err != nil || len(b) != 40+4*5_000_000+20*100 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	tests := []struct {
		what string
		at   int
		want string
	}{
		{"header", 0, "0000018bcfe5687b" + "0000018bcfe5687b" + "0000000000001000" + "0000000000001000" + "00000001" + "00000002"},
		{"slot", 40 + 4*1969516, "00000001"},
		{"slot before", 40 + 4*1969515, "00000000"},
		{"entry 0", 20_000_040, strings.Repeat("00", 20)},
		{"entry 1", 20_000_060, "62c3592c" + "0000000000001000" + "00000000" + "00000000"},
	}
	for _, tt := range tests {
		if got := hex.EncodeToString(b[tt.at : tt.at+len(tt.want)/2]); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.what, got, tt.want)
		}
	}
}

func TestQueryOverFiles(t *testing.T) {
	x := openIndex(t, faultfs.OS, t.TempDir(), 4, 10)
	for i := range int64(50) { // ten records of one key each in every file but the last
		add(t, x, record("T", i*10, 1000_000+i*1000, message.PropKeys, fmt.Sprintf("k%d", i%5)))
	}
	if len(x.files) != 6 {
		t.Errorf("%d files", len(x.files))
	}
	all := []int64{450, 400, 350, 300, 250, 200, 150, 100, 50, 0}
	if got := find(t, x, "T", "k0", 0, math.MaxInt64); !slices.Equal(keyed(got, 5), all) {
		t.Errorf("found %v", got)
	}
	for _, tt := range []struct {
		begin, end int64
		want       []int64
	}{{1010_000, 1020_000, []int64{200, 150, 100}}, {1049_000, math.MaxInt64, nil}, {0, 999_000, nil}, {0, 1000_000, []int64{0}}, {1045_000, 1045_000, []int64{450}}} {
		got := keyed(find(t, x, "T", "k0", tt.begin, tt.end), 5)
		for _, want := range tt.want {
			if !slices.Contains(got, want) {
				t.Errorf("%d..%d: found %v, want %v", tt.begin, tt.end, got, tt.want)
			}
		}
		if len(got) > len(tt.want)+2 { // up to a second more on each side
			t.Errorf("%d..%d: found %v, want %v", tt.begin, tt.end, got, tt.want)
		}
	}
	count := 0
	x.Query([]byte("T"), []byte("k0"), false, 0, math.MaxInt64, func(int64) bool { count++; return count < 3 })
	if count != 3 {
		t.Errorf("asked for 3, got %d", count)
	}
	if removed, err := x.Shorten(255); err != nil || removed != 2 {
		t.Errorf("%d files removed, %v", removed, err)
	}
	if got := keyed(find(t, x, "T", "k0", 0, math.MaxInt64), 5); got[0] != 450 || got[len(got)-1] < 180 {
		t.Errorf("after that found %v", got)
	}
	if removed, err := x.Shorten(1 << 40); err != nil || removed != 3 || len(x.files) != 1 {
		t.Errorf("%d files removed, %v", removed, err)
	}
}

// keyed leaves the offsets whose record has key number 0 of n.
func keyed(found []int64, n int64) []int64 {
	return slices.DeleteFunc(slices.Clone(found), func(p int64) bool { return p/10%n != 0 })
}

func TestAddChooses(t *testing.T) {
	x := openIndex(t, faultfs.OS, t.TempDir(), 100, 1000)
	rolledBack := record("T", 10, 1000, message.PropKeys, "back")
	rolledBack.SysFlag = message.TransactionRollback
	prepared := record("T", 20, 1000, message.PropKeys, "half")
	prepared.SysFlag = message.TransactionPrepared
	add(t, x, rolledBack, prepared, record("T", 30, 1000), record("T", 40, 1000, message.PropUniqueKey, "U", message.PropKeys, " a  b ", message.PropTags, "tag"),
		record("T", 25, 1000, message.PropKeys, "late"))
	for key, want := range map[string][]int64{"back": nil, "half": {20}, "U": {40}, "a": {40}, "b": {40}, "": nil, "tag": nil, "late": nil} {
		if got := find(t, x, "T", key, 0, math.MaxInt64); !slices.Equal(got, want) {
			t.Errorf("key %q: %v, want %v", key, got, want)
		}
	}
	if f := x.files[0]; f.head.Count != 6 {
		t.Errorf("%d entries", f.head.Count-1)
	}
	if at, physical := x.Last(); at != 1000 || physical != 40 {
		t.Errorf("last is %d at %d", physical, at)
	}
}

// Records that were lost with the log may be followed by others: the index leads to those, whatever slots on the disk say.
func TestRestoreWithOtherRecords(t *testing.T) {
	dir := t.TempDir()
	x := openIndex(t, faultfs.OS, dir, 3000, 1000)
	for i := range int64(50) {
		add(t, x, record("T", i*10, 1000, message.PropKeys, fmt.Sprint("k", i)))
	}
	mark, err := x.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(50) { // lost
		add(t, x, record("T", 500+i*10, 1000, message.PropKeys, fmt.Sprint("k", i)))
	}
	if _, err := x.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	x.Close()
	x = openIndex(t, faultfs.OS, dir, 3000, 1000)
	if err := x.Restore(mark, false); err != nil {
		t.Fatal(err)
	}
	for i := range int64(50) { // in their place
		add(t, x, record("T", 500+i*10, 1000, message.PropKeys, fmt.Sprint("other", i)))
	}
	if _, err := x.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	for i := range int64(50) {
		if got := find(t, x, "T", fmt.Sprint("k", i), 0, math.MaxInt64); !slices.Equal(got, []int64{i * 10}) {
			t.Errorf("key k%d: %v", i, got)
		}
		if got := find(t, x, "T", fmt.Sprint("other", i), 0, math.MaxInt64); !slices.Equal(got, []int64{500 + i*10}) {
			t.Errorf("key other%d: %v", i, got)
		}
	}
}

// After a power cut at any operation the index, brought back to its last durable position and given the records that
// follow again, is as it would have been.
func TestPowerCuts(t *testing.T) {
	var records []*message.Record
	for i := range int64(120) {
		records = append(records, record("T", i*10, 1000_000+i*100, message.PropUniqueKey, fmt.Sprint("u", i), message.PropKeys, fmt.Sprintf("k%d", i%7)))
	}
	want := map[string][]int64{}
	for i := len(records) - 1; i >= 0; i-- {
		key := fmt.Sprintf("k%d", i%7)
		want[key] = append(want[key], int64(i*10))
	}
	for cut := 1; cut < 120; cut++ {
		disk := faultfs.NewDisk()
		disk.MkdirAll("/store")
		disk.SyncAll("/")
		disk.CutAt(disk.Ops() + cut)
		mark, next := Position{}, 0
		x, err := Open(Config{FS: disk, Dir: "/store/index", Slots: 10, Entries: 50})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range records {
			if err := x.Add(r); err != nil {
				break
			}
			if i%15 == 14 {
				p, err := x.Checkpoint()
				if err != nil {
					break
				}
				mark, next = p, i+1
			}
		}
		x.Close()
		disk = disk.Survive(uint64(cut))
		x = openIndex(t, disk, "/store/index", 10, 50)
		if !x.Whole(mark) {
			t.Fatalf("cut %d: file %d of the last mark is gone", cut, mark.File)
		}
		if err := x.Restore(mark, false); err != nil {
			t.Fatal(err)
		}
		add(t, x, records[next:]...)
		for key, offsets := range want {
			got := slices.DeleteFunc(find(t, x, "T", key, 0, math.MaxInt64), func(p int64) bool { return fmt.Sprintf("k%d", p/10%7) != key })
			if !slices.Equal(got, offsets) {
				t.Fatalf("cut %d: key %s: %v, want %v", cut, key, got, offsets)
			}
		}
	}
}

func TestRestoreBefore(t *testing.T) {
	dir := t.TempDir()
	x := openIndex(t, faultfs.OS, dir, 4, 10)
	for i := range int64(25) {
		add(t, x, record("T", i*10, 1000+i, message.PropKeys, "k"))
	}
	if _, err := x.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	x.Close()
	x = openIndex(t, faultfs.OS, dir, 4, 10)
	if err := x.RestoreBefore(1000 + 8); err != nil {
		t.Fatal(err)
	}
	if _, physical := x.Last(); physical != 80 || len(x.files) != 1 {
		t.Errorf("last is %d in %d files", physical, len(x.files))
	}
	if err := x.Clear(); err != nil || !x.Empty() {
		t.Errorf("cleared: %v", err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("files %v", names)
	}
}

// A full disk stops the index, and it goes on when there is space.
func TestFullDisk(t *testing.T) {
	disk := faultfs.NewDisk()
	x := openIndex(t, disk, "/index", 10, 100)
	disk.SetRoom(0)
	r := record("T", 10, 1000, message.PropKeys, "k")
	if err := x.Add(r); err != nil {
		t.Fatal(err) // the file is sparse: nothing is written yet
	}
	if _, err := x.Checkpoint(); err == nil {
		t.Error("a checkpoint on a full disk")
	}
	disk.SetRoom(-1)
	if _, err := x.Checkpoint(); err != nil {
		t.Error(err)
	}
	x.Close()
	x = openIndex(t, disk, "/index", 10, 100)
	if got := find(t, x, "T", "k", 0, math.MaxInt64); !slices.Equal(got, []int64{10}) {
		t.Errorf("found %v", got)
	}
}

// Whatever is in an index file, queries end, and records can be added and found.
func FuzzFile(f *testing.F) {
	h := Header{1000, 2000, 10, 20, 1, 3}
	good := h.Append(nil)
	for _, v := range []byte{0, 2, 0, 0} {
		good = append(good, 0, 0, 0, v)
	}
	good = append(good, make([]byte, entrySize)...)
	for i := range int32(2) {
		good = Entry{Hash: 5, Physical: int64(10 * i), Seconds: 0, Before: i}.Append(good)
	}
	f.Add(good, "k", true)
	f.Add(make([]byte, 100), "k", false)
	f.Fuzz(func(t *testing.T, content []byte, key string, keep bool) {
		const slots, entries = 4, 8
		disk := faultfs.NewDisk()
		disk.MkdirAll("/index")
		file, err := disk.Open("/index/20260101000000000", os.O_RDWR|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		file.Truncate(fileSize(slots, entries))
		file.WriteAt(content[:min(len(content), int(fileSize(slots, entries)))], 0)
		x := openIndex(t, disk, "/index", slots, entries)
		if keep {
			err = x.Continue()
		} else {
			err = x.Restore(Position{File: 20260101000000000, Header: Header{Count: 2}}, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		find(t, x, "T", key, 0, math.MaxInt64)
		r := record("T", math.MaxInt64, 5000, message.PropKeys, "new")
		if err := x.Add(r); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range x.files { // a file may claim a begin that no query meets
			found = found || f.head.EndPhysical == math.MaxInt64
		}
		if !found {
			t.Fatal("the new record is not in the index")
		}
		find(t, x, "T", "new", 0, math.MaxInt64)
		if _, err := x.Checkpoint(); err != nil {
			t.Fatal(err)
		}
	})
}

// A record with the properties that clients give: unique key, a key, tags, and more.
func BenchmarkAdd(b *testing.B) {
	x := openIndex(b, faultfs.OS, b.TempDir(), 1<<20, 4<<20)
	r := record("BenchTopic", 0, 1_700_000_000_000, "KEYS", "order-4711", "TAGS", "TagA",
		"UNIQ_KEY", "7F0000010A1C18B4AAC2000000000000", "WAIT", "true", "color", "blue", "CLUSTER", "DefaultCluster")
	unique := r.Properties[strings.Index(string(r.Properties), "7F"):][:32]
	b.ReportAllocs()
	for i := range b.N {
		copy(unique[16:], fmt.Appendf(unique[16:16], "%016X", i))
		r.PhysicalOffset += 300
		if err := x.Add(r); err != nil {
			b.Fatal(err)
		}
	}
}
