// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package statefile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestReadJournalTouchesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	j, err := OpenJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range []string{"one", "two"} {
		j.Append([]byte(record))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	current := Journals(path)[1]
	b, err := os.ReadFile(current)
	if err != nil {
		t.Fatal(err)
	}
	torn := append(b, 0, 0, 0, 9, 1)
	if err := os.WriteFile(current, torn, 0o644); err != nil {
		t.Fatal(err)
	}
	var got []string
	var places []int64
	whole, size, err := ReadJournal(current, func(at int64, record []byte) {
		got, places = append(got, string(record)), append(places, at)
	})
	if err != nil || whole != int64(len(b)) || size != int64(len(torn)) {
		t.Errorf("whole records end at %d of %d, %v; want %d of %d", whole, size, err, len(b), len(torn))
	}
	if len(got) != 2 || got[0] != "one" || got[1] != "two" || places[1] != recordHead+3 {
		t.Errorf("records %q at %d", got, places)
	}
	if after, err := os.ReadFile(current); err != nil || !bytes.Equal(after, torn) {
		t.Errorf("the file was changed, %v", err)
	}
}
