// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// ask is call over a connection of its own.
func (r *running) ask(c *remoting.Conn, code int32, e ext, body ...byte) answer {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	resp, err := c.Call(ctx, &remoting.Command{Code: code, Fields: e.fields(), Body: body})
	if err != nil {
		r.Fatalf("call %s: %v", protocol.CodeName(code), err)
	}
	return answer{resp, r}
}

// is checks code and remark.
func (a answer) is(code int32, remark string) {
	a.t.Helper()
	if a.Code != code || a.Remark != remark {
		a.t.Fatalf("got %s %q, want %s %q", protocol.ResponseName(a.Code), a.Remark, protocol.ResponseName(code), remark)
	}
}

// decode reads the body.
func (a answer) decode(v any) {
	a.t.Helper()
	if a.Code != protocol.Success {
		a.t.Fatalf("%s: %s", protocol.ResponseName(a.Code), a.Remark)
	}
	if err := javajson.Unmarshal(a.Body, v); err != nil {
		a.t.Fatalf("%v in %s", err, a.Body)
	}
}

// text is a string that stands for a body.
func text(s string) []byte { return []byte(s) }

func TestHeartbeatCreatesGroupAndRetryTopic(t *testing.T) {
	r := start(t)
	g := name("G")
	r.join(r.dial(nil), "client", g, protocol.Clustering, subscription(t, r.topic(), "*", 1))
	if r.groups.Get(g) == nil {
		t.Fatal("no group")
	}
	got := string(r.success(protocol.GetTopicConfig, ext{"topic": "%RETRY%" + g}).Body)
	want := `{"attributes":{},"order":false,"perm":6,"readQueueNums":1,"topicFilterType":"SINGLE_TAG","topicName":"%RETRY%` + g +
		`","topicSysFlag":0,"writeQueueNums":1}`
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

func TestHeartbeatOfLongGroups(t *testing.T) {
	r := start(t)
	for n, created := range map[int]bool{120: true, 121: true, 248: true, 249: false, 300: false} {
		g := strings.Repeat("g", n)
		r.join(r.dial(nil), "client", g, protocol.Clustering)
		if (r.groups.Get(g) != nil) != created || (r.topics.Get("%RETRY%"+g) != nil) != created {
			t.Errorf("a group of %d characters exists: %v", n, r.groups.Get(g) != nil)
		}
	}
}

func TestHeartbeatWithoutAutoCreation(t *testing.T) {
	r := start(t, func(c *Config) { c.Groups.AutoCreate = false })
	g := name("G")
	r.join(r.dial(nil), "client", g, protocol.Clustering)
	r.call(protocol.GetConsumerListByGroup, ext{"consumerGroup": g}).is(protocol.SystemError, "no consumer for this group, "+g)
	r.call(protocol.GetSubscriptionGroupConfig, ext{"group": g}).is(protocol.SubscriptionGroupNotExist, "No group in this broker")
	r.call(protocol.GetTopicConfig, ext{"topic": "%RETRY%" + g}).is(protocol.TopicNotExist, "No topic in this broker. topic: %RETRY%"+g)
}

func TestHeartbeatRetryQueuesAndOrder(t *testing.T) {
	r := start(t)
	ordered := r.topic(func(c *protocol.TopicConfig) { c.Order = true })
	g := r.group(func(c *protocol.SubscriptionGroupConfig) { c.RetryQueueNums = 3 })
	r.join(r.dial(nil), "client", g, protocol.Clustering, subscription(t, ordered, "*", 1))
	if c := r.topics.Get("%RETRY%" + g); c.ReadQueueNums != 3 || c.WriteQueueNums != 3 || !c.Order {
		t.Fatalf("retry topic %+v", c.TopicConfig)
	}
}

func TestHeartbeatAnswers(t *testing.T) {
	r := start(t)
	c, g := r.dial(nil), r.group()
	sub := string(javajson.Marshal(subscription(t, r.topic(), "*", 1), javajson.Bare))
	beat := func(fingerprint, subs, more string) answer {
		a := r.ask(c, protocol.HeartBeat, nil, text(`{"clientID":"c","heartbeatFingerprint":`+fingerprint+`,"consumerDataSet":[{"groupName":"`+g+
			`","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","subscriptionDataSet":[`+subs+`]}]`+more+`}`)...)
		a.is(protocol.Success, "")
		if a.ext("IS_SUPPORT_HEART_BEAT_V2") != "true" {
			t.Fatal("the second form is not supported")
		}
		return a
	}
	for i, step := range []struct{ fingerprint, subs, more, changed string }{
		{"0", sub, "", "true"}, // the first form
		{"123", sub, "", "true"},
		{"123", sub, "", "false"},
		{"123", "", `,"withoutSub":true`, "false"},
		{"456", "", `,"withoutSub":true`, "true"},
	} {
		if got := beat(step.fingerprint, step.subs, step.more).ext("IS_SUB_CHANGE"); got != step.changed {
			t.Errorf("step %d: IS_SUB_CHANGE=%s", i, got)
		}
	}
	if len(r.members.Consumers(g).Subscriptions) != 1 {
		t.Error("the subscription is gone")
	}
}

// What C++ and Go clients send: enums by number, numbers as text, tags without codes.
func TestHeartbeatsOfOtherClients(t *testing.T) {
	r := start(t)
	g := name("G")
	a := r.ask(r.dial(nil), protocol.HeartBeat, nil, text(`{"clientID":"c","producerDataSet":[{"groupName":"P"}],"consumerDataSet":[{"groupName":"`+g+
		`","consumeType":1,"messageModel":1,"consumeFromWhere":4,"subscriptionDataSet":[{"topic":"T","subString":"Aa || TagB","subVersion":"7"},null]},{}]}`)...)
	a.is(protocol.Success, "")
	got := r.members.Consumers(g)
	if got.Type != protocol.ConsumePassively || got.Model != protocol.Clustering || got.From != protocol.ConsumeFromFirstOffset {
		t.Fatalf("group %+v", got)
	}
	s := got.Subscriptions["T"]
	if s.SubVersion != 7 || s.ExpressionType != "TAG" || !s.MatchesCode(2112) || len(s.TagsSet) != 2 {
		t.Fatalf("subscription %+v", s)
	}
	if len(r.members.Producers("P")) != 1 {
		t.Fatal("no producer")
	}
}

func TestBadHeartbeats(t *testing.T) {
	r := start(t)
	for _, body := range []string{"", "{", "[]", "7", `{"consumerDataSet":[]}`, `{"clientID":"c","consumerDataSet":7}`} {
		if a := r.call(protocol.HeartBeat, nil, text(body)...); a.Code != protocol.SystemError || a.Remark == "" {
			t.Errorf("%q: %d %q", body, a.Code, a.Remark)
		}
	}
}

func TestPullConsumersMayBeRejected(t *testing.T) {
	r := start(t, func(c *Config) { c.Groups.RejectPull = true })
	g := name("G")
	r.heartbeat(r.dial(nil), protocol.HeartbeatData{ClientID: "c", ConsumerDataSet: []protocol.ConsumerData{{
		GroupName: g, ConsumeType: protocol.ConsumeActively, MessageModel: protocol.Clustering, SubscriptionDataSet: nil,
	}}})
	if r.members.Consumers(g) != nil {
		t.Fatal("it is a member")
	}
}

func TestUnregister(t *testing.T) {
	r := start(t)
	c, g := r.dial(nil), r.group()
	r.join(c, "client", g, protocol.Clustering)
	r.heartbeat(c, protocol.HeartbeatData{ClientID: "client", ProducerDataSet: []protocol.ProducerData{{GroupName: "P"}}})
	other := r.dial(nil)
	r.ask(other, protocol.UnregisterClient, ext{"clientID": "client", "consumerGroup": g, "producerGroup": "P"}).is(protocol.Success, "")
	if r.members.Consumers(g) == nil || r.members.Producers("P") == nil {
		t.Fatal("another connection's goodbye counts")
	}
	r.ask(c, protocol.UnregisterClient, ext{"clientID": "client", "consumerGroup": g}).is(protocol.Success, "")
	if r.members.Consumers(g) != nil || r.members.Producers("P") == nil {
		t.Fatal("not the consumer alone is gone")
	}
	r.ask(c, protocol.UnregisterClient, ext{"clientID": "client", "producerGroup": "P", "consumerGroup": "none"}).is(protocol.Success, "")
	if r.members.Producers("P") != nil {
		t.Fatal("the producer is still there")
	}
}

func TestCheckClientConfig(t *testing.T) {
	r := start(t)
	for _, c := range []struct {
		situation, body string
		code            int32
		remark          string
	}{
		{"tags", `{"subscriptionData":{"topic":"T","subString":"A","expressionType":"TAG"}}`, protocol.Success, ""},
		{"nothing to check", `{"clientId":"c"}`, protocol.Success, ""},
		{"no body", "", protocol.Success, ""},
		{"SQL", `{"subscriptionData":{"topic":"T","subString":"a > 1","expressionType":"SQL92"}}`, protocol.SystemError,
			"The broker does not support consumer to filter message by SQL92"},
	} {
		t.Run(c.situation, func(t *testing.T) {
			a := r.call(protocol.CheckClientConfig, nil, text(c.body)...)
			if a.Code != c.code || a.Remark != c.remark {
				t.Fatalf("%d %q", a.Code, a.Remark)
			}
		})
	}
}

// joinedNews counts NOTIFY_CONSUMER_IDS_CHANGED.
type joinedNews chan string

func (n joinedNews) ServeCommand(x *remoting.Exchange) {
	if x.Request.Code == protocol.NotifyConsumerIDsChanged {
		n <- x.Request.Fields.Text("consumerGroup")
	}
}

func TestMembersAreToldOverTheWire(t *testing.T) {
	r := start(t)
	news, g := make(joinedNews, 10), r.group()
	a := r.dial(news)
	r.join(a, "a", g, protocol.Clustering)
	b := r.dial(nil)
	r.until("the first member hears of itself", func() bool { return len(news) == 1 })
	r.join(b, "b", g, protocol.Clustering)
	r.until("the first member hears of the second", func() bool { return len(news) == 2 })
	_ = b.Close()
	r.until("the first member hears that the second is gone", func() bool { return len(news) == 3 })
	if got := <-news; got != g {
		t.Fatalf("told of %q", got)
	}
}
