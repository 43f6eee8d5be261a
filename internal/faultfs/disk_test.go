// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package faultfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// both runs a test against the machine's disk and the one in memory: what one promises the other keeps.
func both(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Run("OS", func(t *testing.T) { test(t, OS, t.TempDir()) })
	t.Run("Disk", func(t *testing.T) {
		d := NewDisk()
		if err := d.MkdirAll("/data"); err != nil {
			t.Fatal(err)
		}
		test(t, d, "/data")
	})
}

func create(t *testing.T, fsys FS, name string, content string) File {
	t.Helper()
	f, err := fsys.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func content(t *testing.T, fsys FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		t.Fatal(err)
	}
	return string(b)
}

func TestFileContract(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "a")
		f := create(t, fsys, name, "hello")
		if err := f.Truncate(10000); err != nil {
			t.Fatal(err)
		}
		if err := f.Allocate(0, 10000); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("end"), 9997); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Datasync(), f.Sync(), fsys.SyncDir(dir), fsys.SyncAll(dir)); err != nil {
			t.Fatal(err)
		}
		want := "hello" + string(make([]byte, 9992)) + "end"
		if got := content(t, fsys, name); got != want {
			t.Errorf("after growing, got %d bytes %q...", len(got), got[:8])
		}
		if err := f.Zero(3, 9997); err != nil {
			t.Fatal(err)
		}
		if got := content(t, fsys, name); got != "hel"+string(make([]byte, 9997)) {
			t.Errorf("after zeroing, got %q", bytes.TrimRight([]byte(got), "\x00"))
		}
		if err := f.Truncate(4); err != nil {
			t.Fatal(err)
		}
		if got := content(t, fsys, name); got != "hel\x00" {
			t.Errorf("after cutting, got %q", got)
		}
		if _, err := f.ReadAt(make([]byte, 10), 2); err == nil {
			t.Error("reading past the end gives no error")
		}
	})
}

func TestNamesContract(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		sub := filepath.Join(dir, "x", "y")
		if err := errors.Join(fsys.MkdirAll(sub), fsys.MkdirAll(sub)); err != nil {
			t.Fatal(err)
		}
		create(t, fsys, filepath.Join(sub, "b"), "b")
		create(t, fsys, filepath.Join(sub, "a"), "a")
		if err := fsys.Rename(filepath.Join(sub, "b"), filepath.Join(sub, "c")); err != nil {
			t.Fatal(err)
		}
		list, err := fsys.ReadDir(sub)
		if err != nil || len(list) != 2 || list[0].Name() != "a" || list[1].Name() != "c" {
			t.Errorf("list %v, %v", list, err)
		}
		if list, _ := fsys.ReadDir(dir); len(list) != 1 || !list[0].IsDir() {
			t.Errorf("list above %v", list)
		}
		if err := fsys.Remove(sub); !errors.Is(err, syscall.ENOTEMPTY) {
			t.Errorf("remove of a full folder: %v", err)
		}
		if _, err := fsys.Open(filepath.Join(sub, "b"), os.O_RDWR); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open of the old name: %v", err)
		}
		if _, err := fsys.Open(filepath.Join(sub, "a"), os.O_RDWR|os.O_CREATE|os.O_EXCL); !errors.Is(err, fs.ErrExist) {
			t.Errorf("exclusive open of a name that is there: %v", err)
		}
		if err := errors.Join(fsys.RemoveAll(filepath.Join(dir, "x")), fsys.RemoveAll(filepath.Join(dir, "x"))); err != nil {
			t.Fatal(err)
		}
		if _, err := fsys.Stat(filepath.Join(dir, "x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("stat of a removed folder: %v", err)
		}
	})
}

func TestLockExcludes(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "lock")
		first, err := fsys.Lock(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fsys.Lock(name); !errors.Is(err, ErrLocked) {
			t.Errorf("second lock: %v", err)
		}
		first.Close()
		again, err := fsys.Lock(name)
		if err != nil {
			t.Fatalf("lock after release: %v", err)
		}
		again.Close()
	})
}

