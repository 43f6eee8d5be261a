// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// reserves are the times of topics, which tests change.
type reserves struct {
	mu    sync.Mutex
	times map[string]time.Duration
}

func (r *reserves) set(topic string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times == nil {
		r.times = map[string]time.Duration{}
	}
	r.times[topic] = d
}

func (r *reserves) get() map[string]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.times)
}

// removals notes what a store said that it removed.
type removals struct {
	all    map[string]Removal // by topic, queue and cause: from the first to the last
	rounds int
	wrong  []string
}

func (r *removals) note(gone []Removal, why Cause) {
	if r.all == nil {
		r.all = map[string]Removal{}
	}
	for _, g := range gone {
		key := fmt.Sprintf("%s/%d %s", g.Topic, g.QueueID, why)
		before, known := r.all[key]
		if known && before.To != g.From || g.To <= g.From {
			r.wrong = append(r.wrong, fmt.Sprintf("%s: %+v after %+v", key, g, before))
		}
		if known {
			g.From = before.From
		}
		r.all[key] = g
	}
}

func (r *removals) deps(d *Deps) { d.Removed, d.Cleaned = r.note, func() { r.rounds++ } }

const hidden = time.Hour // for which topic "short" keeps its messages

// shortAndLong stores messages of topic "short", "long" and "T", ten of each an hour, in two queues, with some bytes.
func shortAndLong(t *testing.T, s *Store, clock *handClock, hours, size int) {
	t.Helper()
	for range hours {
		for i := range 10 {
			clock.pass(3 * time.Minute)
			for _, topic := range []string{"short", "T", "long"} {
				put(t, s, msg(topic, int32(i%2), topic+strings.Repeat("b", size), message.PropKeys, "k"))
			}
			clock.pass(3 * time.Minute)
		}
	}
}

