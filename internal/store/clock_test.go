// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// handClock is a clock that tests set.
type handClock struct {
	mu     sync.Mutex
	day    time.Time
	steady time.Duration
}

func newHandClock() *handClock {
	return &handClock{day: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *handClock) read() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.day, c.steady
}

// pass lets time go by.
func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.day, c.steady = c.day.Add(d), c.steady+d
}

// set changes the time of day only.
func (c *handClock) set(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.day = c.day.Add(by)
}

func by(c *handClock) func(*Deps) { return func(d *Deps) { d.Clock = c.read } }

// What a clock shows after some time, and the day that messages grow old by.
func TestAgeClock(t *testing.T) {
	type look struct {
		after, day, want time.Duration // since the last look; what the clock shows, and the day to go by, since the beginning
		news             clockNews
	}
	const h = time.Hour
	for _, c := range []struct {
		situation string
		looks     []look
	}{
		{"a clock that goes on", []look{{h, h, h, clockGoesOn}, {h, 2 * h, 2 * h, clockGoesOn}}},
		{"steps of seconds", []look{{h, h + 30*time.Second, h + 30*time.Second, clockGoesOn}, {h, 2 * h, 2 * h, clockGoesOn}}},
		{"ahead, and put right", []look{{h, 100 * h, h, clockJumped}, {h, 101 * h, 2 * h, clockGoesOn}, {h, 3 * h, 3 * h, clockGoesOn}}},
		{"ahead, and stays there", []look{{h, 100 * h, h, clockJumped}, {11 * h, 111 * h, 12 * h, clockGoesOn}, {h, 112 * h, 112 * h, clockSettled}, {h, 113 * h, 113 * h, clockGoesOn}}},
		{"ahead twice", []look{{h, 100 * h, h, clockJumped}, {11 * h, 1000 * h, 12 * h, clockJumped}, {11 * h, 1011 * h, 23 * h, clockGoesOn}, {h, 1012 * h, 1012 * h, clockSettled}}},
		{"ahead, then less", []look{{h, 100 * h, h, clockJumped}, {11 * h, 50 * h, 12 * h, clockGoesOn}, {h, 51 * h, 51 * h, clockSettled}}},
		{"set back", []look{{h, -100 * h, -100 * h, clockSetBack}, {h, -99 * h, -99 * h, clockGoesOn}}},
		{"set back, and put right", []look{{h, -100 * h, -100 * h, clockSetBack}, {h, 2 * h, -99 * h, clockJumped}, {12 * h, 14 * h, 14 * h, clockSettled}}},
	} {
		t.Run(c.situation, func(t *testing.T) {
			began := newHandClock().day
			clock := ageClock{day: began}
			steady := time.Duration(0)
			for i, l := range c.looks {
				steady += l.after
				day, news := clock.look(began.Add(l.day), steady)
				if got := day.Sub(began); got != l.want || news != l.news {
					t.Errorf("look %d: day %v, news %d, want %v, %d", i, got, news, l.want, l.news)
				}
			}
		})
	}
}

func TestTrustedStamps(t *testing.T) {
	for _, c := range []struct {
		situation   string
		times, want []int64
	}{
		{"in order", []int64{10, 20, 20, 30}, []int64{10, 20, 20, 30}},
		{"a clock that was ahead for a while", []int64{10, 500, 600, 20, 30}, []int64{10, 20, 30}},
		{"a clock that was behind for a while", []int64{50, 1, 2, 60}, []int64{50, 60}},
		{"set back for good", []int64{500, 600, 10, 20}, []int64{10, 20}},
		{"all in the future", []int64{500, 600}, nil},
	} {
		var stamps []stamp
		for i, ms := range c.times {
			stamps = append(stamps, stamp{int64(i), ms})
		}
		var got []int64
		for _, s := range trusted(stamps, 100) {
			got = append(got, s.ms)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.situation, got, c.want)
		}
	}
}

// aged fills some files of the log in each hour and gives the number of messages.
func aged(t *testing.T, s *Store, clock *handClock, hours int) int {
	t.Helper()
	n := 0
	for range hours {
		for range 60 { // some two files
			put(t, s, msg("T", 0, strings.Repeat("b", 2000)))
			n++
		}
		clock.pass(time.Hour)
	}
	return n
}

