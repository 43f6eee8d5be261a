// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	for name, powerCut := range map[string]bool{"closed": false, "power cut": true} {
		t.Run(name, func(t *testing.T) { allMessagesOfAQueueExpire(t, powerCut) })
	}
}

func allMessagesOfAQueueExpire(t *testing.T, powerCut bool) {
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
	if powerCut {
		disk = disk.Survive(1)
	}
	if err := s.Close(); err != nil && !powerCut {
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

// A store that may take only so much on disk loses its oldest files, though they are young, and no more than it must.
func TestSizeIsLimited(t *testing.T) {
	cfg := hourly("/store", time.Hour)
	var gone removals
	s := open(t, cfg, on(faultfs.NewDisk()), gone.deps)
	fillFiles(t, s, 300)
	s.retain(t.Context())
	if low, _ := s.QueueRange("T", 0); low != 0 {
		t.Fatalf("without a limit the queue begins at %d", low)
	}
	if err := s.index.catchUp(); err != nil { // or it grows while it is measured
		t.Fatal(err)
	}
	cfg.Retention.ReservedBytes = s.bytes() / 2
	if err := s.Reconfigure(cfg); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.retain(t.Context())
	}
	if bytes := s.bytes(); bytes > cfg.Retention.ReservedBytes || bytes < cfg.Retention.ReservedBytes-2*cfg.LogFileBytes {
		t.Errorf("it takes %d bytes, %d are allowed", bytes, cfg.Retention.ReservedBytes)
	}
	low, end := s.QueueRange("T", 0)
	if got := readAll(t, s, "T", 0, low); low == 0 || int64(len(got)) != end-low {
		t.Errorf("queue is %d..%d, %d messages can be read", low, end, len(got))
	}
	want := map[string]Removal{"T/0 fileReservedBytes": {"T", 0, 0, low}}
	if diff := cmp.Diff(want, gone.all); diff != "" || gone.wrong != nil || gone.rounds != 1 {
		t.Errorf("told in %d rounds, %v: %s", gone.rounds, gone.wrong, diff)
	}
	cfg.Retention.ReservedBytes = 1 // the last file stays, whatever the limit
	if err := s.Reconfigure(cfg); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		s.retain(t.Context())
	}
	if _, end := s.QueueRange("T", 0); end != 300 || len(s.log.Files().Starts()) == 0 {
		t.Errorf("the queue ends at %d", end)
	}
	put(t, s, msg("T", 0, "next"))
}

// Expired files go in the hours that are configured, and in others when the disk fills up or somebody asks for it.
func TestWhenExpiredFilesGo(t *testing.T) {
	for _, c := range []struct {
		situation string
		hour      int
		percent   int64
		ask       bool
		want      bool
	}{
		{"in the hour", 4, 50, false, true},
		{"in another of the hours", 16, 50, false, true},
		{"before the hour", 3, 50, false, false},
		{"after the hour", 5, 50, false, false},
		{"when the disk fills up", 5, 80, false, true},
		{"when somebody asks", 5, 50, true, true},
	} {
		t.Run(c.situation, func(t *testing.T) {
			cfg := hourly("/store", time.Hour)
			cfg.Retention.DeleteWhen = "04;16"
			clock, disk := newHandClock(), faultfs.NewDisk()
			s := open(t, cfg, on(disk), by(clock))
			fillFiles(t, s, 100)
			s.retain(t.Context())
			for day, _ := clock.read(); day.Hour() != c.hour || day.Sub(newHandClock().day) < 2*time.Hour; day, _ = clock.read() {
				clock.pass(time.Hour)
				s.ages.clock.look(clock.read())
			}
			disk.SetRoom(disk.Taken() * 100 / c.percent)
			s.lookAtDisks()
			if c.ask {
				s.CleanLog()
			}
			s.retain(t.Context())
			if low, _ := s.QueueRange("T", 0); (low > 0) != c.want {
				t.Errorf("the queue begins at %d", low)
			}
		})
	}
}

// divided is a disk whose folder of the log is on a file system of its own. What is left of the other's room is told, the
// log's is a tenth full.
type divided struct {
	*faultfs.Disk
	other func() faultfs.Usage
}

func (d *divided) Usage(path string) (faultfs.Usage, error) {
	if strings.Contains(path, "commitlog") {
		return faultfs.Usage{Total: 1 << 30, Free: 9 << 30 / 10, Available: 9 << 30 / 10}, nil
	}
	return d.other(), nil
}

