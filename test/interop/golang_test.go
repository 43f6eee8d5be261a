// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/goddard-mq/goddard/test/interop/rig"
)

// received is what a consumer got so far, by body.
type received struct {
	mu   sync.Mutex
	msgs map[string]*primitive.MessageExt
	n    int
}

func (r *received) add(ms ...*primitive.MessageExt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.msgs == nil {
		r.msgs = map[string]*primitive.MessageExt{}
	}
	for _, m := range ms {
		r.msgs[string(m.Body)] = m
		r.n++
	}
}

func (r *received) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.msgs)
}

func (r *received) missing(want map[string]bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for b := range want {
		if r.msgs[b] == nil {
			out = append(out, b)
		}
	}
	return out
}

// eventually waits for ok, at most d.
func eventually(t *testing.T, d time.Duration, what func() string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, what())
		}
	}
}

func goProducer(t *testing.T, s rig.Server) rocketmq.Producer {
	t.Helper()
	rlog.SetLogLevel("error")
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.NameServer()})),
		producer.WithGroupName(t.Name()+"Producer"), producer.WithInstanceName(fmt.Sprint(time.Now().UnixNano())),
		producer.WithRetry(2), producer.WithSendMsgTimeout(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() })
	return p
}

func goTopic(t *testing.T, s rig.Server, topic string, queues int) string {
	t.Helper()
	a, err := admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{s.NameServer()})))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := a.CreateTopic(ctx, admin.WithTopicCreate(topic), admin.WithBrokerAddrCreate(s.Broker()),
		admin.WithReadQueueNums(queues), admin.WithWriteQueueNums(queues)); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func() string { return "route of " + topic }, func() bool {
		ok, _ := rig.HasRoute(ctx, s.NameServer(), topic)
		return ok
	})
	return topic
}

func goConsumer(t *testing.T, s rig.Server, group, topic, tags string, opts ...consumer.Option) (*received, rocketmq.PushConsumer) {
	t.Helper()
	c, err := rocketmq.NewPushConsumer(append([]consumer.Option{
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{s.NameServer()})),
		consumer.WithGroupName(group), consumer.WithInstance(fmt.Sprint(time.Now().UnixNano())),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	got := &received{}
	sel := consumer.MessageSelector{Type: consumer.TAG, Expression: tags}
	if err := c.Subscribe(topic, sel, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		got.add(ms...)
		return consumer.ConsumeSuccess, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Shutdown() })
	return got, c
}

func TestGoClientSends(t *testing.T) {
	s := rig.Start(t)
	p := goProducer(t, s)
	topic := "GoSends" // made by the first send
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	want := map[string]bool{}
	msg := func(body string) *primitive.Message {
		want[body] = true
		return primitive.NewMessage(topic, []byte(body)).WithTag("A").WithKeys([]string{"k1", "k2"})
	}
	odd := msg("正文 🚀")
	odd.WithProperty("中文", `值 "quoted" \ {json} <&>`)
	r, err := p.SendSync(ctx, odd)
	if err != nil || r.Status != primitive.SendOK {
		t.Fatal(r, err)
	}
	if len(r.OffsetMsgID) != 32 || r.MsgID == "" {
		t.Errorf("ids %q %q", r.MsgID, r.OffsetMsgID)
	}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Add(1)
		if err := p.SendAsync(ctx, func(_ context.Context, _ *primitive.SendResult, err error) {
			defer wait.Done()
			if err != nil {
				t.Error("async:", err)
			}
		}, msg(fmt.Sprint("async", i))); err != nil {
			t.Fatal(err)
		}
		if err := p.SendOneWay(ctx, msg(fmt.Sprint("oneway", i))); err != nil {
			t.Fatal(err)
		}
	}
	wait.Wait()
	batch := []*primitive.Message{msg("b0"), msg("b1"), msg("b2")}
	if r, err := p.SendSync(ctx, batch...); err != nil || len(strings.Split(r.OffsetMsgID, ",")) != 3 {
		t.Fatal("batch:", r, err)
	}
	big := strings.Repeat("4 MiB! ", (4<<20)/7)
	if _, err := p.SendSync(ctx, msg(big)); err != nil {
		t.Fatal("large body:", err)
	}
	other := primitive.NewMessage(topic, []byte("other tag")).WithTag("B")
	if _, err := p.SendSync(ctx, other); err != nil {
		t.Fatal(err)
	}
	got, _ := goConsumer(t, s, "GoSendsGroup", topic, "A")
	eventually(t, 60*time.Second, func() string { return fmt.Sprint(got.missing(want)) }, func() bool { return len(got.missing(want)) == 0 })
	got.mu.Lock()
	defer got.mu.Unlock()
	if m := got.msgs["other tag"]; m != nil {
		t.Error("a message of another tag was delivered")
	}
	m := got.msgs["正文 🚀"]
	if m.GetProperty("中文") != `值 "quoted" \ {json} <&>` || m.GetKeys() != "k1 k2" || m.GetTags() != "A" {
		t.Errorf("properties %v", m.GetProperties())
	}
	if !bytes.Equal(got.msgs[big].Body, []byte(big)) {
		t.Error("the large body differs")
	}
}

