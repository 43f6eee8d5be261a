// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// content of a test's files: decodes only when it begins and ends as told.
func decodeInto(dst *string) func([]byte) error {
	return func(b []byte) error {
		if !bytes.HasPrefix(b, []byte("<")) || !bytes.HasSuffix(b, []byte(">")) {
			return errors.New("cut short")
		}
		*dst = string(b)
		return nil
	}
}

func put(t *testing.T, path string, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLoad(t *testing.T) {
	const none = "(none)"
	zeros := string(make([]byte, 100))
	for _, c := range []struct {
		situation, file, backup string
		want                    string // "" = an error
		from                    string
		wantErr                 string
	}{
		{"a good file", "<new>", "<old>", "<new>", "t.json", ""},
		{"a good file alone", "<new>", none, "<new>", "t.json", ""},
		{"an empty file", "", "<old>", "<old>", "t.json.bak", ""},
		{"a file of zero bytes", zeros, "<old>", "<old>", "t.json.bak", ""},
		{"a file cut in half", "<ne", "<old>", "<old>", "t.json.bak", ""},
		{"a deleted file", none, "<old>", "<old>", "t.json.bak", ""},
		{"nothing yet", none, none, "", "", "no such file"},
		{"both cut", "<ne", "ld>", "", "", "t.json is damaged (cut short) and t.json.bak cannot replace it (cut short): restore"},
		{"cut and no backup", "<ne", none, "", "", "t.json is damaged (cut short) and t.json.bak cannot replace it (it does not exist): restore"},
		{"deleted and a cut backup", none, "<ol", "", "", "t.json is missing and the generation before it cannot be used: cut short"},
	} {
		t.Run(c.situation, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.json")
			if c.file != none {
				put(t, path, c.file)
			}
			if c.backup != none {
				put(t, path+".bak", c.backup)
			}
			var got string
			from, err := Load(path, decodeInto(&got))
			if c.want == "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Fatalf("error %v, want one with %q", err, c.wantErr)
				}
				if content(t, path) != c.file || content(t, path+".bak") != c.backup {
					t.Fatal("a refused read changed the files")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want || filepath.Base(from) != c.from {
				t.Fatalf("got %q from %s, want %q from %s", got, from, c.want, c.from)
			}
		})
	}
}

func TestMissingFileIsErrNotExist(t *testing.T) {
	_, _, err := Read(filepath.Join(t.TempDir(), "none.json"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

func TestDamagedErrorNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	put(t, path, "")
	_, _, err := Read(path)
	var d *DamagedError
	if !errors.As(err, &d) || d.Path != path || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v", err)
	}
}

// The good generation must survive the two writes after a fall back to it.
func TestFallBackKeepsTheGoodGeneration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	put(t, path, "<da")
	put(t, path+".bak", "<good>")
	var got string
	if _, err := Load(path, decodeInto(&got)); err != nil || got != "<good>" {
		t.Fatalf("%q, %v", got, err)
	}
	if c := content(t, path+".damaged"); c != "<da" {
		t.Fatalf("the damaged file became %q", c)
	}
	if err := Write(path, []byte("<next>")); err != nil {
		t.Fatal(err)
	}
	if c := content(t, path+".bak"); c != "<good>" {
		t.Fatalf("generation before after one write: %q", c)
	}
	if err := Write(path, []byte("<after>")); err != nil {
		t.Fatal(err)
	}
	if c := content(t, path+".bak"); c != "<next>" {
		t.Fatalf("generation before after two writes: %q", c)
	}
}

func TestWriteKeepsTheGenerationBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	for i := range 4 {
		if err := Write(path, fmt.Appendf(nil, "<%d>", i)); err != nil {
			t.Fatal(err)
		}
		want := "(none)"
		if i > 0 {
			want = fmt.Sprintf("<%d>", i-1)
		}
		if f, b := content(t, path), content(t, path+".bak"); f != fmt.Sprintf("<%d>", i) || b != want {
			t.Fatalf("write %d: file %q, before %q", i, f, b)
		}
	}
	left, err := filepath.Glob(path + "*.tmp")
	if err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v %v", left, err)
	}
}

// Somebody else may be writing the file.
func TestLookTouchesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	put(t, path, "<da")
	put(t, path+".bak", "<good>")
	var got string
	from, err := Look(path, decodeInto(&got))
	if err != nil || got != "<good>" || from != path+".bak" {
		t.Fatalf("%q from %s, %v", got, from, err)
	}
	if f, b, d := content(t, path), content(t, path+".bak"), content(t, path+".damaged"); f != "<da" || b != "<good>" || d != "(none)" {
		t.Fatalf("left %q, %q, %q", f, b, d)
	}
}

// What a crash leaves after each step of Write must read as the old or the new.
func TestCrashBetweenTheStepsOfWrite(t *testing.T) {
	for _, c := range []struct {
		situation string
		files     map[string]string
		want      string
	}{
		{"temporary file half written", map[string]string{"": "<old>", ".bak": "<older>", ".tmp": "<ne"}, "<old>"},
		{"temporary file whole", map[string]string{"": "<old>", ".bak": "<older>", ".tmp": "<new>"}, "<old>"},
		{"second name given", map[string]string{"": "<old>", ".bak": "<older>", ".bak.tmp": "<old>", ".tmp": "<new>"}, "<old>"},
		{"generation kept", map[string]string{"": "<old>", ".bak": "<old>", ".tmp": "<new>"}, "<old>"},
		{"renamed instead of linked", map[string]string{".bak": "<old>", ".tmp": "<new>"}, "<old>"},
		{"replaced", map[string]string{"": "<new>", ".bak": "<old>"}, "<new>"},
	} {
		t.Run(c.situation, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.json")
			for suffix, text := range c.files {
				put(t, path+suffix, text)
			}
			var got string
			if _, err := Load(path, decodeInto(&got)); err != nil || got != c.want {
				t.Fatalf("read %q, %v; want %q", got, err, c.want)
			}
			if err := Write(path, []byte("<next>")); err != nil {
				t.Fatal(err)
			}
			if f, b := content(t, path), content(t, path+".bak"); f != "<next>" || b != c.want {
				t.Fatalf("after the next write: file %q, before %q", f, b)
			}
		})
	}
}

func TestWriteIntoAMissingFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "t.json")
	if err := Write(path, []byte("x")); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v", err)
	}
}

// blockWrites makes every Write of path fail, whoever runs the test: a folder with
// something in it stands where the temporary file would be.
func blockWrites(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(path+".tmp", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	put(t, path, "<old>")
	blockWrites(t, path)
	if err := Write(path, []byte("<new>")); err == nil {
		t.Fatal("no error")
	}
	if c := content(t, path); c != "<old>" {
		t.Fatalf("file is %q", c)
	}
}
