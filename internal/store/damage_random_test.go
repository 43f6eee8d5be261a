// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// vandal damages files of a store that nobody has open. What it did is in did.
type vandal struct {
	t    *testing.T
	disk *faultfs.Disk
	rng  *rand.Rand
	did  []string
}

// files are the paths of all files below a folder, or of the file itself.
func (v *vandal) files(path string) (paths []string) {
	if entries, err := v.disk.ReadDir(path); err == nil {
		for _, e := range entries {
			paths = append(paths, v.files(filepath.Join(path, e.Name()))...)
		}
		return paths
	}
	if _, err := v.disk.Stat(path); err != nil {
		return nil
	}
	return []string{path}
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// open gives a file and where its content ends: what follows is zero.
func (v *vandal) open(path string) (f faultfs.File, size, end int64) {
	v.t.Helper()
	f, err := v.disk.Open(path, os.O_RDWR)
	if err != nil {
		v.t.Fatal(err)
	}
	if size, err = f.Size(); err != nil {
		v.t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil {
		v.t.Fatal(err)
	}
	for end = size; end > 0 && b[end-1] == 0; {
		end--
	}
	return f, size, end
}

// spoilEnd spoils the end of a file, from a border of 512 bytes or 4 KiB within the last 64 KiB of its content on.
func (v *vandal) spoilEnd(path string) (from int64) {
	f, size, end := v.open(path)
	defer f.Close()
	border := pick(v.rng, []int64{512, 4096})
	from = max(end-1-v.rng.Int64N(64<<10), 0) / border * border
	how := v.rng.IntN(4)
	v.did = append(v.did, fmt.Sprintf("%s from %d of %d, size %d: %s", path, from, end, size, []string{"cut", "zeros", "noise", "noise behind the end, too"}[how]))
	var err error
	switch how {
	case 0:
		err = f.Truncate(from)
	case 1:
		err = f.Zero(from, size-from)
	case 2:
		_, err = f.WriteAt(v.noise(end-from), from)
	case 3:
		_, err = f.WriteAt(v.noise(min(end-from+border, size-from)), from)
	}
	if err != nil {
		v.t.Fatal(err)
	}
	return from
}

func (v *vandal) noise(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(v.rng.Uint32())
	}
	return b
}

func (v *vandal) remove(path string) {
	v.did = append(v.did, path+": removed")
	if err := v.disk.RemoveAll(path); err != nil {
		v.t.Fatal(err)
	}
}

func (v *vandal) empty(path string) {
	v.did = append(v.did, path+": emptied")
	f, _, _ := v.open(path)
	defer f.Close()
	if err := f.Truncate(0); err != nil {
		v.t.Fatal(err)
	}
}

func (v *vandal) create(path string) {
	v.did = append(v.did, path+": made")
	if err := v.disk.MkdirAll(filepath.Dir(path)); err != nil {
		v.t.Fatal(err)
	}
	f, err := v.disk.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		v.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(v.noise(100), 0); err != nil {
		v.t.Fatal(err)
	}
}

// derived does something to what is derived from the log.
func (v *vandal) derived() {
	parts := []string{"/store/consumequeue", "/store/index", "/store/checkpoint", "/store/abort"}
	part := pick(v.rng, parts)
	files := v.files(part)
	if len(files) == 0 {
		return
	}
	path := pick(v.rng, files)
	switch v.rng.IntN(6) {
	case 0, 1, 2:
		v.spoilEnd(v.lastUsed(filepath.Dir(path), path))
	case 3:
		v.empty(path)
	case 4:
		v.remove(path)
	case 5: // a folder above it
		for range 1 + v.rng.IntN(2) {
			if filepath.Dir(path) != "/store" {
				path = filepath.Dir(path)
			}
		}
		v.remove(path)
	}
}

// lastUsed gives the last file of a queue or an index that has content; path itself where it lies elsewhere.
func (v *vandal) lastUsed(dir, path string) string {
	if dir == "/store" {
		return path
	}
	for _, other := range slices.Backward(v.files(dir)) {
		f, _, end := v.open(other)
		f.Close()
		if end > 0 {
			return other
		}
	}
	return path
}

// foreign puts something there that is no business of a store.
func (v *vandal) foreign() {
	dir := pick(v.rng, []string{"/store", "/store/commitlog", "/store/consumequeue", "/store/consumequeue/CT", "/store/consumequeue/CT/0", "/store/index"})
	v.create(filepath.Join(dir, pick(v.rng, []string{
		"lost+found/x", ".DS_Store", "00000000000000000000~", ".00000000000000000000.swp", "00000000000000000000.bak", "#1#", "0~", "x/y/z",
	})))
}

func eachSeed(t *testing.T, n int, do func(t *testing.T, seed uint64)) {
	for _, seed := range seeds(t, n) {
		do(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// damaged gives a store of several lives that was closed or killed.
func damaged(t *testing.T, seed uint64) (*world, Config, *faultfs.Disk) {
	t.Helper()
	w := newWorld(seed)
	cfg := crashConfig([]FlushDiskType{SyncFlush, AsyncFlush}[w.rng.IntN(2)])
	disk := faultfs.NewDisk()
	for range 1 + w.rng.IntN(3) {
		s, err := tryOpen(t, cfg, on(disk))
		if err != nil {
			t.Fatal(err)
		}
		w.live(s, 1+w.rng.IntN(80))
		if w.rng.IntN(3) > 0 {
			disk = disk.Kill()
		}
		_ = s.Close() // of the dead disk, or properly
	}
	return w, cfg, disk
}

// Whatever happens to what is derived from the log, and whatever else lies in the folders: the store opens, with every
// message where it was.
func TestDamagedDerivedFiles(t *testing.T) {
	eachSeed(t, 100, func(t *testing.T, seed uint64) {
		w, cfg, disk := damaged(t, seed)
		v := &vandal{t: t, disk: disk, rng: w.rng}
		for range 1 + w.rng.IntN(2) {
			v.derived()
		}
		if w.rng.IntN(2) == 0 {
			v.foreign()
		}
		for range 2 { // what was mended stays so
			s, err := tryOpen(t, cfg, on(disk))
			if err != nil {
				t.Fatalf("after %q: %v", v.did, err)
			}
			w.check(t, s, true)
			w.live(s, 5)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			t.Errorf("after %q", v.did)
		}
	})
}

// Whatever happens to the end of the log after a kill: all messages before it are there at their offsets, what is
// readable behind it was sent and lies where it was acknowledged, and new messages follow.
func TestDamagedEndOfTheLog(t *testing.T) {
	eachSeed(t, 100, func(t *testing.T, seed uint64) {
		w, cfg, disk := damaged(t, seed)
		v := &vandal{t: t, disk: disk, rng: w.rng}
		logFiles := slices.DeleteFunc(v.files("/store/commitlog"), func(path string) bool {
			f, _, end := v.open(path)
			f.Close()
			return end == 0
		})
		last := logFiles[len(logFiles)-1]
		start := int64(len(logFiles)-1) * cfg.LogFileBytes
		from := start + v.spoilEnd(last)
		s, err := tryOpen(t, cfg, on(disk))
		if err != nil && from == 0 && strings.Contains(err.Error(), "is a disk missing?") {
			return // nothing is left of the log, and it says so
		}
		if err != nil {
			t.Fatalf("after %q: %v", v.did, err)
		}
		defer s.Close()
		sizes := map[int64]int64{}
		found := map[string]place_{}
		for queue := range int32(3) {
			_, end := s.QueueRange(crashTopic, queue)
			for offset := int64(0); offset < end; {
				b, res := s.Read(nil, &ReadRequest{Topic: crashTopic, QueueID: queue, Offset: offset, MaxCount: 32})
				records, err := message.DecodeAll(b)
				if err != nil || res.Next <= offset || res.Err != nil {
					t.Fatalf("after %q: queue %d at %d: %+v, %v", v.did, queue, offset, res, err)
				}
				for _, r := range records {
					found[string(r.Body)] = place_{queue, r.QueueOffset, r.PhysicalOffset}
					sizes[r.PhysicalOffset] = int64(r.Size)
				}
				offset = res.Next
			}
		}
		for body, place := range found {
			if want, ok := w.acked[body]; !w.sent[body] || ok && want != place {
				t.Errorf("%.10q is at %+v, was acknowledged at %+v", body, place, want)
			}
		}
		for body, place := range w.acked {
			if size := int64(len(body)) + 200; place.physical+size <= from && found[body] != place {
				t.Errorf("%.10q, acknowledged at %+v, is lost; the damage begins at %d", body, place, from)
			}
		}
		for queue := range int32(3) {
			_, end := s.QueueRange(crashTopic, queue)
			if a := put(t, s, msg(crashTopic, queue, "next"))[0]; a.QueueOffset != end {
				t.Errorf("queue %d ended at %d, the next message came to %d", queue, end, a.QueueOffset)
			}
		}
		if t.Failed() {
			t.Errorf("after %s", strings.Join(v.did, "; "))
		}
	})
}
