// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a broker that serves on real sockets, and a client of it.
type running struct {
	testing.TB
	*Broker
	cfg        Config
	addr, fast string
	client     *remoting.Client
	stop       func() // stops the broker; once
	log        *logText
}

// logText keeps what was logged.
type logText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a broker in an empty folder.
func start(t testing.TB, change ...func(*Config)) *running {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Identity.Name, cfg.Identity.Bind = "broker-a", "127.0.0.1"
	cfg.Store.Root = t.TempDir()
	cfg.Store.LogFileBytes = 8 << 20
	cfg.Store.Flush = store.AsyncFlush
	for _, c := range change {
		c(&cfg)
	}
	return startWith(t, cfg)
}

// startWith runs a broker with just these settings, on free ports.
func startWith(t testing.TB, cfg Config, change ...func(*Deps)) *running {
	t.Helper()
	main, fast := listen(t), listen(t)
	cfg.Identity.Port = int32(main.Addr().(*net.TCPAddr).Port)
	r := &running{TB: t, cfg: cfg, addr: main.Addr().String(), fast: fast.Addr().String(), log: &logText{}}
	deps := Deps{Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelInfo}))}
	for _, c := range change {
		c(&deps)
	}
	var err error
	r.Broker, err = New(context.Background(), cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := r.Serve(main, fast); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	parts.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	r.client = remoting.NewClient(nil, nil, remoting.DefaultConfig())
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			drain, done := context.WithTimeout(context.Background(), 5*time.Second)
			defer done()
			if err := r.Shutdown(drain); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			cancel()
			parts.Wait()
			_ = r.client.Close()
		})
	}
	t.Cleanup(r.stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the broker's log:\n%s", r.log)
		}
	})
	return r
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ext are the extFields of a request.
type ext map[string]any

func (e ext) fields() header.Fields {
	var f header.Fields
	for k, v := range e {
		if v != nil {
			f.Add(k, fmt.Sprint(v))
		}
	}
	return f
}

// answer is what came back.
type answer struct {
	*remoting.Command
	t testing.TB
}

func (a answer) ext(name string) string { return a.Fields.Text(name) }

// records are the messages in the body.
func (a answer) records() []message.Record {
	a.t.Helper()
	rs, err := message.DecodeAll(a.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return rs
}

func (a answer) bodies() string {
	var out []string
	for _, r := range a.records() {
		out = append(out, string(r.Body))
	}
	return strings.Join(out, " ")
}

const testTimeout = 10 * time.Second

// call asks the main port.
func (r *running) call(code int32, e ext, body ...byte) answer {
	r.Helper()
	return r.callAt(r.addr, &remoting.Command{Code: code, Fields: e.fields(), Body: body})
}

func (r *running) callAt(addr string, cmd *remoting.Command) answer {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	resp, err := r.client.Call(ctx, addr, cmd)
	if err != nil {
		r.Fatalf("call %s: %v", protocol.CodeName(cmd.Code), err)
	}
	return answer{resp, r}
}

// callAs asks as a client of another version.
func (r *running) callAs(version int32, cmd *remoting.Command) answer {
	r.Helper()
	rc := remoting.DefaultConfig()
	rc.Version = version
	c := remoting.NewClient(nil, nil, rc)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	resp, err := c.Call(ctx, r.addr, cmd)
	if err != nil {
		r.Fatalf("call %s: %v", protocol.CodeName(cmd.Code), err)
	}
	return answer{resp, r}
}

// success is call for what has to succeed.
func (r *running) success(code int32, e ext, body ...byte) answer {
	r.Helper()
	a := r.call(code, e, body...)
	if a.Code != protocol.Success {
		r.Fatalf("%s: %s %s", protocol.CodeName(code), protocol.ResponseName(a.Code), a.Remark)
	}
	return a
}

// dial gives a connection of its own.
func (r *running) dial(h remoting.Handler) *remoting.Conn {
	r.Helper()
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.Fatal(err)
	}
	c := remoting.NewConn(nc, h, remoting.DefaultConfig())
	r.Cleanup(func() { _ = c.Close(); <-c.Done() })
	return c
}

var names atomic.Int64

// name is one that nobody else uses.
func name(kind string) string { return fmt.Sprintf("%s_%d", kind, names.Add(1)) }

// topic creates one with a queue, or as told.
func (r *running) topic(change ...func(*protocol.TopicConfig)) string {
	r.Helper()
	c := protocol.NewTopicConfig(name("T"))
	c.ReadQueueNums, c.WriteQueueNums = 1, 1
	for _, f := range change {
		f(c)
	}
	if _, err := r.topics.Ensure(c); err != nil {
		r.Fatal(err)
	}
	return c.TopicName
}