// A topic that keeps its messages for a shorter time than the log does hides the older ones; the others' stay.
func TestTopicKeepsForAShorterTime(t *testing.T) {
	clock, disk, cfg := newHandClock(), faultfs.NewDisk(), hourly("/store", 72*time.Hour)
	var own reserves
	var gone removals
	own.set("short", hidden)
	own.set("no such topic", hidden)
	with := []func(*Deps){by(clock), func(d *Deps) { d.Reserved = own.get }, gone.deps}
	start := func() *Store { return open(t, cfg, append(with, on(disk))...) }
	s := start()
	shortAndLong(t, s, clock, 5, 500)
	early, _ := s.Read(nil, &ReadRequest{Topic: "short", MaxCount: 1})
	records, err := message.DecodeAll(early)
	if err != nil || len(records) != 1 {
		t.Fatal(err, len(records))
	}
	files := s.log.Files().Len()

	s.retain(t.Context())
	check := func(when string, want int64) {
		t.Helper()
		for queue := range int32(2) {
			low, end := s.QueueRange("short", queue)
			if low != want {
				t.Errorf("%s: queue %d is %d..%d, want it to begin at %d", when, queue, low, end, want)
			}
			if _, res := s.Read(nil, &ReadRequest{Topic: "short", QueueID: queue, Offset: want - 1, MaxCount: 32}); res.Status != OffsetTooSmall || res.Next != want {
				t.Errorf("%s: read of a message that is too old: %+v", when, res)
			}
			if got := readAll(t, s, "short", queue, low); int64(len(got)) != end-low {
				t.Errorf("%s: %d messages, want %d", when, len(got), end-low)
			}
			if got := s.OffsetByTime("short", queue, 0, false); got != want {
				t.Errorf("%s: offset by time 0 is %d", when, got)
			}
			if entries := s.Entries("short", queue, want-1, 1); len(entries) != 0 {
				t.Errorf("%s: the entry of a message that is too old is shown", when)
			}
			if low, _ := s.QueueRange("T", queue); low != 0 {
				t.Errorf("%s: another topic's queue begins at %d", when, low)
			}
		}
		if _, err := s.View(records[0].PhysicalOffset); err != ErrNoMessage {
			t.Errorf("%s: view of a message that is too old: %v", when, err)
		}
		var old []int64
		res, err := s.Query("short", "k", 64, 0, 1<<62)
		found, derr := message.DecodeAll(res.Records)
		if err != nil || derr != nil || len(found) == 0 {
			t.Fatalf("%s: query: %d, %v, %v", when, len(found), err, derr)
		}
		for _, r := range found {
			if r.QueueOffset < want {
				old = append(old, r.QueueOffset)
			}
		}
		if old != nil {
			t.Errorf("%s: a query finds messages that are too old: %v", when, old)
		}
	}
	check("after a round", 20)
	if got := s.log.Files().Len(); got != files {
		t.Errorf("%d of %d log files are left", got, files)
	}
	want := map[string]Removal{
		"short/0 reserve.time": {"short", 0, 0, 20}, "short/1 reserve.time": {"short", 1, 0, 20},
	}
	if diff := cmp.Diff(want, gone.all); diff != "" || gone.rounds != 1 || gone.wrong != nil {
		t.Errorf("told in %d rounds, %v: %s", gone.rounds, gone.wrong, diff)
	}
	s.retain(t.Context())
	if gone.rounds != 1 {
		t.Error("a round without news told some")
	}

	// Neither a kill, nor a stop, nor another time, nor a clock that is set back brings them back.
	disk = disk.Survive(7)
	s.Close()
	s = start()
	check("after a power cut", 20)
	own.set("short", 1000*time.Hour)
	s.retain(t.Context())
	check("kept for longer now", 20)
	clock.set(-4 * time.Hour)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start()
	own.set("short", hidden)
	s.retain(t.Context())
	check("set back", 20)
	if a := put(t, s, msg("short", 0, "next", message.PropKeys, "k"))[0]; a.QueueOffset != 25 {
		t.Errorf("the next message got offset %d", a.QueueOffset)
	}
	clock.set(4 * time.Hour)
	s.retain(t.Context())
	clock.pass(clockSettles + time.Hour)
	fillFiles(t, s, 100) // files whose times are in order again
	clock.pass(2 * time.Hour)
	for range 3 {
		s.retain(t.Context())
		clock.pass(time.Minute)
	}
	put(t, s, msg("short", 0, "young"))
	if low, end := s.QueueRange("short", 0); low != 26 || end != 27 {
		t.Errorf("half a day later the queue is %d..%d, want 26..27", low, end)
	}
	if low, end := s.QueueRange("short", 1); low != 25 || end != 25 {
		t.Errorf("half a day later the other queue is %d..%d, want 25..25", low, end)
	}

	// A topic made anew has nothing to do with it.
	if err := s.DeleteTopic("short"); err != nil {
		t.Fatal(err)
	}
	put(t, s, msg("short", 0, "anew"))
	disk = disk.Kill()
	s.Close()
	s = start()
	if got := readAll(t, s, "short", 0, 0); len(got) != 1 || string(got[0].Body) != "anew" {
		t.Errorf("%d messages in the topic made anew", len(got))
	}
}

