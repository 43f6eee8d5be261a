// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// clock is one that tests let run ahead.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
	began time.Time
}

func (c *clock) read() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	steady := time.Since(c.began) + c.ahead
	return c.began.Add(steady), steady
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// A topic whose attribute says so loses its old messages; groups that had not consumed them are named and counted, once.
func TestMessagesExpireBeforeTheyAreConsumed(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Identity.Name, cfg.Identity.Bind = "broker-a", "127.0.0.1"
	cfg.Store.Root = t.TempDir()
	cfg.Store.LogFileBytes = 8 << 20
	cfg.Store.Retention.Interval = 100 * time.Millisecond
	c := &clock{began: time.Now()}
	r := startWith(t, cfg, func(d *Deps) { d.Clock = c.read })

	topic, other := name("T"), r.topic()
	r.success(protocol.UpdateAndCreateTopic, topicExt(topic, ext{"attributes": "+reserve.time=1", "readQueueNums": 2, "writeQueueNums": 2}))
	for i := range 10 {
		r.send(topic, fmt.Sprint("m", i), nil)
		r.send(other, fmt.Sprint("m", i), nil)
	}
	r.send(topic, "n", ext{"queueId": 1, "e": 1})
	r.readable(topic, 0, 10)
	late, done, never := r.group(), r.group(), r.group()
	commit := func(group, topic string, offset int64) {
		r.success(protocol.UpdateConsumerOffset, ext{"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": offset})
	}
	commit(late, topic, 2)
	commit(late, other, 2)
	commit(done, topic, 10)
	c.pass(2 * time.Hour)
	r.until("old messages are gone", func() bool { low, _ := r.store.QueueRange(topic, 0); return low == 10 })
	a := r.pull(topic, late, 2, nil)
	a.is(protocol.PullOffsetMoved, a.Remark)
	if next := a.ext("nextBeginOffset"); next != "10" {
		t.Errorf("the pull goes on at %s", next)
	}
	if got := r.pull(other, late, 2, nil).bodies(); !strings.HasPrefix(got, "m2 m3") {
		t.Errorf("the other topic has %q", got)
	}
	r.until("it is counted", func() bool {
		return testutil.ToFloat64(r.metrics.unconsumed.WithLabelValues(late, topic)) == 8
	})
	r.until("it is told", func() bool { return strings.Contains(r.log.String(), "removed before a group had consumed them") })
	var lines []string
	for line := range strings.SplitSeq(r.log.String(), "\n") {
		if strings.Contains(line, "consumed") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		t.Fatalf("told %d times: %q", len(lines), lines)
	}
	for _, part := range []string{"level=WARN", "group=" + late, "topic=" + topic, "messages=8", `queue="0: 8"`, "why=reserve.time"} {
		if !strings.Contains(lines[0], part) {
			t.Errorf("%q lacks %s", lines[0], part)
		}
	}
	for _, group := range []string{done, never} {
		if n := testutil.ToFloat64(r.metrics.unconsumed.WithLabelValues(group, topic)); n != 0 {
			t.Errorf("%s lost %v messages", group, n)
		}
	}
	// Without the attribute what comes now stays; what is gone is gone.
	r.success(protocol.UpdateAndCreateTopic, topicExt(topic, ext{"attributes": "-reserve.time", "readQueueNums": 2, "writeQueueNums": 2}))
	r.send(topic, "kept", nil)
	witness := name("T")
	r.success(protocol.UpdateAndCreateTopic, topicExt(witness, ext{"attributes": "+reserve.time=2"}))
	r.fill(witness, 1, "")
	c.pass(3 * time.Hour)
	r.until("a round has been", func() bool { low, _ := r.store.QueueRange(witness, 0); return low == 1 })
	low, end := r.store.QueueRange(topic, 0)
	if low != 10 || end != 11 {
		t.Errorf("the queue is %d..%d", low, end)
	}
}

// What is told after a round has a bound, whatever was removed; nothing is missing from the counts.
func TestUnconsumedIsToldInFewLines(t *testing.T) {
	const groups, queues = 70, 20
	var text logText
	u := &unconsumed{
		logger: slog.New(slog.NewTextHandler(&text, nil)),
		count:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lost"}, []string{"consumer_group", "topic"}),
		lost:   map[consumption]*loss{},
		groups: func(string) []string {
			var names []string
			for g := range groups {
				names = append(names, fmt.Sprintf("g%02d", g))
			}
			return names
		},
		next: func(_, group string, queue int32) (int64, bool) {
			var n int64
			_, err := fmt.Sscanf(group, "g%d", &n)
			return n, err == nil && queue < queues
		},
		delay: func(level int) int64 { return int64(level) },
	}
	var gone []store.Removal
	for q := range int32(queues + 1) { // nobody committed anything in the last one
		gone = append(gone, store.Removal{Topic: "T", QueueID: q, From: 0, To: 50}, store.Removal{Topic: "T", QueueID: q, From: 50, To: 60})
	}
	gone = append(gone, store.Removal{Topic: protocol.TopicSchedule, QueueID: 2, From: 1, To: 5})
	u.removed(gone, store.CauseDisk)
	u.tell()
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	// Groups 0 to 59 and the delays lost something.
	if len(lines) != mostLosses+1 || !strings.Contains(lines[mostLosses], "count=11") {
		t.Errorf("%d lines, the last: %s", len(lines), lines[len(lines)-1])
	}
	if want := `queue="0: 60, 1: 60, 2: 60, 3: 60, 4: 60, 5: 60, 6: 60, 7: 60, and 12 more"`; !strings.Contains(lines[0], want) || !strings.Contains(lines[0], "group=g00 topic=T messages=1200") {
		t.Errorf("the first line is %s", lines[0])
	}
	for g := range groups {
		want := float64(max(60-g, 0) * queues)
		if got := testutil.ToFloat64(u.count.WithLabelValues(fmt.Sprintf("g%02d", g), "T")); got != want {
			t.Errorf("group %d lost %v messages, want %v", g, got, want)
		}
	}
	if got := testutil.ToFloat64(u.count.WithLabelValues(delays, protocol.TopicSchedule)); got != 2 {
		t.Errorf("%v delayed messages are lost, want 2", got)
	}
	u.tell()
	if again := strings.Count(text.String(), "\n"); again != len(lines) {
		t.Errorf("told again: %d lines", again)
	}
}
