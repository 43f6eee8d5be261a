// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Refusals and successes of sends, as RocketMQ 5.5.0 answers.
func TestSendAnswers(t *testing.T) {
	r := start(t)
	usual := r.topic()
	illegal := "the message is illegal, maybe msg body or properties length not matched. msg body length limit 4194304B, msg properties length limit 32KB."
	missing := func(topic string) string { return "topic[" + topic + "] not exist, apply first please!" + helpSuffix }
	tests := []struct {
		situation   string
		topic, body string
		more        ext
		code        int32
		remark      string // "*": any
	}{
		{"a usual message", usual, "x", nil, protocol.Success, ""},
		{"no body", usual, "", nil, protocol.SystemError, "the message has no body"},
		{"the largest body", usual, strings.Repeat("x", 4<<20), nil, protocol.Success, ""},
		{"one byte more", usual, strings.Repeat("x", 4<<20+1), nil, protocol.MessageIllegal, illegal},
		{"properties that fit with the broker's", usual, "x", ext{"i": "a\x01" + strings.Repeat("x", 32000) + "\x02"}, protocol.Success, ""},
		{"properties that fit without the broker's only", usual, "x", ext{"i": "a\x01" + strings.Repeat("x", 32764) + "\x02"}, protocol.MessageIllegal, illegal},
		{"topic blank", "", "x", nil, protocol.InvalidParameter, "The specified topic is blank."},
		{"topic with a dot", "a.b", "x", nil, protocol.InvalidParameter, "The specified topic: a.b, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"},
		{"topic of 127", strings.Repeat("t", 127), "x", nil, protocol.Success, ""},
		{"topic of 128", strings.Repeat("t", 128), "x", nil, protocol.InvalidParameter, "The specified topic: " + strings.Repeat("t", 128) + ", is longer than topic max length: 127"},
		{"the staging topic", protocol.TopicSchedule, "x", nil, protocol.NoPermission, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."},
		{"the half topic", protocol.TopicTransHalf, "x", nil, protocol.NoPermission, "Sending message to topic[RMQ_SYS_TRANS_HALF_TOPIC] is forbidden."},
		{"the timer topic", protocol.TopicWheelTimer, "x", nil, protocol.NoPermission, "Sending message to topic[rmq_sys_wheel_timer] is forbidden."},
		{"the template", protocol.TopicDefault, "x", nil, protocol.Success, ""},
		{"an unknown topic and template", "Unknown1", "x", ext{"c": "NoTemplate"}, protocol.TopicNotExist, missing("Unknown1")},
		{"an unknown topic and a template that does not inherit", "Unknown2", "x", ext{"c": usual}, protocol.TopicNotExist, missing("Unknown2")},
		{"queue id = number of queues", usual, "x", ext{"e": 1}, protocol.InvalidParameter, "*"},
		{"largest queue id", usual, "x", ext{"e": 1<<31 - 1}, protocol.InvalidParameter, "*"},
		{"queue id missing", usual, "x", ext{"e": nil}, protocol.SystemError, "*"},
		{"inner batch number", usual, "x", props("INNER_NUM=2"), protocol.MessageIllegal, illegal},
		{"inner batch flag", usual, "x", ext{"f": message.FlagInnerBatch}, protocol.MessageIllegal, illegal},
		{"delay level is text", usual, "x", props("DELAY=x"), protocol.SystemError, "*"},
		{"delay level beyond 32 bits", usual, "x", props("DELAY=2147483648"), protocol.SystemError, "*"},
		{"transaction", usual, "x", props("TRAN_MSG=true"), protocol.NoPermission, "the broker[127.0.0.1] does not support transaction messages yet"},
		{"timer", usual, "x", props("TIMER_DELAY_SEC=5"), protocol.SystemError, "*"},
		{"WAIT=false", usual, "x", props("WAIT=false"), protocol.Success, ""},
		{"a topic without the write bit", r.topic(func(c *protocol.TopicConfig) { c.Perm = protocol.PermRead }), "x", nil, protocol.Success, ""},
		{"an order topic", r.topic(func(c *protocol.TopicConfig) { c.Order = true }), "x", nil, protocol.Success, ""},
		{"compaction without a key", r.topic(func(c *protocol.TopicConfig) { c.Attributes = map[string]string{"cleanup.policy": "COMPACTION"} }), "x", nil,
			protocol.MessageIllegal, "Required message key is missing"},
		{"compaction with a key", r.topic(func(c *protocol.TopicConfig) { c.Attributes = map[string]string{"cleanup.policy": "COMPACTION"} }), "x", props("KEYS=k"),
			protocol.Success, ""},
		{"a topic of batch queues", r.topic(batchQueues), "x", nil, protocol.Success, ""},
		{"inner batch flag in a topic of batch queues", r.topic(batchQueues), "x", ext{"f": message.FlagInnerBatch}, protocol.MessageIllegal, illegal},
		{"inner batch number in a topic of batch queues", r.topic(batchQueues), "x", props("INNER_NUM=2"), protocol.MessageIllegal, illegal},
		{"message type is not checked", r.topic(func(c *protocol.TopicConfig) { c.Attributes = map[string]string{"message.type": "FIFO"} }), "x", nil,
			protocol.Success, ""},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			a := r.trySend(tt.topic, tt.body, tt.more)
			if a.Code != tt.code || tt.remark != "*" && a.Remark != tt.remark {
				t.Errorf("answer %d %q, want %d %q", a.Code, a.Remark, tt.code, tt.remark)
			}
			if a.Code != protocol.Success && a.Code != protocol.SystemError && a.ext("MSG_REGION") != "DefaultRegion" {
				t.Errorf("refusal without region: %v", a.Fields)
			}
		})
	}
}

