// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/broker"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/testcluster"
)

// graves is a cluster with a topic T and a group G that has dead letters.
type graves struct {
	*testing.T
	*Admin
	cluster *testcluster.Cluster
}

func newGraves(t *testing.T, brokers int, change ...func(*broker.Config)) *graves {
	t.Helper()
	cluster := testcluster.Config{Brokers: brokers}
	if len(change) > 0 {
		cluster.Broker = change[0]
	}
	c := testcluster.Start(t, cluster)
	g := &graves{T: t, Admin: open(t, c.NameServerText()), cluster: c}
	cfg := protocol.NewTopicConfig("T")
	cfg.ReadQueueNums, cfg.WriteQueueNums = 2, 2
	if _, err := g.SetTopic(t.Context(), Target{}, cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := g.SetGroup(t.Context(), Target{}, protocol.NewSubscriptionGroupConfig("G")); err != nil {
		t.Fatal(err)
	}
	return g
}

// bury makes a dead letter at a broker, as a consumer does that sends a message to the retry topic too often.
func (g *graves) bury(at int, body string, properties map[string]string) {
	g.Helper()
	p := map[string]string{
		"UNIQ_KEY": "id-" + body, "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": "7F000001000028A00000000000000042", "TAGS": "A", "KEYS": "k1 k2",
		"own": "1", "RECONSUME_TIME": "17", "MAX_RECONSUME_TIMES": "16", "DELAY": "18", "REAL_TOPIC": "%RETRY%G", "REAL_QID": "0",
		"__FAILURE_REASON": "no such customer", "WAIT": "false", "TRAN_MSG": "false", "TIMER_OUT_MS": "7",
	}
	maps.Copy(p, properties)
	maps.DeleteFunc(p, func(_, value string) bool { return value == "" })
	body2, flag := []byte(body), int32(0)
	if strings.HasPrefix(body, "packed") {
		packed, err := message.Compress([]byte(body))
		if err != nil {
			g.Fatal(err)
		}
		body2, flag = packed, message.FlagCompressed|message.CompressionZlib
	}
	resp, err := g.conns.Call(g.Context(), g.cluster.Brokers[at].Addr, &remoting.Command{Code: protocol.SendMessageV2, Body: body2,
		Header: &protocol.SendRequest{
			ProducerGroup: []byte("P"), Topic: []byte("%RETRY%G"), DefaultTopic: []byte("TBW102"), DefaultTopicQueueNums: 1, SysFlag: flag,
			Flag: 7, BornTimestamp: 1_700_000_000_000, ReconsumeTimes: 17, MaxReconsumeTimes: 16, HasMaxReconsumeTimes: true,
			Properties: message.AppendProperties(nil, p),
		}})
	if err != nil || resp.Code != protocol.Success {
		g.Fatalf("%v, %v", resp, err)
	}
}

// dead gives the dead letters of G once there are so many.
func (g *graves) dead(n int64) *DeadLetters {
	g.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		d, err := g.DeadLetters(g.Context(), Target{}, "G")
		switch {
		case err == nil && d.Count() == n:
			return d
		case time.Now().After(end):
			g.Fatalf("%+v, %v; want %d dead letters", d, err, n)
		}
	}
}

func (g *graves) job(d *DeadLetters, sel Selection) *ResendJob {
	g.Helper()
	spans, err := g.Narrow(g.Context(), d, &sel)
	if err != nil {
		g.Fatal(err)
	}
	return &ResendJob{Group: "G", Spans: spans, Choice: sel}
}

