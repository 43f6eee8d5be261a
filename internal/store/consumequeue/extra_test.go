// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/segment"
)

// extrasPerFile is how many extras of the tests' size lie in a file.
const extrasPerFile = 3

func newExtendedQueue(t testing.TB, fs faultfs.FS, dir string, write bool) *Queue {
	t.Helper()
	s := newSet(t, fs, dir)
	s.KeepExtras(filepath.Join(dir, "ext"), extrasPerFile*(ExtraSize+2)+fileEndSize+1, write)
	return newQueue(t, s)
}

// extra is that of the n-th unit.
func extra(n int64) Extra {
	return Extra{TagsCode: n, StoreTimestamp: 1000 + n, Bits: []byte{byte(n), 7}}
}

func fillExtended(t testing.TB, q *Queue, n, end int64) {
	t.Helper()
	for ; n < end; n++ {
		if place, _ := q.PutExtended(n, unit(n), extra(n)); place != Next {
			t.Fatalf("unit %d: place %d", n, place)
		}
	}
}

// checkExtended looks up every unit and its extra.
func checkExtended(t testing.TB, q *Queue, low, end int64) {
	t.Helper()
	if got := q.End(); got != end {
		t.Errorf("end is %d, want %d", got, end)
	}
	before := int64(math.MinInt64)
	for n := low; n < end; n++ {
		u, err := q.Unit(n)
		if err != nil || !IsAddress(u.TagsCode) || u.PhysicalOffset != unit(n).PhysicalOffset || n > low && u.TagsCode <= before {
			t.Fatalf("unit %d is %+v, %v", n, u, err)
		}
		before = u.TagsCode
		x, err := q.Extra(u.TagsCode)
		if want := extra(n); err != nil || x.TagsCode != want.TagsCode || x.StoreTimestamp != want.StoreTimestamp || !bytes.Equal(x.Bits, want.Bits) {
			t.Fatalf("extra %d at %d is %+v, %v", n, ExtraOffset(u.TagsCode), x, err)
		}
	}
}

// The bytes are those of a RocketMQ 5.5.0 broker.
func TestExtraBytes(t *testing.T) {
	tests := []struct {
		x    Extra
		want string
	}{
		{Extra{TagsCode: 2598902, StoreTimestamp: 1796055028459, Bits: []byte{0, 2, 0, 16, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0}},
			"0022" + "000000000027a7f6" + "000001a22d38d2eb" + "000e" + "0002001000800000000000000000"},
		{Extra{TagsCode: 0, StoreTimestamp: 1796055023420}, "0014" + "0000000000000000" + "000001a22d38bf3c" + "0000"},
	}
	for _, tt := range tests {
		b := tt.x.Append(nil)
		if got := hex.EncodeToString(b); got != tt.want {
			t.Errorf("%+v is %s, want %s", tt.x, got, tt.want)
		}
		if x, size, ok := DecodeExtra(append(b, 9, 9)); !ok || size != len(b) || x.TagsCode != tt.x.TagsCode || !bytes.Equal(x.Bits, tt.x.Bits) {
			t.Errorf("back: %+v, %d bytes, %v", x, size, ok)
		}
	}
	for code, want := range map[int64]bool{math.MinInt64: true, math.MinInt32 - 1: true, math.MinInt32: false, -1: false, 0: false, 1700000000000: false} {
		if IsAddress(code) != want {
			t.Errorf("%d is an address: %v", code, !want)
		}
	}
}

func TestExtrasPutSaveLoad(t *testing.T) {
	for _, saves := range [][]int64{{25}, {1, 2, 3, 4, 5}, {3, 6, 9, 10, 11}, {10, 20}} {
		t.Run(fmt.Sprint(saves), func(t *testing.T) {
			dir := t.TempDir()
			q := newExtendedQueue(t, faultfs.OS, dir, true)
			at := int64(0)
			for _, n := range append(saves, 25) {
				fillExtended(t, q, at, n)
				checkExtended(t, q, 0, n)
				if err := q.Save(); err != nil || q.set.Unsaved() != 0 {
					t.Fatal(err, q.set.Unsaved())
				}
				checkExtended(t, q, 0, n)
				at = n
			}
			if err := q.Sync(); err != nil || q.Dirty() {
				t.Errorf("dirty after sync: %v, %v", q.Dirty(), err)
			}
			for _, trust := range []Trust{Whole, Below, Doubtful} {
				for _, write := range []bool{false, true} {
					again := newExtendedQueue(t, faultfs.OS, dir, write)
					if err := again.Load(math.MaxInt64, trust); err != nil {
						t.Fatal(err)
					}
					checkExtended(t, again, 0, 25)
				}
			}
			cut := newExtendedQueue(t, faultfs.OS, dir, true)
			if err := cut.Load(1700, Below); err != nil {
				t.Fatal(err)
			}
			checkExtended(t, cut, 0, 17)
			fillExtended(t, cut, 17, 40)
			checkExtended(t, cut, 0, 40)
			if n := cut.extras.files.Len(); n != 6 {
				t.Errorf("%d files of extras after the cut, want those of 17", n)
			}
		})
	}
}