func (c *handClock) rounds(t *testing.T, s *Store) {
	t.Helper()
	for range 5 {
		s.retain(t.Context())
		c.pass(10 * time.Second)
	}
}

// A clock that is wrong, in whatever way, costs no message that is not old enough, and does not end retention.
func TestClockIsSet(t *testing.T) {
	const reserved = 72 * time.Hour
	begin := func(t *testing.T) (*handClock, *faultfs.Disk, Config, *Store) {
		clock, disk, cfg := newHandClock(), faultfs.NewDisk(), hourly("/store", reserved)
		return clock, disk, cfg, open(t, cfg, on(disk), by(clock))
	}
	low := func(s *Store) int64 { low, _ := s.QueueRange("T", 0); return low }
	stays := func(t *testing.T, s *Store, what string) {
		t.Helper()
		if got := low(s); got != 0 {
			t.Fatalf("%s: the first %d messages are gone", what, got)
		}
	}
	goes := func(t *testing.T, s *Store, clock *handClock, least, most int, what string) {
		t.Helper()
		clock.rounds(t, s)
		if got := low(s); got < int64(least) || got > int64(most) {
			t.Fatalf("%s: the first %d messages are gone, want %d to %d", what, got, least, most)
		}
	}
	t.Run("ahead for a while", func(t *testing.T) {
		clock, _, _, s := begin(t)
		n := aged(t, s, clock, 10)
		clock.rounds(t, s)
		clock.set(1000 * time.Hour)
		clock.rounds(t, s)
		stays(t, s, "ahead")
		n += aged(t, s, clock, 5)
		clock.rounds(t, s)
		clock.set(-1000 * time.Hour)
		clock.rounds(t, s)
		stays(t, s, "put right")
		clock.pass(reserved - 6*time.Hour)
		m := aged(t, s, clock, 1)
		clock.rounds(t, s)
		goes(t, s, clock, n-12*60-60, n, "66 hours later")
		clock.pass(reserved)
		goes(t, s, clock, n, n+m, "three more days later")
	})
	t.Run("ahead for good", func(t *testing.T) {
		clock, _, _, s := begin(t)
		n := aged(t, s, clock, 10)
		clock.rounds(t, s)
		clock.set(1000 * time.Hour)
		clock.rounds(t, s)
		stays(t, s, "ahead")
		clock.pass(clockSettles - time.Hour)
		clock.rounds(t, s)
		stays(t, s, "before it is believed")
		clock.pass(time.Hour)
		goes(t, s, clock, n-60, n, "when it is believed")
	})
	t.Run("stopped for a short while", func(t *testing.T) {
		clock, disk, cfg, s := begin(t)
		n := aged(t, s, clock, 10)
		clock.pass(reserved - 90*time.Minute) // without a message: that does not count against the clock
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		clock.pass(30 * time.Second)
		s = open(t, cfg, on(disk), by(clock))
		goes(t, s, clock, n-120, n-60, "after the start")
	})
	t.Run("ahead at a start", func(t *testing.T) {
		clock, disk, cfg, s := begin(t)
		n := aged(t, s, clock, 10)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		clock.set(1000 * time.Hour)
		s = open(t, cfg, on(disk), by(clock))
		clock.rounds(t, s)
		stays(t, s, "after the start")
		clock.pass(clockSettles)
		goes(t, s, clock, n-60, n, "when it is believed")
	})
	t.Run("somebody asks for it at once", func(t *testing.T) {
		clock, disk, cfg, s := begin(t)
		n := aged(t, s, clock, 10)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		clock.set(1000 * time.Hour)
		s = open(t, cfg, on(disk), by(clock))
		s.CleanLog()
		goes(t, s, clock, n-60, n, "asked")
	})
	t.Run("set back for good", func(t *testing.T) {
		clock, _, _, s := begin(t)
		n := aged(t, s, clock, 10)
		clock.set(-10000 * time.Hour)
		clock.rounds(t, s)
		n += aged(t, s, clock, 2)
		clock.rounds(t, s)
		stays(t, s, "set back")
		clock.pass(reserved - 3*time.Hour)
		clock.rounds(t, s)
		stays(t, s, "three days after it was set back, almost")
		clock.pass(3 * time.Hour)
		goes(t, s, clock, n-120, n, "three days after it was set back")
	})
	t.Run("far behind for a while", func(t *testing.T) {
		clock, disk, cfg, s := begin(t)
		first := aged(t, s, clock, 10)
		clock.set(-500000 * time.Hour)
		behind := aged(t, s, clock, 10)
		clock.rounds(t, s)
		clock.set(500000 * time.Hour)
		after := aged(t, s, clock, 10)
		clock.pass(clockSettles)
		clock.rounds(t, s)
		stays(t, s, "put right")
		clock.pass(reserved - clockSettles - 20*time.Hour)
		goes(t, s, clock, 60, first, "three days after the first messages") // and a restart on the way
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, cfg, on(disk), by(clock))
		// How old those are that came when the clock was behind is not known: as young as those that came after.
		goes(t, s, clock, first-60, first+60, "after a restart")
		clock.pass(9 * time.Hour)
		goes(t, s, clock, first-60, first+60, "nine hours later")
		clock.pass(2 * time.Hour)
		goes(t, s, clock, first+behind-60, first+behind+120, "eleven hours later")
		clock.pass(reserved)
		goes(t, s, clock, first+behind+after-60, first+behind+after, "days later")
	})
}

