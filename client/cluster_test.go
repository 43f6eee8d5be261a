// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/testcluster"
)

// These tests run against Goddard's own name server and broker in this process.

func producer(t *testing.T, c *testcluster.Cluster, options ...client.ProducerOption) *client.Producer {
	t.Helper()
	p, err := client.NewProducer(append([]client.ProducerOption{client.NameServers(c.NameServerText())}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// readAll gives all messages of a topic that are there.
func readAll(t *testing.T, c *testcluster.Cluster, topic string, options ...client.ReaderOption) []*client.Received {
	t.Helper()
	r, err := client.NewReader(topic, append([]client.ReaderOption{client.NameServers(c.NameServerText()), client.UntilEnd()}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var all []*client.Received
	for {
		messages, err := r.Poll(ctx)
		if client.CodeOf(err) == client.CodeNoRoute {
			time.Sleep(5 * time.Millisecond) // the name server is told of a new topic beside the answer to its first message
			continue
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, messages...)
	}
}

func send(t *testing.T, p *client.Producer, m *client.Message) client.SendResult {
	t.Helper()
	r, err := p.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after 20 s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestMessageComesAsItWasSent(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	for _, test := range []struct {
		situation string
		m         client.Message
	}{
		{"plain", client.Message{Body: []byte("hello")}},
		{"everything", client.Message{
			Body: []byte("你好"), Tag: "TagA", Keys: []string{"k1", "键2"}, Flag: -7, ShardingKey: "user 1",
			Properties: map[string]string{"имя": "значение", "a b": "c=d;e", "x": strings.Repeat("y", 2000)},
		}},
		{"bytes that are no text", client.Message{Body: []byte{0, 1, 2, 255}}},
		{"compressed on the way", client.Message{Body: bytes.Repeat([]byte("goddard "), 10000)}},
		{"as large as allowed", client.Message{Body: bytes.Repeat([]byte{0xAB, 0xCD, 0x01, 0x00}, 1<<20)}},
		{"without waiting for the disk", client.Message{Body: []byte("x"), NoWait: true}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			m := test.m
			m.Topic = fmt.Sprintf("T%d", time.Now().UnixNano())
			sent := send(t, p, &m)
			got := readAll(t, c, m.Topic)
			if len(got) != 1 {
				t.Fatalf("%d messages", len(got))
			}
			if diff := cmp.Diff(m, got[0].Message, cmp.Comparer(bytes.Equal)); diff != "" {
				t.Errorf("(-sent +received):\n%s", diff)
			}
			if g := got[0]; g.ID != sent.ID || g.OffsetID != sent.OffsetID || g.Queue != sent.Queue || g.Offset != sent.Offset ||
				g.Attempts != 0 || time.Since(g.BornAt) > time.Minute || time.Since(g.StoredAt) > time.Minute {
				t.Errorf("received %+v, sent %+v", g, sent)
			}
		})
	}
}

func TestTopicCreatedOnFirstUseHasFourQueues(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	used := map[int]int{}
	for range 16 {
		used[send(t, p, &client.Message{Topic: "Fresh", Body: []byte("x")}).Queue.ID]++
	}
	if diff := cmp.Diff(map[int]int{0: 4, 1: 4, 2: 4, 3: 4}, used); diff != "" {
		t.Errorf("queues used (-want +got):\n%s", diff)
	}
}

func TestBatchIsStoredTogether(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	var batch []*client.Message
	for i := range 5 {
		batch = append(batch, &client.Message{Topic: "B", Body: fmt.Append(nil, i), Tag: "T", Keys: []string{fmt.Sprint("k", i)}})
	}
	r, err := p.SendBatch(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, c, "B")
	ids, offsetIDs := strings.Split(r.ID, ","), strings.Split(r.OffsetID, ",")
	if len(got) != 5 || len(ids) != 5 || len(offsetIDs) != 5 {
		t.Fatalf("%d messages, %d ids, %d offset ids", len(got), len(ids), len(offsetIDs))
	}
	for i, m := range got {
		if m.Queue != r.Queue || m.Offset != r.Offset+int64(i) || m.ID != ids[i] || m.OffsetID != offsetIDs[i] || string(m.Body) != fmt.Sprint(i) || m.Tag != "T" {
			t.Errorf("message %d: %+v", i, m)
		}
	}
}

func TestManyAtATime(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Brokers: 2})
	p := producer(t, c, client.MaxInFlight(256))
	const n = 5000
	var mu sync.Mutex
	results := map[string]client.SendResult{}
	var wait sync.WaitGroup
	for i := range n {
		wait.Add(1)
		err := p.SendAsync(t.Context(), &client.Message{Topic: "Many", Body: fmt.Append(nil, i)}, func(r client.SendResult, err error) {
			defer wait.Done()
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			results[r.ID] = r
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wait.Wait()
	got := readAll(t, c, "Many")
	if len(got) != n || len(results) != n {
		t.Fatalf("%d read, %d acknowledged, want %d", len(got), len(results), n)
	}
	next := map[client.Queue]int64{}
	for _, m := range got {
		if r := results[m.ID]; r.Queue != m.Queue || r.Offset != m.Offset {
			t.Errorf("acknowledged as %+v, read as %+v", r, m)
		}
		if m.Offset != next[m.Queue] {
			t.Errorf("queue %v: offset %d after %d", m.Queue, m.Offset, next[m.Queue]-1)
		}
		next[m.Queue] = m.Offset + 1
	}
}

func TestReadingFollows(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	send(t, p, &client.Message{Topic: "F", Body: []byte("before")})
	r, err := client.NewReader("F", client.NameServers(c.NameServerText()), client.StartAt(client.Latest()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	await(t, "the new topic at the name server", func() bool { // reading begins here
		_, err := r.Queues(t.Context())
		return err == nil
	})
	for i := range 10 {
		body := fmt.Sprint("m", i)
		begin := time.Now()
		send(t, p, &client.Message{Topic: "F", Body: []byte(body)})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		got, err := r.Poll(ctx)
		cancel()
		if err != nil || len(got) != 1 || string(got[0].Body) != body {
			t.Fatalf("got %v, error %v; want %s", got, err, body)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("%s came after %s: a held pull was not answered at once", body, took)
		}
	}
}

func TestReadByTimeAndTag(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	for _, tag := range []string{"Aa", "BB", "C", "Aa"} {
		send(t, p, &client.Message{Topic: "Tags", Body: []byte(tag), Tag: tag})
	}
	time.Sleep(5 * time.Millisecond) // so that the times differ
	since := time.Now()
	send(t, p, &client.Message{Topic: "Tags", Body: []byte("late"), Tag: "C"})
	bodies := func(options ...client.ReaderOption) []string {
		var all []string
		for _, m := range readAll(t, c, "Tags", options...) {
			all = append(all, string(m.Body))
		}
		slices.Sort(all)
		return all
	}
	if diff := cmp.Diff([]string{"Aa", "Aa"}, bodies(client.ReadFilter(client.Tags("Aa")))); diff != "" {
		t.Errorf("Aa, whose hash BB has, too (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"BB", "C", "late"}, bodies(client.ReadFilter(client.Tags(" C||BB ")))); diff != "" {
		t.Errorf("C or BB (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"late"}, bodies(client.StartAt(client.AtTime(since)))); diff != "" {
		t.Errorf("since a time (-want +got):\n%s", diff)
	}
}

// seen counts the messages of a group by body, and who got them.
type seen struct {
	mu   sync.Mutex
	by   map[string]string
	n    map[string]int
	fail func(m *client.Received) error
}

func newSeen() *seen { return &seen{by: map[string]string{}, n: map[string]int{}} }

func (s *seen) handler(member string) client.Handler {
	return func(_ context.Context, m *client.Received) error {
		s.mu.Lock()
		s.by[string(m.Body)] = member
		s.n[string(m.Body)]++
		fail := s.fail
		s.mu.Unlock()
		if fail != nil {
			return fail(m)
		}
		return nil
	}
}

func (s *seen) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.n)
}

func consumer(t *testing.T, c *testcluster.Cluster, group, topic string, handler client.Handler, options ...client.ConsumerOption) *client.Consumer {
	t.Helper()
	m, err := client.NewConsumer(group, handler, append([]client.ConsumerOption{
		client.NameServers(c.NameServerText()), client.Subscribe(topic, client.Filter{}),
		client.StartAt(client.Beginning()), client.CommitInterval(50 * time.Millisecond),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// own gives the number of a member's queues of the topic.
func own(m *client.Consumer, topic string) int {
	n := 0
	for _, q := range m.Queues() {
		if q.Topic == topic {
			n++
		}
	}
	return n
}

func TestGroupSharesAndTakesOver(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	sendMany := func(prefix string) {
		for i := range 40 {
			send(t, p, &client.Message{Topic: "G", Body: fmt.Append(nil, prefix, i)})
		}
	}
	sendMany("first")
	s := newSeen()
	one := consumer(t, c, "CG", "G", s.handler("one"))
	two := consumer(t, c, "CG", "G", s.handler("two"))
	await(t, "two queues each", func() bool { return own(one, "G") == 2 && own(two, "G") == 2 })
	await(t, "the first messages", func() bool { return len(s.counts()) == 40 })
	sendMany("second")
	await(t, "the second messages", func() bool { return len(s.counts()) == 80 })
	s.mu.Lock()
	members := map[string]bool{}
	for body, member := range s.by {
		if strings.HasPrefix(body, "second") {
			members[member] = true
		}
	}
	s.mu.Unlock()
	if len(members) != 2 {
		t.Errorf("only %v got messages", members)
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	await(t, "all queues at the one that stayed", func() bool { return own(two, "G") == 4 })
	sendMany("third")
	await(t, "the third messages", func() bool { return len(s.counts()) == 120 })
	for body, n := range s.counts() {
		if n != 1 {
			t.Errorf("%s came %d times", body, n)
		}
	}
}

func TestGroupGoesOnWhereItLeftOff(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	first, later := newSeen(), newSeen()
	send(t, p, &client.Message{Topic: "L", Body: []byte("one")})
	m := consumer(t, c, "CG", "L", first.handler(""))
	await(t, "the first message", func() bool { return len(first.counts()) == 1 })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	send(t, p, &client.Message{Topic: "L", Body: []byte("two")})
	c.Brokers[0].Stop()
	c.Brokers[0].Start()
	consumer(t, c, "CG", "L", later.handler(""))
	await(t, "the second message", func() bool { return later.counts()["two"] == 1 })
	if n := later.counts()["one"]; n != 0 {
		t.Error("what was done came again")
	}
}

func TestNewGroupMissesNothingThatWasSentAMomentAgo(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	send(t, p, &client.Message{Topic: "Y", Body: []byte("young")})
	s := newSeen()
	consumer(t, c, "CG", "Y", s.handler(""), client.StartAt(client.Latest()))
	await(t, "the message", func() bool { return len(s.counts()) == 1 })
}

func TestFailedMessagesComeAgain(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	for i := range 10 {
		send(t, p, &client.Message{Topic: "R", Body: fmt.Append(nil, i), Tag: "A"})
	}
	s := newSeen()
	s.fail = func(m *client.Received) error {
		switch {
		case m.Topic != "R" || m.Tag != "A":
			t.Errorf("a message of topic %s with tag %s", m.Topic, m.Tag)
		case string(m.Body) == "3" && m.Attempts == 0:
			return &client.RetryError{DelayLevel: 1}
		case string(m.Body) == "5":
			return &client.RetryError{DelayLevel: -1, Err: errors.New("hopeless")}
		}
		return nil
	}
	consumer(t, c, "CG", "R", s.handler(""), client.Subscribe("R", client.Tags("A")))
	await(t, "all messages, one of them twice", func() bool { n := s.counts(); return len(n) == 10 && n["3"] == 2 })
	await(t, "the dead letter", func() bool {
		dead, err := client.NewReader("%DLQ%CG", client.NameServers(c.NameServerText()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dead.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := dead.Poll(ctx)
		return err == nil && len(got) == 1 && string(got[0].Body) == "5"
	})
	for body, n := range s.counts() {
		if want := map[string]int{"3": 2}[body] + 1; n != min(want, 2) {
			t.Errorf("%s came %d times", body, n)
		}
	}
}

func TestServersComeAndGo(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{NameServers: 2})
	p := producer(t, c, client.SendTimeout(10*time.Second), client.SendRetries(200), client.RouteRefresh(100*time.Millisecond))
	s := newSeen()
	send(t, p, &client.Message{Topic: "S", Body: []byte("0")})
	consumer(t, c, "CG", "S", s.handler(""), client.RouteRefresh(100*time.Millisecond), client.RebalanceInterval(200*time.Millisecond))
	await(t, "the first message", func() bool { return len(s.counts()) == 1 })

	c.NameServers[0].Stop()
	send(t, p, &client.Message{Topic: "S", Body: []byte("one name server is away")})
	c.NameServers[1].Stop()
	send(t, p, &client.Message{Topic: "S", Body: []byte("both are away")})
	await(t, "messages without a name server", func() bool { return len(s.counts()) == 3 })
	c.NameServers[0].Start()
	c.NameServers[1].Start()

	c.Brokers[0].Stop()
	if _, err := producer(t, c, client.SendTimeout(time.Second)).Send(t.Context(), &client.Message{Topic: "S", Body: []byte("lost")}); err == nil {
		t.Error("sent to a broker that is away")
	}
	c.Brokers[0].Start()
	send(t, p, &client.Message{Topic: "S", Body: []byte("the broker is back")})
	await(t, "a message through the new broker", func() bool { return s.counts()["the broker is back"] > 0 })
}

func TestStartAndStopManyTimes(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	send(t, producer(t, c), &client.Message{Topic: "Again", Body: []byte("x")})
	readAll(t, c, "Again") // by then the name server knows the topic
	before, files := runtime.NumGoroutine(), openFiles()
	for i := range 100 {
		p, err := client.NewProducer(client.NameServers(c.NameServerText()))
		if err != nil {
			t.Fatal(err)
		}
		send(t, p, &client.Message{Topic: "Again", Body: []byte("x")})
		r, err := client.NewReader("Again", client.NameServers(c.NameServerText()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		m, err := client.NewConsumer("CG", newSeen().handler(""), client.NameServers(c.NameServerText()), client.Subscribe("Again", client.Filter{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		lost, err := client.NewReader("Unknown", client.NameServers(c.NameServerText()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lost.Poll(t.Context()); client.CodeOf(err) != client.CodeNoRoute {
			t.Errorf("a topic that does not exist: %v", err)
		}
		for what, closed := range map[string]error{"producer": p.Close(), "reader": r.Close(), "consumer": m.Close(), "lost reader": lost.Close()} {
			if closed != nil {
				t.Errorf("round %d: close %s: %v", i, what, closed)
			}
		}
	}
	await(t, "goroutines and sockets as before", func() bool { return runtime.NumGoroutine() <= before+5 && openFiles() <= files+5 })
	s := newSeen()
	consumer(t, c, "LastGroup", "Again", s.handler(""))
	await(t, "the last one consumes", func() bool { return s.counts()["x"] == 101 })
}

// openFiles is how many this process has open, 0 where that cannot be told.
func openFiles() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// What never started, or failed to, leaves nothing behind, and may be closed at any time and more than once.
func TestFailedStartsLeaveNothing(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	nobody, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nobody.Close() }()
	handler := newSeen().handler("")
	before, files := runtime.NumGoroutine(), openFiles()
	for i := range 100 {
		if _, err := client.NewConsumer("bad group", handler, client.NameServers(c.NameServerText()), client.Subscribe("T", client.Filter{})); err == nil {
			t.Fatal("a group with a blank was taken")
		}
		var closers []func() error
		for _, ns := range []string{"127.0.0.1:1", nobody.Addr().String()} {
			m, err := client.NewConsumer("CG", handler, client.NameServers(ns), client.Subscribe("T", client.Filter{}), client.CallTimeout(20*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			if err := m.Start(ctx); err == nil {
				t.Errorf("started without a name server")
			}
			cancel()
			p, err := client.NewProducer(client.NameServers(ns), client.SendTimeout(20*time.Millisecond), client.SendRetries(0))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.SendAsync(t.Context(), &client.Message{Topic: "T", Body: []byte("x")}, func(client.SendResult, error) {}); err == nil && i == 0 {
				t.Log("a send was begun although nobody answers") // its callback tells
			}
			closers = append(closers, m.Close, p.Close)
		}
		never, err := client.NewConsumer("CG", handler, client.NameServers(c.NameServerText()), client.Subscribe("T", client.Filter{}))
		if err != nil {
			t.Fatal(err)
		}
		closers = append(closers, never.Close)
		for _, closes := range closers {
			for range 2 {
				if err := closes(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	await(t, "goroutines and sockets as before", func() bool { return runtime.NumGoroutine() <= before+5 && openFiles() <= files+5 })
}
