// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func nowMillis() int64 { return time.Now().UnixMilli() }

func (r *running) reset(topic, group string, more ext) answer {
	r.Helper()
	e := ext{"topic": topic, "group": group, "timestamp": -1, "isForce": true, "queueId": -1}
	for k, v := range more {
		e[k] = v
	}
	return r.call(protocol.InvokeBrokerToResetOffset, e)
}

func TestResetOfAnOfflineGroup(t *testing.T) {
	r := start(t)
	topic, g := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 2, 2 }), r.group()
	r.fill(topic, 3, "")
	r.commit(topic, g, 0, 1)
	a := r.reset(topic, g, nil)
	want := `{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"` + topic + `"}:3,{"brokerName":"broker-a","queueId":1,"topic":"` + topic + `"}:0}}`
	if d := cmp.Diff(want, string(a.Body)); d != "" {
		t.Fatal(d)
	}
	r.committed(topic, g, 0, nil).offset("3")
	r.committed(topic, g, 1, nil).offset("0")
}

func TestPendingReset(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.fill(topic, 5, "")
	r.commit(topic, g, 0, 5)
	r.reset(topic, g, ext{"queueId": 0, "offset": 2}).is(protocol.Success, "")
	r.commit(topic, g, 0, 5).is(protocol.Success, "Offset has been previously reset")
	r.committed(topic, g, 0, nil).offset("2")
	a := r.pull(topic, g, 5, ext{"sysFlag": protocol.PullSubscription | protocol.PullCommit, "commitOffset": 5})
	if a.Code != protocol.PullOffsetMoved || a.Remark != "OFFSET_RESET" || a.ext("nextBeginOffset") != "2" {
		t.Fatalf("pull: %d %s, next %s", a.Code, a.Remark, a.ext("nextBeginOffset"))
	}
	if a := r.pull(topic, g, 5, nil); a.Code != protocol.PullNotFound {
		t.Fatalf("second pull: %d %s", a.Code, a.Remark)
	}
	r.commit(topic, g, 0, 4).is(protocol.Success, "")
	r.committed(topic, g, 0, nil).offset("4")
}

// A pull that is held learns of a reset at once; one of another group goes on as when its time is over.
func TestResetWhileAPullIsHeld(t *testing.T) {
	r := start(t)
	topic, g, other := r.topic(), r.group(), r.group()
	r.fill(topic, 5, "")
	got, others := r.held(topic, g, 5, time.Minute, nil), r.held(topic, other, 5, time.Minute, nil)
	r.nowHeld(2)
	r.reset(topic, g, ext{"timestamp": 0}).is(protocol.Success, "")
	if s := status((<-got).answer); s != "21OFFSET_RESET 0 0 5" {
		t.Errorf("the group's pull is answered %s", s)
	}
	if s := status((<-others).answer); s != "19OFFSET_OVERFLOW_ONE 5 0 5" {
		t.Errorf("another group's pull is answered %s", s)
	}
}

func TestResetByTime(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.fill(topic, 2, "")
	r.until("the clock moves on", func() bool { return r.store.TimeOf(topic, 0, 1) < nowMillis() })
	r.send(topic, "m2", nil)
	r.readable(topic, 0, 3)
	last := r.store.TimeOf(topic, 0, 2)
	for _, c := range []struct {
		at   int64
		want string
	}{{0, "0"}, {last, "2"}, {last + 1000, "3"}, {-1, "3"}} {
		r.reset(topic, g, ext{"timestamp": c.at}).is(protocol.Success, "")
		r.committed(topic, g, 0, nil).offset(c.want)
	}
}

func TestResetRefusals(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.fill(topic, 2, "")
	for _, ok := range []int{0, 2, 3, -1} {
		r.reset(topic, g, ext{"queueId": 0, "offset": ok}).is(protocol.Success, "")
	}
	r.reset(topic, g, ext{"queueId": 0, "offset": 4}).is(protocol.SystemError, "Target offset 4 not in consume queue range [0-2]")
	r.reset(topic, g, ext{"queueId": 9, "offset": 0}).is(protocol.Success, "")
	r.reset("none", g, nil).is(protocol.TopicNotExist, "Topic none does not exist")
	r.reset(topic, "none", nil).is(protocol.SubscriptionGroupNotExist, "Group none does not exist")
	none := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums = 0 })
	r.reset(none, g, nil).is(protocol.SystemError, "No queues to reset.")
	r.set(func(c *Config) { c.Identity.ID = 1 })
	r.reset(topic, g, nil).is(protocol.SystemError, "Can not reset offset in slave broker")
}

// pushed keeps what the broker sends of a code.
type pushed struct {
	code int32
	got  chan *remoting.Command
}

func newPushed(code int32) *pushed { return &pushed{code, make(chan *remoting.Command, 10)} }

func (p *pushed) ServeCommand(x *remoting.Exchange) {
	if x.Request.Code == p.code {
		p.got <- x.Request.Clone()
	}
}