// all reads a whole topic, which all brokers have.
func (g *graves) all(topic string) []*Stored {
	g.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) { // name servers are told beside the use of a topic
		route, err := g.TopicRoute(g.Context(), topic)
		if err == nil && len(route.BrokerDatas) == len(g.cluster.Brokers) {
			break
		}
		if time.Now().After(end) {
			g.Fatalf("topic %s is at %+v, %v; want all brokers", topic, route, err)
		}
	}
	spans, err := g.Spans(g.Context(), Target{}, topic)
	if err != nil {
		g.Fatal(err)
	}
	var all []*Stored
	for _, s := range spans {
		for m, err := range g.Messages(g.Context(), s) {
			if err != nil {
				g.Fatal(err)
			}
			all = append(all, m)
		}
	}
	return all
}

func contents(all []*Stored) []string {
	var texts []string
	for _, m := range all {
		body, err := m.Content()
		if err != nil {
			texts = append(texts, err.Error())
			continue
		}
		texts = append(texts, string(body))
	}
	return texts
}

func TestDeadLettersAreCounted(t *testing.T) {
	g := newGraves(t, 2)
	if d := g.dead(0); len(d.Spans) != 0 {
		t.Errorf("%+v", d)
	}
	if all, err := g.AllDeadLetters(t.Context(), Target{}); err != nil || len(all) != 0 {
		t.Errorf("%v, %v; want none", all, err)
	}
	if _, err := g.DeadLetters(t.Context(), Target{}, "nobody"); !errors.Is(err, ErrNoGroup) {
		t.Errorf("a group that is not there: %v", err)
	}
	before := time.Now().Add(-time.Second)
	g.bury(0, "one", nil)
	g.bury(0, "two", nil)
	g.bury(1, "three", nil)
	g.dead(3)
	all, err := g.AllDeadLetters(t.Context(), Target{})
	if err != nil || len(all) != 1 || all[0].Group != "G" || all[0].Count() != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	var counts []string
	for _, s := range all[0].Spans {
		counts = append(counts, fmt.Sprintf("%s %d", s.At(s.First), s.Count()))
		if s.Oldest.Before(before) || s.Newest.Before(s.Oldest) || s.Newest.After(time.Now().Add(time.Second)) {
			t.Errorf("%s to %s", s.Oldest, s.Newest)
		}
	}
	if want := []string{"broker-a:0@0 2", "broker-b:0@0 1"}; !slices.Equal(counts, want) {
		t.Errorf("%v, want %v", counts, want)
	}
	if one, err := g.AllDeadLetters(t.Context(), Target{Broker: "broker-b"}); err != nil || len(one) != 1 || one[0].Count() != 1 {
		t.Errorf("at one broker %+v, %v", one, err)
	}
}

