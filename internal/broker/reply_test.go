// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// asker is a client that waits for replies.
type asker struct {
	code   int32 // its answer
	pushed chan *remoting.Command
}

func (a *asker) ServeCommand(x *remoting.Exchange) {
	a.pushed <- x.Request.Clone()
	x.ReplyTo().Queue(&remoting.Command{Code: a.code})
}

func (r *running) asker(id string, code int32) *asker {
	r.Helper()
	a := &asker{code: code, pushed: make(chan *remoting.Command, 10)}
	r.heartbeat(r.dial(a), protocol.HeartbeatData{
		ClientID: id, ProducerDataSet: []protocol.ProducerData{{GroupName: "askers"}}, ConsumerDataSet: []protocol.ConsumerData{},
	})
	return a
}

const replyTopic = "DefaultCluster_REPLY_TOPIC"

func (r *running) reply(to string) answer {
	r.Helper()
	pairs := "MSG_TYPE=reply CORRELATION_ID=c1 TTL=3000 UNIQ_KEY=u"
	if to != "" {
		pairs += " REPLY_TO_CLIENT=" + to
	}
	return r.call(protocol.SendReplyMessageV2, sendExt(replyTopic, props(pairs)), []byte("answer")...)
}

func fieldNames(a answer) []string {
	var names []string
	for _, f := range a.Fields {
		names = append(names, string(f.Key))
	}
	slices.Sort(names)
	return names
}

func TestReplyIsPushedAndStored(t *testing.T) {
	r := start(t)
	asking := r.asker("c1", protocol.Success)
	a := r.reply("c1")
	if a.Code != protocol.Success || a.Remark != "" {
		t.Fatalf("answer %d %q", a.Code, a.Remark)
	}
	if got, want := fieldNames(a), strings.Fields("MSG_REGION TRACE_ON msgId queueId queueOffset"); !slices.Equal(got, want) {
		t.Errorf("answer has %v, want %v", got, want)
	}
	p := <-asking.pushed
	want := strings.Fields("bornHost bornTimestamp defaultTopic defaultTopicQueueNums flag producerGroup properties queueId reconsumeTimes storeHost storeTimestamp sysFlag topic unitMode")
	if got := fieldNames(answer{p, t}); p.Code != protocol.PushReplyMessageToClient || !slices.Equal(got, want) {
		t.Errorf("push %d has %v, want %v", p.Code, got, want)
	}
	got := slices.Sorted(maps.Keys(message.ParseProperties([]byte(p.Fields.Text("properties")))))
	if want := strings.Fields("CORRELATION_ID MSG_REGION MSG_TYPE PUSH_REPLY_TIME REPLY_TO_CLIENT TRACE_ON TTL UNIQ_KEY"); !slices.Equal(got, want) {
		t.Errorf("pushed properties %v, want %v", got, want)
	}
	if string(p.Body) != "answer" {
		t.Errorf("pushed %q", p.Body)
	}
	if m := r.first(replyTopic, 0); string(m.Body) != "answer" || a.ext("msgId") != message.OffsetID(m.StoreHost, m.PhysicalOffset) {
		t.Errorf("stored %q as %s", m.Body, a.ext("msgId"))
	}
}

func TestReplyOutcomes(t *testing.T) {
	r := start(t)
	r.asker("refuses", protocol.SystemError)
	for to, want := range map[string]string{
		"refuses": "push reply message to refusesfail.",
		"nobody":  "push reply message fail, channel of <nobody> not found.",
		"":        "reply message properties[REPLY_TO_CLIENT] is null",
	} {
		if a := r.reply(to); a.Code != protocol.SystemError || a.Remark != want {
			t.Errorf("to %q: %d %q, want %q", to, a.Code, a.Remark, want)
		}
	}
	r.set(func(c *Config) { c.Send.StoreReplies = false })
	r.asker("c2", protocol.Success)
	_, before := r.store.QueueRange(replyTopic, 0)
	if a := r.reply("c2"); a.Code != protocol.Success || a.ext("msgId") != "0" || a.ext("queueOffset") != "0" {
		t.Errorf("not stored: %d %v", a.Code, a.Fields)
	}
	if _, end := r.store.QueueRange(replyTopic, 0); end != before {
		t.Error("stored although storeReplyMessageEnable=false")
	}
}
