// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package segment

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
)

// What a crash, or a person, may have left of the files of a run.
func TestOpenMendsTheEnd(t *testing.T) {
	const size = 100
	for _, row := range []struct {
		name    string
		files   map[int64]int64 // start: bytes
		derived bool
		ahead   bool    // the one at 300 was made ahead and nothing is in it
		want    []int64 // starts; nil: refused
	}{
		{name: "no folder", want: []int64{}},
		{name: "whole files", files: map[int64]int64{200: 100, 300: 100}, want: []int64{200, 300}},
		{name: "the last one empty", files: map[int64]int64{0: 100, 100: 0}, want: []int64{0}},
		{name: "the last one cut", files: map[int64]int64{0: 100, 100: 37}, want: []int64{0, 100}},
		{name: "the last one empty, the one before cut", files: map[int64]int64{0: 100, 100: 37, 200: 0}, want: []int64{0, 100}},
		{name: "the only one cut", files: map[int64]int64{0: 1}, want: []int64{0}},
		{name: "the last but one cut, the last not used", files: map[int64]int64{100: 100, 200: 5, 300: 100}, ahead: true, want: []int64{100, 200, 300}},
		{name: "one in the middle cut", files: map[int64]int64{0: 100, 100: 99, 200: 100}},
		{name: "one in the middle empty", files: map[int64]int64{0: 100, 100: 0, 200: 100}},
		{name: "one in the middle empty, derived", files: map[int64]int64{0: 100, 100: 0, 200: 100}, derived: true, want: []int64{0, 200}},
		{name: "one in the middle cut, derived", files: map[int64]int64{0: 100, 100: 99, 200: 100, 400: 100}, derived: true, want: []int64{0}},
		{name: "all smaller, derived", files: map[int64]int64{0: 99, 100: 99, 200: 99}, derived: true},
		{name: "the last but one empty, the last not used", files: map[int64]int64{100: 100, 200: 0, 300: 100}, ahead: true, want: []int64{100, 200, 300}},
		{name: "written with a larger size", files: map[int64]int64{0: 200}},
		{name: "written with another size", files: map[int64]int64{0: 150, 150: 150}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			for start, bytes := range row.files {
				fill := byte('x')
				if start == 300 && row.ahead {
					fill = 0
				}
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				content := make([]byte, bytes)
				for i := range content {
					content[i] = fill
				}
				if err := os.WriteFile(filepath.Join(dir, Name(start)), content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			handles := NewHandles(faultfs.OS, 8)
			defer handles.Close()
			open := Open
			if row.derived {
				open = OpenDerived
			}
			f, err := open(handles, size, dir)
			if row.want == nil {
				if wrong, ok := errors.AsType[*SizeError](err); !ok && err == nil || ok && wrong.Want != size {
					t.Fatalf("opened: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Starts(); !slices.Equal(got, row.want) {
				t.Fatalf("files at %v, want %v", got, row.want)
			}
			for _, start := range row.want {
				b := make([]byte, size)
				if n, err := f.ReadAt(b, start); n != size || err != nil {
					t.Fatalf("read the file at %d: %d bytes, %v", start, n, err)
				}
				had := int(row.files[start])
				if start == 300 && row.ahead {
					had = 0
				}
				if slices.Index(b, 0) != had && had < size || slices.ContainsFunc(b[had:], func(c byte) bool { return c != 0 }) {
					t.Errorf("the file at %d, which had %d bytes, reads %q", start, had, b)
				}
			}
		})
	}
}
