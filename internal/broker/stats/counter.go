// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package stats

import (
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// counter is one value that grows, how many times it grew, and its samples.
type counter struct {
	value, times atomic.Int64
	// The rest is the set's, with its mutex.
	minute, hour, day window
}

func (c *counter) add(n int64) {
	c.value.Add(n)
	c.times.Add(1)
}

// Samples in each window: the first and the last lie a minute, an hour and a day apart.
const (
	minuteSamples = 7
	hourSamples   = 7
	daySamples    = 25
)

// window is the last few samples, the oldest first.
type window []sample

type sample struct {
	at           int64 // ns
	value, times int64
}

// take adds a sample and forgets the oldest above the limit. A counter's first sample
// follows one of nothing, taken a step before.
func (w window) take(s sample, step time.Duration, limit int) window {
	if len(w) == 0 {
		w = append(w, sample{at: s.at - int64(step)})
	}
	w = append(w, s)
	if len(w) > limit {
		w = append(w[:0], w[len(w)-limit:]...)
	}
	return w
}

// item is what the window holds: how much, how much a second, how much each time.
func (w window) item() protocol.BrokerStatsItem {
	if len(w) == 0 {
		return protocol.BrokerStatsItem{}
	}
	first, last := w[0], w[len(w)-1]
	i := protocol.BrokerStatsItem{Sum: last.value - first.value}
	if d := time.Duration(last.at - first.at); d > 0 {
		i.Tps = float64(i.Sum) / d.Seconds()
	}
	if times := last.times - first.times; times > 0 {
		i.AvgPt = float64(i.Sum) / float64(times)
	}
	return i
}