func (p *pushed) next(t *testing.T) *remoting.Command {
	t.Helper()
	select {
	case c := <-p.got:
		return c
	case <-time.After(testTimeout):
		t.Fatal("nothing came")
		return nil
	}
}

func TestResetInMembers(t *testing.T) {
	r := start(t, func(c *Config) { c.Groups.ServerSideReset = false })
	topic, g := r.topic(), r.group()
	r.fill(topic, 2, "")
	r.reset(topic, g, ext{"timestamp": 0}).is(protocol.SystemError, "THe consumer group <"+g+"> not exist")
	r.commit(topic, g, 0, 2)
	r.reset(topic, g, ext{"timestamp": 0}).is(protocol.ConsumerNotOnline,
		"Consumer not online, so can not reset offset, Group: "+g+" Topic: "+topic+" Timestamp: 0")
	p := newPushed(protocol.ResetConsumerClientOffset)
	r.join(r.dial(p), "client", g, protocol.Clustering, subscription(t, topic, "*", 1))

	queue := `{"brokerName":"broker-a","queueId":0,"topic":"` + topic + `"}`
	if a := r.reset(topic, g, ext{"timestamp": 0}); string(a.Body) != `{"offsetTable":{`+queue+`:0}}` {
		t.Fatalf("%d %s %s", a.Code, a.Remark, a.Body)
	}
	push := p.next(t)
	if !push.IsOneway() || string(push.Body) != `{"offsetTable":{`+queue+`:0}}` || push.Fields.Text("group") != g || push.Fields.Text("isForce") != "true" {
		t.Fatalf("pushed %+v %s", push, push.Body)
	}
	// Forwards only with force.
	r.commit(topic, g, 0, 1)
	r.reset(topic, g, ext{"timestamp": -1, "isForce": false}).is(protocol.Success, "")
	if push = p.next(t); string(push.Body) != `{"offsetTable":{`+queue+`:1}}` {
		t.Fatalf("pushed %s", push.Body)
	}
	r.committed(topic, g, 0, nil).offset("1") // the member commits, not we
}

func TestResetBodyOfCPlusPlusMembers(t *testing.T) {
	table := map[protocol.MessageQueue]int64{{BrokerName: "b", QueueID: 1, Topic: "T"}: 5, {BrokerName: "b", QueueID: 0, Topic: "T"}: 4}
	const list = `{"offsetTable":[{"brokerName":"b","offset":4,"queueId":0,"topic":"T"},{"brokerName":"b","offset":5,"queueId":1,"topic":"T"}]}`
	if d := cmp.Diff(list, string(resetBody(remoting.LanguageCPP, table))); d != "" {
		t.Error(d)
	}
	const objects = `{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:4,{"brokerName":"b","queueId":1,"topic":"T"}:5}}`
	if d := cmp.Diff(objects, string(resetBody(remoting.LanguageGo, table))); d != "" {
		t.Error(d)
	}
}

func TestCloneOffset(t *testing.T) {
	r := start(t)
	topic, other, from := r.topic(), r.topic(), r.group()
	r.commit(topic, from, 0, 7)
	r.commit(topic, from, 1, 8)
	r.join(r.dial(nil), "client", from, protocol.Clustering, subscription(t, other, "*", 1))
	for _, c := range []struct {
		situation string
		fields    ext
		copied    bool
	}{
		{"offline", ext{"topic": topic, "offline": true}, true},
		{"a topic that the group does not subscribe to now", ext{"topic": topic}, false},
		{"no topic", ext{"offline": true}, false},
		{"a topic that is not there", ext{"topic": "none", "offline": true}, false},
	} {
		t.Run(c.situation, func(t *testing.T) {
			to := r.group()
			e := ext{"srcGroup": from, "destGroup": to}
			for k, v := range c.fields {
				e[k] = v
			}
			r.call(protocol.CloneGroupOffset, e).is(protocol.Success, "")
			want := map[int32]int64{0: 7, 1: 8}
			if !c.copied {
				want = nil
			}
			if d := cmp.Diff(want, r.offsets.Offsets(topic, to)); d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestCorrectionOffset(t *testing.T) {
	r := start(t)
	topic, a, b := r.topic(), r.group(), r.group()
	r.fill(topic, 3, "")
	r.commit(topic, a, 0, 3)
	r.commit(topic, b, 0, 1)
	for _, c := range []struct {
		compare, leftOut any
		want             string
	}{
		{a, nil, `{"correctionOffsets":{0:1}}`},
		{a, b, `{"correctionOffsets":{0:3}}`},
		{b, b, `{"correctionOffsets":{0:9223372036854775807}}`},
		{a, a + "," + b, `{"correctionOffsets":{}}`},
	} {
		got := r.success(protocol.QueryCorrectionOffset, ext{"topic": topic, "compareGroup": c.compare, "filterGroups": c.leftOut})
		if string(got.Body) != c.want {
			t.Errorf("%v without %v: %s", c.compare, c.leftOut, got.Body)
		}
	}
	r.committed(topic, b, 0, nil).offset("1") // to be left out is not to be deleted
}
