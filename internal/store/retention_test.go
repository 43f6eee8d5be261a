// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// hourly is a configuration that removes expired files at any hour.
func hourly(dir string, reserved time.Duration) Config {
	cfg := small(dir)
	cfg.Retention.DeleteWhen = "0;1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23"
	cfg.Retention.Reserved = reserved
	cfg.Retention.LogPause, cfg.Retention.QueuePause = 0, 0
	cfg.Retention.Interval = time.Hour // the tests do the rounds
	return cfg
}

func fillFiles(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := range n {
		put(t, s, msg("T", 0, fmt.Sprint(i, strings.Repeat("b", 2000)), message.PropKeys, fmt.Sprintf("k%d", i)))
	}
}

func TestExpiredFilesGo(t *testing.T) {
	cfg := hourly("/store", 0)
	disk := faultfs.NewDisk()
	s := open(t, cfg, on(disk))
	fillFiles(t, s, 300) // some ten log files, three queue files
	put(t, s, msg("old", 0, "x"))
	if err := s.checkpoint(false); err != nil { // brings the queue into its files
		t.Fatal(err)
	}
	before := s.Info()
	_, oldNext := s.Read(nil, &ReadRequest{Topic: "T", MaxCount: 1})
	for range 3 {
		s.retain(t.Context())
	}
	after := s.Info()
	if files := s.log.Files().Len(); after.LogMin <= before.LogMin || after.LogMax != before.LogMax || files > 2 {
		t.Fatalf("the log was %d..%d, is %d..%d in %d files", before.LogMin, before.LogMax, after.LogMin, after.LogMax, files)
	}
	check := func() {
		t.Helper()
		low, end := s.QueueRange("T", 0)
		if low <= 200 || end != 300 {
			t.Errorf("queue is %d..%d", low, end)
		}
		if _, res := s.Read(nil, &ReadRequest{Topic: "T", Offset: oldNext.Next, MaxCount: 1}); res.Status != OffsetTooSmall || res.Next != low || res.Min != low {
			t.Errorf("read of a removed message: %+v", res)
		}
		if got := readAll(t, s, "T", 0, low); int64(len(got)) != end-low || got[0].QueueOffset != low {
			t.Errorf("%d messages from %d on", len(got), low)
		}
		if got := s.OffsetByTime("T", 0, 0, false); got != low {
			t.Errorf("offset by time 0 is %d, want %d", got, low)
		}
		if got := s.OffsetByTime("T", 0, 0, true); got != low {
			t.Errorf("upper offset by time 0 is %d, want %d", got, low)
		}
		if got := s.TimeOf("T", 0, low); s.EarliestTime("T", 0) != got || got <= 0 {
			t.Errorf("earliest time %d, want %d", s.EarliestTime("T", 0), got)
		}
		if _, err := s.View(0); err != ErrNoMessage {
			t.Errorf("view of a removed message: %v", err)
		}
		if res, err := s.Query("T", "k0", 32, 0, 1<<62); err != nil || res.Count != 0 {
			t.Errorf("query of a removed message: %d, %v", res.Count, err)
		}
		if res, err := s.Query("T", "k299", 32, 0, 1<<62); err != nil || res.Count != 1 {
			t.Errorf("query of the last message: %d, %v", res.Count, err)
		}
	}
	check()
	if files := s.lookup("T", 0).Files(); files != 1 {
		t.Errorf("the queue has %d files", files)
	}
	if files := s.index.x; files.Empty() {
		t.Error("the index is empty")
	}
	// Neither a crash nor a proper stop brings anything back, or takes anything.
	disk = disk.Kill()
	s.Close()
	s = open(t, cfg, on(disk))
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg, on(disk))
	check()
	if a := put(t, s, msg("T", 0, "next"))[0]; a.QueueOffset != 300 {
		t.Errorf("the next message got offset %d", a.QueueOffset)
	}
}

func TestYoungFilesStay(t *testing.T) {
	s := open(t, hourly(t.TempDir(), time.Hour))
	fillFiles(t, s, 100)
	files := s.log.Files().Len()
	s.CleanLog()
	s.retain(t.Context())
	if got := s.log.Files().Len(); got != files {
		t.Errorf("%d of %d files are left", got, files)
	}
}

// All messages of a queue may be gone: it is empty then, but goes on counting.
func TestAllMessagesOfAQueueExpire(t *testing.T) {
	cfg := hourly("/store", 0)
	disk := faultfs.NewDisk()
	s := open(t, cfg, on(disk))
	put(t, s, msg("early", 0, "x"), msg("early", 0, "y"))
	fillFiles(t, s, 200)
	for range 3 {
		s.retain(t.Context())
	}
	check := func() {
		t.Helper()
		if low, end := s.QueueRange("early", 0); low != 2 || end != 2 {
			t.Errorf("queue is %d..%d, want 2..2", low, end)
		}
		if _, res := s.Read(nil, &ReadRequest{Topic: "early", MaxCount: 32}); res.Status != OffsetTooSmall || res.Next != 2 {
			t.Errorf("read: %+v", res)
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg, on(disk))
	check()
	if a := put(t, s, msg("early", 0, "z"))[0]; a.QueueOffset != 2 {
		t.Errorf("the next message got offset %d", a.QueueOffset)
	}
	if low, end := s.QueueRange("early", 0); low != 2 || end != 3 {
		t.Errorf("queue is %d..%d, want 2..3", low, end)
	}
}

// A disk that fills up with messages loses the oldest ones before it refuses new ones, if that is configured.
func TestFullDiskIsCleaned(t *testing.T) {
	cfg := hourly("/store", time.Hour)
	disk := faultfs.NewDisk()
	s := open(t, cfg, on(disk))
	fillFiles(t, s, 1000)
	disk.SetRoom(disk.Taken() * 100 / 88) // what is reserved ahead may come on top
	s.lookAtDisks()
	if s.Writable() != nil {
		t.Fatalf("it refuses at 88 %%: %v, %+v", s.Writable(), s.disk.logUse.Load())
	}
	s.retain(t.Context())
	s.lookAtDisks()
	if used := usedPercent(s.disk.logUse.Load()); used > 85 {
		t.Errorf("still %d %% full", used)
	}
	low, end := s.QueueRange("T", 0)
	if low == 0 || end != 1000 {
		t.Errorf("queue is %d..%d", low, end)
	}
	// A reader that holds an old file reads on; nobody is told anything wrong.
	if got := readAll(t, s, "T", 0, low); int64(len(got)) != end-low {
		t.Errorf("%d messages are readable", len(got))
	}
}
