// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package stats

import (
	"bytes"
	"strconv"
	"sync"
	"time"
)

// Totals of a store since its start.
type Totals struct {
	Put         int64 // messages written
	Found, Miss int64 // reads that gave messages, that gave none
	Transferred int64 // messages handed out
}

// Rates are per second, each as "10s 60s 600s": the averages of those times.
type Rates struct{ Put, Found, Miss, Get, Transferred string }

// rateSamples is one a second for ten minutes.
const rateSamples = 601

// rates is a ring of samples of the store's totals.
type rates struct {
	mu   sync.Mutex
	ring [rateSamples]struct {
		at time.Time
		Totals
	}
	n int // ever taken
}

func (r *rates) take(now time.Time, t Totals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slot := &r.ring[r.n%rateSamples]
	slot.at, slot.Totals = now, t
	r.n++
}

// Rates gives the store's rates. Before there are samples for a time, what there is
// counts: tools take the text apart and expect three numbers.
func (s *Set) Rates() Rates {
	r := &s.rates
	r.mu.Lock()
	defer r.mu.Unlock()
	return Rates{
		Put:         r.text(func(t *Totals) int64 { return t.Put }),
		Found:       r.text(func(t *Totals) int64 { return t.Found }),
		Miss:        r.text(func(t *Totals) int64 { return t.Miss }),
		Get:         r.text(func(t *Totals) int64 { return t.Found + t.Miss }),
		Transferred: r.text(func(t *Totals) int64 { return t.Transferred }),
	}
}

func (r *rates) text(of func(*Totals) int64) string {
	var b []byte
	for i, seconds := range [...]int{10, 60, 600} {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendDecimal(b, r.average(seconds, of))
	}
	return string(b)
}

// appendDecimal writes a number with a point, as Java does.
func appendDecimal(b []byte, f float64) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !bytes.ContainsRune(b[start:], '.') {
		b = append(b, ".0"...)
	}
	return b
}

func (r *rates) average(seconds int, of func(*Totals) int64) float64 {
	back := min(seconds, r.n-1, rateSamples-1)
	if back < 1 {
		return 0
	}
	last, first := &r.ring[(r.n-1)%rateSamples], &r.ring[(r.n-1-back)%rateSamples]
	d := last.at.Sub(first.at)
	if d <= 0 {
		return 0
	}
	return float64(of(&last.Totals)-of(&first.Totals)) / d.Seconds()
}
