// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package stats

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newSet() *Set {
	return New(Options{
		Cluster: "DefaultCluster", IsSystem: protocol.IsSystemTopic, Details: true, Now: func() time.Time { return start },
	})
}

func TestCounters(t *testing.T) {
	s := newSet()
	s.Put("T", 1, 100)
	s.Put("T", 3, 900)
	s.Put("rmq_sys_x", 5, 1)
	s.Get("G", "T", 2, 50)
	s.SendBack("G", "T")
	s.Dead("G", "T")
	s.PutTook("T", 3, 4*time.Millisecond+999*time.Microsecond)
	s.PutTook("T", 3, 5*time.Millisecond)
	s.GetTook("G", "T", 3, 12*time.Millisecond)
	s.GetFromDisk("G", "T", 8, 80)
	s.Delay("S", 2, 1, 7)
	s.Delayed("D", "S", 2, "Later", 1, 7)
	s.sampleMinute(start)
	for _, c := range []struct {
		name, key string
		want      protocol.BrokerStatsItem
	}{
		{TopicPutLatency, "3@T", protocol.BrokerStatsItem{Sum: 9, AvgPt: 4.5, Tps: 0.9}},
		{GroupGetLatency, "3@T@G", protocol.BrokerStatsItem{Sum: 12, AvgPt: 12, Tps: 1.2}},
		{GroupDiskNums, "T@G", protocol.BrokerStatsItem{Sum: 8, AvgPt: 8, Tps: 0.8}},
		{GroupDiskSize, "T@G", protocol.BrokerStatsItem{Sum: 80, AvgPt: 80, Tps: 8}},
		{BrokerDiskNums, "DefaultCluster", protocol.BrokerStatsItem{Sum: 8, AvgPt: 8, Tps: 0.8}},
		{BrokerDiskSize, "DefaultCluster", protocol.BrokerStatsItem{Sum: 80, AvgPt: 80, Tps: 8}},
		{QueuePutNums, "S@2", protocol.BrokerStatsItem{Sum: 1, AvgPt: 1, Tps: 0.1}},
		{QueuePutSize, "S@2", protocol.BrokerStatsItem{Sum: 7, AvgPt: 7, Tps: 0.7}},
		{QueueGetNums, "S@2@D", protocol.BrokerStatsItem{Sum: 1, AvgPt: 1, Tps: 0.1}},
		{QueueGetSize, "S@2@D", protocol.BrokerStatsItem{Sum: 7, AvgPt: 7, Tps: 0.7}},
		{GroupGetNums, "S@D", protocol.BrokerStatsItem{Sum: 1, AvgPt: 1, Tps: 0.1}},
		{TopicPutSize, "Later", protocol.BrokerStatsItem{Sum: 7, AvgPt: 7, Tps: 0.7}},
		{TopicPutNums, "T", protocol.BrokerStatsItem{Sum: 4, AvgPt: 2, Tps: 0.4}},
		{TopicPutSize, "T", protocol.BrokerStatsItem{Sum: 1000, AvgPt: 500, Tps: 100}},
		{GroupGetNums, "T@G", protocol.BrokerStatsItem{Sum: 2, AvgPt: 2, Tps: 0.2}},
		{SendBackNums, "T@G", protocol.BrokerStatsItem{Sum: 1, AvgPt: 1, Tps: 0.1}},
		{DeadNums, "T@G", protocol.BrokerStatsItem{Sum: 1, AvgPt: 1, Tps: 0.1}},
		{BrokerPutNums, "DefaultCluster", protocol.BrokerStatsItem{Sum: 10, AvgPt: 2.5, Tps: 1}},
		{BrokerPutNumsWithoutSystem, "DefaultCluster", protocol.BrokerStatsItem{Sum: 5, AvgPt: 5. / 3, Tps: 0.5}},
		{BrokerGetNums, "DefaultCluster", protocol.BrokerStatsItem{Sum: 2, AvgPt: 2, Tps: 0.2}},
	} {
		got, ok := s.View(c.name, c.key)
		if !ok {
			t.Errorf("%s of %s was not counted", c.name, c.key)
		}
		if d := cmp.Diff(protocol.BrokerStatsData{StatsMinute: c.want}, got); d != "" {
			t.Errorf("%s of %s: %s", c.name, c.key, d)
		}
	}
	for _, c := range [][2]string{{TopicPutNums, "none"}, {"NOPE", "T"}, {BrokerPutNums, "T"}} {
		if _, ok := s.View(c[0], c[1]); ok {
			t.Errorf("%s of %s was counted", c[0], c[1])
		}
	}
	if s.PutRate("T") != 0.4 || s.GetRate("G", "T") != 0.2 || s.PutRate("none") != 0 {
		t.Errorf("rates %v, %v, %v", s.PutRate("T"), s.GetRate("G", "T"), s.PutRate("none"))
	}
}