func TestDeadLettersAreChosen(t *testing.T) {
	g := newGraves(t, 2)
	for i := range 70 { // more than one pull
		g.bury(0, fmt.Sprintf("a%02d", i), map[string]string{"ORIGIN_MESSAGE_ID": fmt.Sprintf("origin-%d", i)})
	}
	g.bury(1, "b00", nil)
	d := g.dead(71)
	middle := g.all("%DLQ%G")[35]
	for _, test := range []struct {
		situation   string
		sel         Selection
		first, last string
		count       int
		err         string
	}{
		{"all", Selection{}, "a00", "b00", 71, ""},
		{"single ones", Selection{Only: []Place{{"broker-b", 0, 0}, {"broker-a", 0, 69}}}, "b00", "a69", 2, ""},
		{"from a place on", Selection{From: []Place{{"broker-a", 0, 60}}}, "a60", "a69", 10, ""},
		{"from the end on", Selection{From: []Place{{"broker-a", 0, 70}}}, "", "", 0, ""},
		{"by id", Selection{ID: "id-a07"}, "a07", "a07", 1, ""},
		{"by the id of its place", Selection{ID: middle.OffsetID()}, "a35", "a35", 1, ""},
		{"by the id of its first place", Selection{ID: "origin-8"}, "a08", "a08", 1, ""},
		{"by an id that is not there", Selection{ID: "x"}, "", "", 0, ""},
		{"since long ago", Selection{Since: middle.StoredAt().Add(-time.Hour)}, "a00", "b00", 71, ""},
		{"since tomorrow", Selection{Since: middle.StoredAt().Add(24 * time.Hour)}, "", "", 0, ""},
		{"until an hour ago", Selection{Until: middle.StoredAt().Add(-time.Hour)}, "", "", 0, ""},
		{"until tomorrow", Selection{Until: middle.StoredAt().Add(24 * time.Hour)}, "a00", "b00", 71, ""},
		{"a place that is not there", Selection{Only: []Place{{"broker-a", 0, 70}}}, "", "", 0, "there is no dead letter broker-a:0@70: queue broker-a:0 has 0 to 69"},
		{"a queue that is not there", Selection{From: []Place{{"broker-a", 1, 0}}}, "", "", 0, "broker-a:1@0: group G has no such queue of dead letters: there are broker-a:0, broker-b:0"},
		{"a place without its broker", Selection{Only: []Place{{"", 0, 3}}}, "", "", 0, "several brokers have dead letters of group G"},
	} {
		t.Run(test.situation, func(t *testing.T) {
			spans, err := g.Narrow(t.Context(), d, &test.sel)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var found []*Stored
			for _, s := range spans {
				for m, err := range g.Chosen(t.Context(), s, &test.sel) {
					if err != nil {
						t.Fatal(err)
					}
					found = append(found, m)
				}
			}
			got := contents(found)
			if len(got) != test.count || test.count > 0 && (got[0] != test.first || got[len(got)-1] != test.last) {
				t.Errorf("%d: %v; want %d from %s to %s", len(got), got, test.count, test.first, test.last)
			}
		})
	}
}

// What brokers before RocketMQ 4.9.2 make can be written only.
func TestDeadLettersThatMayNotBePulledAreRead(t *testing.T) {
	g := newGraves(t, 1)
	for i := range 40 {
		g.bury(0, fmt.Sprintf("%02d", i), nil)
	}
	g.dead(40)
	cfg := protocol.NewTopicConfig("%DLQ%G")
	cfg.ReadQueueNums, cfg.WriteQueueNums, cfg.Perm = 1, 1, protocol.PermWrite
	if _, err := g.SetTopic(t.Context(), Target{}, cfg); err != nil {
		t.Fatal(err)
	}
	if got := contents(g.all("%DLQ%G")); len(got) != 40 || got[0] != "00" || got[39] != "39" {
		t.Errorf("read %v", got)
	}
}

// What a copy says of itself, by either way.
func TestResentCopy(t *testing.T) {
	for _, way := range []struct {
		situation, topic string
		toTopic          bool
		more             map[string]string
	}{
		{"to the topic", "T", true, nil},
		{"to the group", "%RETRY%G", false, map[string]string{"RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": "id-packed and sealed"}},
	} {
		t.Run(way.situation, func(t *testing.T) {
			g := newGraves(t, 1)
			g.bury(0, "packed and sealed", map[string]string{"__SHARDINGKEY": "key", "CORRELATION_ID": "c"})
			job := g.job(g.dead(1), Selection{})
			job.ToTopic = way.toTopic
			var reports []Resent
			summary, err := g.Resend(t.Context(), job, func(r Resent) error { reports = append(reports, r); return nil })
			if err != nil || summary.Sent != 1 || summary.Failed != 0 || len(summary.Next) != 0 || len(reports) != 1 {
				t.Fatalf("%+v, %v, %v", summary, reports, err)
			}
			copies := g.all(way.topic)
			if len(copies) != 1 {
				t.Fatalf("%d copies", len(copies))
			}
			m, r := copies[0], reports[0]
			if r.To != m.Place() || r.Topic != "T" || r.Place() != (Place{"broker-a", 0, 0}) || r.Err != nil {
				t.Errorf("reported %+v, the copy is at %s", r, m.Place())
			}
			want := map[string]string{
				"UNIQ_KEY": "id-packed and sealed", "TAGS": "A", "KEYS": "k1 k2", "own": "1", "__SHARDINGKEY": "key", "CORRELATION_ID": "c",
				"DLQ_ORIGIN_TOPIC": "T", "DLQ_ORIGIN_MESSAGE_ID": "id-packed and sealed",
				"CLUSTER": "DefaultCluster", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
			}
			maps.Copy(want, way.more)
			if diff := cmp.Diff(want, message.ParseProperties(m.Properties)); diff != "" {
				t.Errorf("properties (-want +got):\n%s", diff)
			}
			if body := contents(copies)[0]; body != "packed and sealed" || m.Flag != 7 || m.ReconsumeTimes != 0 || m.BornTimestamp != 1_700_000_000_000 {
				t.Errorf("%q, flag %d, retried %d times, born %d", body, m.Flag, m.ReconsumeTimes, m.BornTimestamp)
			}
			if way.toTopic && int(m.QueueID) != message.QueueOfKey("key", 2) {
				t.Errorf("in queue %d, not in that of its sharding key", m.QueueID)
			}
			if n := g.dead(1).Count(); n != 1 {
				t.Errorf("%d dead letters, want the one that was there", n)
			}
		})
	}
}

