// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/broker"
	"github.com/goddard-mq/goddard/internal/testcluster"
	"github.com/goddard-mq/goddard/internal/trace"
)

// told gives the events in the trace topic, and the keys under which they were told.
func told(t *testing.T, c *testcluster.Cluster, topic string) (events []trace.Event, keys []string) {
	t.Helper()
	for _, m := range readAll(t, c, topic) {
		more, err := trace.Decode(string(m.Body))
		if err != nil {
			t.Fatal(err)
		}
		events, keys = append(events, more...), append(keys, m.Keys...)
	}
	return events, keys
}

func TestTrace(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	at := client.NameServers(c.NameServerText())
	p, err := client.NewProducer(at, client.ProducerGroup("PG"), client.Trace(""), client.Instance("one"))
	if err != nil {
		t.Fatal(err)
	}
	sent := func(r client.SendResult, err error) client.SendResult {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	bad := sent(p.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("bad"), Tag: "A", Keys: []string{"k1", "k2"}}))
	batch := sent(p.SendBatch(t.Context(), []*client.Message{{Topic: "T", Body: []byte("b1")}, {Topic: "T", Body: []byte("b2")}}))
	async := make(chan client.SendResult, 1)
	err = p.SendAsync(t.Context(), &client.Message{Topic: "T", Body: []byte("a1")}, func(r client.SendResult, err error) { async <- sent(r, err) })
	if err != nil {
		t.Fatal(err)
	}
	last := <-async
	got := make(chan string, 4)
	m, err := client.NewConsumer("CG", func(_ context.Context, r *client.Received) error {
		defer func() { got <- r.ID }()
		if r.ID == bad.ID {
			return &client.RetryError{DelayLevel: -1, Err: errors.New("bad")}
		}
		return nil
	}, at, client.Subscribe("T", client.Filter{}), client.StartAt(client.Beginning()), client.Trace("Own"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		select {
		case <-got:
		case <-time.After(20 * time.Second):
			t.Fatal("not consumed in 20 s")
		}
	}
	for _, c := range []io.Closer{m, p} { // tells what was not told yet
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}

	ids := append(strings.Split(batch.ID, ","), bad.ID, last.ID)
	offsetIDs := append(strings.Split(batch.OffsetID, ","), bad.OffsetID, last.OffsetID)
	var want, have []string
	for i, id := range ids {
		tags, keys, size := "", "", 2
		if id == bad.ID {
			tags, keys, size = "A", "k1 k2", 3
		}
		want = append(want, fmt.Sprintf("PG T %s %s [%s] [%s] %d %s DefaultRegion true", id, offsetIDs[i], tags, keys, size, c.Brokers[0].Addr))
	}
	events, keys := told(t, c, "RMQ_SYS_TRACE_TOPIC")
	for _, e := range events {
		have = append(have, fmt.Sprintf("%s %s %s %s [%s] [%s] %d %s %s %t", e.Group, e.Topic, e.MessageID, e.OffsetID, e.Tags, e.Keys, e.Bytes, e.StoreHost, e.Region, e.Success))
		if e.Kind != trace.Pub || e.Time <= 0 || e.Cost < 0 {
			t.Errorf("told %+v", e)
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("sends (-want +got):\n%s", diff)
	}
	for _, key := range append(ids, "k1", "k2") {
		if !slices.Contains(keys, key) {
			t.Errorf("keys %v, want %s among them", keys, key)
		}
	}

	events, _ = told(t, c, "Own")
	began := map[string]trace.Event{}
	ended := 0
	for _, e := range events {
		if e.Kind == trace.SubBefore {
			began[e.RequestID] = e
		}
	}
	for _, e := range events {
		if e.Kind != trace.SubAfter {
			continue
		}
		ended++
		before := began[e.RequestID]
		code := trace.Succeeded
		if e.MessageID == bad.ID {
			code = trace.Failed
		}
		if before.MessageID != e.MessageID || before.Group != "CG" || e.Group != "CG" || e.ReturnCode != code || e.Success != (code == trace.Succeeded) {
			t.Errorf("told %+v, then %+v", before, e)
		}
	}
	if len(began) != 4 || ended != 4 {
		t.Errorf("%d began and %d ended, want 4", len(began), ended)
	}
}

// A broker may say that it wants no traces.
func TestTraceThatTheBrokerDoesNotWant(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Broker: func(c *broker.Config) { c.Identity.TraceOn = false }})
	at := client.NameServers(c.NameServerText())
	p, err := client.NewProducer(at, client.Trace("Own"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := client.NewReader("Own", at, client.UntilEnd())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if m, err := r.Poll(t.Context()); client.CodeOf(err) != client.CodeNoRoute {
		t.Errorf("%v, %v; want no trace topic", m, err)
	}
}

// What cannot be told holds nobody up.
func TestTraceOfALostCluster(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p, err := client.NewProducer(client.NameServers(c.NameServerText()), client.Trace(""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	c.Brokers[0].Stop()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
