// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package trouble

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.b.Reset()
	return t.b.String()
}

// fixture is a watch of groups that the test changes, with limits of 2 and 5 minutes.
type fixture struct {
	*Watch
	log    text
	groups []*Group
	now    time.Time
	every  time.Duration
}

func newFixture(groups ...*Group) *fixture {
	f := &fixture{groups: groups, now: time.Unix(1_000_000, 0), every: time.Second}
	f.Watch = New(Config{
		Logger: slog.New(slog.NewTextHandler(&f.log, nil)),
		Groups: func(show func(*Group)) {
			for _, g := range f.groups {
				show(g)
			}
		},
		Limits: func() Limits { return Limits{Every: f.every, Unconsumed: 2 * time.Minute, Stuck: 5 * time.Minute} },
	})
	return f
}

// look looks after d and gives the kinds of what is wrong, with client and queues.
func (f *fixture) look(d time.Duration) string {
	f.now = f.now.Add(d)
	f.Look(f.now)
	var all []string
	for _, x := range f.Faults("").Faults {
		line := x.Kind + " " + x.Topic
		if len(x.Queues) > 0 {
			line += " " + numbers(x.Queues)
		}
		if len(x.Clients) > 0 {
			line += " of " + strings.Join(x.Clients, "+")
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

const conn1, conn2 = 11, 12

// aGroup has the members c1 and c2 and a topic of two queues with ten messages each, in
// which it has committed 4 and 10.
func aGroup() *Group {
	return &Group{
		Name: "G", Members: []Member{{"c1", conn1}, {"c2", conn2}}, Judged: true,
		Topics: []Topic{{"T", []Queue{{0, 10, 4, true, 0, 0}, {0, 10, 10, true, 0, 0}}}},
		Holder: func(_, _ string, _ int32) string { return "" },
	}
}

func TestProgressIsJudged(t *testing.T) {
	const minute = time.Minute
	type step struct {
		after  time.Duration
		change func(g *Group, q *Queue, now int64) // q is queue 0
		want   string
	}
	pulledBy := func(conn uint64) func(*Group, *Queue, int64) {
		return func(_ *Group, q *Queue, now int64) { q.PulledAt, q.PulledBy = now, conn }
	}
	for _, c := range []struct {
		situation string
		steps     []step
	}{
		{"nobody pulls a queue in which messages wait", []step{
			{0, nil, ""}, {2*minute - 1, nil, ""}, {1, nil, "unconsumed_queue T queue 0"}, {minute, nil, "unconsumed_queue T queue 0"},
			{1, func(_ *Group, q *Queue, _ int64) { q.Committed = 5 }, ""},
		}},
		{"a member pulls and does not commit", []step{
			{0, pulledBy(conn2), ""}, {4 * minute, pulledBy(conn2), ""}, {minute, pulledBy(conn2), "stuck_member T queue 0 of c2"},
			{1, func(_ *Group, q *Queue, _ int64) { q.Committed = 5 }, ""}, {4 * minute, nil, ""},
		}},
		{"a member pulled once and only beats since: it has all the messages that it takes ahead", []step{
			{0, pulledBy(conn2), ""}, {4 * minute, nil, ""}, {minute, nil, "stuck_member T queue 0 of c2"},
		}},
		{"who pulled last is gone", []step{
			{0, pulledBy(99), ""}, {2*minute - 1, nil, ""}, {1, nil, "unconsumed_queue T queue 0"},
		}},
		{"somebody pulls who is no member", []step{
			{0, pulledBy(99), ""}, {10 * minute, pulledBy(99), ""}, {minute, nil, ""}, {minute, nil, "unconsumed_queue T queue 0"},
		}},
		{"a slow member commits now and then", []step{
			{0, pulledBy(conn1), ""},
			{4 * minute, func(_ *Group, q *Queue, _ int64) { q.Committed++ }, ""},
			{4 * minute, func(_ *Group, q *Queue, _ int64) { q.Committed++ }, ""},
			{4 * minute, func(_ *Group, q *Queue, _ int64) { q.Committed-- }, ""},
		}},
		{"a queue at rest gets a message after an hour", []step{
			{0, func(_ *Group, q *Queue, now int64) { q.Committed, q.PulledAt, q.PulledBy = 10, now, conn1 }, ""},
			{60 * minute, func(_ *Group, q *Queue, _ int64) { q.End = 11 }, ""},
			{minute, nil, ""}, {5 * minute, nil, "stuck_member T queue 0 of c1"},
		}},
		{"nothing waits, nobody pulls", []step{
			{0, func(_ *Group, q *Queue, _ int64) { q.Committed = 10 }, ""}, {60 * minute, nil, ""},
		}},
		{"an empty queue", []step{
			{0, func(_ *Group, q *Queue, _ int64) { *q = Queue{} }, ""}, {60 * minute, nil, ""},
		}},
		{"the messages that waited expired", []step{
			{0, func(_ *Group, q *Queue, _ int64) { q.First = 10 }, ""}, {60 * minute, nil, ""},
		}},
		{"a commit beyond the end", []step{
			{0, func(_ *Group, q *Queue, _ int64) { q.Committed = 99 }, ""}, {60 * minute, nil, ""},
		}},
		{"never committed, nobody pulls", []step{
			{0, func(_ *Group, q *Queue, _ int64) { q.Known = false }, ""}, {2 * minute, nil, "unconsumed_queue T queue 0"},
		}},
		{"never committed, pulled", []step{
			{0, func(_ *Group, q *Queue, now int64) { q.Known, q.PulledAt, q.PulledBy = false, now, conn1 }, ""},
			{5 * minute, nil, "stuck_member T queue 0 of c1"},
		}},
		{"members that pull as they like and keep their progress elsewhere", []step{
			{0, func(g *Group, q *Queue, now int64) {
				g.Pulls, q.Known, q.PulledAt, q.PulledBy = true, false, now, conn1
			}, ""},
			{60 * minute, nil, ""},
		}},
		{"members that pull as they like and commit here", []step{
			{0, func(g *Group, q *Queue, now int64) { g.Pulls, q.PulledAt, q.PulledBy = true, now, conn1 }, ""},
			{5 * minute, nil, "stuck_member T queue 0 of c1"},
		}},
		{"an ordered member holds the queue that another pulled before", []step{
			{0, func(g *Group, q *Queue, now int64) {
				q.PulledAt, q.PulledBy, g.Holder = now, conn1, func(_, _ string, _ int32) string { return "c2" }
			}, ""},
			{5 * minute, nil, "stuck_member T queue 0 of c2"},
		}},
		{"a dead client holds the queue", []step{
			{0, func(g *Group, q *Queue, _ int64) { g.Holder = func(_, _ string, _ int32) string { return "dead" } }, ""},
			{2 * minute, nil, "unconsumed_queue T queue 0 of dead"},
		}},
		{"a group that is not judged: broadcasting, disabled", []step{
			{0, func(g *Group, _ *Queue, _ int64) { g.Judged = false }, ""}, {60 * minute, nil, ""},
		}},
		{"two queues of one member", []step{
			{0, func(g *Group, q *Queue, now int64) {
				q.PulledAt, q.PulledBy = now, conn1
				g.Topics[0].Queues[1] = *q
			}, ""},
			{5 * minute, nil, "stuck_member T queues 0, 1 of c1"},
		}},
		{"one queue each of two members", []step{
			{0, func(g *Group, q *Queue, now int64) {
				q.PulledAt, q.PulledBy = now, conn1
				g.Topics[0].Queues[1] = *q
				g.Topics[0].Queues[1].PulledBy = conn2
			}, ""},
			{5 * minute, nil, "stuck_member T queue 0 of c1; stuck_member T queue 1 of c2"},
		}},
		{"the topic is no longer subscribed to", []step{
			{0, nil, ""}, {2 * minute, nil, "unconsumed_queue T queue 0"},
			{1, func(g *Group, _ *Queue, _ int64) { g.Topics = nil }, ""},
		}},
		{"the topic gets more queues, then fewer", []step{
			{0, nil, ""},
			{minute, func(g *Group, q *Queue, _ int64) { g.Topics[0].Queues = append(g.Topics[0].Queues, *q) }, ""},
			{minute, nil, "unconsumed_queue T queue 0"}, {minute, nil, "unconsumed_queue T queues 0, 2"},
			{1, func(g *Group, _ *Queue, _ int64) { g.Topics[0].Queues = g.Topics[0].Queues[:1] }, "unconsumed_queue T queue 0"},
		}},
	} {
		t.Run(c.situation, func(t *testing.T) {
			g := aGroup()
			f := newFixture(g)
			for i, s := range c.steps {
				if s.change != nil {
					s.change(g, &g.Topics[0].Queues[0], f.now.Add(s.after).UnixNano())
				}
				if got := f.look(s.after); got != s.want {
					t.Fatalf("step %d: %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

func TestMembersAreCompared(t *testing.T) {
	g := aGroup()
	g.Judged = false
	f := newFixture(g)
	g.Differences = []Difference{{"T", []Want{{"", []string{"c1"}}, {"A", []string{"c2"}}}}}
	if got := f.look(0); got != "" {
		t.Fatalf("at the first look %q: a change is made member by member", got)
	}
	if got := f.look(time.Second); got != "unequal_subscriptions T of c1+c2" {
		t.Fatal(got)
	}
	g.Differences = nil
	g.Shared = []Shared{{"c1", []string{"1.2.3.4:1", "1.2.3.5:1"}}}
	if got := f.look(time.Second); got != "shared_client_id  of c1" {
		t.Fatal(got)
	}
	if x := f.Faults("").Faults[0]; !cmp.Equal(x.Addrs, g.Shared[0].Addrs) {
		t.Fatalf("addresses %v", x.Addrs)
	}
	g.Shared = nil
	if got := f.look(time.Second); got != "" {
		t.Fatal(got)
	}
}

func TestFaultsAreToldOnce(t *testing.T) {
	g := aGroup()
	f := newFixture(g)
	f.look(0)
	for range 5 {
		f.look(2 * time.Minute)
	}
	const begun = `level=WARN msg="consumer group: no member consumes queue 0 of topic T, where 6 messages have waited for 2m0s; it was never pulled since the broker started" kind=unconsumed_queue group=G topic=T queues=[0] client=[]`
	if got := f.log.take(); strings.Count(got, "\n") != 1 || !strings.Contains(got, begun) {
		t.Errorf("told %s", got)
	}
	if n := f.Count(protocol.FaultUnconsumedQueue); n != 1 {
		t.Errorf("counted %d", n)
	}
	since := f.Faults("").Faults[0].Since
	if want := time.Unix(1_000_000, 0).UnixMilli(); since != want {
		t.Errorf("since %d, want %d", since, want)
	}
	g.Topics[0].Queues[0].Committed = 10
	f.look(time.Second)
	if got := f.log.take(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "a fault is over") {
		t.Errorf("told %s", got)
	}
	if n := f.Count(protocol.FaultUnconsumedQueue); n != 0 {
		t.Errorf("counted %d", n)
	}
	// A group that all members left is forgotten.
	g.Topics[0].Queues[0].Committed = 4
	f.look(time.Second)
	f.groups = nil
	f.look(time.Second)
	if len(f.Watch.groups) != 0 || f.Faults("").Groups != 0 {
		t.Errorf("%d groups remembered", len(f.Watch.groups))
	}
}

func TestTextsSayWhatIsKnown(t *testing.T) {
	g := aGroup()
	q := &g.Topics[0].Queues[0]
	f := newFixture(g)
	text := func(after time.Duration) string {
		t.Helper()
		f.look(after)
		faults := f.Faults("G").Faults
		if len(faults) != 1 {
			t.Fatalf("faults %+v", faults)
		}
		return faults[0].Text
	}
	q.PulledAt, q.PulledBy = f.now.UnixNano(), conn1
	f.look(0)
	if got, want := text(6*time.Minute), "client c1 commits no progress in queue 0 of topic T, where 6 messages have waited for 6m0s; the last pull was 6m0s ago: it is paused, or does not finish the messages that it has"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	q.PulledAt = f.now.UnixNano()
	if got, want := text(time.Second), "client c1 commits no progress in queue 0 of topic T, where 6 messages have waited for 6m1s; the last pull was 1s ago"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	g.Holder = func(_, _ string, _ int32) string { return "dead" }
	if got, want := text(5*time.Minute), "no member consumes queue 0 of topic T, where 6 messages have waited for 11m1s; the last pull was 5m1s ago; client dead, which is no member any more, has locked it"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	long := make([]int32, 20)
	if got := numbers(long); !strings.HasSuffix(got, "0 and 4 more") || !strings.HasPrefix(got, "queues 0, ") {
		t.Error(got)
	}
	d := newLookFor(f).differ("G", &Difference{"T", []Want{{"", []string{"a"}}, {"A", []string{"b", "c", "d", "e", "f", "g"}}}})
	if want := `members subscribe to topic T differently: a want nothing; b, c, d, e, f and 1 more want "A"; all must subscribe to the same, or messages are missed`; d.Text != want {
		t.Errorf("got  %s\nwant %s", d.Text, want)
	}
}

func newLookFor(f *fixture) *look { return &look{Watch: f.Watch, now: f.now} }

// When everything hangs there are thousands of faults: few are told, and an answer has an end.
func TestManyFaults(t *testing.T) {
	const n = MaxShown + 7
	f := newFixture()
	for i := range n {
		g := aGroup()
		g.Name += string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		f.groups = append(f.groups, g)
	}
	f.look(0)
	f.look(2 * time.Minute)
	if c := f.Faults(""); len(c.Faults) != MaxShown || c.More != 7 || c.Groups != n || c.CheckedAt != f.now.UnixMilli() {
		t.Errorf("%d shown, %d more, of %d groups at %d", len(c.Faults), c.More, c.Groups, c.CheckedAt)
	}
	if c := f.Faults(f.groups[3].Name); len(c.Faults) != 1 || c.More != 0 {
		t.Errorf("of one group %+v", c)
	}
	if got := f.log.take(); strings.Count(got, "\n") != maxTold+1 || !strings.Contains(got, "more=987") {
		t.Errorf("told %d lines", strings.Count(got, "\n"))
	}
	if f.Count(protocol.FaultUnconsumedQueue) != n {
		t.Errorf("counted %d", f.Count(protocol.FaultUnconsumedQueue))
	}
}

func TestSwitchedOff(t *testing.T) {
	g := aGroup()
	f := newFixture(g)
	f.look(0)
	f.look(2 * time.Minute)
	f.every = 0
	if got := f.look(time.Second); got != "" || f.Faults("").CheckedAt != 0 {
		t.Errorf("%q at %d", got, f.Faults("").CheckedAt)
	}
}

func TestRunLooksAndEnds(t *testing.T) {
	looked := make(chan struct{}, 1)
	w := New(Config{
		Logger: slog.New(slog.DiscardHandler), Limits: func() Limits { return Limits{Every: time.Millisecond} },
		Groups: func(func(*Group)) {
			select {
			case looked <- struct{}{}:
			default:
			}
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	<-looked
	<-looked
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A look at groups without trouble takes no memory for each.
func TestQuietGroupsCostNothing(t *testing.T) {
	f := newFixture()
	for i := range 50 {
		g := aGroup()
		g.Name += strings.Repeat("x", i)
		g.Topics[0].Queues[0].Committed = 10
		f.groups = append(f.groups, g)
	}
	f.look(0)
	if n := testing.AllocsPerRun(20, func() { f.Look(f.now) }); n > 10 {
		t.Errorf("%v allocations a look", n)
	}
}
