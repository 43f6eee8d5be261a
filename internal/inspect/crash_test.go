// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/store"
)

// copyDisk copies a folder of a disk in memory to a real one.
func copyDisk(t *testing.T, disk *faultfs.Disk, from, to string) {
	t.Helper()
	entries, err := disk.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() {
			copyDisk(t, disk, source, target)
			continue
		}
		f, err := disk.Open(source, os.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.Size()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, size)
		if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What a crash leaves behind is no damage, whatever the moment: a start mends it. After that start nothing is left to
// say.
func TestVerifyAfterPowerCuts(t *testing.T) {
	n := uint64(20)
	if testing.Short() {
		n /= 10
	}
	for seed := range n {
		for _, flush := range []store.FlushDiskType{store.SyncFlush, store.AsyncFlush} {
			if powerCut(t, seed, flush); t.Failed() {
				t.Fatalf("seed %d, %s", seed, flush)
			}
		}
	}
}

func powerCut(t *testing.T, seed uint64, flush store.FlushDiskType) {
	rng := rand.New(rand.NewPCG(seed, 7))
	cfg := testConfig("/store")
	cfg.Flush, cfg.LogFileBytes, cfg.QueueFileBytes = flush, 16<<10, 20*20
	cfg.Files.AheadBytes, cfg.Flushing.CheckpointBytes, cfg.Flushing.Interval = 8<<10, 64<<10, 1
	disk := faultfs.NewDisk()
	deps := func() store.Deps {
		return store.Deps{Logger: quiet, DelayOf: levelDelay, FS: disk, BatchTopic: func(topic string) (batch, ok bool) { return topic == "Batches", true }}
	}
	verifyDisk := func() *Report {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		copyDisk(t, disk, "/store", dir)
		return verifyDir(t, dir)
	}
	for life := range 3 {
		disk.CutAt(disk.Ops() + 40 + rng.IntN(500))
		if s, err := store.Open(t.Context(), cfg, deps()); err == nil {
			live(s, rng)
			_ = s.Close() // the power is gone, or it is not: both are of interest
		}
		if rng.IntN(4) == 0 {
			disk = disk.Kill()
		} else {
			disk = disk.Survive(rng.Uint64())
		}
		if r := verifyDisk(); r.Counts.Wrong() > 0 {
			t.Errorf("life %d, after the cut: %+v, clean %v", life, r.Counts, r.Clean)
			for _, f := range r.Findings {
				t.Log(jsonOf(t, f))
			}
			return
		}
		s, err := store.Open(t.Context(), cfg, deps())
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		if r := verifyDisk(); r.Counts.Wrong() > 0 || !r.Clean {
			t.Errorf("life %d, after a start: %+v", life, r.Counts)
			for _, f := range r.Findings {
				t.Log(jsonOf(t, f))
			}
			return
		}
	}
}

// live appends until the power is gone, or it is enough.
func live(s *store.Store, rng *rand.Rand) {
	w := make(waiter, 1)
	for i := range 40 + rng.IntN(100) {
		m := testMessage("Orders", int32(rng.IntN(3)), i)
		switch rng.IntN(6) {
		case 0:
			m = testMessage("SCHEDULE_TOPIC_XXXX", 2, i)
		case 1:
			m = testBatch("Batches", 0, i)
		}
		s.Append(m, w)
		s.Commit()
		if a := <-w; a.Status != store.OK {
			return
		}
	}
}
