// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"time"
)

// Clock gives the time of day, which people and programs set, and the time that has passed since some moment, which
// nobody sets.
type Clock func() (day time.Time, steady time.Duration)

// machineClock is the machine's.
func machineClock() Clock {
	began := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now, now.Sub(began)
	}
}

const (
	clockSlack   = time.Minute    // that a clock may jump ahead and be believed at once
	clockSettles = 12 * time.Hour // after which a clock that jumped further is believed
)

// ageClock is the time of day by which messages grow old. It is the machine's, but when that jumps ahead it goes on as
// if nothing had happened for clockSettles: a clock that is wrong for a night must not cost all messages. A clock that
// was set back is believed at once, as that can only keep messages.
//
// At a start it goes on from the last stop, or the newest message. So a broker that was down for long, or a folder that
// was copied long ago, keeps its messages for clockSettles more.
type ageClock struct {
	day    time.Time     // at the last look
	steady time.Duration // at the last look
	ahead  time.Duration // how far the machine's clock was ahead when that was first seen; 0: it is not
	since  time.Duration // when that was, steady
}

// clockNews is what a look at the clock found.
type clockNews uint8

const (
	clockGoesOn  clockNews = iota
	clockJumped            // ahead, and is not believed for the time being
	clockSettled           // it jumped some time ago, and is believed now
	clockSetBack
)

// look gives the time of day to go by.
func (c *ageClock) look(day time.Time, steady time.Duration) (time.Time, clockNews) {
	day = day.Round(0) // without the monotonic reading, which knows no jumps
	c.day = c.day.Round(0).Add(steady - c.steady)
	c.steady = steady
	ahead := day.Sub(c.day)
	news := clockGoesOn
	switch {
	case ahead <= clockSlack:
		if c.day, c.ahead = day, 0; ahead < -clockSlack {
			news = clockSetBack
		}
	case c.ahead == 0 || ahead > c.ahead+clockSlack:
		c.ahead, c.since = ahead, steady
		news = clockJumped
	case steady-c.since >= clockSettles:
		c.day, c.ahead = day, 0
		news = clockSettled
	}
	return c.day, news
}

// stamp says that what lies in the log before an offset was stored before a time, ms, and what lies behind it after.
type stamp struct{ offset, ms int64 }

// trusted gives those of the stamps, which ascend by offset, that can be true on the day now, ms. Where the clock was set
// back stamps do not ascend. One in the future was made by a clock that was ahead, one below an earlier one by a clock
// that was behind: both are left out, and messages there count as younger than they may be, up to the next stamp that is
// in order.
func trusted(stamps []stamp, now int64) []stamp {
	kept := stamps[:0:0]
	for _, s := range stamps {
		if s.ms <= now && (len(kept) == 0 || s.ms >= kept[len(kept)-1].ms) {
			kept = append(kept, s)
		}
	}
	return kept
}
