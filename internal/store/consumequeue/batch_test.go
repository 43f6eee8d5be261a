// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/segment"
)

func newBatchQueue(t testing.TB, fs faultfs.FS, dir string) *Queue {
	t.Helper()
	h := segment.NewHandles(fs, 4)
	t.Cleanup(func() { h.Close() })
	return newQueue(t, NewSet(h, Batch, dir, perFile*BatchUnitSize))
}

// batchUnit is the n-th unit of a queue whose units have one, two, three, one, two, three and so on messages.
func batchUnit(n int64) Unit {
	return Unit{PhysicalOffset: n * 100, Size: 100, TagsCode: n, Count: int32(n%3) + 1, Base: n/3*6 + []int64{0, 1, 3}[n%3], StoreTimestamp: 1000 + n}
}

func fillBatch(t testing.TB, q *Queue, n, end int64) {
	t.Helper()
	for ; n < end; n++ {
		if place, _ := q.Put(batchUnit(n).Base, batchUnit(n)); place != Next {
			t.Fatalf("unit %d: place %d", n, place)
		}
	}
}

// checkBatch looks up every offset.
func checkBatch(t testing.TB, q *Queue, low, end int64) {
	t.Helper()
	if got, want := q.End(), batchUnit(end).Base; got != want {
		t.Errorf("end is %d, want %d", got, want)
	}
	for n := low; n < end; n++ {
		want := batchUnit(n)
		for offset := want.Base; offset < want.Base+int64(want.Count); offset++ {
			if u, err := q.Unit(offset); err != nil || u != want {
				t.Fatalf("unit of %d is %+v, %v, want %+v", offset, u, err, want)
			}
		}
	}
	for _, offset := range []int64{batchUnit(low).Base - 1, q.End(), q.End() + 7} {
		if u, err := q.Unit(offset); err == nil {
			t.Errorf("there is a unit of %d: %+v", offset, u)
		}
	}
}

func TestBatchUnitBytes(t *testing.T) {
	u := Unit{PhysicalOffset: 4096, Size: 134, TagsCode: 2598919, StoreTimestamp: 1700000000123, Base: 5, Count: 3}
	const want = "0000000000001000" + "00000086" + "000000000027a807" + "0000018bcfe5687b" + "0000000000000005" + "0003" + "ffffffff" + "00000000"
	if b := Batch.Append(nil, u); hex.EncodeToString(b) != want || Batch.Decode(b) != u {
		t.Errorf("%x, back %+v", b, Batch.Decode(b))
	}
	if u.Count = math.MaxInt16; Batch.Decode(Batch.Append(nil, u)) != u {
		t.Error("the largest batch")
	}
}

func TestBatchPutSaveLoad(t *testing.T) {
	for _, saves := range [][]int64{{35}, {1, 2, 3}, {9, 10, 11, 20, 30}, {10, 20, 30, 35}} {
		t.Run(fmt.Sprint(saves), func(t *testing.T) {
			dir := t.TempDir()
			q := newBatchQueue(t, faultfs.OS, dir)
			at := int64(0)
			for _, n := range append(saves, 35) {
				fillBatch(t, q, at, n)
				checkBatch(t, q, 0, n)
				if err := q.Save(); err != nil {
					t.Fatal(err)
				}
				checkBatch(t, q, 0, n)
				at = n
			}
			for _, trust := range []Trust{Whole, Below, Doubtful} {
				again := newBatchQueue(t, faultfs.OS, dir)
				if err := again.Load(math.MaxInt64, trust); err != nil {
					t.Fatal(err)
				}
				checkBatch(t, again, 0, 35)
				if again.Physical() != 3500 || again.Len() != 35 {
					t.Errorf("physical %d, %d units", again.Physical(), again.Len())
				}
			}
			cut := newBatchQueue(t, faultfs.OS, dir)
			if err := cut.Load(1700, Below); err != nil {
				t.Fatal(err)
			}
			checkBatch(t, cut, 0, 17)
			fillBatch(t, cut, 17, 40)
			checkBatch(t, cut, 0, 40)
		})
	}
}

func TestBatchPlaces(t *testing.T) {
	tests := []struct {
		situation string
		physical  int64
		base      int64
		want      Place
	}{
		{"the next", 500, 9, Next},
		{"the last again", 400, 7, Known},
		{"an older message with an offset to come", 300, 20, Known},
		{"an offset too high", 500, 10, Ahead},
		{"a newer message with an old offset", 500, 7, Restart},
		{"inside a batch", 500, 4, Restart},
		{"a newer message at the beginning", 500, 0, Restart},
	}
	for _, saved := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(tt.situation, saved), func(t *testing.T) {
				q := newBatchQueue(t, faultfs.OS, t.TempDir())
				fillBatch(t, q, 0, 5)
				if saved {
					q.Save()
				}
				u := Unit{PhysicalOffset: tt.physical, Size: 100, Count: 2, Base: tt.base, StoreTimestamp: 5}
				place, _ := q.Put(tt.base, u)
				if place != tt.want {
					t.Fatalf("place %d, want %d", place, tt.want)
				}
				switch place {
				case Known:
					checkBatch(t, q, 0, 5)
					return
				case Ahead:
					q.Fill(tt.base)
					if u, err := q.Unit(tt.base - 1); err == nil {
						t.Errorf("a unit for what is lost: %+v", u)
					}
				case Restart:
					if err := q.Truncate(tt.base); err != nil {
						t.Fatal(err)
					}
				}
				if place != Next {
					if place, _ = q.Put(tt.base, u); place != Next {
						t.Fatalf("then place %d", place)
					}
				}
				if got, err := q.Unit(tt.base + 1); err != nil || got != u || q.End() != tt.base+2 {
					t.Errorf("unit %+v, %v, end %d", got, err, q.End())
				}
			})
		}
	}
}