// group creates one with the defaults, or as told.
func (r *running) group(change ...func(*protocol.SubscriptionGroupConfig)) string {
	r.Helper()
	c := protocol.NewSubscriptionGroupConfig(name("G"))
	for _, f := range change {
		f(c)
	}
	if err := r.groups.Update(c); err != nil {
		r.Fatal(err)
	}
	return c.GroupName
}

// set changes settings while the broker runs.
func (r *running) set(change func(*Config)) {
	r.Helper()
	if err := r.Broker.cfg.Update(func(c *Config) error { change(c); return nil }); err != nil {
		r.Fatal(err)
	}
}

// sendExt is the header of a send with single letters; more fields replace or, when nil, remove them.
func sendExt(topic string, more ext) ext {
	e := ext{
		"a": "producers", "b": topic, "c": protocol.TopicDefault, "d": 4, "e": 0, "f": 0, "g": time.Now().UnixMilli(), "h": 0,
		"i": "", "j": 0, "k": false, "m": false,
	}
	for k, v := range more {
		e[k] = v
	}
	return e
}

func (r *running) trySend(topic, body string, more ext) answer {
	r.Helper()
	return r.call(protocol.SendMessageV2, sendExt(topic, more), []byte(body)...)
}

func (r *running) send(topic, body string, more ext) answer {
	r.Helper()
	return r.success(protocol.SendMessageV2, sendExt(topic, more), []byte(body)...)
}

// props is the properties field of a send: "a=1 b=2".
func props(pairs string) ext { return ext{"i": string(propertyText(pairs))} }

// fill sends messages m0, m1, ... to queue 0 and waits until they can be read.
func (r *running) fill(topic string, n int, pairs string) {
	r.Helper()
	for i := range n {
		r.send(topic, fmt.Sprintf("m%d", i), props(pairs))
	}
	r.readable(topic, 0, int64(n))
}

// readable waits until a queue has that many messages.
func (r *running) readable(topic string, queueID int32, n int64) {
	r.Helper()
	r.until(fmt.Sprintf("%d messages in %s", n, topic), func() bool {
		_, end := r.store.QueueRange(topic, queueID)
		return end >= n
	})
}

func (r *running) until(what string, ok func() bool) {
	r.Helper()
	for end := time.Now().Add(testTimeout); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("did not happen: %s", what)
		}
	}
}

// pullExt is the header of a pull that brings its subscription.
func pullExt(topic, group string, offset int64, more ext) ext {
	e := ext{
		"consumerGroup": group, "topic": topic, "queueId": 0, "queueOffset": offset, "maxMsgNums": 32, "sysFlag": protocol.PullSubscription,
		"commitOffset": 0, "suspendTimeoutMillis": 0, "subscription": "*", "subVersion": 0, "expressionType": "TAG",
	}
	for k, v := range more {
		e[k] = v
	}
	return e
}

func (r *running) pull(topic, group string, offset int64, more ext) answer {
	r.Helper()
	return r.call(protocol.PullMessage, pullExt(topic, group, offset, more))
}

// first reads the first message of a queue, waiting for it.
func (r *running) first(topic string, queueID int32) message.Record {
	r.Helper()
	r.readable(topic, queueID, 1)
	a := r.pull(topic, protocol.GroupTools, 0, ext{"queueId": queueID})
	rs := a.records()
	if a.Code != protocol.Success || len(rs) == 0 {
		r.Fatalf("pull of %s: %s %s", topic, protocol.ResponseName(a.Code), a.Remark)
	}
	return rs[0]
}

// join makes the connection's client a member of a group.
func (r *running) join(c *remoting.Conn, clientID, groupName string, model protocol.MessageModel, subs ...*protocol.SubscriptionData) {
	r.Helper()
	r.heartbeat(c, protocol.HeartbeatData{ClientID: clientID, ConsumerDataSet: []protocol.ConsumerData{{
		GroupName: groupName, ConsumeType: protocol.ConsumePassively, MessageModel: model,
		ConsumeFromWhere: protocol.ConsumeFromLastOffset, SubscriptionDataSet: subs,
	}}, ProducerDataSet: []protocol.ProducerData{}})
}

func (r *running) heartbeat(c *remoting.Conn, h protocol.HeartbeatData) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	resp, err := c.Call(ctx, &remoting.Command{Code: protocol.HeartBeat, Body: javajson.Marshal(&h, javajson.Bare)})
	if err != nil || resp.Code != protocol.Success {
		r.Fatalf("heartbeat: %v %v", resp, err)
	}
}

// subscription to a topic by a tag expression.
func subscription(t testing.TB, topic, expression string, version int64) *protocol.SubscriptionData {
	t.Helper()
	s, err := protocol.ParseTagExpression(topic, expression)
	if err != nil {
		t.Fatal(err)
	}
	s.SubVersion = version
	return s
}
