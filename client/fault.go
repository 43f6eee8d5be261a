// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"sync"
	"time"
)

// faults remembers which brokers are better left alone for a while (RocketMQ:
// LatencyFaultToleranceImpl). Time is an argument, so that it can be tested.
type faults struct {
	mu      sync.Mutex
	brokers map[string]fault
}

type fault struct {
	until     time.Time // not chosen before that
	reachable bool
}

// penalties: an answer that took at least took keeps the broker out for that long.
var penalties = []struct{ took, out time.Duration }{
	{15 * time.Second, 30 * time.Second},
	{5 * time.Second, 10 * time.Second},
	{3 * time.Second, 6 * time.Second},
	{1800 * time.Millisecond, 5 * time.Second},
	{550 * time.Millisecond, 2 * time.Second},
}

// isolation is what a failed try counts as.
const isolation = 10 * time.Second

func newFaults() *faults { return &faults{brokers: map[string]fault{}} }

// note records how a try at a broker went.
func (f *faults) note(broker string, took time.Duration, err *Error, now time.Time) {
	reachable := true
	switch {
	case err == nil, err.Code == CodeNoBroker, err.Code == CodeClient:
	case err.network():
		took = isolation // and a broker that can be reached again
	default:
		took, reachable = isolation, false
	}
	until := now
	for _, p := range penalties {
		if took >= p.took {
			until = now.Add(p.out)
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.brokers[broker]; old.until.After(until) {
		until = old.until // a good answer does not shorten an earlier penalty
	}
	f.brokers[broker] = fault{until: until, reachable: reachable}
}

func (f *faults) available(broker string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !now.Before(f.brokers[broker].until)
}

func (f *faults) reachable(broker string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, known := f.brokers[broker]
	return !known || b.reachable
}
