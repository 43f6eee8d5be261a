// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/segment"
)

const perFile = 10 // units in a file of the tests

func newSet(t testing.TB, fs faultfs.FS, dir string) *Set {
	h := segment.NewHandles(fs, 4)
	t.Cleanup(func() { h.Close() })
	return NewSet(h, Simple, dir, perFile*UnitSize)
}

func newQueue(t testing.TB, s *Set) *Queue {
	t.Helper()
	q, err := s.New(Name{"T", 0})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// unit is the unit of a message of 100 bytes, the n-th of the log.
func unit(n int64) Unit { return Unit{PhysicalOffset: n * 100, Size: 100, TagsCode: n} }

// fill puts units n to end-1 of a queue whose messages are all there are.
func fill(t testing.TB, q *Queue, n, end int64) {
	t.Helper()
	for ; n < end; n++ {
		if place, _ := q.Put(n, unit(n)); place != Next {
			t.Fatalf("unit %d: place %d", n, place)
		}
	}
}

func check(t testing.TB, q *Queue, low, end int64) {
	t.Helper()
	if got := q.End(); got != end {
		t.Errorf("end is %d, want %d", got, end)
	}
	for n := low; n < end; n++ {
		if u, err := q.Unit(n); err != nil || u != unit(n) {
			t.Fatalf("unit %d is %+v, %v", n, u, err)
		}
	}
	for _, n := range []int64{-1, end, end + 1} {
		if _, err := q.Unit(n); err == nil {
			t.Errorf("there is a unit %d", n)
		}
	}
}

func TestUnitBytes(t *testing.T) {
	tests := []struct {
		u    Unit
		want string
	}{
		{Unit{PhysicalOffset: 4096, Size: 134, TagsCode: 2598919}, "000000000000100000000086000000000027a807"},
		{filler, "00000000000000007fffffff0000000000000000"},
		{Unit{PhysicalOffset: 1, Size: 2, TagsCode: -847619372}, "000000000000000100000002ffffffffcd7a5ad4"},
	}
	for _, tt := range tests {
		b := AppendUnit(nil, tt.u)
		if hex.EncodeToString(b) != tt.want || DecodeUnit(b) != tt.u {
			t.Errorf("%+v is %x", tt.u, b)
		}
	}
}

// Units are the same in memory, in the files, and after loading; in between there may be saves at any place.
func TestPutSaveLoad(t *testing.T) {
	for _, saves := range [][]int64{nil, {35}, {1, 2, 3}, {9, 10, 11, 20, 30}, {10, 20, 30, 35}} {
		t.Run(fmt.Sprint(saves), func(t *testing.T) {
			dir := t.TempDir()
			s := newSet(t, faultfs.OS, dir)
			q := newQueue(t, s)
			at := int64(0)
			for _, n := range saves {
				fill(t, q, at, n)
				if err := q.Save(); err != nil {
					t.Fatal(err)
				}
				check(t, q, 0, n)
				at = n
			}
			fill(t, q, at, 35)
			check(t, q, 0, 35)
			if err := q.Save(); err != nil {
				t.Fatal(err)
			}
			if s.Unsaved() != 0 || !q.Dirty() {
				t.Errorf("%d bytes unsaved, dirty %v", s.Unsaved(), q.Dirty())
			}
			if err := q.Sync(); err != nil || q.Dirty() {
				t.Errorf("dirty after sync: %v, %v", q.Dirty(), err)
			}
			for _, trust := range []Trust{Whole, Below, Doubtful} {
				again := newQueue(t, newSet(t, faultfs.OS, dir))
				if err := again.Load(math.MaxInt64, trust); err != nil {
					t.Fatal(err)
				}
				check(t, again, 0, 35)
				if again.Physical() != 3500 || again.Len() != 35 {
					t.Errorf("physical %d, %d units", again.Physical(), again.Len())
				}
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	q := newQueue(t, newSet(t, faultfs.OS, t.TempDir()))
	fill(t, q, 0, 5)
	tests := []struct {
		name string
		n    int64
		u    Unit
		want Place
	}{
		{"the same again", 4, unit(4), Known},
		{"an older message", 2, unit(2), Known},
		{"an older message with a number to come", 9, unit(3), Known},
		{"a number too high", 6, unit(6), Ahead},
		{"a newer message with an old number", 2, unit(7), Restart},
		{"the next", 5, unit(5), Next},
	}
	for _, tt := range tests {
		if place, _ := q.Put(tt.n, tt.u); place != tt.want {
			t.Errorf("%s: place %d, want %d", tt.name, place, tt.want)
		}
	}
	check(t, q, 0, 6)
	q.Fill(8)
	if u, err := q.Unit(7); err != nil || !u.Filler() || q.End() != 8 {
		t.Errorf("filled up: %+v, %v, end %d", u, err, q.End())
	}
	if err := q.Truncate(3); err != nil {
		t.Fatal(err)
	}
	q.physical = unit(2).end()
	fill(t, q, 3, 4)
	check(t, q, 0, 4)
	q.Remove()
	if place, _ := q.Put(4, unit(4)); place != Known || q.End() != 4 {
		t.Errorf("a removed queue takes units: %d, end %d", place, q.End())
	}
}

// A queue that begins in the middle of a file is filled up before that, as RocketMQ does.
func TestBeginsLater(t *testing.T) {
	dir := t.TempDir()
	q := newQueue(t, newSet(t, faultfs.OS, dir))
	fill(t, q, 23, 31)
	check(t, q, 23, 31)
	if low, end := q.Range(0); low != 23 || end != 31 {
		t.Errorf("range %d..%d", low, end)
	}
	if err := q.Save(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "T", "0", segment.Name(20*UnitSize)))
	if err != nil || !bytes.Equal(b[:3*UnitSize], bytes.Repeat(AppendUnit(nil, filler), 3)) || DecodeUnit(b[3*UnitSize:]) != unit(23) {
		t.Errorf("file %x, %v", b[:4*UnitSize], err)
	}
	before := q.Len()
	again := newQueue(t, newSet(t, faultfs.OS, dir))
	if err := again.Load(math.MaxInt64, Whole); err != nil {
		t.Fatal(err)
	}
	check(t, again, 23, 31)
	if low, end := again.Range(0); low != 23 || end != 31 || again.Len() != before {
		t.Errorf("loaded: %d..%d, %d units, were %d", low, end, again.Len(), before)
	}
	if place, _ := again.Put(22, unit(5)); place != Known {
		t.Errorf("a message before the beginning: place %d", place)
	}
}

func TestRangeAndShorten(t *testing.T) {
	s := newSet(t, faultfs.OS, t.TempDir())
	q := newQueue(t, s)
	fill(t, q, 0, 35)
	if err := q.Save(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		logMin   int64
		low      int64
		removed  int64 // units
		filesNow int
	}{
		{0, 0, 0, 4}, {50, 1, 0, 4}, {100, 1, 0, 4}, {900, 9, 0, 4}, {901, 10, 10, 3}, {2000, 20, 10, 2}, {3400, 34, 10, 1}, {3401, 35, 0, 1}, {9999, 35, 0, 1},
	}
	for _, tt := range tests {
		for range 2 { // the second time it is remembered
			if low, end := q.Range(tt.logMin); low != tt.low || end != 35 {
				t.Errorf("log from %d: range %d..%d, want %d", tt.logMin, low, end, tt.low)
			}
		}
		before := q.Len()
		removed, err := q.Shorten(tt.logMin)
		if err != nil || removed != tt.removed || before-q.Len() != removed || q.Files() != tt.filesNow {
			t.Errorf("log from %d: %d units removed, %v, %d files left, want %d and %d", tt.logMin, removed, err, q.Files(), tt.removed, tt.filesNow)
		}
	}
	fill(t, q, 35, 36)
	if low, end := q.Range(9999); low != 35 || end != 36 {
		t.Errorf("with a new message %d..%d", low, end)
	}
}

// What a crash may leave of the files, and what Load makes of it.
func TestLoadAfterCrash(t *testing.T) {
	write := func(q *Queue, n int64, b []byte) { q.files.WriteAt(b, n*UnitSize) }
	tests := []struct {
		name  string
		spoil func(q *Queue)
		limit int64
		trust Trust
		end   int64
	}{
		{"units above the limit", func(*Queue) {}, 1700, Below, 17},
		{"all units above the limit", func(*Queue) {}, 0, Below, 0},
		{"the limit at the end of a file", func(*Queue) {}, 2000, Below, 20},
		{"a unit of zeros, nothing known", func(q *Queue) { write(q, 28, make([]byte, UnitSize)) }, math.MaxInt64, Doubtful, 28},
		{"offsets that go back, nothing known", func(q *Queue) { write(q, 31, AppendUnit(nil, unit(3))) }, math.MaxInt64, Doubtful, 31},
		{"random bytes at the end", func(q *Queue) { write(q, 35, bytes.Repeat([]byte{0xA5}, 40)) }, 3500, Below, 35},
		{"a unit of a lost message behind the end", func(q *Queue) { write(q, 36, AppendUnit(nil, unit(36))) }, 3500, Below, 35},
		{"a file missing", func(q *Queue) { q.files.Remove(15 * UnitSize) }, math.MaxInt64, Below, 10},
		{"the last file missing", func(q *Queue) { q.files.Remove(30 * UnitSize) }, math.MaxInt64, Whole, 30},
		{"all files missing", func(q *Queue) { q.files.RemoveFrom(0) }, math.MaxInt64, Whole, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			q := newQueue(t, newSet(t, faultfs.OS, dir))
			fill(t, q, 0, 35)
			if err := q.Save(); err != nil {
				t.Fatal(err)
			}
			tt.spoil(q)
			q = newQueue(t, newSet(t, faultfs.OS, dir))
			if err := q.Load(tt.limit, tt.trust); err != nil {
				t.Fatal(err)
			}
			check(t, q, 0, tt.end)
			// What is behind the end does not come back.
			fill(t, q, tt.end, tt.end+1)
			if err := q.Save(); err != nil {
				t.Fatal(err)
			}
			q = newQueue(t, newSet(t, faultfs.OS, dir))
			if err := q.Load(math.MaxInt64, Whole); err != nil {
				t.Fatal(err)
			}
			check(t, q, 0, tt.end+1)
		})
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"T/0", "T/12", "%RETRY%G/0", "T/x", "T/-1", "empty", "file"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "T", "7"), nil, 0o644)
	os.WriteFile(filepath.Join(dir, "readme"), nil, 0o644)
	s := newSet(t, faultfs.OS, dir)
	names, err := s.List()
	if err != nil || fmt.Sprint(names) != "[{%RETRY%G 0} {T 0} {T 12}]" {
		t.Errorf("%v, %v", names, err)
	}
	if err := s.RemoveTopic("T"); err != nil {
		t.Fatal(err)
	}
	if names, _ := s.List(); len(names) != 1 {
		t.Errorf("after the removal: %v", names)
	}
	if names, err := newSet(t, faultfs.OS, filepath.Join(dir, "none")).List(); err != nil || len(names) != 0 {
		t.Errorf("no folder: %v, %v", names, err)
	}
}

// A folder that cannot be looked into and belongs to no topic is none of the store's; one that may is not passed over.
func TestListWithFoldersThatCannotBeRead(t *testing.T) {
	for name, foreign := range map[string]bool{"lost+found": true, ".Trash-1000": true, "T2": false} {
		disk := faultfs.NewDisk()
		for _, dir := range []string{"/q/T/0", "/q/" + name} {
			if err := disk.MkdirAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		disk.ReadFault(func(op faultfs.Op) error {
			if op.Path == "/q/"+name {
				return syscall.EACCES
			}
			return nil
		})
		names, err := newSet(t, disk, "/q").List()
		if foreign && (err != nil || len(names) != 1) {
			t.Errorf("%s: %v, %v", name, names, err)
		}
		if !foreign && (err == nil || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s: %v, %v", name, names, err)
		}
	}
}

// Saving that fails keeps the units, and goes on later.
func TestSaveFails(t *testing.T) {
	disk := faultfs.NewDisk()
	disk.MkdirAll("/q")
	s := newSet(t, disk, "/q")
	q := newQueue(t, s)
	fill(t, q, 0, 15)
	disk.SetRoom(0)
	if err := q.Save(); err == nil || !strings.Contains(err.Error(), "queue 0 of topic T") {
		t.Errorf("saved on a full disk: %v", err)
	}
	check(t, q, 0, 15)
	disk.SetRoom(-1)
	fill(t, q, 15, 16)
	if err := q.Save(); err != nil || s.Unsaved() != 0 {
		t.Errorf("%v, %d bytes unsaved", err, s.Unsaved())
	}
	check(t, q, 0, 16)
}

func TestMemoryIsUsedAgain(t *testing.T) {
	s := newSet(t, faultfs.NewDisk(), "/q")
	for _, n := range []int{1, UnitSize, 8 * UnitSize, 8*UnitSize + 1, 1000 * UnitSize, 100_000 * UnitSize} {
		b := s.memory.take(n)
		if cap(b) < n || len(b) != 0 {
			t.Errorf("asked for %d, got %d", n, cap(b))
		}
		s.memory.give(b)
		if n <= 1000*UnitSize {
			if again := s.memory.take(n); cap(again) != cap(b) || &again[:1][0] != &b[:1][0] {
				t.Errorf("%d bytes were not used again", n)
			}
		}
	}
}

// Whatever a queue's file holds, loading it ends, and what it takes for units can be read and put upon.
func FuzzLoad(f *testing.F) {
	f.Add([]byte{}, int64(0), byte(0))
	f.Add(AppendUnit(AppendUnit(nil, unit(0)), unit(1)), int64(150), byte(1))
	f.Add(append(AppendUnit(nil, filler), AppendUnit(nil, unit(1))...), int64(math.MaxInt64), byte(2))
	f.Fuzz(func(t *testing.T, content []byte, limit int64, trust byte) {
		disk := faultfs.NewDisk()
		disk.MkdirAll("/q/T/0")
		s := newSet(t, disk, "/q")
		for start := int64(0); start < 3*s.fileSize && (start == 0 || start < int64(len(content))); start += s.fileSize {
			file, err := disk.Open("/q/T/0/"+segment.Name(start), os.O_RDWR|os.O_CREATE)
			if err != nil {
				t.Fatal(err)
			}
			file.Truncate(s.fileSize)
			if start < int64(len(content)) {
				file.WriteAt(content[start:min(int64(len(content)), start+s.fileSize)], 0)
			}
		}
		q := newQueue(t, s)
		if err := q.Load(limit, Trust(trust%3)); err != nil {
			t.Fatal(err)
		}
		end := q.End()
		if end > 3*perFile {
			t.Fatalf("end %d", end)
		}
		low, _ := q.Range(0)
		for n := low; n < end; n++ {
			if _, err := q.Unit(n); err != nil {
				t.Fatalf("unit %d of %d..%d: %v", n, low, end, err)
			}
		}
		q.AtTime(5, false, 0, func(p int64) (int64, bool) { return p, p%3 != 0 })
		q.AtTime(5, true, 0, func(p int64) (int64, bool) { return p, p%3 != 0 })
		next := Unit{PhysicalOffset: max(q.Physical(), 0), Size: 10}
		if q.Physical() > math.MaxInt64-10 || q.Physical() < 0 {
			return
		}
		if place, _ := q.Put(end, next); place != Next {
			t.Fatalf("the next unit has place %d", place)
		}
		if err := q.Save(); err != nil {
			t.Fatal(err)
		}
	})
}
