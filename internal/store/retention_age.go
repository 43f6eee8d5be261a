// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"sort"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
)

// stampsOf gives the log files whose first record has a store time that can be true on a day.
func (s *Store) stampsOf(day time.Time) []stamp {
	a := &s.ages
	var all []stamp
	for _, start := range s.log.Files().Starts() {
		if start >= s.log.Confirmed() {
			break // made ahead
		}
		ms, known := a.times[start]
		if !known {
			var err error
			if ms, err = s.log.StoreTime(start); err != nil {
				continue // damaged
			}
			a.times[start] = ms
		}
		all = append(all, stamp{start, ms})
	}
	return trusted(all, day.UnixMilli())
}

// expired tells whether all messages of the log file that ends at next are old enough. The first message of a later
// file is younger than all of them, and its time does not change when files are copied.
func (r *round) expired(next int64) bool {
	newest, ok := r.stampFrom(next)
	return ok && r.day.Sub(time.UnixMilli(newest.ms)) >= r.cfg.Reserved
}

// stampFrom gives the first stamp at an offset or behind it.
func (r *round) stampFrom(offset int64) (stamp, bool) {
	i := sort.Search(len(r.stamps), func(i int) bool { return r.stamps[i].offset >= offset })
	if i == len(r.stamps) {
		return stamp{}, false
	}
	return r.stamps[i], true
}

// cut is a place in the log: everything before it was stored at a time or before.
type cut struct{ ms, offset int64 }

// searchBytes of the log are not halved any more when a cut is searched, but read.
const searchBytes = 256 << 10

// cutAt finds the last cut at a time, ms, if it can be found: where the log is damaged, or the clock was set back, it may
// be one before.
func (r *round) cutAt(ms int64) (int64, error) {
	log := r.s.log
	i := sort.Search(len(r.stamps), func(i int) bool { return r.stamps[i].ms > ms })
	if i == 0 {
		return log.Min(), nil // all are younger
	}
	first := r.stamps[i-1]
	low, high := first.offset, log.Confirmed()
	if i < len(r.stamps) {
		high = r.stamps[i].offset
	}
	old := func(at int64) bool { return first.ms <= at && at <= ms }
	for high-low > searchBytes {
		mid := low + (high-low)/2
		at, ok, err := log.Resync(mid, high, commitlog.CheckLayout)
		if err != nil {
			return 0, err
		}
		if ok {
			stored, err := log.StoreTime(at)
			if err == nil && old(stored) {
				low = at
				continue
			}
		}
		high = mid
	}
	return cutIn(log, low, log.Confirmed(), old), nil
}

// cutIn reads the records from low on, the start of one, while they are old, and gives the end of the last of them.
func cutIn(log *commitlog.Log, low, limit int64, old func(ms int64) bool) int64 {
	sc := log.Scan(low, limit, commitlog.CheckLayout)
	defer sc.Close()
	var rec message.Record
	for {
		end := sc.Pos()
		if _, err := sc.Next(&rec); err != nil || !old(rec.StoreTimestamp) {
			return end
		}
	}
}