// A message that became a dead letter in a real consumer is consumed after it was sent again: by its group only, or by all.
func TestResentIsConsumed(t *testing.T) {
	for _, way := range []struct {
		situation string
		toTopic   bool
		others    int
	}{{"to the group", false, 1}, {"to the topic", true, 2}} {
		t.Run(way.situation, func(t *testing.T) {
			g := newGraves(t, 1)
			other := g.consume("H", nil)
			first := g.consume("G", &client.RetryError{DelayLevel: -1, Err: errors.New("no such customer\nat all")})
			p, err := client.NewProducer(client.NameServers(g.cluster.NameServerText()))
			if err != nil {
				t.Fatal(err)
			}
			sent, err := p.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x"), Tag: "A", Properties: map[string]string{"own": "1"}})
			if err != nil {
				t.Fatal(err)
			}
			_ = p.Close()
			g.next(first)
			g.next(other)
			d := g.dead(1)
			first.close()
			m := g.all("%DLQ%G")[0]
			if m.FailureReason() != "no such customer at all" || m.ID() != sent.ID || m.OriginalTopic() != "T" || m.OriginID() != sent.OffsetID || m.ReconsumeTimes != 1 {
				t.Errorf("reason %q, id %s of topic %s, first at %s, tried %d times", m.FailureReason(), m.ID(), m.OriginalTopic(), m.OriginID(), m.ReconsumeTimes)
			}
			again := g.consume("G", nil)
			job := g.job(d, Selection{ID: sent.ID})
			job.ToTopic = way.toTopic
			if s, err := g.Resend(t.Context(), job, func(Resent) error { return nil }); err != nil || s.Sent != 1 {
				t.Fatalf("%+v, %v", s, err)
			}
			r := g.next(again)
			if r.Topic != "T" || r.ID != sent.ID || r.Attempts != 0 || r.FailureReason() != "" || r.Tag != "A" || !maps.Equal(r.Properties, map[string]string{"own": "1"}) {
				t.Errorf("consumed %+v", r)
			}
			again.close() // what it got is committed, and so is what came before
			if way.toTopic {
				g.next(other)
			}
			other.close()
			if got := len(other.got); got != 0 {
				t.Errorf("the other group got %d more", got)
			}
		})
	}
}

// member is a consumer whose handler gives answer.
type member struct {
	got   chan *client.Received
	close func()
}

// next waits for a message of the member.
func (g *graves) next(m *member) *client.Received {
	g.Helper()
	select {
	case r := <-m.got:
		return r
	case <-time.After(20 * time.Second):
		g.Fatal("nothing to consume in 20 s")
		return nil
	}
}

