// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store"
)

func rebuild(t *testing.T, dir string, all bool) (*Rebuilt, error) {
	t.Helper()
	cfg := store.DefaultConfig()
	cfg.QueueFileBytes, cfg.BatchFileBytes, cfg.Index.Tags = queueFileBytes, batchFileBytes, false // the rest is found out
	return Rebuild(t.Context(), options(t, dir), RebuildOptions{Config: cfg, Logger: quiet, All: all})
}

// queueBytes are the contents of all queue files, without the zeros at the end.
func queueBytes(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for _, below := range []string{"consumequeue", "batchconsumequeue"} {
		if !exists(filepath.Join(dir, below)) {
			continue
		}
		for name, b := range tree(t, filepath.Join(dir, below)) {
			files[filepath.Join(below, name)] = bytes.TrimRight(b, "\x00")
		}
	}
	return files
}

// Whatever is damaged of what is derived is as it was before, byte for byte, and what was there is kept.
func TestRebuildMendsWhatIsDerived(t *testing.T) {
	pristine := writeStore(t)
	want := queueBytes(t, pristine)
	for name, damage := range map[string]func(t *testing.T, dir string){
		"a unit is zero": func(t *testing.T, dir string) {
			u := unitOf(t, dir, "Orders", 0, 60)
			overwrite(t, u.path, u.at, make([]byte, 20))
		},
		"a unit points elsewhere": func(t *testing.T, dir string) {
			u := unitOf(t, dir, "Logs", 0, 3)
			overwrite(t, u.path, u.at, be64(u.physical+5))
		},
		"a delayed message is due at another time": func(t *testing.T, dir string) {
			u := unitOf(t, dir, "SCHEDULE_TOPIC_XXXX", 2, 4)
			flip(t, u.path, u.at+17)
		},
		"the first file of a queue is missing": func(t *testing.T, dir string) {
			remove(t, unitOf(t, dir, "Orders", 0, 0).path)
		},
		"a file of a queue has another size": func(t *testing.T, dir string) {
			if err := os.Truncate(unitOf(t, dir, "Orders", 0, 10).path, 110); err != nil {
				t.Fatal(err)
			}
		},
		"a queue is missing": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "consumequeue", "Orders", "1")); err != nil {
				t.Fatal(err)
			}
		},
		"all queues are missing": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "consumequeue")); err != nil {
				t.Fatal(err)
			}
		},
		"a batch unit is zero": func(t *testing.T, dir string) {
			u := batchUnitOf(t, dir, 7)
			overwrite(t, u.path, u.at, make([]byte, 46))
		},
		"the batch queue is missing": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "batchconsumequeue")); err != nil {
				t.Fatal(err)
			}
		},
		"a unit too many": func(t *testing.T, dir string) {
			u := unitOf(t, dir, "Orders", 0, 119)
			overwrite(t, u.path, u.at+20, append(be64(1<<40), append(be32(100), be64(0)...)...))
		},
		"an index entry leads nowhere": func(t *testing.T, dir string) {
			overwrite(t, firstIndexFile(t, dir), 40+4*indexSlots+20*7+4, be64(1<<40))
		},
		"the index is missing": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyTree(t, pristine)
			damage(t, dir)
			log := tree(t, filepath.Join(dir, "commitlog"))
			res, err := rebuild(t, dir, false)
			if err != nil {
				t.Fatal(err)
			}
			if res.Before.Counts.Derived == 0 {
				t.Error("nothing was wrong before")
			}
			if res.After == nil {
				t.Fatal("nothing was done")
			}
			wantRight(t, res.After)
			if res.After.Queued != records || res.After.Matched != 3*records {
				t.Errorf("%s", jsonOf(t, res.After))
			}
			if err := sameTrees(want, queueBytes(t, dir)); err != nil {
				t.Error("queues: ", err)
			}
			if err := sameTrees(log, tree(t, filepath.Join(dir, "commitlog"))); err != nil {
				t.Error("the log: ", err)
			}
			for _, moved := range res.Moved {
				if !exists(filepath.Join(res.Aside, moved)) {
					t.Errorf("%s is not kept", moved)
				}
			}
		})
	}
}

func TestRebuildNothing(t *testing.T) {
	dir := writeStore(t)
	before := tree(t, dir)
	res, err := rebuild(t, dir, false)
	if err != nil || res.After != nil || len(res.Moved) > 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if err := sameTrees(before, tree(t, dir)); err != nil {
		t.Error(err)
	}
}

func TestRebuildAll(t *testing.T) {
	dir := writeStore(t)
	want := queueBytes(t, dir)
	res, err := rebuild(t, dir, true)
	if err != nil {
		t.Fatal(err)
	}
	wantRight(t, res.After)
	if len(res.Moved) != 6 { // five queues and the index
		t.Errorf("put aside: %v", res.Moved)
	}
	if err := sameTrees(want, queueBytes(t, dir)); err != nil {
		t.Error(err)
	}
}