// Files end as a Java broker ends them: with the size -1, and zeros.
func TestExtraFileEnds(t *testing.T) {
	dir := t.TempDir()
	q := newExtendedQueue(t, faultfs.OS, dir, true)
	fillExtended(t, q, 0, 4)
	if err := q.Save(); err != nil {
		t.Fatal(err)
	}
	size := q.extras.files.FileSize()
	want := extra(0).Append(nil)
	want = extra(1).Append(want)
	want = extra(2).Append(want)
	want = append(append(want, 0xFF, 0xFF), make([]byte, size-int64(len(want))-2)...)
	want = extra(3).Append(want)
	var got []byte
	for _, start := range []int64{0, size} {
		b, err := os.ReadFile(filepath.Join(dir, "ext", "T", "0", segment.Name(start)))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b...)
	}
	if !bytes.Equal(got[:len(want)], want) || len(bytes.Trim(got[len(want):], "\x00")) > 0 {
		t.Errorf("files\n got %x\nwant %x", got, want)
	}
}

// What becomes of extras and their addresses when something of the files is lost, or of another time.
func TestExtrasAfterLoss(t *testing.T) {
	address := func(q *Queue, n int64) int64 {
		u, err := q.Unit(n)
		if err != nil {
			return 0
		}
		return u.TagsCode
	}
	tests := []struct {
		situation string
		spoil     func(t *testing.T, dir string, size int64)
		trust     Trust
		readable  int64 // extras below are lost
	}{
		{"nothing is lost", func(*testing.T, string, int64) {}, Whole, 0},
		{"all files", func(t *testing.T, dir string, _ int64) { must(t, os.RemoveAll(dir)) }, Whole, 10},
		{"all files, after a crash", func(t *testing.T, dir string, _ int64) { must(t, os.RemoveAll(dir)) }, Below, 10},
		{"the last file", func(t *testing.T, dir string, size int64) {
			must(t, os.Remove(filepath.Join(dir, "T", "0", segment.Name(3*size))))
		}, Whole, 10},
		{"the first file", func(t *testing.T, dir string, size int64) {
			must(t, os.Remove(filepath.Join(dir, "T", "0", segment.Name(0))))
		}, Whole, 3},
		{"random bytes behind the end, after a crash", func(t *testing.T, dir string, size int64) {
			f, err := os.OpenFile(filepath.Join(dir, "T", "0", segment.Name(3*size)), os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt(bytes.Repeat([]byte{0xA5}, 30), ExtraSize+2)
			must(t, errors.Join(err, f.Close()))
		}, Below, 0},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			dir := t.TempDir()
			q := newExtendedQueue(t, faultfs.OS, dir, true)
			fillExtended(t, q, 0, 10)
			must(t, q.Save())
			last := address(q, 9)
			tt.spoil(t, filepath.Join(dir, "ext"), q.extras.files.FileSize())
			q = newExtendedQueue(t, faultfs.OS, dir, true)
			must(t, q.Load(math.MaxInt64, tt.trust))
			for n := range int64(10) {
				_, err := q.Extra(address(q, n))
				if lost := tt.readable == 10 && n >= 9 || n < min(tt.readable, 9) && tt.situation != "the last file"; err != nil != lost {
					t.Errorf("extra %d: %v", n, err)
				}
			}
			fillExtended(t, q, 10, 20)
			if next := address(q, 10); next <= last {
				t.Errorf("the address %d is given out again, after %d", next, last)
			}
			must(t, q.Save())
			checkExtended(t, q, 10, 20)
			q = newExtendedQueue(t, faultfs.OS, dir, true)
			must(t, q.Load(math.MaxInt64, Whole))
			checkExtended(t, q, 10, 20)
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Extras that are switched off for a while, and an extra that fits no file.
func TestExtrasNowAndThen(t *testing.T) {
	dir := t.TempDir()
	q := newExtendedQueue(t, faultfs.OS, dir, true)
	fillExtended(t, q, 0, 5)
	must(t, q.Save())
	q = newExtendedQueue(t, faultfs.OS, dir, false)
	must(t, q.Load(math.MaxInt64, Whole))
	if q.Extended() {
		t.Error("new units get extras")
	}
	fill(t, q, 5, 8)
	must(t, q.Save())
	q = newExtendedQueue(t, faultfs.OS, dir, true)
	must(t, q.Load(math.MaxInt64, Whole))
	if place, _ := q.PutExtended(8, unit(8), Extra{Bits: make([]byte, 100)}); place != Next {
		t.Fatal(place)
	}
	fillExtended(t, q, 9, 12)
	must(t, q.Save())
	for n := range int64(12) {
		u, err := q.Unit(n)
		if extended := n < 5 || n > 8; err != nil || IsAddress(u.TagsCode) != extended || !extended && u.TagsCode != n {
			t.Errorf("unit %d is %+v, %v", n, u, err)
		}
		if x, err := q.Extra(u.TagsCode); IsAddress(u.TagsCode) && (err != nil || x.TagsCode != n) {
			t.Errorf("extra %d is %+v, %v", n, x, err)
		}
	}
	other := newSet(t, faultfs.OS, dir)
	other.KeepExtras(filepath.Join(dir, "ext"), 4096, false) // another size than the files have
	without := newQueue(t, other)
	must(t, without.Load(math.MaxInt64, Whole))
	if u, err := without.Unit(3); err != nil || !IsAddress(u.TagsCode) {
		t.Errorf("%+v, %v", u, err)
	} else if _, err := without.Extra(u.TagsCode); !errors.Is(err, ErrNoUnit) {
		t.Errorf("read from files of another size: %v", err)
	}
	other.KeepExtras(filepath.Join(dir, "ext"), 4096, true)
	if _, err := other.New(Name{"T", 0}); err == nil {
		t.Error("files of another size are written to")
	}
}

func TestExtrasShortenResetRemove(t *testing.T) {
	dir := t.TempDir()
	q := newExtendedQueue(t, faultfs.OS, dir, true)
	fillExtended(t, q, 0, 35)
	must(t, q.Save())
	if removed, err := q.Shorten(2300); removed != 20 || err != nil {
		t.Fatalf("%d units removed, %v", removed, err)
	}
	checkExtended(t, q, 20, 35)
	if starts := q.extras.files.Starts(); starts[0] != 6*q.extras.files.FileSize() || len(starts) != 6 {
		t.Errorf("files of extras begin at %v", starts)
	}
	must(t, q.Truncate(31)) // as recovery does
	q.physical = unit(30).end()
	fillExtended(t, q, 31, 33)
	checkExtended(t, q, 20, 33)
	must(t, q.Reset())
	if q.extras.files.Len() != 0 || q.set.Unsaved() != 0 {
		t.Errorf("after a reset: %d files, %d bytes", q.extras.files.Len(), q.set.Unsaved())
	}
	q.physical = 0
	fillExtended(t, q, 0, 5)
	must(t, q.Save())
	q.Remove()
	must(t, q.set.RemoveTopic("T"))
	if _, err := os.Stat(filepath.Join(dir, "ext", "T")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// Saving that fails keeps extras, too.
func TestSaveOfExtrasFails(t *testing.T) {
	disk := faultfs.NewDisk()
	must(t, disk.MkdirAll("/q"))
	q := newExtendedQueue(t, disk, "/q", true)
	fillExtended(t, q, 0, 15)
	disk.SetRoom(0)
	if err := q.Save(); err == nil {
		t.Error("saved on a full disk")
	}
	checkExtended(t, q, 0, 15)
	disk.SetRoom(-1)
	fillExtended(t, q, 15, 16)
	must(t, q.Save())
	if q.set.Unsaved() != 0 {
		t.Errorf("%d bytes unsaved", q.set.Unsaved())
	}
	checkExtended(t, q, 0, 16)
}

// Whatever lies beside a queue, loading it ends, what decodes is whole, and new extras can be put and read.
func FuzzExtras(f *testing.F) {
	f.Add([]byte{}, byte(0), int64(math.MinInt64))
	f.Add(extra(1).Append(extra(0).Append(nil)), byte(1), int64(math.MinInt64+22))
	f.Add([]byte{0xFF, 0xFF, 0, 0}, byte(2), int64(math.MinInt32-1))
	f.Add(bytes.Repeat([]byte{0, 20}, 60), byte(0), int64(math.MinInt64+71))
	f.Fuzz(func(t *testing.T, content []byte, trust byte, address int64) {
		disk := faultfs.NewDisk()
		must(t, disk.MkdirAll("/q"))
		q := newExtendedQueue(t, disk, "/q", true)
		if place, _ := q.Put(0, Unit{PhysicalOffset: 0, Size: 100, TagsCode: address}); place != Next {
			t.Fatal(place)
		}
		must(t, q.Save())
		must(t, disk.MkdirAll("/q/ext/T/0"))
		size := q.extras.files.FileSize()
		for start := int64(0); start < 3*size && start < int64(len(content)); start += size {
			file, err := disk.Open("/q/ext/T/0/"+segment.Name(start), os.O_RDWR|os.O_CREATE)
			must(t, err)
			must(t, file.Truncate(size))
			_, err = file.WriteAt(content[start:min(int64(len(content)), start+size)], 0)
			must(t, errors.Join(err, file.Close()))
		}
		q = newExtendedQueue(t, disk, "/q", true)
		must(t, q.Load(math.MaxInt64, Trust(trust%3)))
		if x, err := q.Extra(address); err == nil && x.Size() < ExtraSize {
			t.Errorf("extra %+v", x)
		}
		if IsAddress(address) && ExtraOffset(address) > math.MaxInt64-math.MaxInt32-10*size {
			return // there are no more addresses
		}
		fillExtended(t, q, 1, 6)
		must(t, q.Save())
		checkExtended(t, q, 1, 6)
	})
}