func (g *graves) consume(group string, answer error) *member {
	g.Helper()
	m := &member{got: make(chan *client.Received, 10)}
	c, err := client.NewConsumer(group, func(_ context.Context, r *client.Received) error { m.got <- r; return answer },
		client.NameServers(g.cluster.NameServerText()), client.Subscribe("T", client.Filter{}), client.StartAt(client.Beginning()))
	if err == nil {
		err = c.Start(g.Context())
	}
	if err != nil {
		g.Fatal(err)
	}
	m.close = func() {
		if err := c.Close(); err != nil {
			g.Error(err)
		}
	}
	return m
}

func TestResendGoesOn(t *testing.T) {
	g := newGraves(t, 2)
	for i := range 4 {
		g.bury(0, fmt.Sprintf("a%d", i), nil)
	}
	g.bury(1, "b0", nil)
	d := g.dead(5)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	count := 0
	summary, err := g.Resend(ctx, g.job(d, Selection{}), func(Resent) error {
		if count++; count == 2 {
			cancel()
		}
		return nil
	})
	want := ResendSummary{Sent: 2, Next: []Place{{"broker-a", 0, 2}, {"broker-b", 0, 0}}}
	if diff := cmp.Diff(want, summary); diff != "" || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	summary, err = g.Resend(t.Context(), g.job(d, Selection{From: summary.Next}), func(Resent) error { return nil })
	if diff := cmp.Diff(ResendSummary{Sent: 3, Behind: []Place{{"broker-a", 0, 4}, {"broker-b", 0, 1}}}, summary); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got := contents(g.all("%RETRY%G"))
	slices.Sort(got)
	if want := []string{"a0", "a1", "a2", "a3", "b0"}; !slices.Equal(got, want) {
		t.Errorf("copies %v, want each once", got)
	}
}

func TestDryRunSendsNothing(t *testing.T) {
	g := newGraves(t, 1)
	g.bury(0, "x", nil)
	job := g.job(g.dead(1), Selection{})
	job.DryRun = true
	var reports []Resent
	summary, err := g.Resend(t.Context(), job, func(r Resent) error { reports = append(reports, r); return nil })
	if err != nil || summary.Sent != 1 || len(reports) != 1 || reports[0].Topic != "T" || reports[0].To != (Place{}) {
		t.Errorf("%+v, %v, %v", summary, reports, err)
	}
	if copies := g.all("%RETRY%G"); len(copies) != 0 {
		t.Errorf("%d copies", len(copies))
	}
}

