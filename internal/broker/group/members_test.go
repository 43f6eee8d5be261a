// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// peer is a client's end of a connection and the broker's end of it.
type peer struct {
	conn   *remoting.Conn // the broker's end, by which members are known
	client *remoting.Conn
	told   chan string // groups of NOTIFY_CONSUMER_IDS_CHANGED
}

// fixture is a Members whose news are sent, and peers that are connected to it.
type fixture struct {
	*Members
	t      *testing.T
	log    *lockedText
	listen net.Listener
}

type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	log := new(lockedText)
	f := &fixture{t: t, log: log, Members: NewMembers(MembersOptions{
		Logger:   slog.New(slog.NewTextHandler(log, nil)),
		Expiry:   func() time.Duration { return 120 * time.Second },
		RealTime: func() bool { return true },
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f.listen = l
	t.Cleanup(func() { l.Close() })
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return f
}

func (f *fixture) connect() *peer {
	f.t.Helper()
	p := &peer{told: make(chan string, 100)}
	dialled, err := net.Dial("tcp", f.listen.Addr().String())
	must(f.t, err)
	accepted, err := f.listen.Accept()
	must(f.t, err)
	cfg := remoting.DefaultConfig()
	p.client = remoting.NewConn(dialled, p, cfg)
	cfg.ConnClosed = func(c *remoting.Conn, _ error) { f.Disconnect(c) }
	p.conn = remoting.NewConn(accepted, nil, cfg)
	f.t.Cleanup(func() {
		p.client.Close()
		p.conn.Close()
		<-p.client.Done()
		<-p.conn.Done()
	})
	return p
}

func (p *peer) ServeCommand(x *remoting.Exchange) {
	if x.Request.Code == protocol.NotifyConsumerIDsChanged && x.Request.IsOneway() {
		p.told <- x.Request.Fields.Text("consumerGroup")
	}
}

func (p *peer) as(id string) Client {
	return Client{Conn: p.conn, ID: id, Language: remoting.LanguageJava, Version: 513}
}

// isTold waits for the news of a group.
func (p *peer) isTold(t *testing.T, group string) {
	t.Helper()
	select {
	case got := <-p.told:
		if got != group {
			t.Fatalf("told of %q, want %q", got, group)
		}
	case <-time.After(5 * time.Second):
		t.Fatalf("not told of %q", group)
	}
}

// isNotTold makes sure that no news are under way: those of a later change of another
// group come first.
func (f *fixture) isNotTold(p *peer) {
	f.t.Helper()
	fence := fmt.Sprintf("fence-%d", time.Now().UnixNano())
	f.Join(p.as("fence"), membership(fence), time.Now())
	p.isTold(f.t, fence)
	f.Leave(p.conn, fence)
}

// remembered tells how much is in the tables.
func (f *fixture) remembered() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d connections, %d groups, %d producer groups, %d ids", len(f.conns), f.consumers.Len(), f.producers.Len(), len(f.producing))
}

func sub(topic, expression string, version int64) *protocol.SubscriptionData {
	s, err := protocol.ParseTagExpression(topic, expression)
	if err != nil {
		panic(err)
	}
	s.SubVersion = version
	return s
}

func membership(group string, subs ...*protocol.SubscriptionData) Membership {
	return Membership{
		Group: group, Type: protocol.ConsumePassively, Model: protocol.Clustering, From: protocol.ConsumeFromLastOffset,
		Subscriptions: subs, Notify: true,
	}
}

func TestMembersComeAndGo(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	if f.Consumers("G") != nil {
		t.Fatal("members from the start")
	}
	a, b := f.connect(), f.connect()
	f.Join(b.as("b"), membership("G", sub("T", "*", 1)), now)
	b.isTold(t, "G")
	f.Join(a.as("a"), membership("G", sub("T", "*", 1)), now)
	a.isTold(t, "G")
	b.isTold(t, "G")
	f.Join(a.as("a"), membership("G", sub("T", "*", 1)), now)
	f.isNotTold(a)
	if d := cmp.Diff([]string{"a", "b"}, f.ConsumersBytes([]byte("G")).ClientIDs()); d != "" {
		t.Fatal(d)
	}
	f.Leave(a.conn, "G")
	b.isTold(t, "G")
	f.isNotTold(a)
	if d := cmp.Diff([]string{"b"}, f.Consumers("G").ClientIDs()); d != "" {
		t.Fatal(d)
	}
	b.client.Close()
	<-b.conn.Done()
	if c := f.Consumers("G"); c != nil {
		t.Fatalf("members left: %v", c.ClientIDs())
	}
	if left := f.remembered(); left != "0 connections, 0 groups, 0 producer groups, 0 ids" {
		t.Fatal(left)
	}
}

func TestClosedConnectionTellsTheRest(t *testing.T) {
	f := newFixture(t)
	a, b := f.connect(), f.connect()
	for _, g := range []string{"G", "H"} {
		f.Join(a.as("a"), membership(g), time.Now())
		a.isTold(t, g)
		f.Join(b.as("b"), membership(g), time.Now())
		a.isTold(t, g)
	}
	b.client.Close()
	got := map[string]bool{<-a.told: true, <-a.told: true}
	if !got["G"] || !got["H"] {
		t.Fatalf("told of %v", got)
	}
}

// A heartbeat may be handled when its connection is closed already.
func TestJoinOfAClosedConnection(t *testing.T) {
	f := newFixture(t)
	p := f.connect()
	p.conn.Close()
	<-p.conn.Done()
	f.Join(p.as("a"), membership("G"), time.Now())
	f.JoinProducer(p.as("a"), "P", time.Now())
	if left := f.remembered(); left != "0 connections, 0 groups, 0 producer groups, 0 ids" {
		t.Fatal(left)
	}
}

func TestNotToldOfChanges(t *testing.T) {
	for situation, change := range map[string]func(*Membership){
		"setting of the group": func(m *Membership) { m.Notify = false },
		"broadcasting":         func(m *Membership) { m.Model = protocol.Broadcasting },
	} {
		t.Run(situation, func(t *testing.T) {
			f := newFixture(t)
			m := membership("G")
			change(&m)
			a, b := f.connect(), f.connect()
			f.Join(a.as("a"), m, time.Now())
			f.Join(b.as("b"), m, time.Now())
			f.isNotTold(a)
			f.isNotTold(b)
		})
	}
}

func TestSubscriptions(t *testing.T) {
	type sub3 struct {
		Topic, Expression string
		Version           int64
	}
	f := newFixture(t)
	p := f.connect()
	for i, step := range []struct {
		subs []*protocol.SubscriptionData
		want []sub3
		told bool
	}{
		{[]*protocol.SubscriptionData{sub("T", "A", 5)}, []sub3{{"T", "A", 5}}, true},
		{[]*protocol.SubscriptionData{sub("T", "B", 5)}, []sub3{{"T", "A", 5}}, false},
		{[]*protocol.SubscriptionData{sub("T", "C", 4)}, []sub3{{"T", "A", 5}}, false},
		{[]*protocol.SubscriptionData{sub("T", "X", 6)}, []sub3{{"T", "X", 6}}, false},
		{[]*protocol.SubscriptionData{sub("T", "D", 7), sub("U", "*", 1)}, []sub3{{"T", "D", 7}, {"U", "*", 1}}, true},
		{[]*protocol.SubscriptionData{sub("U", "*", 1)}, []sub3{{"U", "*", 1}}, true},
		{nil, []sub3{}, true},
	} {
		f.Join(p.as("a"), membership("G", step.subs...), time.Now())
		if step.told {
			p.isTold(t, "G")
		}
		f.isNotTold(p)
		got := []sub3{}
		for _, topic := range []string{"T", "U"} {
			if s := f.Consumers("G").Subscription([]byte(topic)); s != nil {
				got = append(got, sub3{s.Topic, s.SubString, s.SubVersion})
			}
		}
		if d := cmp.Diff(step.want, got); d != "" {
			t.Fatalf("step %d: %s", i, d)
		}
	}
}

func TestLastHeartbeatWins(t *testing.T) {
	f := newFixture(t)
	a, b := f.connect(), f.connect()
	f.Join(a.as("a"), membership("G", sub("T", "*", 1)), time.Now())
	before := f.Consumers("G")
	m := membership("G", sub("T", "*", 1))
	m.Type, m.Model, m.From = protocol.ConsumeActively, protocol.Broadcasting, protocol.ConsumeFromTimestamp
	f.Join(b.as("b"), m, time.Now())
	got := f.Consumers("G")
	if got.Type != m.Type || got.Model != m.Model || got.From != m.From || len(got.Members) != 2 {
		t.Fatalf("got %+v", got)
	}
	if before.Model != protocol.Clustering || len(before.Members) != 1 {
		t.Fatal("a view changed under its reader")
	}
}

func TestFingerprints(t *testing.T) {
	f := newFixture(t)
	p := f.connect()
	for i, step := range []struct {
		fingerprint int32
		unchanged   bool
		known       bool
	}{
		{123, false, true},
		{123, true, true},
		{456, true, false}, // and the subscription stays
		{456, false, true},
		{7, false, false},
	} {
		m := membership("G", sub("T", "*", 1))
		m.Fingerprint, m.Unchanged = step.fingerprint, step.unchanged
		if m.Unchanged {
			m.Subscriptions = nil
		}
		if known := f.Join(p.as("a"), m, time.Now()); known != step.known {
			t.Fatalf("step %d: known %v", i, known)
		}
		if f.Consumers("G").Subscription([]byte("T")) == nil {
			t.Fatalf("step %d: the subscription is gone", i)
		}
	}
	// A broker that was restarted does not know what the client left out.
	m := membership("Other")
	m.Fingerprint, m.Unchanged = 123, true
	if f.Join(p.as("a"), m, time.Now()) {
		t.Fatal("subscriptions that were never sent are known")
	}
}

func TestReconnectedClient(t *testing.T) {
	f := newFixture(t)
	old, young, other := f.connect(), f.connect(), f.connect()
	for _, p := range []*peer{old, young} {
		f.Join(p.as("a"), membership("G"), time.Now())
	}
	f.Join(other.as("b"), membership("G"), time.Now())
	g := f.Consumers("G")
	if d := cmp.Diff([]string{"a", "b"}, g.ClientIDs()); d != "" || len(g.Members) != 3 {
		t.Fatalf("%s, %d members", d, len(g.Members))
	}
	if c, ok := g.Find("a"); !ok || c.Conn != young.conn {
		t.Fatal("found on its old connection")
	}
	if _, ok := g.Find("nobody"); ok {
		t.Fatal("found nobody")
	}
	old.client.Close()
	<-old.conn.Done()
	if d := cmp.Diff([]string{"a", "b"}, f.Consumers("G").ClientIDs()); d != "" {
		t.Fatal(d)
	}
}

func TestExpiry(t *testing.T) {
	f := newFixture(t)
	start := time.Now()
	live, silent, producer := f.connect(), f.connect(), f.connect()
	f.Join(live.as("a"), membership("G"), start)
	live.isTold(t, "G")
	f.Join(silent.as("b"), membership("G"), start)
	live.isTold(t, "G")
	f.JoinProducer(producer.as("p"), "P", start)
	f.Expire(start.Add(119 * time.Second))
	if len(f.Consumers("G").Members) != 2 || len(f.Producers("P")) != 1 {
		t.Fatal("expired too early")
	}
	f.Join(live.as("a"), membership("G"), start.Add(100*time.Second))
	f.Expire(start.Add(121 * time.Second))
	if d := cmp.Diff([]string{"a"}, f.Consumers("G").ClientIDs()); d != "" {
		t.Fatal(d)
	}
	if f.Producers("P") != nil {
		t.Fatal("the producer is still there")
	}
	<-silent.conn.Done()
	<-producer.conn.Done()
	f.isNotTold(live)
}

// A client that gives up one of its groups without a word keeps its connection.
func TestExpiryOfOneGroup(t *testing.T) {
	f := newFixture(t)
	start := time.Now()
	p := f.connect()
	f.Join(p.as("a"), membership("G"), start)
	f.JoinProducer(p.as("a"), "P", start)
	f.Join(p.as("a"), membership("G"), start.Add(100*time.Second))
	f.Expire(start.Add(121 * time.Second))
	if f.Producers("P") != nil || f.Consumers("G") == nil || p.conn.Closed() {
		t.Fatalf("producers %v, consumers %v, closed %v", f.Producers("P"), f.Consumers("G"), p.conn.Closed())
	}
}

func TestChangedClientID(t *testing.T) {
	f := newFixture(t)
	p := f.connect()
	f.Join(p.as("a"), membership("G"), time.Now())
	f.JoinProducer(p.as("a"), "P", time.Now())
	f.Join(p.as("c"), membership("G"), time.Now())
	f.JoinProducer(p.as("c"), "P", time.Now())
	if d := cmp.Diff([]string{"c"}, f.Consumers("G").ClientIDs()); d != "" {
		t.Fatal(d)
	}
	if f.FindProducer([]byte("a")) != nil || f.FindProducer([]byte("c")) != p.conn {
		t.Fatal("the producer is found by its old id")
	}
}

func TestProducers(t *testing.T) {
	f := newFixture(t)
	a, b := f.connect(), f.connect()
	now := time.Now()
	f.JoinProducer(a.as("a"), "P", now)
	f.JoinProducer(a.as("a"), "Q", now)
	f.JoinProducer(b.as("b"), "P", now)
	picked := map[*remoting.Conn]int{}
	for range 10 {
		picked[f.PickProducer("P")]++
	}
	if picked[a.conn] != 5 || picked[b.conn] != 5 {
		t.Fatalf("picked %v", picked)
	}
	if f.PickProducer("none") != nil || len(f.AllProducers()) != 2 {
		t.Fatalf("all: %v", f.AllProducers())
	}
	f.LeaveProducer(a.conn, "P")
	if f.FindProducer([]byte("a")) != a.conn {
		t.Fatal("lost while in another group")
	}
	f.LeaveProducer(a.conn, "Q")
	if f.FindProducer([]byte("a")) != nil {
		t.Fatal("found although in no group")
	}
	// A client that connected again is found on the new connection, whatever comes of the old.
	c := f.connect()
	f.JoinProducer(b.as("b"), "P", now)
	f.JoinProducer(c.as("b"), "P", now)
	b.client.Close()
	<-b.conn.Done()
	if f.FindProducer([]byte("b")) != c.conn || f.PickProducer("P") != c.conn {
		t.Fatal("the new connection is not found")
	}
}

func TestGroupsOfATopic(t *testing.T) {
	f := newFixture(t)
	p := f.connect()
	f.Join(p.as("a"), membership("G", sub("T", "*", 1)), time.Now())
	f.Join(p.as("a"), membership("H", sub("U", "*", 1)), time.Now())
	if d := cmp.Diff([]string{"G"}, f.GroupsOf("T")); d != "" {
		t.Fatal(d)
	}
}

// Clients come, beat and go from many goroutines; nothing is left in the end.
func TestMembersConcurrently(t *testing.T) {
	f := newFixture(t)
	f.o.Logger = slog.New(slog.DiscardHandler)
	peers := make([]*peer, 8)
	for i := range peers {
		peers[i] = f.connect()
		go func() {
			for range peers[i].told { // so that the channel does not fill
			}
		}()
	}
	var wg sync.WaitGroup
	for i, p := range peers {
		wg.Go(func() {
			for n := range 200 {
				g := fmt.Sprint("G", n%5)
				f.Join(p.as(fmt.Sprint(i)), membership(g, sub("T", "*", int64(n))), time.Now())
				f.JoinProducer(p.as(fmt.Sprint(i)), g, time.Now())
				if c := f.Consumers(g); c != nil {
					c.ClientIDs()
				}
				if n%3 == 0 {
					f.Leave(p.conn, g)
					f.LeaveProducer(p.conn, g)
				}
				f.PickProducer(g)
				f.GroupsOf("T")
			}
			f.Disconnect(p.conn)
		})
	}
	wg.Wait()
	if left := f.remembered(); left != "0 connections, 0 groups, 0 producer groups, 0 ids" {
		t.Fatal(left)
	}
	for _, p := range peers {
		p.client.Close()
		<-p.client.Done()
		close(p.told)
	}
}

func TestLookUpOfMembersTakesNoMemory(t *testing.T) {
	f := newFixture(t)
	f.Join(f.connect().as("a"), membership("G", sub("T", "*", 1)), time.Now())
	g, topic := []byte("G"), []byte("T")
	if n := testing.AllocsPerRun(100, func() {
		if f.ConsumersBytes(g).Subscription(topic) == nil {
			t.Fatal("lost")
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
