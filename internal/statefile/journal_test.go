// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// counterTable is a table in small: a number that each change makes one larger.
// Its file is the number, its records are the numbers.
type counterTable struct {
	mu sync.Mutex
	n  int
	j  *Journal
}

func openCounter(t *testing.T, path string) *counterTable {
	t.Helper()
	c := new(counterTable)
	b, _, err := Read(path)
	if err == nil {
		c.n, err = strconv.Atoi(string(b))
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	c.j, err = OpenJournal(path, func(record []byte) error {
		n, err := strconv.Atoi(string(record))
		if n > c.n {
			if n != c.n+1 {
				t.Errorf("record %d follows %d", n, c.n)
			}
			c.n = n
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add makes a change in memory and queues it.
func (c *counterTable) add() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.j.Append(c.record())
}

// record is the last change; mu is held.
func (c *counterTable) record() []byte { return []byte(strconv.Itoa(c.n)) }

func (c *counterTable) encode() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []byte(strconv.Itoa(c.n))
}

// crash forgets the table and gives what a new process would read.
func (c *counterTable) crash(t *testing.T, path string) int {
	t.Helper()
	c.j.f.Close()
	next := openCounter(t, path)
	t.Cleanup(func() { next.j.Close() })
	return next.n
}

func TestJournal(t *testing.T) {
	for _, c := range []struct {
		situation string
		do        func(t *testing.T, c *counterTable, path string)
		want      int
	}{
		{"nothing", func(*testing.T, *counterTable, string) {}, 0},
		{"three changes waited for", func(t *testing.T, c *counterTable, _ string) {
			for range 3 {
				if err := c.j.Wait(c.add()); err != nil {
					t.Fatal(err)
				}
			}
		}, 3},
		{"changes, file written, changes", func(t *testing.T, c *counterTable, _ string) {
			c.add()
			c.add()
			must(t, c.j.Rewrite(c.encode))
			must(t, c.j.Wait(c.add()))
		}, 3},
		{"file written twice, nothing since", func(t *testing.T, c *counterTable, _ string) {
			c.add()
			must(t, c.j.Rewrite(c.encode))
			c.add()
			must(t, c.j.Rewrite(c.encode))
		}, 2},
		{"file lost after the second generation", func(t *testing.T, c *counterTable, path string) {
			c.add()
			must(t, c.j.Rewrite(c.encode))
			c.add()
			must(t, c.j.Rewrite(c.encode))
			must(t, c.j.Wait(c.add()))
			must(t, os.WriteFile(path, nil, 0o644)) // .bak and both journals remain
		}, 3},
		{"the file could not be written", func(t *testing.T, c *counterTable, path string) {
			must(t, c.j.Wait(c.add()))
			must(t, c.j.Rewrite(c.encode))
			must(t, c.j.Wait(c.add()))
			blockWrites(t, path)
			for range 3 {
				if c.j.Rewrite(c.encode) == nil {
					t.Fatal("no error")
				}
				must(t, c.j.Wait(c.add()))
			}
		}, 5},
		{"a record cut short by the crash", func(t *testing.T, c *counterTable, path string) {
			must(t, c.j.Wait(c.add()))
			must(t, c.j.Wait(c.add()))
			b, err := os.ReadFile(path + ".journal")
			must(t, err)
			must(t, os.WriteFile(path+".journal", b[:len(b)-1], 0o644))
		}, 1},
		{"garbage behind the last record", func(t *testing.T, c *counterTable, path string) {
			must(t, c.j.Wait(c.add()))
			b, err := os.ReadFile(path + ".journal")
			must(t, err)
			must(t, os.WriteFile(path+".journal", append(b, "\x00\x00\x00\x01garbage"...), 0o644))
		}, 1},
		{"crash between file and journal", func(t *testing.T, c *counterTable, path string) {
			must(t, c.j.Wait(c.add()))
			must(t, Write(path, c.encode()))
		}, 1},
		{"closed properly", func(t *testing.T, c *counterTable, _ string) {
			c.add()
			must(t, c.j.Close())
		}, 1},
	} {
		t.Run(c.situation, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n.json")
			table := openCounter(t, path)
			c.do(t, table, path)
			if got := table.crash(t, path); got != c.want {
				t.Fatalf("read back %d, want %d", got, c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A journal that goes on after a cut tail must not leave garbage in between.
func TestJournalGoesOnAfterACutTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	c := openCounter(t, path)
	must(t, c.j.Wait(c.add()))
	must(t, c.j.Wait(c.add()))
	c.j.f.Close()
	b, err := os.ReadFile(path + ".journal")
	must(t, err)
	must(t, os.WriteFile(path+".journal", b[:len(b)-1], 0o644))
	c = openCounter(t, path)
	if c.n != 1 {
		t.Fatalf("read back %d", c.n)
	}
	must(t, c.j.Wait(c.add()))
	must(t, c.j.Wait(c.add()))
	if got := c.crash(t, path); got != 3 {
		t.Fatalf("read back %d, want 3", got)
	}
}

// When the disk refuses the journal, nobody is told that a change is safe until a
// file holds it.
func TestJournalAfterAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	c := openCounter(t, path)
	must(t, c.j.Wait(c.add()))
	c.j.f.Close() // writes fail from here on
	lost := c.add()
	if err := c.j.Wait(lost); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v", err)
	}
	later := c.add()
	if c.j.Wait(later) == nil {
		t.Fatal("a change after the error was called safe")
	}
	must(t, c.j.Rewrite(c.encode)) // the whole file, and a new journal
	must(t, c.j.Wait(lost))
	must(t, c.j.Wait(later))
	must(t, c.j.Wait(c.add()))
	if got := c.crash(t, path); got != 4 {
		t.Fatalf("read back %d, want 4", got)
	}
}

// Many writers and a rewriter at once: every change that Wait called safe is there.
func TestJournalConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	c := openCounter(t, path)
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 40 {
				if err := c.j.Wait(c.add()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var rewriter sync.WaitGroup
	rewriter.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := c.j.Rewrite(c.encode); err != nil {
					t.Error(err)
				}
			}
		}
	})
	writers.Wait()
	close(stop)
	rewriter.Wait()
	if got := c.crash(t, path); got != 320 {
		t.Fatalf("read back %d, want 320", got)
	}
}

func TestWaitAfterClose(t *testing.T) {
	c := openCounter(t, filepath.Join(t.TempDir(), "n.json"))
	must(t, c.j.Close())
	if err := c.j.Wait(c.add()); !errors.Is(err, ErrJournalClosed) {
		t.Fatalf("got %v", err)
	}
	must(t, c.j.Close())
}

// Damage within a journal costs the changes that it hit, and is told; those behind it were acknowledged like the others.
// What was written last and is not whole is no damage.
func TestDamageWithinAJournal(t *testing.T) {
	var whole []byte
	var starts []int
	for i := range 20 {
		starts = append(starts, len(whole))
		whole = appendRecord(whole, []byte(strings.Repeat(strconv.Itoa(i%10), 30+i)))
	}
	for _, row := range []struct {
		name    string
		spoil   func(b []byte) []byte
		lost    []int
		damaged bool
	}{
		{"nothing", func(b []byte) []byte { return b }, nil, false},
		{"a bit of a record", func(b []byte) []byte { b[starts[3]+20] ^= 4; return b }, []int{3}, true},
		{"a bit of a size", func(b []byte) []byte { b[starts[3]] ^= 0x40; return b }, []int{3}, true},
		{"zeros over two", func(b []byte) []byte { clear(b[starts[4]+3 : starts[6]-3]); return b }, []int{4, 5}, true},
		{"the last one cut", func(b []byte) []byte { return b[:len(b)-3] }, []int{19}, false},
		{"the last one damaged", func(b []byte) []byte { b[len(b)-3] ^= 1; return b }, []int{19}, false},
		{"one damaged and the last one cut", func(b []byte) []byte { b[starts[8]+9] ^= 1; return b[:len(b)-3] }, []int{8, 19}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n.json")
			must(t, os.WriteFile(path+journalSuffix, row.spoil(slices.Clone(whole)), 0o600))
			var got, want []int
			j, err := OpenJournal(path, func(record []byte) error {
				got = append(got, len(record)-30)
				return nil
			})
			must(t, err)
			defer func() { must(t, j.Close()) }()
			for i := range 20 {
				if !slices.Contains(row.lost, i) {
					want = append(want, i)
				}
			}
			if !slices.Equal(got, want) || (j.Damaged() != nil) != row.damaged {
				t.Errorf("read %v, damaged: %v", got, j.Damaged())
			}
			if row.damaged && !strings.Contains(j.Damaged().Error(), path+journalSuffix) {
				t.Errorf("%v does not name the file", j.Damaged())
			}
			must(t, j.Wait(j.Append([]byte("next"))))
		})
	}
}

func FuzzNextRecord(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(appendRecord(nil, []byte("x")))
	f.Add(appendRecord(appendRecord(nil, []byte("x")), []byte("yy"))[:12])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		record, n := nextRecord(b)
		if n == 0 {
			if record != nil {
				t.Fatal("a record of no bytes")
			}
			return
		}
		if n > len(b) || !slices.Equal(appendRecord(nil, record), b[:n]) {
			t.Fatalf("%d bytes of %d are not the record again", n, len(b))
		}
	})
}