func TestResendFailures(t *testing.T) {
	t.Run("messages that have no topic any more are passed over", func(t *testing.T) {
		g := newGraves(t, 1)
		g.bury(0, "gone", map[string]string{"RETRY_TOPIC": "Gone"})
		g.bury(0, "lost", map[string]string{"RETRY_TOPIC": ""})
		g.bury(0, "good", nil)
		job := g.job(g.dead(3), Selection{})
		job.ToTopic = true
		var outcome []string
		summary, err := g.Resend(t.Context(), job, func(r Resent) error {
			outcome = append(outcome, fmt.Sprintf("%s: %v", contents([]*Stored{r.Stored})[0], r.Err))
			return nil
		})
		want := []string{"gone: topic Gone: the topic does not exist", "lost: it does not say to which topic it was sent", "good: <nil>"}
		if diff := cmp.Diff(want, outcome); diff != "" || err != nil || summary.Sent != 1 || summary.Failed != 2 {
			t.Errorf("%+v, %v (-want +got):\n%s", summary, err, diff)
		}
		if topics, err := g.Topics(t.Context()); err != nil || slices.Contains(topics, "Gone") {
			t.Errorf("topics %v, %v: a topic that has gone came back", topics, err)
		}
	})
	t.Run("a group that was deleted ends it", func(t *testing.T) {
		g := newGraves(t, 1, func(c *broker.Config) { c.Groups.AutoCreate = false })
		g.bury(0, "a", nil)
		g.bury(0, "b", nil)
		job := g.job(g.dead(2), Selection{})
		_, err := g.ask(t.Context(), g.cluster.Brokers[0].Addr, &remoting.Command{
			Code: protocol.DeleteSubscriptionGroup, Header: header.Of(&protocol.DeleteGroupHeader{GroupName: "G"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		summary, err := g.Resend(t.Context(), job, func(Resent) error { return nil })
		want := ResendSummary{Next: []Place{{"broker-a", 0, 0}}}
		if diff := cmp.Diff(want, summary); diff != "" || protocol.CodeOf(err) != protocol.SubscriptionGroupNotExist {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
	t.Run("ordered members end it", func(t *testing.T) {
		g := newGraves(t, 1)
		g.bury(0, "a", nil)
		job := g.job(g.dead(1), Selection{})
		body := javajson.Append(nil, &protocol.LockBatchBody{
			ConsumerGroup: "G", ClientID: "c", MQSet: []protocol.MessageQueue{{Topic: "T", BrokerName: "broker-a", QueueID: 0}},
		}, javajson.Bare)
		if _, err := g.ask(t.Context(), g.cluster.Brokers[0].Addr, &remoting.Command{Code: protocol.LockBatchMQ, Body: body}); err != nil {
			t.Fatal(err)
		}
		summary, err := g.Resend(t.Context(), job, func(Resent) error { return nil })
		if !errors.Is(err, ErrOrdered) || len(summary.Next) != 1 || summary.Sent != 0 || summary.Unknown {
			t.Errorf("%+v, %v", summary, err)
		}
	})
}

// A broker that takes a send and goes away without an answer: nobody may be told that it was not stored.
func TestResendWithoutAnAnswerIsSaidToBeUnknown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
	}()
	r := &resending{a: open(t, l.Addr().String()), job: &ResendJob{Group: "G"}}
	m := &Stored{Record: message.Record{Body: []byte("x"), Properties: message.AppendProperty(nil, "RETRY_TOPIC", "T")}}
	_, _, err = r.send(t.Context(), Broker{Name: "b", Addr: l.Addr().String()}, m)
	if !errors.As(err, new(unanswered)) || aboutMessage(err) {
		t.Errorf("%v, want that it is not known", err)
	}
	nobody := l.Addr().String()
	_ = l.Close()
	r.a = open(t, nobody)
	if _, _, err = r.send(t.Context(), Broker{Name: "b", Addr: nobody}, m); err == nil || errors.As(err, new(unanswered)) {
		t.Errorf("%v, want that there was no connection", err)
	}
}

func TestStoredBatchIsTakenApart(t *testing.T) {
	item := func(body string) []byte {
		return message.AppendBatchItem(nil, message.BatchItem{Flag: 3, Body: []byte(body), Properties: message.AppendProperty(nil, "UNIQ_KEY", "id-"+body)})
	}
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	record := message.Record{
		Topic: []byte("T"), QueueID: 1, QueueOffset: 10, SysFlag: message.FlagInnerBatch | message.FlagNeedUnwrap,
		BornHost: host, StoreHost: host, Body: bytes.Join([][]byte{item("a"), item("b")}, nil),
	}
	raw := message.AppendRecord(nil, &record)
	all, err := readStored(raw, "broker-a")
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if m := all[1]; m.Place() != (Place{"broker-a", 1, 11}) || m.ID() != "id-b" || string(m.Body) != "b" || m.Flag != 3 {
		t.Errorf("%+v", m)
	}
	record.Body = record.Body[:len(record.Body)-3]
	record.BodyCRC = 0
	if _, err := readStored(message.AppendRecord(nil, &record), "b"); err == nil || !strings.Contains(err.Error(), "b:1@10") {
		t.Errorf("a batch cut off: %v", err)
	}
}