func TestIllegalQueueNamesTheTopic(t *testing.T) {
	r := start(t)
	topic := r.topic()
	a := r.trySend(topic, "x", ext{"e": 7})
	want := "request queueId[7] is illegal, TopicConfig [topicName=" + topic +
		", readQueueNums=1, writeQueueNums=1, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false, attributes={}] Producer: 127.0.0.1:"
	if !strings.HasPrefix(a.Remark, want) {
		t.Errorf("remark %q, want it to begin with %q", a.Remark, want)
	}
}

func TestSendAnswerFields(t *testing.T) {
	r := start(t)
	topic := r.topic()
	for i, code := range []int32{protocol.SendMessageV2, protocol.SendMessage} {
		e := sendExt(topic, props("UNIQ_KEY=K1"))
		if code == protocol.SendMessage {
			e = longNames(e)
		}
		a := r.success(code, e, 'x')
		got := map[string]string{}
		for _, f := range a.Fields {
			got[string(f.Key)] = string(f.Value)
		}
		id := got["msgId"]
		delete(got, "msgId")
		want := map[string]string{
			"queueId": "0", "queueOffset": fmt.Sprint(i), "transactionId": "K1", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
		}
		if !maps.Equal(got, want) {
			t.Errorf("code %d: fields %v, want %v", code, got, want)
		}
		host, at, err := message.ParseOffsetID(id)
		if err != nil || host.String() != r.addr {
			t.Fatalf("message id %q is of %s (%v), want %s", id, host, err, r.addr)
		}
		if view := r.success(protocol.ViewMessageByID, ext{"offset": at}); string(view.records()[0].Body) != "x" {
			t.Errorf("the id leads to %q", view.records()[0].Body)
		}
	}
}

func longNames(e ext) ext {
	long := strings.Fields("producerGroup topic defaultTopic defaultTopicQueueNums queueId sysFlag bornTimestamp flag properties reconsumeTimes unitMode maxReconsumeTimes batch bname")
	out := ext{}
	for k, v := range e {
		out[long[k[0]-'a']] = v
	}
	return out
}

func TestStoredMessage(t *testing.T) {
	r := start(t)
	topic := r.topic()
	more := props("TAGS=a POP_CK=x mine=1")
	maps.Copy(more, ext{"h": 77, "f": 1, "g": 1700000000123, "j": 3})
	a := r.send(topic, "body", more)
	m := r.first(topic, 0)
	if m.Flag != 77 || m.SysFlag != 1 || m.BornTimestamp != 1700000000123 || m.ReconsumeTimes != 3 || string(m.Body) != "body" ||
		m.PreparedOffset != 0 || m.Magic != message.MagicV1 || m.BornHost.Addr().String() != "127.0.0.1" || m.StoreHost.String() != r.addr {
		t.Errorf("stored %+v", m)
	}
	got := message.ParseProperties(m.Properties)
	if got["UNIQ_KEY"] == "" || got["UNIQ_KEY"] != a.ext("transactionId") {
		t.Errorf("unique key %q, transaction id %q", got["UNIQ_KEY"], a.ext("transactionId"))
	}
	delete(got, "UNIQ_KEY")
	want := map[string]string{"CLUSTER": "DefaultCluster", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "TAGS": "a", "mine": "1"}
	if !maps.Equal(got, want) {
		t.Errorf("properties %v, want %v", got, want)
	}
}