func TestBatchRangeTimeAndShorten(t *testing.T) {
	dir := t.TempDir()
	q := newBatchQueue(t, faultfs.OS, dir)
	if low, end := q.Range(0); low != 0 || end != 0 {
		t.Errorf("nothing: %d..%d", low, end)
	}
	fillBatch(t, q, 0, 35)
	if err := q.Save(); err != nil {
		t.Fatal(err)
	}
	never := func(int64) (int64, bool) { t.Error("the log was asked"); return 0, false }
	for _, tt := range []struct {
		ms    int64
		upper bool
		want  int64
	}{
		{0, false, 0}, {1000, false, 0}, {1001, false, 1}, {1017, false, batchUnit(17).Base}, {1034, false, batchUnit(34).Base},
		{5000, false, batchUnit(34).Base}, {0, true, 0}, {1017, true, batchUnit(17).Base}, {5000, true, batchUnit(34).Base},
	} {
		if got := q.AtTime(tt.ms, tt.upper, 0, never); got != tt.want {
			t.Errorf("at %d, upper %v: %d, want %d", tt.ms, tt.upper, got, tt.want)
		}
	}
	for _, logMin := range []int64{1, 100, 1650, 2300} {
		want := batchUnit((logMin + 99) / 100).Base
		if low, end := q.Range(logMin); low != want || end != batchUnit(35).Base {
			t.Errorf("log from %d: %d..%d, want %d", logMin, low, end, want)
		}
	}
	if removed, err := q.Shorten(2300); removed != 20 || err != nil || q.Files() != 2 {
		t.Errorf("%d units removed, %v", removed, err)
	}
	checkBatch(t, q, 20, 35)
	again := newBatchQueue(t, faultfs.OS, dir)
	if err := again.Load(math.MaxInt64, Whole); err != nil {
		t.Fatal(err)
	}
	checkBatch(t, again, 20, 35)
	if place, _ := again.Put(3, batchUnit(2)); place != Before {
		t.Errorf("a message before the first one: place %d", place)
	}
	if low, end := again.Range(9000); low != end || end != batchUnit(35).Base {
		t.Errorf("all is lost: %d..%d", low, end)
	}
}

// Whatever a batch queue's file holds, loading it ends, and it can be read and put upon.
func FuzzLoadBatch(f *testing.F) {
	f.Add([]byte{}, int64(0), byte(0), int64(0))
	f.Add(Batch.Append(Batch.Append(nil, batchUnit(0)), batchUnit(1)), int64(150), byte(1), int64(2))
	f.Add(bytes.Repeat(Batch.Append(nil, batchUnit(7)), 30), int64(math.MaxInt64), byte(0), int64(3))
	f.Fuzz(func(t *testing.T, content []byte, limit int64, trust byte, offset int64) {
		disk := faultfs.NewDisk()
		disk.MkdirAll("/q/T/0")
		q := newBatchQueue(t, disk, "/q")
		size := q.set.fileSize
		for start := int64(0); start < 3*size && (start == 0 || start < int64(len(content))); start += size {
			file, err := disk.Open("/q/T/0/"+segment.Name(start), os.O_RDWR|os.O_CREATE)
			if err != nil {
				t.Fatal(err)
			}
			file.Truncate(size)
			if start < int64(len(content)) {
				file.WriteAt(content[start:min(int64(len(content)), start+size)], 0)
			}
		}
		if err := q.Load(limit, Trust(trust%3)); err != nil {
			t.Fatal(err)
		}
		if q.EndNumber() > 3*perFile {
			t.Fatalf("%d units", q.EndNumber())
		}
		q.Range(0)
		q.Unit(offset)
		q.AtTime(offset, trust&4 != 0, 0, func(p int64) (int64, bool) { return p, true })
		if end, physical := q.End(), q.Physical(); physical >= 0 && physical < math.MaxInt64-10 && end < math.MaxInt64-10 {
			next := Unit{PhysicalOffset: physical, Size: 10, Count: 2, Base: end}
			if place, _ := q.Put(end, next); place != Next {
				t.Fatalf("the next unit has place %d", place)
			}
			if err := q.Save(); err != nil || q.End() != end+2 {
				t.Fatal(err, q.End())
			}
		}
	})
}
