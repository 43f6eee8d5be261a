// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package statefile

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitFor polls until check holds; it fails the test after five seconds.
func waitFor(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !check(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func keepCounter(t *testing.T, c *counterTable, rewrite bool) *Keeper {
	t.Helper()
	k := Keep(c.j, c.encode, rewrite, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { k.Close() })
	return k
}

// change makes a change and hands it to the keeper.
func (c *counterTable) change(k *Keeper) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return k.Append(c.record())
}

func TestKeeperWritesTheFileAfterAWhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	c := openCounter(t, path)
	k := keepCounter(t, c, false)
	must(t, k.Wait(c.change(k)))
	waitFor(t, "the file to hold the change", func() bool { return content(t, path) == "1" })
	waitFor(t, "the journal to be empty", func() bool { return c.j.Bytes() == 0 })
}

func TestKeeperWritesTheFileAtItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	c := openCounter(t, path)
	k := keepCounter(t, c, false)
	c.change(k)
	c.change(k)
	must(t, k.Close())
	if got := content(t, path); got != "2" {
		t.Fatalf("the file holds %q", got)
	}
	must(t, k.Close())
}

func TestKeeperWithoutChangesLeavesTheFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	must(t, Write(path, []byte("0")))
	c := openCounter(t, path)
	must(t, keepCounter(t, c, false).Close())
	if content(t, path+".bak") != "(none)" {
		t.Fatal("the file was written again")
	}
}

func TestKeeperWritesAMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	must(t, keepCounter(t, openCounter(t, path), true).Close())
	if got := content(t, path); got != "0" {
		t.Fatalf("the file holds %q", got)
	}
}

// While the file cannot be written the journal keeps the changes; when it can be
// written again nothing is missing.
func TestKeeperOutlivesAFileThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	c := openCounter(t, path)
	blockWrites(t, path)
	k := keepCounter(t, c, true)
	must(t, k.Wait(c.change(k)))
	if err := k.Close(); err == nil {
		t.Fatal("the end hid the error")
	}
	must(t, os.RemoveAll(path+".tmp"))
	again := openCounter(t, path)
	if again.n != 1 {
		t.Fatalf("read back %d", again.n)
	}
	must(t, keepCounter(t, again, true).Close())
	if got := content(t, path); got != "1" {
		t.Fatalf("the file holds %q", got)
	}
}