// The last property with and without its separator, alone and followed by what the broker adds.
func TestPropertiesText(t *testing.T) {
	r := start(t)
	for situation, tt := range map[string]struct{ sent, want string }{
		"all sorts of malformed": {"a\x011\x02b\x01\x02c\x02\x01d\x02e\x01x\x01y\x02f\x012", "a=1 e=x\x01y f=2"},
		"no separator at end":    {"TAGS\x01TagA", "TAGS=TagA"},
		"separator at end":       {"TAGS\x01TagA\x02", "TAGS=TagA"},
		"doubles":                {"a\x011\x02a\x012\x02", "a=2"},
	} {
		t.Run(situation, func(t *testing.T) {
			topic := r.topic()
			r.send(topic, "x", ext{"i": tt.sent})
			got := message.ParseProperties(r.first(topic, 0).Properties)
			for _, own := range []string{"UNIQ_KEY", "CLUSTER", "MSG_REGION", "TRACE_ON"} {
				delete(got, own)
			}
			var pairs []string
			for _, k := range slices.Sorted(maps.Keys(got)) {
				pairs = append(pairs, k+"="+got[k])
			}
			if s := strings.Join(pairs, " "); s != tt.want {
				t.Errorf("stored %q, want %q", s, tt.want)
			}
		})
	}
}

func TestQueueIDs(t *testing.T) {
	r := start(t)
	wide := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 4, 2 })
	picked := map[string]bool{}
	for range 60 {
		picked[r.send(wide, "x", ext{"e": -1}).ext("queueId")] = true
	}
	if got := slices.Sorted(maps.Keys(picked)); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("queue -1 became %v, want the write queues 0 and 1", got)
	}
	for _, tt := range []struct {
		read, write int32
		queue       int32
		code        int32
	}{{4, 1, 3, protocol.Success}, {4, 1, 4, protocol.InvalidParameter}, {1, 4, 3, protocol.Success}, {1, 4, 4, protocol.InvalidParameter}} {
		topic := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = tt.read, tt.write })
		if a := r.trySend(topic, "x", ext{"e": tt.queue}); a.Code != tt.code {
			t.Errorf("queue %d of %d read, %d write queues: %d, want %d", tt.queue, tt.read, tt.write, a.Code, tt.code)
		}
	}
}

func TestAutoCreate(t *testing.T) {
	r := start(t)
	template := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums, c.Perm = 3, 3, 7 })
	for _, tt := range []struct {
		situation string
		template  string
		queues    int
		code      int32
		created   int32 // queues
	}{
		{"as many as the client wants", protocol.TopicDefault, 4, protocol.Success, 4},
		{"no more than the template has", protocol.TopicDefault, 20, protocol.Success, 8},
		{"none: then no queue id is right", protocol.TopicDefault, 0, protocol.InvalidParameter, 0},
		{"another template", template, 16, protocol.Success, 3},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			topic := name("Auto")
			a := r.trySend(topic, "x", ext{"c": tt.template, "d": tt.queues})
			if a.Code != tt.code {
				t.Fatalf("answer %d %s, want %d", a.Code, a.Remark, tt.code)
			}
			c := r.topics.Get(topic)
			if c == nil || c.WriteQueueNums != tt.created || c.ReadQueueNums != tt.created || c.Perm != 6 {
				t.Errorf("created %+v, want %d queues, perm 6", c, tt.created)
			}
		})
	}
	r.set(func(c *Config) { c.Topics.AutoCreate = false })
	if a := r.trySend(name("Auto"), "x", nil); a.Code != protocol.TopicNotExist {
		t.Errorf("with autoCreateTopicEnable=false: %d, want 17", a.Code)
	}
}

func TestSettingsThatRefuseSends(t *testing.T) {
	r := start(t)
	usual, order := r.topic(), r.topic(func(c *protocol.TopicConfig) { c.Order = true })
	tests := []struct {
		situation string
		change    func(*Config)
		topic     string
		more      ext
		code      int32
		remark    string
	}{
		{"broker not writable, usual topic", func(c *Config) { c.Identity.Perm = 4 }, usual, nil, protocol.Success, ""},
		{"broker not writable, order topic", func(c *Config) { c.Identity.Perm = 4 }, order, nil, protocol.NoPermission, "the broker[127.0.0.1] sending message is forbidden"},
		{"not yet accepting", func(c *Config) { c.Identity.Accept = 4102444800000 }, usual, nil, protocol.SystemError,
			"broker unable to service, until " + time.UnixMilli(4102444800000).Format("2006-01-02 15:04:05,000")},
		{"transactions refused", func(c *Config) { c.Send.RejectTransactions = true }, usual, props("TRAN_MSG=true"), protocol.NoPermission,
			"the broker[127.0.0.1] sending transaction message is forbidden"},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			before := *r.Config()
			r.set(tt.change)
			defer r.set(func(c *Config) { *c = before })
			if a := r.trySend(tt.topic, "x", tt.more); a.Code != tt.code || a.Remark != tt.remark {
				t.Errorf("answer %d %q, want %d %q", a.Code, a.Remark, tt.code, tt.remark)
			}
		})
	}
}

