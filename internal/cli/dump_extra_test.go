// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Units with an address are printed with what it leads to; what is lost is told, and makes the exit code 1.
func TestDumpBesideQueues(t *testing.T) {
	dir := javaStore(t, "../extras")
	units, extended := 0, 0
	for _, line := range printedLines[unitLine](t, "dump", "consumequeue", dir) {
		if line.Kind != "unit" {
			continue
		}
		units++
		if line.Beside == nil {
			if !strings.HasPrefix(line.Topic, "%LMQ%") {
				t.Errorf("%+v", line)
			}
			continue
		}
		if extended++; line.StoredAt == "" || *line.TagsCode < -1<<31 {
			t.Errorf("%+v", line)
		}
	}
	if units != 614 || extended != 412 {
		t.Errorf("%d units, %d with something beside the queue", units, extended)
	}
	got := printed(t, "dump", "consumequeue", dir, "-t", "FT", "-q", "0", "--from", "21", "--to", "22")
	if got.code != exitOK || !strings.Contains(got.out, "filter bits ") || !strings.Contains(got.out, ", beside at ") {
		t.Errorf("%d %s%s", got.code, got.out, got.err)
	}
	if got = printed(t, "dump", "consumequeue", dir, "-t", "SCHEDULE_TOPIC_XXXX", "-q", "17"); !strings.Contains(got.out, "  stored ") {
		t.Errorf("a delayed message: %s", got.out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "consumequeue_ext", "FT")); err != nil {
		t.Fatal(err)
	}
	got = printed(t, "dump", "consumequeue", dir, "-t", "FT", "-q", "0", "--max", "1")
	if got.code == exitOK || !strings.Contains(got.out, "DAMAGED: what is kept beside the queue at 0 is lost: no file in ") {
		t.Errorf("%d %s%s", got.code, got.out, got.err)
	}
}
