// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// tally is what was counted in a stretch of time.
type tally struct {
	latency  Histogram
	messages int64 // that succeeded
	bytes    int64
	requests int64           // answered
	failures map[int32]int64 // messages, by response code
	refusal  string          // text of the first failure
	lost     int64           // messages without an answer: their connection broke, or the time was over
	empty    int64           // pulls that found nothing
	breaks   int64           // connections lost
}

func (t *tally) add(o *tally) {
	t.latency.Add(&o.latency)
	t.messages += o.messages
	t.bytes += o.bytes
	t.addTroubles(o)
}

// addTroubles adds what counts although it came outside of the measured time.
func (t *tally) addTroubles(o *tally) {
	t.requests += o.requests
	t.lost += o.lost
	t.empty += o.empty
	t.breaks += o.breaks
	for code, n := range o.failures {
		t.fail(code, n, o.refusal)
	}
}

func (t *tally) fail(code int32, n int64, text string) {
	if t.failures == nil {
		t.failures = map[int32]int64{}
	}
	t.failures[code] += n
	if t.refusal == "" {
		t.refusal = text
	}
}

func (t *tally) failed() int64 {
	var n int64
	for _, k := range t.failures {
		n += k
	}
	return n
}

// maxRecorders bounds how many there are: each takes some 60 KiB. Connections
// beyond share them.
const maxRecorders = 64

// recorder gathers the counts of a connection or a few. Its lock is taken once a
// second by the meter.
type recorder struct {
	mu  sync.Mutex
	now *tally
}

func newRecorders(connections int) []*recorder {
	out := make([]*recorder, min(connections, maxRecorders))
	for i := range out {
		out[i] = &recorder{now: new(tally)}
	}
	return out
}

func (r *recorder) record(f func(t *tally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.now)
}

// meter sums up the recorders, second by second, and prints a line each time.
type meter struct {
	target    *Target
	recorders []*recorder
	out       io.Writer
	spare     *tally // to swap recorders' tallies with

	total   tally
	seconds float64 // measured so far
}

func newMeter(t *Target, recorders []*recorder, out io.Writer) *meter {
	return &meter{target: t, recorders: recorders, out: out, spare: new(tally)}
}

// collect takes what was counted since the last time.
func (m *meter) collect() *tally {
	sum := new(tally)
	for _, r := range m.recorders {
		r.mu.Lock()
		got := r.now
		r.now = m.spare
		r.mu.Unlock()
		sum.add(got)
		*got = tally{}
		m.spare = got
	}
	return sum
}

// run measures until the time is over or ctx ends, and calls stop then. Warm-up
// counts for nothing but failures and lost messages.
func (m *meter) run(ctx context.Context, stop func()) {
	defer stop()
	start := time.Now()
	begin := start.Add(m.target.WarmUp)
	var end time.Time
	if m.target.Duration > 0 {
		end = begin.Add(m.target.Duration)
	}
	last := start
	for {
		next, warm := m.nextMark(last, begin, end)
		wait(ctx, next)
		now := time.Now()
		sum := m.collect()
		m.print(now.Sub(start), now.Sub(last), sum, warm)
		if warm {
			m.total.addTroubles(sum)
		} else {
			m.total.add(sum)
			m.seconds += now.Sub(last).Seconds()
		}
		last = now
		if ctx.Err() != nil || !end.IsZero() && !now.Before(end) {
			return
		}
	}
}

// nextMark is when to look at the counts next: after a progress interval, at the
// end of the warm-up and at the end of it all.
func (m *meter) nextMark(last, begin, end time.Time) (next time.Time, warm bool) {
	step := m.target.Progress
	if step <= 0 {
		step = time.Second
	}
	next = last.Add(step)
	if warm = last.Before(begin); warm && next.After(begin) {
		next = begin
	}
	if !end.IsZero() && next.After(end) {
		next = end
	}
	return next, warm
}

func wait(ctx context.Context, until time.Time) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// finish adds what came while the last requests were waited for: their latencies
// count, for they belong to requests of the measured time and may be the longest;
// the messages do not, for their time does not.
func (m *meter) finish() {
	rest := m.collect()
	m.total.latency.Add(&rest.latency)
	m.total.addTroubles(rest)
}

func (m *meter) print(at, took time.Duration, t *tally, warm bool) {
	if m.target.Progress <= 0 || took < m.target.Progress/10 {
		return
	}
	s := took.Seconds()
	line := fmt.Sprintf("%6.1fs %10.0f msg/s %8.1f MB/s", at.Seconds(), float64(t.messages)/s, float64(t.bytes)/s/1e6)
	if t.latency.Count() > 0 {
		line += fmt.Sprintf("  p50 %s  p99 %s  max %s", millis(t.latency.Percentile(50)), millis(t.latency.Percentile(99)), millis(t.latency.Max()))
	}
	if n := t.failed() + t.lost; n > 0 {
		line += fmt.Sprintf("  failed %d", n)
	}
	if warm {
		line += "  (warm-up)"
	}
	_, _ = fmt.Fprintln(m.out, line)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }
