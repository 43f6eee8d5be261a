// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPaceIsAnEvenStreamOverAllConnections(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	var all []time.Duration
	for i := range 4 {
		p := newPace(start, 1000, i, 4)
		for n := range int64(250) {
			all = append(all, p.due(n).Sub(start))
		}
	}
	slices.Sort(all)
	for i, at := range all {
		if at != time.Duration(i)*time.Millisecond {
			t.Fatalf("request %d is due after %v", i, at)
		}
	}
}

func TestPaceDoesNotDrift(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	p := newPace(start, 30_000, 2, 3) // a third of 100 us: no whole number of nanoseconds
	const day = 24 * 60 * 60
	got := p.due(10_000 * day).Sub(start)
	want := day*time.Second + 2*time.Second/30_000
	if d := got - want; d < -time.Microsecond || d > time.Microsecond {
		t.Errorf("after a day the next is due at %v, want %v", got, want)
	}
}

func TestPaceCountsWhatIsDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(1_700_000_000, 0)
		conns := rapid.IntRange(1, 64).Draw(t, "connections")
		p := newPace(start, rapid.Float64Range(0.5, 1e6).Draw(t, "rate"), rapid.IntRange(0, conns-1).Draw(t, "i"), conns)
		at := start.Add(time.Duration(rapid.Int64Range(-int64(time.Second), int64(10*time.Second)).Draw(t, "at")))
		n := p.dueBy(at)
		if n > 0 && !p.due(n-1).Before(at) {
			t.Fatalf("%d due before %v, but the last of them at %v", n, at, p.due(n-1))
		}
		if p.due(n).Before(at) {
			t.Fatalf("%d due before %v, but one more at %v", n, at, p.due(n))
		}
	})
}
