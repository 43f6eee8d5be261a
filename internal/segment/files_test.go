// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
)

func TestNames(t *testing.T) {
	tests := []struct {
		name  string
		start int64
		ok    bool
	}{
		{"00000000000000000000", 0, true},
		{"00000000001073741824", 1 << 30, true},
		{"09223372036854775807", 1<<63 - 1, true},
		{"09223372036854775808", 0, false},
		{"0000000000000000000", 0, false},
		{"-0000000000000000001", 0, false},
		{"0000000000000000000a", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		start, ok := ParseName(tt.name)
		if ok != tt.ok || ok && start != tt.start {
			t.Errorf("%q is %d, %v", tt.name, start, ok)
		}
		if ok && Name(start) != tt.name {
			t.Errorf("%d is named %s", start, Name(start))
		}
	}
}

func newRun(t *testing.T, fs faultfs.FS, limit int, size int64, dirs ...string) (*Files, *Handles) {
	t.Helper()
	h := NewHandles(fs, limit)
	t.Cleanup(func() { h.Close() })
	f, err := Open(h, size, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return f, h
}

func TestWriteReadReopen(t *testing.T) {
	dir := t.TempDir()
	f, h := newRun(t, faultfs.OS, 2, 100, filepath.Join(dir, "run"))
	if _, _, ok := f.Range(); ok || f.Has(0) {
		t.Error("an empty run has files")
	}
	for start := int64(300); start < 800; start += 100 {
		if err := f.Create(start + 7); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteAt([]byte(fmt.Sprint(start)), start+50); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.WriteAt(make([]byte, 60), 350); err == nil {
		t.Error("a write across the end of a file succeeds")
	}
	check := func(f *Files) {
		t.Helper()
		if first, end, ok := f.Range(); first != 300 || end != 800 || !ok || f.Len() != 5 {
			t.Errorf("range %d..%d %v", first, end, ok)
		}
		for start := int64(300); start < 800; start += 100 {
			b := make([]byte, 3)
			if n, err := f.ReadAt(b, start+50); n != 3 || err != nil || string(b) != fmt.Sprint(start) {
				t.Errorf("at %d: %q, %v", start, b, err)
			}
		}
		if n, err := f.ReadAt(make([]byte, 80), 350); n != 50 || err != io.EOF {
			t.Errorf("read past the end of a file: %d, %v", n, err)
		}
		for _, off := range []int64{-1, 0, 299, 800} {
			if _, err := f.ReadAt(make([]byte, 1), off); err != ErrGone {
				t.Errorf("read at %d: %v", off, err)
			}
		}
	}
	check(f)
	if open := len(h.open); open > 2 {
		t.Errorf("%d files are open, 2 may be", open)
	}
	again, _ := newRun(t, faultfs.OS, 2, 100, filepath.Join(dir, "run"))
	check(again)
}

func TestOpenChecks(t *testing.T) {
	type file struct {
		name string
		size int64
	}
	tests := []struct {
		name   string
		files  []file
		starts []int64
		reason string // of the error
	}{
		{"nothing", nil, nil, ""},
		{"other names are left alone", []file{{"lock", 3}, {"123", 4}}, nil, ""},
		{"a gap is no error", []file{{Name(0), 100}, {Name(300), 100}}, []int64{0, 300}, ""},
		{"an empty file at the end is removed", []file{{Name(0), 100}, {Name(100), 0}}, []int64{0}, ""},
		{"an empty file alone is removed", []file{{Name(100), 0}}, nil, ""},
		{"an empty file before others", []file{{Name(0), 0}, {Name(100), 100}}, nil, "has 0 bytes"},
		{"a file too long", []file{{Name(0), 101}}, nil, "has 101 bytes, configured are 100"},
		{"a file cut before others that are used", []file{{Name(0), 99}, {Name(100), 100}}, nil, "has 99 bytes, configured are 100"},
		{"the last file cut gets its size back", []file{{Name(0), 100}, {Name(100), 99}}, []int64{0, 100}, ""},
		{"a name that is no multiple", []file{{Name(150), 100}}, nil, "no multiple"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, x := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, x.name), bytes.Repeat([]byte{1}, int(x.size)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			h := NewHandles(faultfs.OS, 4)
			defer h.Close()
			f, err := Open(h, 100, dir)
			if tt.reason != "" {
				if err == nil || !strings.Contains(err.Error(), tt.reason) {
					t.Errorf("error %v, want %s", err, tt.reason)
				}
				return
			}
			if err != nil || !slices.Equal(f.Starts(), tt.starts) {
				t.Errorf("files %v, %v, want %v", f.Starts(), err, tt.starts)
			}
			for _, start := range tt.starts {
				if info, err := os.Stat(filepath.Join(dir, Name(start))); err != nil || info.Size() != 100 {
					t.Errorf("%s has %d bytes, %v", Name(start), info.Size(), err)
				}
			}
		})
	}
}

func TestHoles(t *testing.T) {
	f, _ := newRun(t, faultfs.OS, 4, 100, t.TempDir())
	for _, start := range []int64{0, 100, 300, 400, 700} {
		if err := f.Create(start); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Holes(); !slices.Equal(got, []int64{200, 500}) {
		t.Errorf("holes %v", got)
	}
	if n, err := f.RemoveFrom(150); n != 3 || err != nil || f.Len() != 2 || len(f.Holes()) != 0 {
		t.Errorf("removed %d, %v, left %v", n, err, f.Starts())
	}
}

// Files of several folders are one run; new ones go to the folders in turns.
func TestSeveralFolders(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	f, _ := newRun(t, faultfs.OS, 4, 100, a, b)
	for start := int64(0); start < 400; start += 100 {
		if err := f.Create(start); err != nil {
			t.Fatal(err)
		}
	}
	if f.Path(0) != filepath.Join(a, Name(0)) || f.Path(199) != filepath.Join(b, Name(100)) || f.Path(200) != filepath.Join(a, Name(200)) {
		t.Errorf("paths %s %s %s", f.Path(0), f.Path(100), f.Path(200))
	}
	// A file that lies in the other folder, because there was one folder when it was made, is found there.
	if err := os.Rename(f.Path(100), filepath.Join(a, Name(100))); err != nil {
		t.Fatal(err)
	}
	again, _ := newRun(t, faultfs.OS, 4, 100, a, b)
	if again.Len() != 4 || again.Path(100) != filepath.Join(a, Name(100)) {
		t.Errorf("%d files, one at %s", again.Len(), again.Path(100))
	}
	if err := again.Remove(100); err != nil {
		t.Fatal(err)
	}
	if err := again.Create(100); err != nil || again.Path(100) != filepath.Join(b, Name(100)) {
		t.Errorf("made anew at %s, %v", again.Path(100), err)
	}
}

// Folders of old files are read and emptied, and get no new ones.
func TestOldFolders(t *testing.T) {
	a, b, old := t.TempDir(), t.TempDir(), t.TempDir()
	f, h := newRun(t, faultfs.OS, 4, 100, old)
	if err := errors.Join(f.Create(0), f.Create(100), f.WriteAt([]byte("old"), 100)); err != nil {
		t.Fatal(err)
	}
	f, err := OpenBeside(h, 100, []string{a, b}, []string{old})
	if err != nil {
		t.Fatal(err)
	}
	for start := int64(200); start < 600; start += 100 {
		if err := f.Create(start); err != nil {
			t.Fatal(err)
		}
		if dir := filepath.Dir(f.Path(start)); dir != []string{a, b}[start/100%2] {
			t.Errorf("file %d is made in %s", start, dir)
		}
	}
	text := make([]byte, 3)
	if _, err := f.ReadAt(text, 100); err != nil || string(text) != "old" || f.Len() != 6 || len(f.Holes()) > 0 {
		t.Errorf("read %q, %v; %d files", text, err, f.Len())
	}
	if err := f.Remove(0); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(old); err != nil || len(left) != 1 {
		t.Errorf("%d old files are left, %v", len(left), err)
	}
}

// A file that is removed while somebody reads it stays readable for that reader, and its descriptor goes with the last
// one.
func TestRemoveUnderReader(t *testing.T) {
	f, h := newRun(t, faultfs.OS, 1, 100, t.TempDir())
	if err := errors.Join(f.Create(0), f.WriteAt([]byte("read me"), 0)); err != nil {
		t.Fatal(err)
	}
	reader, err := f.hold(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 7), 0); err != ErrGone {
		t.Errorf("a later reader gets %v", err)
	}
	b := make([]byte, 7)
	if _, err := reader.file.ReadAt(b, 0); err != nil || string(b) != "read me" {
		t.Errorf("the reader gets %q, %v", b, err)
	}
	h.release(reader)
	if _, err := reader.file.ReadAt(b, 0); err == nil {
		t.Error("the file is open still")
	}
}

func TestReadersBesideEvictionAndRemoval(t *testing.T) {
	f, h := newRun(t, faultfs.OS, 2, 4096, t.TempDir())
	const files = 12
	for i := range int64(files) {
		if err := errors.Join(f.Create(i*4096), f.WriteAt(bytes.Repeat([]byte{byte(i)}, 4096), i*4096)); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for r := range 4 {
		all.Go(func() {
			b := make([]byte, 100)
			for n := range 2000 {
				i := int64((n*7 + r) % files)
				switch _, err := f.ReadAt(b, i*4096+50); {
				case err == ErrGone:
				case err != nil || b[0] != byte(i) || b[99] != byte(i):
					t.Errorf("file %d: %v, byte %d", i, err, b[0])
					return
				}
			}
		})
	}
	all.Go(func() {
		for i := range int64(files / 2) {
			if err := f.Remove(i * 4096); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	if f.Len() != files/2 || len(h.open) > 2 || h.n != len(h.open) {
		t.Errorf("%d files, %d open, %d idle", f.Len(), len(h.open), h.n)
	}
}

func TestZeroAndDataEnd(t *testing.T) {
	f, _ := newRun(t, faultfs.OS, 2, 1<<20, t.TempDir())
	if err := errors.Join(f.Create(0), f.WriteAt(bytes.Repeat([]byte{1}, 10000), 0)); err != nil {
		t.Fatal(err)
	}
	if end, err := f.DataEnd(5); err != nil || end < 10000 {
		t.Errorf("data end %d, %v", end, err)
	}
	if err := f.Zero(100, 1<<20-100); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10000)
	if _, err := f.ReadAt(b, 0); err != nil || bytes.Count(b, []byte{1}) != 100 || b[99] != 1 {
		t.Errorf("%d bytes are left, %v", bytes.Count(b, []byte{1}), err)
	}
	if ms, err := f.Modified(0); err != nil || ms == 0 {
		t.Errorf("modified %d, %v", ms, err)
	}
}