// A queue of which the log has nothing left keeps its place: only its files know where its offsets go on.
func TestRebuildKeepsExpiredQueues(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, testConfig(dir))
	put(t, s, testMessage("Old", 0, 0))
	put(t, s, testMessage("Old", 0, 1))
	fill(t, s, 0, 120)
	closeStore(t, s)
	remove(t, filepath.Join(dir, "commitlog", "00000000000000000000"))
	wantRight(t, verifyDir(t, dir))

	u := unitOf(t, dir, "Orders", 0, 119)
	overwrite(t, u.path, u.at, make([]byte, 20))
	res, err := rebuild(t, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	wantRight(t, res.After)
	s = openStore(t, testConfig(dir))
	defer closeStore(t, s)
	if a := put(t, s, testMessage("Old", 0, 2)); a.QueueOffset != 2 {
		t.Errorf("the expired queue goes on at %d, want 2", a.QueueOffset)
	}
	if _, end := s.QueueRange("Orders", 0); end != 120 {
		t.Errorf("the queue that was built ends at %d, want 120", end)
	}
}

// Stores that a Java broker wrote last have no mark whose sums would make a start read the whole log.
func TestRebuildJavaStores(t *testing.T) {
	goldenStores(t, func(t *testing.T, name, dir string) {
		want := queueBytes(t, dir)
		path := filepath.Join(dir, "consumequeue", "S_Normal", "2", "00000000000000000000")
		overwrite(t, path, 20*10, make([]byte, 20))
		if err := os.RemoveAll(filepath.Join(dir, "consumequeue", "S_Order")); err != nil {
			t.Fatal(err)
		}
		if batches := filepath.Join(dir, "batchconsumequeue", "S_BCQ"); exists(batches) {
			if err := os.RemoveAll(filepath.Join(batches, "1")); err != nil {
				t.Fatal(err)
			}
			overwrite(t, filepath.Join(batches, "0", "00000000000000000000"), 46, make([]byte, 46))
		}
		o := options(t, dir)
		o.DelayOf = nil // due times are compared in TestVerifyJavaStores
		cfg := store.DefaultConfig()
		cfg.Index.Tags = strings.HasPrefix(name, "5.")
		res, err := Rebuild(t.Context(), o, RebuildOptions{Config: cfg, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if res.Before.Counts.Derived == 0 || res.After == nil {
			t.Fatalf("before: %+v", res.Before.Counts)
		}
		wantRight(t, res.After)
		if res.After.Queued != res.Before.Messages {
			t.Errorf("%s", jsonOf(t, res.After))
		}
		got := queueBytes(t, dir)
		for file, b := range want {
			if !bytes.Equal(b, got[file]) && len(b) > 0 {
				t.Errorf("%s differs", file)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "abort")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("abort is left: %v", err)
		}
	})
}

// A start would lose messages: then nothing is touched.
func TestRebuildRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string)
		words  string
	}{
		"the log would be cut": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "checkpoint")) // so that nothing is known to be durable
			rec := recordOf(t, dir, "Orders", 0, 118)
			flip(t, rec.path, rec.at+88)
		}, "would cut the log"},
		"topics cannot be read": {func(t *testing.T, dir string) {
			writeConfig(t, dir, "topics.json", "{")
		}, "without the topics"},
		"the file size is not known": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "commitlog", "00000000000000000000"))
			remove(t, filepath.Join(dir, "commitlog", "00000000000000032768"))
		}, "mappedFileSizeCommitLog is 1073741824"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeStore(t)
			u := unitOf(t, dir, "Orders", 0, 119)
			overwrite(t, u.path, u.at, make([]byte, 20))
			test.damage(t, dir)
			before := tree(t, dir)
			res, err := rebuild(t, dir, false)
			if err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%v, want %s", err, test.words)
			}
			if res == nil || res.Before == nil {
				t.Error("no report")
			}
			if err := sameTrees(before, tree(t, dir)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Queues of light topics, which a broker with enableLmq makes of its messages, are checked, and built again.
func TestLightTopics(t *testing.T) {
	dir := writeStore(t)
	s := openStore(t, testConfig(dir))
	m := testMessage("Orders", 0, 120)
	m.Properties = message.AppendProperty(m.Properties, message.PropMultiDispatch, "%LMQ%a,%LMQ%b")
	m.Properties = message.AppendProperty(m.Properties, message.PropMultiQueueOffset, "0,0")
	put(t, s, m)
	closeStore(t, s)
	u := unitOf(t, dir, "Orders", 0, 120)
	light := filepath.Join(dir, "consumequeue", "%LMQ%a", "0", "00000000000000000000")
	b := append(onDisk(t, u.path, u.at, 20), make([]byte, queueFileBytes-20)...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(light), 0o755), os.WriteFile(light, b, 0o644)); err != nil {
		t.Fatal(err)
	}
	closeStore(t, openStore(t, testConfig(dir))) // the checkpoint counts the queue from now on
	r := verifyDir(t, dir)
	wantRight(t, r)
	if r.Queued != records+2 {
		t.Errorf("%s", jsonOf(t, r))
	}

	overwrite(t, light, 0, be64(u.physical+1))
	wantFinding(t, verifyDir(t, dir), finding{Derived, PartQueue, light, 0, "the message lies at"})
	for _, all := range []bool{false, true} {
		res, err := rebuild(t, dir, all)
		if err != nil {
			t.Fatal(err)
		}
		wantRight(t, res.After)
		if got := onDisk(t, light, 0, 20); !bytes.Equal(got, b[:20]) || len(res.Left) > 0 {
			t.Errorf("built %x, want %x; left %v", got, b[:20], res.Left)
		}
	}
}