// A log file with messages of a topic that keeps them for longer stays, and so do those behind it, until they are old
// enough or there is no space.
func TestTopicKeepsForALongerTime(t *testing.T) {
	begin := func(t *testing.T, longer time.Duration, disk *faultfs.Disk, cfg Config) (*Store, *handClock, *reserves, *removals) {
		clock := newHandClock()
		own, gone := new(reserves), new(removals)
		own.set("long", longer)
		s := open(t, cfg, on(disk), by(clock), gone.deps, func(d *Deps) { d.Reserved = own.get })
		for range 50 { // some files without it
			put(t, s, msg("T", 0, strings.Repeat("b", 5000)))
		}
		shortAndLong(t, s, clock, 2, 10_000)
		return s, clock, own, gone
	}
	rangeOf := func(s *Store, topic string) [2]int64 {
		low, end := s.QueueRange(topic, 0)
		return [2]int64{low, end}
	}
	age := func(t *testing.T, s *Store, clock *handClock, d time.Duration) {
		t.Helper()
		for range int(d / time.Hour) {
			clock.pass(time.Hour)
			put(t, s, msg("tick", 0, "x"))
			s.retain(t.Context())
		}
		clock.rounds(t, s)
	}
	t.Run("until they are old", func(t *testing.T) {
		s, clock, own, gone := begin(t, 120*time.Hour, faultfs.NewDisk(), hourly("/store", 72*time.Hour))
		age(t, s, clock, 80*time.Hour)
		if got := rangeOf(s, "long"); got != [2]int64{0, 10} {
			t.Fatalf("after 80 hours the topic is %v", got)
		}
		if low := rangeOf(s, "T")[0]; low < 40 || low > 50 {
			t.Errorf("files without its messages did not go: the other topic begins at %d", low)
		}
		if low := rangeOf(s, "short")[0]; low != 0 {
			t.Errorf("its files did not stay: a topic begins at %d", low)
		}
		own.set("other", 1000*time.Hour) // has no queues
		age(t, s, clock, 60*time.Hour)
		if got := rangeOf(s, "long"); got[0] != got[1] {
			t.Errorf("after 140 hours the topic is %v", got)
		}
		if got := rangeOf(s, "short"); got[0] < 8 {
			t.Errorf("when its messages were old its files did not go: a topic is %v", got)
		}
		if g := gone.all["long/0 reserve.time"]; g.From != 0 || g.To != 10 || gone.wrong != nil {
			t.Errorf("told: %+v, %v", gone.all, gone.wrong)
		}
	})
	t.Run("until the topic is deleted", func(t *testing.T) {
		s, clock, _, _ := begin(t, 1200*time.Hour, faultfs.NewDisk(), hourly("/store", 72*time.Hour))
		age(t, s, clock, 80*time.Hour)
		if got := rangeOf(s, "long"); got != [2]int64{0, 10} {
			t.Fatalf("after 80 hours the topic is %v", got)
		}
		if err := s.DeleteTopic("long"); err != nil {
			t.Fatal(err)
		}
		clock.rounds(t, s)
		if got := rangeOf(s, "short"); got[0] < 8 {
			t.Errorf("its files did not go: a topic is %v", got)
		}
	})
	t.Run("until the attribute goes", func(t *testing.T) {
		s, clock, own, _ := begin(t, 1200*time.Hour, faultfs.NewDisk(), hourly("/store", 72*time.Hour))
		age(t, s, clock, 80*time.Hour)
		own.set("long", 0)
		clock.rounds(t, s)
		if got := rangeOf(s, "long"); got[0] < 8 {
			t.Errorf("its files did not go: the topic is %v", got)
		}
	})
	t.Run("until the disk is full", func(t *testing.T) {
		disk := faultfs.NewDisk()
		s, clock, _, gone := begin(t, 1200*time.Hour, disk, hourly("/store", 72*time.Hour))
		age(t, s, clock, 80*time.Hour)
		disk.SetRoom(disk.Taken() * 100 / 88)
		s.lookAtDisks()
		clock.rounds(t, s)
		if got := rangeOf(s, "long"); got[0] == 0 || gone.all["long/0 disk is full"].To != got[0] {
			t.Errorf("the topic is %v, told: %+v", got, gone.all)
		}
	})
	t.Run("until the store is too large", func(t *testing.T) {
		cfg := hourly("/store", 72*time.Hour)
		s, clock, _, gone := begin(t, 1200*time.Hour, faultfs.NewDisk(), cfg)
		age(t, s, clock, 80*time.Hour)
		cfg.Retention.ReservedBytes = s.bytes() - 2*cfg.LogFileBytes
		if err := s.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		clock.rounds(t, s)
		if got := rangeOf(s, "long"); got[0] == 0 || gone.all["long/0 fileReservedBytes"].To != got[0] || got[0] == got[1] {
			t.Errorf("the topic is %v, told: %+v", got, gone.all)
		}
	})
}

