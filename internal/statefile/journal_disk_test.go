// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build linux || darwin

package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// watchFolders notes the folders that are synced from here to the end of the test, and fails the syncs that it is told to.
func watchFolders(t *testing.T, fault func(dir string) error) (synced func() []string) {
	t.Helper()
	var list []string
	before := syncDir
	t.Cleanup(func() { syncDir = before })
	syncDir = func(dir string) error {
		list = append(list, dir)
		if fault != nil {
			if err := fault(dir); err != nil {
				return err
			}
		}
		return before(dir)
	}
	return func() []string { return list }
}

// A record in a file whose name a power cut forgets is lost with it.
func TestNameOfANewJournalIsDurable(t *testing.T) {
	dir := t.TempDir()
	synced := watchFolders(t, nil)
	c := openCounter(t, filepath.Join(dir, "n.json"))
	if !slices.Contains(synced(), dir) {
		t.Fatal("the journal may be written to, but its name is not durable")
	}
	must(t, c.j.Close())
}

func TestMakeDir(t *testing.T) {
	top := t.TempDir()
	a, b := filepath.Join(top, "a"), filepath.Join(top, "a", "b")
	for _, c := range []struct {
		situation string
		dir       string
		want      []string // folders synced
	}{
		{"two folders that are missing", b, []string{top, a}},
		{"a folder that is there, whoever made it", b, []string{a}},
	} {
		synced := watchFolders(t, nil)
		must(t, MakeDir(c.dir))
		if got := synced(); !slices.Equal(got, c.want) {
			t.Errorf("%s: synced %v, want %v", c.situation, got, c.want)
		}
		if info, err := os.Stat(c.dir); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", c.situation, err)
		}
	}
	put(t, filepath.Join(top, "file"), "x")
	if MakeDir(filepath.Join(top, "file", "c")) == nil {
		t.Error("a folder in a file")
	}
}

// stall makes the next journal that is begun wait, as on a disk that hangs, until release is called.
func stall(t *testing.T, path string) (release func()) {
	t.Helper()
	pipe := path + ".journal.tmp"
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	return func() { // whoever opens a pipe for writing waits for a reader
		reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { reader.Close() })
	}
}

func (j *Journal) isBusy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.busy
}

// The tables append with their own lock held, on goroutines that must not wait for the disk.
func TestAppendDoesNotWaitWhileAJournalIsBegun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	c := openCounter(t, path)
	must(t, c.j.Wait(c.add()))
	release := stall(t, path)
	rewritten := make(chan error, 1)
	go func() { rewritten <- c.j.Rewrite(c.encode) }()
	waitFor(t, "the file to be written", func() bool { return content(t, path) == "1" })
	waitFor(t, "the next journal to be begun", c.j.isBusy)
	appended := make(chan uint64, 1)
	go func() { appended <- c.add() }()
	var n uint64
	select {
	case n = <-appended:
	case <-time.After(5 * time.Second):
		t.Error("an append waits for the disk")
	}
	release()
	if err := <-rewritten; err == nil {
		t.Error("a pipe passed for a journal") // the old one is in place and goes on
	}
	if t.Failed() {
		<-appended
	}
	must(t, os.Remove(path+".journal.tmp"))
	must(t, c.j.Wait(n))
	if got := c.crash(t, path); got != 2 {
		t.Fatalf("read back %d, want 2", got)
	}
}

// When the folder cannot be synced it is open which of two journals a crash leaves: what comes then is not called kept
// before a whole file holds it.
func TestJournalWhoseNameIsNotSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	c := openCounter(t, path)
	must(t, c.j.Wait(c.add()))
	syncs := 0
	watchFolders(t, func(string) error {
		if syncs++; syncs == 2 { // the first is of the state file
			return syscall.EIO
		}
		return nil
	})
	if err := c.j.Rewrite(c.encode); !errors.Is(err, syscall.EIO) {
		t.Fatalf("rewrite: %v", err)
	}
	n := c.add()
	if err := c.j.Wait(n); !errors.Is(err, syscall.EIO) {
		t.Fatalf("wait: %v", err)
	}
	must(t, c.j.Rewrite(c.encode))
	must(t, c.j.Wait(n))
	must(t, c.j.Wait(c.add()))
	if got := c.crash(t, path); got != 3 {
		t.Fatalf("read back %d, want 3", got)
	}
}