// Messages are found by their times, read and recovered whatever the clock did while they were stored.
func TestReadsWhenTheClockIsSet(t *testing.T) {
	clock, disk, cfg := newHandClock(), faultfs.NewDisk(), hourly("/store", 1000*time.Hour)
	s := open(t, cfg, on(disk), by(clock))
	var times []int64
	send := func(n int) {
		for range n {
			times = append(times, put(t, s, msg("T", 0, fmt.Sprint(len(times)), message.PropKeys, fmt.Sprint("k", len(times))))[0].StoreTimestamp)
			clock.pass(time.Second)
		}
	}
	send(40)
	clock.set(-20 * time.Second) // the next twenty have times that were there already
	send(30)
	clock.set(-time.Hour)
	send(20) // the first file of the queue ends here
	clock.set(2 * time.Hour)
	send(150)
	first := func(ms int64) int64 {
		if i := slices.IndexFunc(times, func(at int64) bool { return at >= ms }); i >= 0 {
			return int64(i)
		}
		return int64(len(times))
	}
	late := func(times []int64, ms int64) int {
		if i := slices.IndexFunc(times, func(at int64) bool { return at < ms }); i >= 0 {
			return i
		}
		return len(times)
	}
	check := func(when string) {
		t.Helper()
		for _, at := range times {
			for _, ms := range []int64{at - 1, at, at + 1} {
				got, want := s.OffsetByTime("T", 0, ms, false), first(ms)
				// Of several places that would do it is the first, but for stretches of a few messages, which it may miss.
				fits := got >= want && (got == int64(len(times)) || times[got] >= ms) && (got == 0 || times[got-1] < ms)
				if got != want && !(fits && late(times[want:], ms) < 100/16) {
					t.Fatalf("%s: offset at %d is %d, want %d", when, ms-times[0], got, want)
				}
				if up := s.OffsetByTime("T", 0, ms, true); up < 0 || up >= int64(len(times)) {
					t.Fatalf("%s: upper offset at %d is %d", when, ms-times[0], up)
				}
			}
		}
		for i, at := range times {
			if res, err := s.Query("T", fmt.Sprint("k", i), 32, at-1000, at+1000); err != nil || res.Count != 1 {
				t.Fatalf("%s: query of message %d, stored at %d: %d messages, %v", when, i, at-times[0], res.Count, err)
			}
		}
		var got []int64
		for _, r := range readAll(t, s, "T", 0, 0) {
			got = append(got, r.StoreTimestamp)
		}
		if diff := cmp.Diff(times, got); diff != "" {
			t.Fatalf("%s: %s", when, diff)
		}
	}
	check("running")
	disk = disk.Kill()
	s.Close()
	clock.set(-time.Hour)
	s = open(t, cfg, on(disk), by(clock))
	check("after a kill")
	send(20)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg, on(disk), by(clock))
	check("after a stop")
}