// When the disk of the queues fills up, messages go as they do when that of the log does.
func TestDiskOfTheQueuesIsFull(t *testing.T) {
	cfg := hourly("/store", time.Hour)
	cfg.QueueFileBytes, cfg.Index.Enable = 10*20, false
	disk := &divided{Disk: faultfs.NewDisk()}
	var s *Store
	var room atomic.Int64
	disk.other = func() faultfs.Usage {
		total := room.Load()
		if total == 0 {
			return faultfs.Usage{Total: 1 << 20, Free: 1 << 20, Available: 1 << 20}
		}
		free := max(total-s.derivedBytes(), 0)
		return faultfs.Usage{Total: total, Free: free, Available: free}
	}
	var gone removals
	s = open(t, cfg, on(disk), gone.deps)
	fillFiles(t, s, 300)
	if err := s.checkpoint(false); err != nil {
		t.Fatal(err)
	}
	room.Store(s.derivedBytes() * 100 / 92)
	s.lookAtDisks()
	if s.Writable() == nil {
		t.Fatal("it accepts messages")
	}
	for range 10 {
		s.retain(t.Context())
	}
	if err := s.Writable(); err != nil {
		t.Errorf("it is not cleaned: %v", err)
	}
	if low, _ := s.QueueRange("T", 0); gone.all["T/0 disk is full"] != (Removal{"T", 0, 0, low}) || low == 0 {
		t.Errorf("the queue begins at %d, told: %+v", low, gone.all)
	}
}

// Messages are refused above one level, and accepted again at a lower one; reads go on.
func TestWatermarks(t *testing.T) {
	cfg := hourly("/store", time.Hour)
	cfg.Retention.CleanForcibly = false
	disk := faultfs.NewDisk()
	s := open(t, cfg, on(disk))
	fillFiles(t, s, 100)
	film, err := disk.Open("/film", os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := film.Allocate(0, 64<<20); err != nil { // what the log reserves meanwhile counts for little
		t.Fatal(err)
	}
	for _, step := range []struct {
		percent  int64
		writable bool
	}{{80, true}, {89, true}, {92, false}, {89, false}, {87, false}, {84, true}, {89, true}, {95, false}, {50, true}} {
		disk.SetRoom(disk.Taken() * 100 / step.percent)
		s.lookAtDisks()
		if err := s.Writable(); (err == nil) != step.writable {
			t.Errorf("at %d %%: %v", step.percent, err)
		}
		if a := try(t, s, msg("T", 1, "x")); (a.Status == OK) != step.writable || a.Status != OK && a.Status != ServiceNotAvailable {
			t.Errorf("at %d %%: %v, %v", step.percent, a.Status, a.Err)
		}
		if got := readAll(t, s, "T", 0, 0); len(got) != 100 {
			t.Errorf("at %d %%: %d messages can be read", step.percent, len(got))
		}
	}
}

// Files are removed under readers: whoever reads gets right messages, or is told that they are gone.
func TestReadersOfRemovedFiles(t *testing.T) {
	cfg := hourly(t.TempDir(), 0)
	cfg.Files.TailBytes = 0 // everything is read from files
	cfg.Retention.BatchMax = 1
	s := open(t, cfg)
	fillFiles(t, s, 400)
	files := s.log.Files()
	held := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for next, done := int64(0), false; !done; {
				select {
				case <-held:
					done = true // once more, to the end
				default:
				}
				for {
					b, res := s.Read(nil, &ReadRequest{Topic: "T", Offset: next, MaxCount: 32})
					if res.Status == OffsetOverflowOne {
						break
					}
					if res.Status == Found {
						records, err := message.DecodeAll(b)
						if err != nil || len(records) != res.Count {
							t.Errorf("%d records of %d: %v", len(records), res.Count, err)
							return
						}
						for _, r := range records {
							if want := fmt.Sprint(r.QueueOffset, "b"); !strings.HasPrefix(string(r.Body), want) {
								t.Errorf("offset %d has body %.10s", r.QueueOffset, r.Body)
								return
							}
						}
					}
					if res.Next <= next {
						t.Errorf("%v at %d goes on at %d", res.Status, next, res.Next)
						return
					}
					next = res.Next
				}
				next = 0
			}
		})
	}
	for files.Len() > 2 {
		s.retain(t.Context())
	}
	close(held)
	readers.Wait()
}