// What readers did not see any more does not come back, whatever operation the power goes at.
func TestHiddenMessagesStayHiddenThroughPowerCuts(t *testing.T) {
	for cut := range 15 {
		clock, disk, cfg := newHandClock(), faultfs.NewDisk(), hourly("/store", 72*time.Hour)
		own := new(reserves)
		own.set("short", hidden)
		with := []func(*Deps){by(clock), func(d *Deps) { d.Reserved = own.get }}
		s := open(t, cfg, append(with, on(disk))...)
		shortAndLong(t, s, clock, 1, 10)
		clock.pass(hidden / 2)
		s.retain(t.Context())
		shortAndLong(t, s, clock, 1, 10)
		disk.CutAt(disk.Ops() + cut)
		s.retain(t.Context())
		low, _ := s.QueueRange("short", 0)
		disk = disk.Survive(uint64(cut))
		s.Close()
		s = open(t, cfg, append(with, on(disk))...)
		if after, _ := s.QueueRange("short", 0); after < low {
			t.Errorf("power cut at operation %d: the queue began at %d and begins at %d", cut, low, after)
		}
		s.Close()
	}
}

// A disk that takes no floor leaves the messages where they are.
func TestFloorThatCannotBeWritten(t *testing.T) {
	clock, disk, cfg := newHandClock(), faultfs.NewDisk(), hourly("/store", 72*time.Hour)
	own := new(reserves)
	own.set("short", hidden)
	s := open(t, cfg, by(clock), on(disk), func(d *Deps) { d.Reserved = own.get })
	shortAndLong(t, s, clock, 2, 10)
	disk.Fault(func(op faultfs.Op) error {
		if strings.Contains(op.Path, "retention.json") {
			return syscall.EIO
		}
		return nil
	})
	s.retain(t.Context())
	if low, _ := s.QueueRange("short", 0); low != 0 {
		t.Errorf("the queue begins at %d", low)
	}
	disk.Fault(nil)
	s.retain(t.Context())
	if low, _ := s.QueueRange("short", 0); low != 5 {
		t.Errorf("when the disk is well the queue begins at %d, want 5", low)
	}
}

// Messages of a log whose end was lost must not hide those that take its place.
func TestFloorAboveTheEndOfTheLog(t *testing.T) {
	clock, disk, cfg := newHandClock(), faultfs.NewDisk(), hourly("/store", 72*time.Hour)
	cfg.Flush, cfg.Flushing.Interval, cfg.Flushing.Thorough = AsyncFlush, time.Hour, time.Hour
	own := new(reserves)
	own.set("short", hidden)
	with := []func(*Deps){by(clock), func(d *Deps) { d.Reserved = own.get }}
	s := open(t, cfg, append(with, on(disk))...)
	shortAndLong(t, s, clock, 3, 10)
	clock.pass(hidden)
	s.retain(t.Context())
	floor := s.floorOf("short")
	if floor != s.log.Confirmed() {
		t.Fatalf("the floor is %d, the log ends at %d", floor, s.log.Confirmed())
	}
	for seed := range uint64(100) { // find a cut that loses the end
		survivor := disk.Survive(seed)
		again := open(t, cfg, append(with, on(survivor))...)
		end := again.log.Confirmed()
		if end >= floor {
			again.Close()
			continue
		}
		a := put(t, again, msg("short", 0, "new"))[0]
		survivor = survivor.Kill()
		again.Close()
		again = open(t, cfg, append(with, on(survivor))...)
		if got := readAll(t, again, "short", 0, a.QueueOffset); len(got) != 1 || string(got[0].Body) != "new" {
			t.Errorf("the log ended at %d of %d: %d new messages can be read", end, floor, len(got))
		}
		again.Close()
		return
	}
	t.Fatal("no power cut takes anything")
}

