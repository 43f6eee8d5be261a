// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
)

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What Java brokers left is right throughout: every record, every unit, every entry.
func TestVerifyJavaStores(t *testing.T) {
	levels := strings.Fields("1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h")
	goldenStores(t, func(t *testing.T, name, dir string) {
		before := tree(t, dir)
		o := options(t, dir)
		o.DelayOf = func(level int) time.Duration {
			d, err := time.ParseDuration(levels[level-1])
			if err != nil {
				t.Error(err)
			}
			return d
		}
		r, err := Verify(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		wantRight(t, r)
		if r.Queued != r.Units || r.Queued != r.Messages || r.Matched != r.Entries || r.Messages < 700 || r.Entries < 1000 {
			t.Errorf("%s", jsonOf(t, r))
		}
		if killed := strings.HasSuffix(name, "killed"); r.Clean == killed || !r.ByJava {
			t.Errorf("clean %v, by Java %v", r.Clean, r.ByJava)
		}
		if err := sameTrees(before, tree(t, dir)); err != nil {
			t.Error("verify changed the store: ", err)
		}
	})
}

func TestVerifyOwnStore(t *testing.T) {
	dir := writeStore(t)
	before := tree(t, dir)
	r := verifyDir(t, dir)
	wantRight(t, r)
	want := int64(records)
	if r.Messages != want || r.Queued != want || r.Units != want || r.Matched != 3*want || r.Entries != 3*want || r.LogFiles < 3 || !r.Clean || r.ByJava {
		t.Errorf("%s", jsonOf(t, r))
	}
	if err := sameTrees(before, tree(t, dir)); err != nil {
		t.Error("verify changed the store: ", err)
	}
}

// What lies on the disk while a broker runs, or after it was killed, is nothing to worry about.
func TestVerifyKilledStore(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, testConfig(dir))
	fill(t, s, 0, 60)
	closeStore(t, s)
	s = openStore(t, testConfig(dir))
	fill(t, s, 60, 40)
	killed := copyTree(t, dir)
	closeStore(t, s)

	r := verifyDir(t, killed)
	if r.Counts.Wrong() > 0 || r.Clean || r.Messages != 3*100+25+25 {
		t.Errorf("%s", jsonOf(t, r))
		for _, f := range r.Findings {
			t.Log(jsonOf(t, f))
		}
	}
	if r.Queued == r.Messages {
		t.Error("all units were saved: the test shows nothing")
	}
	closeStore(t, openStore(t, testConfig(killed)))
	wantRight(t, verifyDir(t, killed))
}

func TestVerifyRefusesARunningStore(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, testConfig(dir))
	defer s.Close()
	put(t, s, testMessage("Orders", 0, 0))
	_, err := Verify(t.Context(), options(t, dir))
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	if _, running := Running(filepath.Join(dir, "consumequeue", "Orders", "0")); !running {
		t.Error("the store does not count as running")
	}
	closeStore(t, s)
	if _, running := Running(dir); running {
		t.Error("the store counts as running")
	}
}

// Topics that were deleted, and deleted and made anew, leave records behind that no queue has.
func TestVerifyDeletedTopics(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, testConfig(dir))
	fill(t, s, 0, 30)
	for _, topic := range []string{"Orders", "Logs", "Batches"} {
		if err := s.DeleteTopic(topic); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		put(t, s, testMessage("Orders", 0, i))
	}
	put(t, s, testBatch("Batches", 0, 0))
	closeStore(t, s)
	r := verifyDir(t, dir)
	wantRight(t, r)
	if r.Messages != 30*3+8+8+10+1 || r.Queued != 8+10+1 || r.Deleted != 90+8 {
		t.Errorf("%s", jsonOf(t, r))
	}
}

// Log files go from the front: older units and entries cannot be compared, and are no fault.
func TestVerifyShortenedLog(t *testing.T) {
	dir := writeStore(t)
	if err := os.Remove(filepath.Join(dir, "commitlog", "00000000000000000000")); err != nil {
		t.Fatal(err)
	}
	r := verifyDir(t, dir)
	wantRight(t, r)
	if r.LogBegin != logFileBytes || r.Queued >= r.Units || r.Matched >= r.Entries {
		t.Errorf("%s", jsonOf(t, r))
	}
}

// Transactions: what is prepared or rolled back has no unit.
func TestVerifyTransactions(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, testConfig(dir))
	for i, flag := range []int32{0, message.TransactionPrepared, message.TransactionCommit, message.TransactionRollback} {
		m := testMessage("Orders", 0, i)
		m.SysFlag = flag
		put(t, s, m)
	}
	closeStore(t, s)
	r := verifyDir(t, dir)
	wantRight(t, r)
	if r.Queued != 2 || r.Unqueued != 2 {
		t.Errorf("%s", jsonOf(t, r))
	}
}

// Records with a checksum over all of them are checked against it.
func TestVerifySealedRecords(t *testing.T) {
	dir := t.TempDir()
	cfg := testConfig(dir)
	cfg.Recovery.AppendSeal = true
	s := openStore(t, cfg)
	fill(t, s, 0, 5)
	closeStore(t, s)
	wantRight(t, verifyDir(t, dir))

	rec := recordOf(t, dir, "Logs", 0, 3)
	flip(t, rec.path, rec.at+47) // the time of birth: no other checksum covers it
	r := verifyDir(t, dir)
	wantFinding(t, r, finding{Damaged, PartLog, rec.path, rec.at, "the checksum of the record differs"})
	if r.Counts != (Counts{Damaged: 1}) {
		t.Errorf("%+v", r.Counts)
	}
}

func TestVerifyFarFromAStore(t *testing.T) {
	dir := t.TempDir()
	if _, err := FindStore(dir); err == nil || !strings.Contains(err.Error(), "is no store") {
		t.Errorf("%v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "store", "commitlog"), 0o755); err != nil {
		t.Fatal(err)
	}
	wantRight(t, verifyDir(t, dir)) // a data folder, nothing in the store yet
}