func TestOnewayIsStoredAndNotAnswered(t *testing.T) {
	r := start(t)
	topic := r.topic()
	c := r.dial(nil)
	if err := c.Oneway(&remoting.Command{Code: protocol.SendMessageV2, Fields: sendExt(topic, nil).fields(), Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	r.readable(topic, 0, 1)
	if n := r.sender.inFlight.Load(); n != 0 {
		t.Errorf("%d sends in flight", n)
	}
}

// Many sends in one write, to topics that are there and to new ones: each is answered, with its own opaque number.
func TestPipelinedSends(t *testing.T) {
	r := start(t)
	known, fresh := r.topic(), name("Fresh")
	c := r.dial(nil)
	const n = 200
	answers := make(chan string, n)
	for i := range n {
		topic := known
		if i%10 == 0 {
			topic = fresh
		}
		body := fmt.Sprint(i)
		c.Go(&remoting.Command{Code: protocol.SendMessageV2, Fields: sendExt(topic, props("UNIQ_KEY=u"+body)).fields(), Body: []byte(body)},
			testTimeout, func(a *remoting.Command, err error) {
				switch {
				case err != nil:
					answers <- err.Error()
				case a.Code != protocol.Success:
					answers <- a.Remark
				default:
					answers <- a.Fields.Text("transactionId")
				}
			})
	}
	got := map[string]bool{}
	for range n {
		got[<-answers] = true
	}
	for i := range n {
		if !got[fmt.Sprintf("u%d", i)] {
			t.Errorf("send %d was not answered; answers are %v", i, got)
			break
		}
	}
	r.readable(known, 0, n-n/10)
	r.readable(fresh, 0, n/10)
}

func TestOverload(t *testing.T) {
	r := start(t, func(c *Config) { c.Lanes.SendCapacity = 5 })
	topic := r.topic()
	r.sender.inFlight.Add(5) // as many as there may be
	a := r.trySend(topic, "x", nil)
	r.sender.inFlight.Add(-5)
	if a.Code != protocol.SystemBusy || !strings.HasPrefix(a.Remark, "[OVERLOAD]system busy, start flow control for a while") || !strings.Contains(a.Remark, "send") {
		t.Errorf("answer %d %q", a.Code, a.Remark)
	}
	r.send(topic, "x", nil)
}

func TestSendsAfterTheStoreClosed(t *testing.T) {
	r := start(t)
	topic := r.topic()
	r.send(topic, "x", nil)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if a := r.trySend(topic, "x", nil); a.Code != protocol.ServiceNotAvailable {
		t.Errorf("answer %d %q, want %d", a.Code, a.Remark, protocol.ServiceNotAvailable)
	}
}

func TestFastPort(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	a := r.callAt(r.fast, &remoting.Command{Code: protocol.SendMessageV2, Fields: sendExt(topic, nil).fields(), Body: []byte("x")})
	if a.Code != protocol.Success {
		t.Errorf("send: %d %s", a.Code, a.Remark)
	}
	a = r.callAt(r.fast, &remoting.Command{Code: protocol.PullMessage, Fields: pullExt(topic, group, 0, nil).fields()})
	if a.Code != protocol.RequestCodeNotSupported || a.Remark != " request type 11 not supported" {
		t.Errorf("pull: %d %q", a.Code, a.Remark)
	}
}

// What was acknowledged is there after a restart.
func TestRestart(t *testing.T) {
	r := start(t)
	topic := name("Auto")
	for i := range 20 {
		r.send(topic, fmt.Sprintf("m%d", i), nil)
	}
	r.stop()
	again := startWith(t, r.cfg)
	again.readable(topic, 0, 20)
	a := again.pull(topic, protocol.GroupTools, 0, nil)
	if n := len(a.records()); a.Code != protocol.Success || n != 20 {
		t.Errorf("pull after the restart: %d, %d messages", a.Code, n)
	}
	if got := again.send(topic, "next", nil).ext("queueOffset"); got != "20" {
		t.Errorf("next offset %s, want 20", got)
	}
}

func TestShutdownIsQuick(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.fill(topic, 1, "")
	c := r.dial(nil)
	answered := make(chan int32, 1)
	c.Go(&remoting.Command{Code: protocol.PullMessage, Fields: pullExt(topic, group, 1, ext{"sysFlag": 6, "suspendTimeoutMillis": 30000}).fields()},
		time.Minute, func(a *remoting.Command, err error) {
			if err == nil {
				answered <- a.Code
			}
			close(answered)
		})
	r.until("the pull is held", func() bool { return r.lot.Held() == 1 })
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	if err := r.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("shutdown took %v", took)
	}
	if code, ok := <-answered; !ok || code != protocol.PullNotFound {
		t.Errorf("the held pull was answered %d (%t), want %d", code, ok, protocol.PullNotFound)
	}
}