func TestWithoutDetails(t *testing.T) {
	s := newSet()
	s.o.Details = false
	s.GetTook("G", "T", 3, 12*time.Millisecond)
	s.Delay("S", 2, 1, 7)
	s.Delayed("D", "S", 2, "Later", 1, 7)
	for _, c := range []struct {
		name, key string
		there     bool
	}{
		{GroupGetLatency, "T@G", true}, {GroupGetLatency, "3@T@G", false}, {QueuePutNums, "S@2", false},
		{QueueGetNums, "S@2@D", false}, {GroupGetNums, "S@D", true}, {TopicPutNums, "Later", true},
	} {
		if _, ok := s.View(c.name, c.key); ok != c.there {
			t.Errorf("%s of %s there: %v", c.name, c.key, ok)
		}
	}
}

func TestWindows(t *testing.T) {
	s := newSet()
	s.Put("T", 1, 1) // so that the first sample finds the counter
	for i := range 30 {
		now := start.Add(time.Duration(i) * 10 * time.Second)
		s.sampleMinute(now)
		s.Put("T", 6, 1)
	}
	s.sampleMinute(start.Add(300 * time.Second))
	got, _ := s.View(TopicPutNums, "T")
	if want := (protocol.BrokerStatsItem{Sum: 36, AvgPt: 6, Tps: 0.6}); got.StatsMinute != want {
		t.Errorf("minute %+v", got.StatsMinute)
	}
	for i := range 10 {
		s.Put("T", 100, 1)
		s.sampleHour(start.Add(time.Duration(i) * hourStep))
		s.sampleDay(start.Add(time.Duration(i) * dayStep))
	}
	got, _ = s.View(TopicPutNums, "T")
	if got.StatsHour.Sum != 600 || got.StatsDay.Sum != 1000+1+180 {
		t.Errorf("hour %+v, day %+v", got.StatsHour, got.StatsDay)
	}
}

func TestIdleCountersAreForgotten(t *testing.T) {
	s := newSet()
	s.Put("T", 1, 1)
	s.Put("Busy", 1, 1)
	for i := range daySamples + 2 {
		s.Put("Busy", 1, 1)
		s.sampleDay(start.Add(time.Duration(i) * dayStep))
	}
	if _, ok := s.View(TopicPutNums, "T"); ok {
		t.Error("a counter that rested for a day is still there")
	}
	if _, ok := s.View(TopicPutNums, "Busy"); !ok {
		t.Error("a busy counter is gone")
	}
	if _, ok := s.View(BrokerGetNums, "DefaultCluster"); !ok {
		t.Error("a counter of the broker is gone")
	}
}

func TestRemove(t *testing.T) {
	s := newSet()
	for _, topic := range []string{"T", "TT"} {
		s.Put(topic, 1, 1)
		s.Get("G", topic, 1, 1)
		s.Get("GG", topic, 1, 1)
		s.PutTook(topic, 0, 1)
		s.GetTook("G", topic, 0, 1)
		s.GetTook("GG", topic, 0, 1)
	}
	s.RemoveTopic("T")
	s.RemoveGroup("G")
	for _, c := range []struct {
		name, key string
		there     bool
	}{
		{TopicPutNums, "T", false}, {TopicPutNums, "TT", true}, {GroupGetNums, "T@G", false},
		{TopicPutLatency, "0@T", false}, {TopicPutLatency, "0@TT", true}, {GroupGetLatency, "0@T@GG", false},
		{GroupGetLatency, "0@TT@G", false}, {GroupGetLatency, "0@TT@GG", true},
		{GroupGetNums, "T@GG", false}, {GroupGetNums, "TT@G", false}, {GroupGetNums, "TT@GG", true},
		{BrokerPutNums, "DefaultCluster", true},
	} {
		if _, ok := s.View(c.name, c.key); ok != c.there {
			t.Errorf("%s of %s there: %v", c.name, c.key, ok)
		}
	}
}

