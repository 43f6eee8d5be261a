// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"net"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// member answers what the broker asks.
type member struct {
	seen   chan *remoting.Command
	answer remoting.Command
}

func (m *member) ServeCommand(x *remoting.Exchange) {
	if x.Request.Code == protocol.NotifyConsumerIDsChanged {
		return
	}
	m.seen <- x.Request.Clone()
	x.ReplyTo().Send(&m.answer)
}

func newMember(code int32, body string) *member {
	return &member{seen: make(chan *remoting.Command, 10), answer: remoting.Command{Code: code, Body: []byte(body)}}
}

func TestRunningInfo(t *testing.T) {
	r := start(t)
	g := r.group()
	ask := ext{"consumerGroup": g, "clientId": "client", "jstackEnable": false}
	r.call(protocol.GetConsumerRunningInfo, ask).is(protocol.SystemError, "The Consumer <"+g+"> <client> not online")
	m := newMember(protocol.Success, `{"properties":{}}`)
	r.join(r.dial(m), "client", g, protocol.Clustering)
	a := r.call(protocol.GetConsumerRunningInfo, ask)
	a.is(protocol.Success, "")
	if string(a.Body) != `{"properties":{}}` {
		t.Fatal(string(a.Body))
	}
	seen := <-m.seen
	if seen.IsOneway() || len(seen.Fields) != 3 || seen.Fields.Text("clientId") != "client" || seen.Fields.Text("jstackEnable") != "false" {
		t.Fatalf("the member was asked %+v", seen)
	}
	m.answer = remoting.Command{Code: protocol.SystemError, Remark: "no such group here"}
	r.call(protocol.GetConsumerRunningInfo, ask).is(protocol.SystemError, "no such group here")
}

// A member that goes away while it is asked ends the question.
func TestRunningInfoOfALeavingMember(t *testing.T) {
	r := start(t)
	g := r.group()
	r.join(r.dial(closer{}), "client", g, protocol.Clustering)
	a := r.call(protocol.GetConsumerRunningInfo, ext{"consumerGroup": g, "clientId": "client", "jstackEnable": false})
	if a.Code != protocol.SystemError || !strings.HasPrefix(a.Remark, "invoke consumer <"+g+"> <client> Exception: ") {
		t.Fatalf("%d %q", a.Code, a.Remark)
	}
}

// closer closes its connection when it is asked something.
type closer struct{}

func (closer) ServeCommand(x *remoting.Exchange) {
	if x.Request.Code == protocol.GetConsumerRunningInfo {
		_ = x.Conn.Close()
	}
}

func TestConsumeDirectly(t *testing.T) {
	r := start(t)
	g, topic := r.group(), r.topic()
	id := r.send(topic, "again", nil).ext("msgId")
	r.readable(topic, 0, 1)
	ask := ext{"consumerGroup": g, "clientId": "client", "msgId": id, "brokerName": "wrong", "topic": topic}
	r.call(protocol.ConsumeMessageDirectly, ask).is(protocol.SystemError, "The Consumer <"+g+"> <client> not online")
	m := newMember(protocol.Success, `{"consumeResult":"CR_SUCCESS"}`)
	r.join(r.dial(m), "client", g, protocol.Clustering)
	if a := r.success(protocol.ConsumeMessageDirectly, ask); string(a.Body) != `{"consumeResult":"CR_SUCCESS"}` {
		t.Fatal(string(a.Body))
	}
	seen := answer{<-m.seen, t}
	if len(seen.Fields) != 7 || seen.ext("brokerName") != "broker-a" || seen.ext("topicSysFlag") != "0" || seen.ext("groupSysFlag") != "0" {
		t.Fatalf("the member was asked %v", seen.Fields)
	}
	if got := seen.bodies(); got != "again" {
		t.Fatalf("the member got %q", got)
	}
	for _, bad := range []string{"", "rubbish", strings.Repeat("0", 27) + "FFFFF"} {
		ask["msgId"] = bad
		if a := r.call(protocol.ConsumeMessageDirectly, ask); a.Code != protocol.SystemError || a.Remark == "" {
			t.Errorf("message %q: %d %q", bad, a.Code, a.Remark)
		}
	}
}

func TestOldMembersAreNotAsked(t *testing.T) {
	r := start(t)
	g := r.group()
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg := remoting.DefaultConfig()
	cfg.Version = 20
	c := remoting.NewConn(nc, nil, cfg)
	t.Cleanup(func() { _ = c.Close(); <-c.Done() })
	r.join(c, "client", g, protocol.Clustering)
	a := r.call(protocol.GetConsumerRunningInfo, ext{"consumerGroup": g, "clientId": "client"})
	if a.Code != protocol.SystemError || !strings.Contains(a.Remark, "too low to finish") {
		t.Errorf("%d %q", a.Code, a.Remark)
	}
	r.call(protocol.InvokeBrokerToGetConsumerStatus, ext{"group": g, "topic": "T"}).is(protocol.SystemError,
		"the client does not support this feature. version=20")
}

func TestConsumerStatus(t *testing.T) {
	r := start(t)
	g, topic := r.group(), r.topic()
	ask := ext{"group": g, "topic": topic}
	r.call(protocol.InvokeBrokerToGetConsumerStatus, ask).is(protocol.SystemError, "No Any Consumer online in the consumer group: ["+g+"]")
	queue := `{"brokerName":"broker-a","queueId":0,"topic":"` + topic + `"}`
	good := newMember(protocol.Success, `{"messageQueueTable":{`+queue+`:7}}`)
	bad := newMember(protocol.SystemError, "")
	r.join(r.dial(good), "good", g, protocol.Clustering)
	r.join(r.dial(bad), "bad", g, protocol.Clustering)
	want := `{"consumerTable":{"good":{` + queue + `:7}},"messageQueueTable":{}}`
	if got := string(r.success(protocol.InvokeBrokerToGetConsumerStatus, ask).Body); got != want {
		t.Fatal(got)
	}
	if seen := <-good.seen; seen.Fields.Text("group") != g || seen.Fields.Text("topic") != topic {
		t.Fatalf("the member was asked %v", seen.Fields)
	}
	<-bad.seen
	ask["clientAddr"] = "bad"
	if got := string(r.success(protocol.InvokeBrokerToGetConsumerStatus, ask).Body); got != `{"consumerTable":{},"messageQueueTable":{}}` {
		t.Fatal(got)
	}
	if len(good.seen) != 0 {
		t.Fatal("a member that was not named was asked")
	}
}
