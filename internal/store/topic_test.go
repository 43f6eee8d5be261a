// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// A deleted topic does not come back, however the store stops; one made anew begins at offset 0 and keeps its own
// messages only.
func TestDeletedTopic(t *testing.T) {
	stops := map[string]func(t *testing.T, s *Store, d *faultfs.Disk) *faultfs.Disk{
		"closed": func(t *testing.T, s *Store, d *faultfs.Disk) *faultfs.Disk {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return d
		},
		"killed":    func(t *testing.T, s *Store, d *faultfs.Disk) *faultfs.Disk { defer s.Close(); return d.Kill() },
		"power cut": func(t *testing.T, s *Store, d *faultfs.Disk) *faultfs.Disk { defer s.Close(); return d.Survive(7) },
		"killed, and its queues removed": func(t *testing.T, s *Store, d *faultfs.Disk) *faultfs.Disk {
			defer s.Close()
			d = d.Kill()
			d.RemoveAll("/store/consumequeue")
			return d
		},
	}
	for name, stop := range stops {
		for _, anew := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, anew=%v", name, anew), func(t *testing.T) {
				cfg := small("/store")
				disk := faultfs.NewDisk()
				exists := func(d *Deps) { d.TopicExists = func(topic string) bool { return topic != "T" || anew } }
				s := open(t, cfg, on(disk), exists)
				for i := range 20 {
					put(t, s, msg("T", int32(i%2), "old"), msg("other", 0, "kept"))
				}
				if err := s.DeleteTopic("T"); err != nil {
					t.Fatal(err)
				}
				if low, end := s.QueueRange("T", 0); low != 0 || end != 0 {
					t.Errorf("after the deletion: %d..%d", low, end)
				}
				if anew {
					if a := put(t, s, msg("T", 0, "new"))[0]; a.QueueOffset != 0 {
						t.Errorf("made anew it begins at %d", a.QueueOffset)
					}
				}
				disk = stop(t, s, disk)
				s = open(t, cfg, on(disk), exists)
				want := 0
				if anew {
					want = 1
				}
				if got := readAll(t, s, "T", 0, 0); len(got) != want || want > 0 && string(got[0].Body) != "new" {
					t.Errorf("after a restart it has %d messages", len(got))
				}
				// Without queues the whole log is read again: old messages of a topic that exists cannot be told from lost ones.
				if low, end := s.QueueRange("T", 1); end != 0 && !(anew && strings.Contains(name, "removed")) {
					t.Errorf("after a restart queue 1 is %d..%d", low, end)
				}
				if got := readAll(t, s, "other", 0, 0); len(got) != 20 {
					t.Errorf("the other topic has %d messages", len(got))
				}
			})
		}
	}
}

func TestCleanUnused(t *testing.T) {
	s := open(t, small(t.TempDir()))
	put(t, s, msg("keep", 0, "x"), msg("drop", 0, "x"), msg("drop", 1, "x"))
	if err := s.CleanUnused(func(topic string) bool { return topic == "keep" }); err != nil {
		t.Fatal(err)
	}
	if got := s.Queues(); len(got) != 1 || got[0] != (QueueName{"keep", 0}) {
		t.Errorf("queues %v", got)
	}
}

// Deleting a topic while it is sent to loses no answer: each message is stored, in the old topic or the new one, or
// refused.
func TestDeleteTopicUnderLoad(t *testing.T) {
	flushTypes(t, func(t *testing.T, flush FlushDiskType) {
		cfg := small(t.TempDir())
		cfg.Flush = flush
		s := open(t, cfg)
		done := make(chan []*outcome)
		go func() {
			var all []*outcome
			for range 500 {
				o := newOutcome()
				all = append(all, o)
				s.Append(msg("T", 0, "x"), o)
				s.Commit()
			}
			done <- all
		}()
		for range 10 {
			if err := s.DeleteTopic("T"); err != nil {
				t.Error(err)
			}
		}
		for i, o := range <-done {
			if a := o.wait(t); a.Status != OK && a.Status != ServiceNotAvailable {
				t.Errorf("message %d: %v, %v", i, a.Status, a.Err)
			}
		}
		put(t, s, msg("T", 0, "last"))
		got := readAll(t, s, "T", 0, 0)
		for i, r := range got {
			if r.QueueOffset != int64(i) {
				t.Errorf("message %d is %d", i, r.QueueOffset)
			}
		}
		if string(got[len(got)-1].Body) != "last" {
			t.Error("the last message is not the last")
		}
	})
}

// Records of half and rolled back messages take no place in a queue.
func TestTransactionRecords(t *testing.T) {
	cfg := small(t.TempDir())
	s := open(t, cfg)
	kinds := []int32{0, message.TransactionPrepared, message.TransactionCommit, message.TransactionRollback, 0}
	for i, kind := range kinds {
		m := msg("T", 0, fmt.Sprint(i), message.PropKeys, "k")
		m.SysFlag = kind
		put(t, s, m)
	}
	check := func(s *Store) {
		t.Helper()
		var got []string
		for _, r := range readAll(t, s, "T", 0, 0) {
			got = append(got, string(r.Body))
		}
		if strings.Join(got, "") != "024" {
			t.Errorf("queue has %v", got)
		}
		if res, _ := s.Query("T", "k", 32, 0, 1<<62); bodies(t, res.Records) != "0 1 2 4" {
			t.Errorf("by key %q: prepared ones are found, rolled back ones are not", bodies(t, res.Records))
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, cfg))
}
