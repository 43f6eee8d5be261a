// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/store"
)

// extraFileBytes is the size of the files beside the queues of the tests: seven extras.
const extraFileBytes = 7*23 + 5

// writeExtended makes a store whose queues have extras with three bits each.
func writeExtended(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cfg := testConfig(dir)
	cfg.Extra = store.ExtraConfig{Enable: true, FileBytes: extraFileBytes}
	s, err := store.Open(t.Context(), cfg, store.Deps{Logger: quiet, DelayOf: levelDelay,
		BatchTopic: func(topic string) (batch, ok bool) { return topic == "Batches", true },
		FilterBits: func(dst []byte, _ string, p []byte) []byte { return append(dst, byte(len(p)), 2, 3) },
	})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 0, 120)
	closeStore(t, s)
	writeConfig(t, dir, "topics.json", `{"dataVersion":{"counter":1},"topicConfigTable":{"Batches":{"attributes":{"queue.type":"BatchCQ"}},"Orders":{"topicName":"Orders"},"Logs":{},"SCHEDULE_TOPIC_XXXX":{}}}`)
	return dir
}

// besideOf gives the file and the place in it of the extra of a unit.
func besideOf(t *testing.T, dir, topic string, queue int32, n int64) (path string, at int64) {
	t.Helper()
	queues, err := FindQueues(filepath.Join(dir, "consumequeue", topic))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queues {
		if q.ID != queue {
			continue
		}
		if err := q.Walk(t.Context(), n, n+1, func(u *Units) error {
			off, _, fault, err := q.Beside(u)
			if fault != "" || err != nil {
				t.Fatal(fault, err)
			}
			f := q.beside.run.fileOf(off)
			path, at = f.Path, off-f.Start
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return path, at
}

func TestVerifyExtended(t *testing.T) {
	dir := writeExtended(t)
	r := verifyDir(t, dir)
	wantRight(t, r)
	if r.Queued != records || r.Extended != records-30 || len(r.NotChecked) > 0 { // batch queues have none
		t.Errorf("%s", jsonOf(t, r))
	}
}

// Damage beside a queue is found with its place, and built again.
func TestDamageBesideQueues(t *testing.T) {
	pristine := writeExtended(t)
	for name, test := range map[string]struct {
		damage func(t *testing.T, path string, at int64)
		words  string
		count  int64 // of the units that it is about
	}{
		"an extra is zero": {func(t *testing.T, path string, at int64) { overwrite(t, path, at, make([]byte, 23)) },
			"what was kept beside it is lost: nothing that can be read is at byte", 1},
		"its size is wrong":                  {func(t *testing.T, path string, at int64) { overwrite(t, path, at, []byte{0, 22}) }, "nothing that can be read", 1},
		"it has other tags":                  {func(t *testing.T, path string, at int64) { flip(t, path, at+9) }, "tags code", 1},
		"it is of a message of another time": {func(t *testing.T, path string, at int64) { flip(t, path, at+16) }, "is of a message stored", 1},
		"the file is missing":                {func(t *testing.T, path string, _ int64) { remove(t, path) }, "what was kept beside it is lost: no file in", 7},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyTree(t, pristine)
			path, at := besideOf(t, dir, "Orders", 1, 49)
			test.damage(t, path, at)
			r := verifyDir(t, dir)
			u := unitOf(t, dir, "Orders", 1, 49)
			wantFinding(t, r, finding{Derived, PartQueue, u.path, u.at, test.words})
			if r.Counts.Derived != 1 || r.Counts.Damaged > 0 || r.Findings[0].Count != test.count {
				t.Errorf("%+v: %s", r.Counts, jsonOf(t, r.Findings))
			}
			res, err := rebuild(t, dir, false)
			if err != nil {
				t.Fatal(err)
			}
			wantRight(t, res.After)
			if res.After.Extended != records-30 || len(res.Moved) != 2 { // the queue, and what lies beside
				t.Errorf("moved %v: %s", res.Moved, jsonOf(t, res.After))
			}
		})
	}
	t.Run("a file is cut", func(t *testing.T) {
		dir := copyTree(t, pristine)
		path, _ := besideOf(t, dir, "Orders", 1, 49)
		if err := os.Truncate(path, 30); err != nil {
			t.Fatal(err)
		}
		wantFinding(t, verifyDir(t, dir), finding{Derived, PartQueue, path, 30, "it has 30 bytes, others have 166"})
	})
}

// What a Java broker left with light queues and extras is right throughout, and is built again as it was but for the bits,
// which nothing but its table of filters tells.
func TestVerifyJavaExtras(t *testing.T) {
	dir := t.TempDir()
	if err := unpack("../store/testdata/extras/store.tar.gz", dir); err != nil {
		t.Fatal(err)
	}
	o := options(t, dir)
	o.DelayOf = func(level int) time.Duration {
		return map[int]time.Duration{1: time.Second, 2: 5 * time.Second, 18: 2 * time.Hour}[level]
	}
	r, err := Verify(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	wantRight(t, r)
	if r.Messages != 412 || r.Queued != 614 || r.Units != 614 || r.Extended != 412 || !r.ByJava {
		t.Errorf("%s", jsonOf(t, r))
	}
	want := queueBytes(t, dir)
	u := filepath.Join(dir, "consumequeue", "FT", "0", "00000000000000000000")
	overwrite(t, u, 40, make([]byte, 20))
	overwrite(t, filepath.Join(dir, "consumequeue", "%LMQ%a", "0", "00000000000000000000"), 40, make([]byte, 20))
	cfg := store.DefaultConfig()
	res, err := Rebuild(t.Context(), o, RebuildOptions{Config: cfg, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if res.Before.Counts.Derived != 2 {
		t.Errorf("%s", jsonOf(t, res.Before.Findings))
	}
	wantRight(t, res.After)
	if res.After.Extended != 412 {
		t.Errorf("%s", jsonOf(t, res.After))
	}
	for file, b := range queueBytes(t, dir) {
		if strings.Contains(file, "%LMQ%") && !bytes.Equal(b, want[file]) {
			t.Errorf("%s differs", file)
		}
	}
}