func TestDays(t *testing.T) {
	s := newSet()
	day := func(n int) time.Time { return start.AddDate(0, 0, n) }
	s.Put("T", 5, 1)
	s.Get("G", "T", 1, 1)
	s.second(day(0))
	s.second(day(1)) // 5 at this midnight
	s.Put("T", 2, 1)
	s.Put("rmq_sys_x", 100, 1)
	s.second(day(2)) // 7 at this one
	s.Put("T", 1, 1)
	want := DayTotals{PutYesterday: 5, PutToday: 7, PutNow: 8, GetYesterday: 1, GetToday: 1, GetNow: 1}
	if d := cmp.Diff(want, s.Days()); d != "" {
		t.Fatal(d)
	}
}

func TestRates(t *testing.T) {
	s := newSet()
	if got := s.Rates().Put; got != "0.0 0.0 0.0" {
		t.Fatalf("without a sample %q", got)
	}
	var total Totals
	s.o.Store = func() Totals { return total }
	for i := range 1300 { // 10 a second, 20 in the last 30 seconds
		s.second(start.Add(time.Duration(i) * time.Second))
		total.Put += 10
		if i >= 1269 {
			total.Put += 10
		}
		total.Found, total.Miss, total.Transferred = total.Put/2, total.Put/2, total.Put*3
	}
	got := s.Rates()
	if got.Put != "20.0 15.0 10.5" || got.Get != got.Put || got.Transferred != "60.0 45.0 31.5" {
		t.Fatalf("%+v", got)
	}
	for _, part := range strings.Fields(got.Found) {
		if !strings.Contains(part, ".") {
			t.Errorf("%s has no point", part)
		}
	}
}

func TestRunSamplesAndEnds(t *testing.T) {
	s := newSet()
	sampled := make(chan struct{}, 100)
	s.o.Store = func() Totals {
		sampled <- struct{}{}
		return Totals{}
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	select {
	case <-sampled:
	case <-time.After(5 * time.Second):
		t.Error("no sample")
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestCountingTakesNoMemory(t *testing.T) {
	s := newSet()
	s.Put("T", 1, 1)
	s.Get("G", "T", 1, 1)
	s.PutTook("T", 7, time.Millisecond)
	s.GetTook("G", "T", 7, time.Millisecond)
	if n := testing.AllocsPerRun(100, func() {
		s.Put("T", 1, 1)
		s.Get("G", "T", 1, 1)
		s.PutTook("T", 7, time.Millisecond)
		s.GetTook("G", "T", 7, time.Millisecond)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := newSet()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 300 {
				s.Put(fmt.Sprint("T", i%7), 1, 1)
				s.Get("G", fmt.Sprint("T", i%7), 1, 1)
				switch w {
				case 0:
					s.sampleMinute(start.Add(time.Duration(i) * time.Second))
				case 1:
					s.RemoveTopic("T1")
				case 2:
					s.View(TopicPutNums, "T1")
					s.Days()
					s.Rates()
				}
			}
		})
	}
	wg.Wait()
	s.sampleMinute(start)
	if got, _ := s.View(BrokerPutNums, "DefaultCluster"); got.StatsMinute.Sum == 0 {
		t.Fatal("nothing counted")
	}
}

// Quick puts are counted by a share of them, slow ones one by one.
func TestQuickPutsAreCountedRoughly(t *testing.T) {
	s := newSet()
	s.Put("T", quickFrom, 1)
	const quick, slow = 100_000, 10
	for range quick {
		s.PutTook("T", 0, 999*time.Microsecond)
	}
	for range slow {
		s.PutTook("T", 0, 7*time.Millisecond)
	}
	c := lookUp(s.putTook, "0@T")
	if got := c.value.Load(); got != 7*slow {
		t.Errorf("%d ms in all, want %d", got, 7*slow)
	}
	if got := c.times.Load(); got < quick*9/10 || got > quick*11/10 {
		t.Errorf("%d puts, want about %d", got, quick+slow)
	}
}

func BenchmarkPut(b *testing.B) {
	s := newSet()
	b.ReportAllocs()
	for range b.N {
		s.Put("Orders", 1, 1024)
		s.PutTook("Orders", 3, time.Millisecond)
	}
}
