// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// coverLog walks a log and checks that its pieces lie one behind the other and leave nothing out.
func coverLog(t *testing.T, l *Log) (kinds map[PieceKind]int) {
	t.Helper()
	kinds = make(map[PieceKind]int)
	at := l.Min()
	err := l.Walk(t.Context(), 0, math.MaxInt64, func(p *Piece) error {
		if p.Offset != at && p.Kind != DamagedPiece || p.Size <= 0 {
			t.Errorf("%+v at %d, want %d", p, p.Offset, at)
		}
		at = max(at, p.Offset+p.Size)
		kinds[p.Kind]++
		if p.Kind == RecordPiece && p.Record.PhysicalOffset != p.Offset && !p.Refused {
			t.Errorf("the record at %d says it lies at %d", p.Offset, p.Record.PhysicalOffset)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if at < l.Files[len(l.Files)-1].end() {
		t.Errorf("the walk ends at %d, the log at %d", at, l.Files[len(l.Files)-1].end())
	}
	return kinds
}

func openLogOf(t *testing.T, paths ...string) *Log {
	t.Helper()
	l, err := OpenLog(paths...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func TestWalkLog(t *testing.T) {
	dir := writeStore(t)
	kinds := coverLog(t, openLogOf(t, dir))
	if kinds[RecordPiece] != records || kinds[BlankPiece] != 2 || kinds[UnusedPiece] != 1 || kinds[DamagedPiece] != 0 {
		t.Errorf("%v", kinds)
	}
	// The same by its folder, and by its files in any order.
	files, err := filepath.Glob(filepath.Join(dir, "commitlog", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{{filepath.Join(dir, "commitlog")}, {files[2], files[0], files[1]}} {
		if again := coverLog(t, openLogOf(t, paths...)); again[RecordPiece] != records {
			t.Errorf("%v: %v", paths, again)
		}
	}
}

// From a record on, and from a place within one.
func TestWalkLogFromAPlace(t *testing.T) {
	dir := writeStore(t)
	first, last := recordOf(t, dir, "Orders", 0, 50), recordOf(t, dir, "Orders", 1, 60)
	for _, from := range []int64{first.physical, first.physical - 5} {
		var got []int64
		l := openLogOf(t, dir)
		err := l.Walk(t.Context(), from, last.physical, func(p *Piece) error {
			got = append(got, p.Offset)
			return nil
		})
		if err != nil || len(got) == 0 || got[0] != first.physical || got[len(got)-1] >= last.physical {
			t.Errorf("from %d: %d to %d, %v", from, got[0], got[len(got)-1], err)
		}
	}
}

// Behind damage the walk goes on at the next good record.
func TestWalkDamagedLog(t *testing.T) {
	dir := writeStore(t)
	for _, n := range []int64{3, 50, 100} {
		rec := recordOf(t, dir, "Orders", 0, n)
		overwrite(t, rec.path, rec.at, []byte("no record starts like this"))
	}
	kinds := coverLog(t, openLogOf(t, dir))
	if kinds[RecordPiece] != records-3 || kinds[DamagedPiece] != 3 {
		t.Errorf("%v", kinds)
	}
}

func TestWalkQueues(t *testing.T) {
	dir := writeStore(t)
	if _, err := FindQueues(filepath.Join(dir, "config")); err == nil {
		t.Error("queues found where there are none")
	}
	for path, want := range map[string]int{
		"": 5, "consumequeue": 4, "batchconsumequeue": 1, "consumequeue/Orders": 2, "consumequeue/Orders/1": 1, "consumequeue/Orders/1/00000000000000001000": 1,
	} {
		queues, err := FindQueues(filepath.Join(dir, path))
		if err != nil || len(queues) != want {
			t.Errorf("%s: %d queues, %v", path, len(queues), err)
			continue
		}
		if q := queues[len(queues)-1]; len(path) > 18 && (q.Topic != "Orders" || q.ID != 1) {
			t.Errorf("%s: %s/%d", path, q.Topic, q.ID)
		}
	}
	queues, err := FindQueues(filepath.Join(dir, "consumequeue", "Orders", "0"))
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	err = queues[0].Walk(t.Context(), 45, 118, func(u *Units) error {
		if u.Kind != OneUnit || u.Unit.PhysicalOffset != unitOf(t, dir, "Orders", 0, u.First).physical {
			t.Errorf("%+v", u)
		}
		got = append(got, u.First)
		return nil
	})
	if err != nil || len(got) != 118-45 || got[0] != 45 {
		t.Errorf("%v, %v", got, err)
	}
}

// Fillers, holes and zeros are told as such.
func TestWalkQueueWithFillers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "consumequeue", "T", "0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	unit := func(n int64) []byte {
		return consumequeue.AppendUnit(nil, consumequeue.Unit{PhysicalOffset: n, Size: 10})
	}
	filler := consumequeue.AppendUnit(nil, consumequeue.Unit{Size: math.MaxInt32})
	file := func(name string, units ...[]byte) {
		b := make([]byte, 0, 100)
		for _, u := range units {
			b = append(b, u...)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	zero := make([]byte, 20)
	file("00000000000000000000", filler, filler, filler, unit(1), unit(2))
	file("00000000000000000200", unit(3), zero, unit(4), zero, zero) // the file of 5 to 9 is missing
	queues, err := FindQueues(dir)
	if err != nil {
		t.Fatal(err)
	}
	type piece struct {
		kind         UnitsKind
		first, count int64
	}
	var got []piece
	err = queues[0].Walk(t.Context(), 0, math.MaxInt64, func(u *Units) error {
		got = append(got, piece{u.Kind, u.First, u.Count})
		return nil
	})
	want := []piece{{Fillers, 0, 3}, {OneUnit, 3, 1}, {OneUnit, 4, 1}, {MissingUnits, 5, 5}, {OneUnit, 10, 1}, {DamagedUnits, 11, 1}, {OneUnit, 12, 1}, {UnusedUnits, 13, 2}}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// The number of slots is found out from the files, also from one alone.
func TestIndexSlots(t *testing.T) {
	dir := writeStore(t)
	files, err := FindIndex(dir, 0)
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	total := 0
	for _, x := range files {
		alone, err := FindIndex(x.Path, 0)
		if err != nil || alone[0].Slots != indexSlots || x.Slots != indexSlots || x.Fault != "" {
			t.Errorf("%s: %d and %d slots, %s, %v", x.Name, x.Slots, alone[0].Slots, x.Fault, err)
		}
		err = x.Walk(t.Context(), func(int32, Entry) error {
			total++
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if total != 3*records {
		t.Errorf("%d entries", total)
	}
}

// Whatever byte of a unit, or of a used part of the index, is another one: it is found.
func TestEveryByteOfWhatIsDerivedCounts(t *testing.T) {
	dir := writeStore(t)
	random := rand.New(rand.NewPCG(1, 2))
	files, err := FindIndex(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		var p place
		switch x := files[random.IntN(len(files))]; i % 5 {
		case 4:
			p = batchUnitOf(t, dir, random.Int64N(30))
			p.at += random.Int64N(46)
		case 0, 1:
			p = unitOf(t, dir, "Orders", int32(i%2), random.Int64N(120))
			p.at += random.Int64N(20)
		case 2:
			p = place{path: x.Path, at: x.EntryAt(1+random.Int32N(x.Header.Count-1)) + random.Int64N(entryBytes)}
		default:
			p = place{path: x.Path, at: random.Int64N(x.EntryAt(0))}
		}
		if before := p.at - files[0].EntryAt(1); p.path == files[0].Path && before >= 12 && before < 16 {
			continue // the seconds of the very first entry: from when they are counted, nobody knows
		}
		was := onDisk(t, p.path, p.at, 1)
		flip(t, p.path, p.at)
		if r := verifyDir(t, dir); r.Counts.Wrong() == 0 {
			t.Errorf("byte %d of %s: %x made %x, nothing found", p.at, p.path, was, onDisk(t, p.path, p.at, 1))
		}
		overwrite(t, p.path, p.at, was)
	}
	wantRight(t, verifyDir(t, dir))
}