// TestGoClientGroup: two members share the queues, one leaves (without a word: this client sends no unregistration).
func TestGoClientGroup(t *testing.T) {
	s := rig.Start(t)
	topic := goTopic(t, s, "GoGroup", 8)
	p := goProducer(t, s)
	a, _ := goConsumer(t, s, "GoGroupGroup", topic, "*")
	b, leaver := goConsumer(t, s, "GoGroupGroup", topic, "*")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	sent := map[string]bool{}
	send := func(n int) {
		for range n {
			body := fmt.Sprint("m", len(sent))
			if _, err := p.SendSync(ctx, primitive.NewMessage(topic, []byte(body))); err != nil {
				t.Fatal(err)
			}
			sent[body] = true
		}
	}
	eventually(t, 60*time.Second, func() string { return fmt.Sprint("both get messages: ", a.count(), b.count()) }, func() bool {
		send(8)
		return a.count() > 0 && b.count() > 0
	})
	both := func() (left []string) {
		for _, m := range a.missing(sent) {
			if len(b.missing(map[string]bool{m: true})) > 0 {
				left = append(left, m)
			}
		}
		return left
	}
	eventually(t, 30*time.Second, func() string { return fmt.Sprint(both()) }, func() bool { return len(both()) == 0 })
	if err := leaver.Shutdown(); err != nil {
		t.Fatal(err)
	}
	rest := map[string]bool{}
	for i := range 80 {
		body := fmt.Sprint("after", i)
		if _, err := p.SendSync(ctx, primitive.NewMessage(topic, []byte(body))); err != nil {
			t.Fatal(err)
		}
		rest[body] = true
	}
	eventually(t, 60*time.Second, func() string { return fmt.Sprint(a.missing(rest)) }, func() bool { return len(a.missing(rest)) == 0 })
}

func TestGoClientBroadcasting(t *testing.T) {
	s := rig.Start(t)
	topic := goTopic(t, s, "GoBroadcast", 4)
	p := goProducer(t, s)
	t.Setenv("HOME", t.TempDir()) // where the client keeps its offsets
	a, _ := goConsumer(t, s, "GoBroadcastGroup", topic, "*", consumer.WithConsumerModel(consumer.BroadCasting))
	b, _ := goConsumer(t, s, "GoBroadcastGroup", topic, "*", consumer.WithConsumerModel(consumer.BroadCasting))
	want := map[string]bool{}
	for i := range 40 {
		body := fmt.Sprint("m", i)
		if _, err := p.SendSync(context.Background(), primitive.NewMessage(topic, []byte(body))); err != nil {
			t.Fatal(err)
		}
		want[body] = true
	}
	for _, g := range []*received{a, b} {
		eventually(t, 60*time.Second, func() string { return fmt.Sprint(g.missing(want)) }, func() bool { return len(g.missing(want)) == 0 })
	}
}

// TestGoClientRestart: the broker, then the name server, are killed and started again while messages flow.
func TestGoClientRestart(t *testing.T) {
	s := rig.Start(t)
	topic := goTopic(t, s, "GoRestart", 4)
	p := goProducer(t, s)
	got, _ := goConsumer(t, s, "GoRestartGroup", topic, "*")
	acked := map[string]bool{}
	n := 0
	traffic := func(more int) {
		goal := len(acked) + more
		for deadline := time.Now().Add(90 * time.Second); len(acked) < goal; n++ {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d sends acknowledged", len(acked), goal)
			}
			body := fmt.Sprint("m", n)
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			if r, err := p.SendSync(ctx, primitive.NewMessage(topic, []byte(body))); err == nil && r.Status == primitive.SendOK {
				acked[body] = true
			}
			cancel()
		}
	}
	traffic(200)
	if err := s.RestartBroker(); err != nil {
		t.Fatal(err)
	}
	traffic(200)
	if err := s.RestartNameServer(); err != nil {
		t.Fatal(err)
	}
	traffic(200)
	eventually(t, 2*time.Minute, func() string { return fmt.Sprint(len(got.missing(acked)), " acknowledged messages are missing") },
		func() bool { return len(got.missing(acked)) == 0 })
}
