// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package stats

import "time"

// DayTotals are the messages counted since the broker's start, as of the midnight
// that began yesterday, of the one that began today, and now. Messages of the system's
// topics are left out.
type DayTotals struct {
	PutYesterday, PutToday, PutNow int64
	GetYesterday, GetToday, GetNow int64
}

// days keeps the totals at the last two midnights (RocketMQ: BrokerStats).
type days struct {
	day        string
	put1, put2 int64 // at the last midnight, at the one before
	get1, get2 int64
}

const dayFormat = "2006-01-02"

func (d *days) start(now time.Time) { d.day = now.Format(dayFormat) }

// pass notes the totals now. The first look of a new day is its midnight, at most a
// second late.
func (d *days) pass(now time.Time, put, get int64) {
	if day := now.Format(dayFormat); day != d.day {
		d.day = day
		d.put2, d.get2 = d.put1, d.get1
		d.put1, d.get1 = put, get
	}
}

// Days gives the day's totals.
func (s *Set) Days() DayTotals {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &s.days
	return DayTotals{
		PutYesterday: d.put2, PutToday: d.put1, PutNow: s.own[BrokerPutNumsWithoutSystem].value.Load(),
		GetYesterday: d.get2, GetToday: d.get1, GetNow: s.own[BrokerGetNumsWithoutSystem].value.Load(),
	}
}
