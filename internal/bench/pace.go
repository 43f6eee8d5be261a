// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import "time"

// pace is the schedule of an open loop: when the n-th request of one connection
// should go, whatever became of those before. Connections take turns, so that
// together they make an even stream.
type pace struct {
	start    time.Time
	interval float64 // ns between two requests of this connection
	offset   float64 // ns after start of its first
}

// newPace spreads rate requests per second over connections; this is the i-th of them.
func newPace(start time.Time, rate float64, i, connections int) *pace {
	all := float64(time.Second) / rate
	return &pace{start: start, interval: all * float64(connections), offset: all * float64(i)}
}

// due is when request n should go. It is computed from the start, so that the
// rounding of one interval does not add up.
func (p *pace) due(n int64) time.Time {
	return p.start.Add(time.Duration(p.offset + p.interval*float64(n)))
}

// dueBy is how many requests should have gone before t.
func (p *pace) dueBy(t time.Time) int64 {
	since := float64(t.Sub(p.start)) - p.offset
	if since <= 0 {
		return 0
	}
	n := int64(since / p.interval)
	for p.due(n).Before(t) { // what division rounded away
		n++
	}
	return n
}