func TestPowerCut(t *testing.T) {
	write := func(t *testing.T, d *Disk) File {
		return create(t, d, "/data/a", string(bytes.Repeat([]byte("x"), 2000)))
	}
	tests := []struct {
		name  string
		run   func(t *testing.T, d *Disk)
		check func(t *testing.T, d *Disk) bool // whether this outcome is one of those wanted
		all   bool                             // the outcome must be wanted with every seed; else with some and not with others
	}{
		{"synced content under a synced name stays", func(t *testing.T, d *Disk) {
			f := write(t, d)
			f.Sync()
			d.SyncDir("/data")
		}, func(t *testing.T, d *Disk) bool { return len(content(t, d, "/data/a")) == 2000 }, true},
		{"a name not synced may be lost", func(t *testing.T, d *Disk) { write(t, d).Sync() },
			func(t *testing.T, d *Disk) bool { _, err := d.Stat("/data/a"); return err == nil }, false},
		{"content not synced may be torn at a sector", func(t *testing.T, d *Disk) {
			f := write(t, d)
			f.Sync()
			d.SyncDir("/data")
			f.WriteAt(bytes.Repeat([]byte("y"), 1024), 256)
		}, func(t *testing.T, d *Disk) bool {
			got := content(t, d, "/data/a")
			return got[300] != got[600] // one sector old, the next one new
		}, false},
		{"a removal not synced may be undone", func(t *testing.T, d *Disk) {
			write(t, d).Sync()
			d.SyncDir("/data")
			d.Remove("/data/a")
		}, func(t *testing.T, d *Disk) bool { _, err := d.Stat("/data/a"); return err == nil }, false},
		{"a folder whose own name was not synced takes its files along", func(t *testing.T, d *Disk) {
			d.MkdirAll("/data/sub")
			create(t, d, "/data/sub/f", "z").Sync()
			d.SyncDir("/data/sub")
		}, func(t *testing.T, d *Disk) bool { _, err := d.Stat("/data/sub/f"); return err == nil }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wanted, seeds := 0, 200
			for seed := range seeds {
				d := NewDisk()
				d.MkdirAll("/data")
				d.SyncAll("/")
				tt.run(t, d)
				if tt.check(t, d.Survive(uint64(seed))) {
					wanted++
				}
			}
			if tt.all && wanted != seeds || !tt.all && (wanted == 0 || wanted == seeds) {
				t.Errorf("seen with %d of %d seeds", wanted, seeds)
			}
		})
	}
}

func TestCutEndsEverything(t *testing.T) {
	d := NewDisk()
	d.MkdirAll("/data")
	f := create(t, d, "/data/a", "one")
	d.CutAt(d.Ops() + 2)
	if _, err := f.WriteAt([]byte("two"), 0); err != nil {
		t.Fatalf("the operation before the cut: %v", err)
	}
	for range 2 {
		if err := f.Sync(); !errors.Is(err, ErrPowerCut) {
			t.Errorf("at and after the cut: %v", err)
		}
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrPowerCut) {
		t.Errorf("reading after the cut: %v", err)
	}
	if got := content(t, d.Kill(), "/data/a"); got != "two" {
		t.Errorf("after a kill the machine holds %q", got)
	}
}

func TestFullDisk(t *testing.T) {
	d := NewDisk()
	d.MkdirAll("/data")
	f := create(t, d, "/data/a", "one")
	d.SetRoom(2 * pageSize)
	if err := f.Allocate(0, 2*pageSize); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 10), 2*pageSize-10); err != nil {
		t.Errorf("write into reserved pages: %v", err)
	}
	if _, err := f.WriteAt(make([]byte, 10), 2*pageSize-5); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write past the room: %v", err)
	}
	if u, _ := d.Usage("/data"); u.Ratio() != 1 {
		t.Errorf("used %v of %+v", u.Ratio(), u)
	}
	if err := d.Remove("/data/a"); err != nil {
		t.Fatal(err)
	}
	if d.Taken() != 0 {
		t.Errorf("%d bytes taken by nothing", d.Taken())
	}
}

func TestFailedSyncForgets(t *testing.T) {
	d := NewDisk()
	d.MkdirAll("/data")
	f := create(t, d, "/data/a", "one")
	f.Sync()
	d.SyncAll("/")
	fail := true
	d.Fault(func(op Op) error {
		if op.Kind == OpSync && fail {
			fail = false
			return syscall.EIO
		}
		return nil
	})
	f.WriteAt([]byte("two"), 0)
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("sync: %v", err)
	}
	if err := f.Sync(); err != nil {
		t.Fatalf("second sync: %v", err)
	}
	if got := content(t, d.Survive(1), "/data/a"); got != "one" {
		t.Errorf("a sync after a failed one saved %q", got)
	}
}