// A file that was damaged costs nothing but that messages can be read for a little longer.
func TestDamagedRetentionFile(t *testing.T) {
	clock, disk, cfg := newHandClock(), faultfs.NewDisk(), hourly("/store", 72*time.Hour)
	own := new(reserves)
	own.set("short", hidden)
	with := []func(*Deps){by(clock), func(d *Deps) { d.Reserved = own.get }}
	s := open(t, cfg, append(with, on(disk))...)
	shortAndLong(t, s, clock, 2, 10)
	s.retain(t.Context())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.replaceFile(cfg.retentionPath(), make([]byte, 40)); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg, append(with, on(disk))...)
	if low, _ := s.QueueRange("short", 0); low != 0 {
		t.Errorf("the queue begins at %d", low)
	}
	s.retain(t.Context())
	if low, _ := s.QueueRange("short", 0); low != 5 {
		t.Errorf("after a round the queue begins at %d", low)
	}
}

func FuzzDecodeRetention(f *testing.F) {
	for _, s := range []string{"", "{}", `{"day":1,"floors":{"T":5}}`, `{"floors":{"T":-5}}`, `{"floors":null}`, "\x00\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		state, err := decodeRetention(b)
		if err != nil && (state.Floors != nil || state.Day != 0) {
			t.Fatalf("%+v with an error", state)
		}
		for topic, floor := range state.Floors {
			if floor < 0 {
				t.Fatalf("floor %d of %q", floor, topic)
			}
		}
	})
}

// A cut is where a scan of the whole log finds the first message that is younger, wherever that is.
func TestCutAt(t *testing.T) {
	clock, cfg := newHandClock(), hourly("/store", 72*time.Hour)
	cfg.LogFileBytes = 4 << 20
	s := open(t, cfg, on(faultfs.NewDisk()), by(clock))
	type at struct{ ms, end int64 }
	var all []at
	for i := range 3000 {
		a := put(t, s, msg("T", 0, strings.Repeat("b", 10+i*7%5000)))[0]
		all = append(all, at{a.StoreTimestamp, s.log.Confirmed()})
		clock.pass(time.Duration(i%3) * time.Second)
	}
	day, _ := clock.read()
	r := &round{s: s, day: day, stamps: s.stampsOf(day)}
	for i := 0; i < len(all); i += 37 {
		for _, d := range []int64{-1, 0, 1} {
			ms, want := all[i].ms+d, int64(0)
			for _, a := range all {
				if a.ms <= ms {
					want = a.end
				}
			}
			got, err := r.cutAt(ms)
			// Fillers at the end of a file belong to neither side.
			if err != nil || got != want && !(got > want && got%cfg.LogFileBytes == 0 && want/cfg.LogFileBytes == got/cfg.LogFileBytes-1) {
				t.Fatalf("cut at message %d%+d ms is %d, want %d: %v", i, d, got, want, err)
			}
		}
	}
	if at, err := r.cutAt(0); err != nil || at != 0 {
		t.Errorf("cut before all messages is %d, %v", at, err)
	}
}

// Messages that came when the clock was far behind do not make those before them old.
func TestCutBeforeAClockThatWasBehind(t *testing.T) {
	clock, cfg := newHandClock(), hourly("/store", 72*time.Hour)
	cfg.LogFileBytes = 8 << 20
	s := open(t, cfg, on(faultfs.NewDisk()), by(clock))
	fill := func(megabytes int) {
		for range megabytes * 10 {
			put(t, s, msg("T", 0, strings.Repeat("b", 100_000)))
		}
	}
	fill(1)
	want := s.log.Confirmed()
	clock.pass(3 * time.Hour)
	fill(1)
	clock.set(-500000 * time.Hour)
	fill(4)
	clock.set(500000 * time.Hour)
	fill(1)
	day, _ := clock.read()
	r := &round{s: s, day: day, stamps: s.stampsOf(day)}
	if at, err := r.cutAt(day.Add(-time.Hour).UnixMilli()); err != nil || at != want {
		t.Errorf("the cut is %d, want %d: %v", at, want, err)
	}
}
