// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Result of a run, fit to be written as JSON.
type Result struct {
	Kind        string   `json:"kind"` // produce or consume
	Topic       string   `json:"topic"`
	Brokers     []string `json:"brokers"`
	Connections int      `json:"connections"`
	Depth       int      `json:"depth,omitempty"`
	Batch       int      `json:"batch,omitempty"`
	BodyBytes   int      `json:"bodyBytes,omitempty"`
	RateWanted  float64  `json:"rateWanted,omitempty"` // messages/s; absent: closed loop

	Seconds           float64 `json:"seconds"`  // measured
	Messages          int64   `json:"messages"` // that succeeded in that time
	MessagesPerSecond float64 `json:"messagesPerSecond"`
	Bytes             int64   `json:"bytes"` // of bodies when producing, of whole records when consuming
	BytesPerSecond    float64 `json:"bytesPerSecond"`

	// Failed counts messages by what the broker answered instead, in the warm-up too.
	Failed       map[string]int64 `json:"failed,omitempty"`
	FirstFailure string           `json:"firstFailure,omitempty"`
	Lost         int64            `json:"lost,omitempty"`       // messages without an answer
	Unsent       int64            `json:"unsent,omitempty"`     // open loop: messages due whose turn did not come
	Reconnects   int64            `json:"reconnects,omitempty"` // connections lost and dialled again
	EmptyPulls   int64            `json:"emptyPulls,omitempty"`

	// Latency of requests, from when they should have gone (open loop) or went to
	// their answer; when following, of messages from their birth to their arrival,
	// by the two machines' clocks, in whole milliseconds.
	Latency *Latency `json:"latency,omitempty"`
}

// Latency in milliseconds.
type Latency struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	P9999 float64 `json:"p9999"`
	Max   float64 `json:"max"`
}

func latencyOf(h *Histogram) *Latency {
	if h.Count() == 0 {
		return nil
	}
	ms := func(d time.Duration) float64 { return round(float64(d)/1e6, 1000) }
	return &Latency{
		Count: int64(h.Count()), Mean: ms(h.Mean()), Min: ms(h.Min()), P50: ms(h.Percentile(50)), P90: ms(h.Percentile(90)),
		P99: ms(h.Percentile(99)), P999: ms(h.Percentile(99.9)), P9999: ms(h.Percentile(99.99)), Max: ms(h.Max()),
	}
}

// round keeps what is worth reading of x: its parts of 1/unit.
func round(x, unit float64) float64 { return math.Round(x*unit) / unit }

// newResult fills in what both kinds have.
func newResult(kind string, t *Target, brokers []brokerQueues, m *meter) Result {
	r := Result{
		Kind: kind, Topic: t.Topic, Connections: t.Connections, Seconds: round(m.seconds, 1000),
		Messages: m.total.messages, Bytes: m.total.bytes, FirstFailure: m.total.refusal,
		Lost: m.total.lost, Reconnects: m.total.breaks, EmptyPulls: m.total.empty, Latency: latencyOf(&m.total.latency),
	}
	for _, b := range brokers {
		r.Brokers = append(r.Brokers, b.addr)
	}
	if m.seconds > 0 {
		r.MessagesPerSecond = round(float64(r.Messages)/m.seconds, 10)
		r.BytesPerSecond = round(float64(r.Bytes)/m.seconds, 1)
	}
	for code, n := range m.total.failures {
		if r.Failed == nil {
			r.Failed = map[string]int64{}
		}
		r.Failed[fmt.Sprintf("%s (%d)", protocol.ResponseName(code), code)] = n
	}
	return r
}

// WriteText writes the result for people.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, a ...any) { fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, a...)) }
	line(r.Kind, "topic %s on %s, %d connections", r.Topic, strings.Join(r.Brokers, ", "), r.Connections)
	if r.Kind == "produce" {
		loop := "closed loop"
		if r.RateWanted > 0 {
			loop = fmt.Sprintf("open loop of %.0f msg/s", r.RateWanted)
		}
		line("load", "%s, %d in flight per connection, batch %d, bodies of %d bytes", loop, r.Depth, r.Batch, r.BodyBytes)
	}
	line("throughput", "%.0f msg/s, %.1f MB/s (%d messages in %.1f s)", r.MessagesPerSecond, r.BytesPerSecond/1e6, r.Messages, r.Seconds)
	if l := r.Latency; l != nil {
		line("latency", "mean %.2f  p50 %.2f  p90 %.2f  p99 %.2f  p99.9 %.2f  p99.99 %.2f  max %.2f ms",
			l.Mean, l.P50, l.P90, l.P99, l.P999, l.P9999, l.Max)
	}
	for _, what := range slices.Sorted(maps.Keys(r.Failed)) {
		line("failed", "%d: %s", r.Failed[what], what)
	}
	if r.FirstFailure != "" {
		line("first", "%s", r.FirstFailure)
	}
	for _, n := range []struct {
		count int64
		name  string
		what  string
	}{
		{r.Lost, "lost", "%d messages without an answer"},
		{r.Unsent, "unsent", "%d messages were due, but all requests in flight were waiting"},
		{r.Reconnects, "broken", "%d connections"},
		{r.EmptyPulls, "empty", "%d pulls"},
	} {
		if n.count > 0 {
			line(n.name, n.what, n.count)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
