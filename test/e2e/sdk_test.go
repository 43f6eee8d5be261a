// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// sdkProducer makes a producer that is closed when the test ends.
func sdkProducer(t testing.TB, s *server, options ...client.ProducerOption) *client.Producer {
	t.Helper()
	p, err := client.NewProducer(append([]client.ProducerOption{client.NameServers(s.nameServer)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func sdkSend(t testing.TB, p *client.Producer, m *client.Message) client.SendResult {
	t.Helper()
	r, err := p.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// inbox is a handler that counts what it gets by body.
type inbox struct {
	mu     sync.Mutex
	counts map[string]int
	answer func(m *client.Received) error // nil: done
}

func (i *inbox) handle(_ context.Context, m *client.Received) error {
	i.mu.Lock()
	if i.counts == nil {
		i.counts = map[string]int{}
	}
	i.counts[string(m.Body)]++
	i.mu.Unlock()
	if i.answer == nil {
		return nil
	}
	return i.answer(m)
}

func (i *inbox) got() map[string]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.counts)
}

// exactly checks that each of the bodies came once, and nothing else.
func (i *inbox) exactly(t testing.TB, what string, bodies ...string) {
	t.Helper()
	want := map[string]int{}
	for _, b := range bodies {
		want[b]++
	}
	if got := i.got(); !maps.Equal(got, want) {
		t.Errorf("%s: got %v, want each once of %v", what, got, slices.Sorted(maps.Keys(want)))
	}
}

// sdkConsumer starts a member of a group. It is closed when the test ends; Close may be called before.
func sdkConsumer(t testing.TB, s *server, group string, handler client.Handler, options ...client.ConsumerOption) *client.Consumer {
	t.Helper()
	c, err := client.NewConsumer(group, handler, append([]client.ConsumerOption{
		client.NameServers(s.nameServer), client.StartAt(client.Beginning()), client.CommitInterval(50 * time.Millisecond),
		client.RouteRefresh(200 * time.Millisecond), client.RebalanceInterval(300 * time.Millisecond),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func all(topic string) client.ConsumerOption { return client.Subscribe(topic, client.Filter{}) }

// numbered gives prefix0, prefix1, ...
func numbered(prefix string, n int) []string {
	bodies := make([]string, n)
	for i := range bodies {
		bodies[i] = fmt.Sprint(prefix, i)
	}
	return bodies
}

// sendBodies sends one message after the other, to the queues in turn.
func sendBodies(t testing.TB, p *client.Producer, topic, tag string, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		sdkSend(t, p, &client.Message{Topic: topic, Tag: tag, Body: []byte(b)})
	}
}

// lag is what a group has still to consume of a topic, from the broker's own account, and the smallest of its queues.
func (w *wire) lag(group, topic string) (sum, least int64) {
	w.t.Helper()
	answer := w.must(protocol.GetConsumeStats, protocol.ConsumeStatsHeader{ConsumerGroup: group, Topic: topic}, nil)
	var stats protocol.ConsumeStats
	w.decode(answer, &stats)
	for _, o := range stats.OffsetTable {
		behind := o.BrokerOffset - o.ConsumerOffset
		sum, least = sum+behind, min(least, behind)
	}
	return sum, least
}

// deleteTopic deletes a topic at the name server and the broker, as mqadmin does.
func (s *server) deleteTopic(topic string) {
	s.t.Helper()
	dial(s.t, s.broker).must(protocol.DeleteTopicInBroker, protocol.TopicHeader{Topic: topic}, nil)
	dial(s.t, s.nameServer).must(protocol.DeleteTopicInNameServer, protocol.TopicHeader{Topic: topic}, nil)
}

// routable waits until the name server tells of the topic.
func (s *server) routable(topic string) {
	s.t.Helper()
	w := dial(s.t, s.nameServer)
	eventually(s.t, "the route of "+topic, func() bool {
		code, _ := w.route(topic)
		return code == 0
	})
}
