// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

// StoreTime gives the store time, ms, of the message at a physical offset; ok is false when it is not there any more.
type StoreTime func(physical int64) (ms int64, ok bool)

// AtTime gives the offset that belongs to a time, ms: the first message stored at or after it or, with upper, the last
// one stored at or before it. Above the last message's time it is the end or, with upper, the last message; below the
// first one's it is the first message. logMin is where the log begins. In a batch queue it is the offset of a unit's first
// message and, as in RocketMQ, above the last one's time that of the last unit.
//
// Times are looked up file by file, as RocketMQ does, so that a clock that was set back confuses one file at most. In
// that file, of several places that would do, the first is taken: from there on no message of the time is missed.
func (q *Queue) AtTime(ms int64, upper bool, logMin int64, timeOf StoreTime) int64 {
	low, end := q.numbers(logMin)
	if low >= end {
		return q.End()
	}
	at := func(n int64) (int64, bool) {
		u, err := q.unit(n)
		if err != nil || u.Filler() {
			return 0, false
		}
		if u.Count > 0 {
			return u.StoreTimestamp, true
		}
		return timeOf(u.PhysicalOffset)
	}
	from, to := q.fileOfTime(ms, upper, low, end, at)
	if upper {
		// The first one that is younger; before it is the last that is not.
		n := searchTime(from, to, at, func(t int64) bool { return t > ms })
		return q.OffsetOf(max(n-1, low))
	}
	n := searchTime(from, to, at, func(t int64) bool { return t >= ms })
	if q.set.layout == Batch {
		n = min(n, end-1)
	}
	return q.OffsetOf(n)
}

// timeAt gives the store time, ms, of unit n; ok is false when its message is lost or damaged.
type timeAt func(n int64) (ms int64, ok bool)

// fileOfTime chooses the file to search, as the range [from, to) of the units in it that have a message.
func (q *Queue) fileOfTime(ms int64, upper bool, low, end int64, at timeAt) (from, to int64) {
	per := q.set.UnitsPerFile()
	limits := func(file int64) (int64, int64) { return max(file*per, low), min((file+1)*per, end) }
	first, last := low/per, (end-1)/per
	if upper {
		for file := last; file > first; file-- {
			from, to = limits(file)
			if t, _, ok := at.first(from, to); ok && t <= ms {
				return from, to
			}
		}
		return limits(first)
	}
	for file := first; file < last; file++ {
		from, to = limits(file)
		if t, ok := at.last(from, to); ok && t >= ms {
			return from, to
		}
	}
	return limits(last)
}

// first gives the time of the first unit in [low, end) that has one, and its number.
func (at timeAt) first(low, end int64) (ms, n int64, ok bool) {
	for n = low; n < end && !ok; n++ {
		ms, ok = at(n)
	}
	return ms, n - 1, ok
}

// last gives the time of the last unit in [low, end) that has one.
func (at timeAt) last(low, end int64) (ms int64, ok bool) {
	for n := end - 1; n >= low && !ok; n-- {
		ms, ok = at(n)
	}
	return ms, ok
}

// timeSamples of a range are looked at before what lies between two of them is halved.
const timeSamples = 16

// searchTime gives the first number in [low, end) that is late, end when none is. Those without a time are passed over:
// a damaged message must not send the search past those before it. Where the clock was set back, late ones come before
// others that are not: the samples find the first of them, if they are many.
func searchTime(low, end int64, at timeAt, late func(ms int64) bool) int64 {
	step := max((end-low)/timeSamples, 1)
	for probe := low; probe < end; probe += step {
		t, n, ok := at.first(probe, end)
		if !ok || late(t) {
			end = probe
			break
		}
		low, probe = n+1, n
	}
	for low < end {
		mid := low + (end-low)/2
		t, n, ok := at.first(mid, end)
		if !ok || late(t) {
			end = mid
		} else {
			low = n + 1
		}
	}
	return low
}
