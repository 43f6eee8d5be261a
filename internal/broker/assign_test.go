// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/assign"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func (r *running) assignment(topic, group, client, strategy, model string) string {
	r.Helper()
	body := fmt.Sprintf(`{"topic":%q,"consumerGroup":%q,"clientId":%q,"strategyName":%q,"messageModel":%q}`, topic, group, client, strategy, model)
	return string(r.success(protocol.QueryAssignment, nil, text(body)...).Body)
}

// assigned is the answer with these queues of a topic, all at broker-a.
func assigned(topic, mode string, queues ...int) string {
	body := protocol.QueueAssignments{MessageQueueAssignments: []protocol.QueueAssignment{}}
	for _, q := range queues {
		body.MessageQueueAssignments = append(body.MessageQueueAssignments, protocol.QueueAssignment{
			MessageQueue: protocol.MessageQueue{BrokerName: "broker-a", QueueID: int32(q), Topic: topic}, Mode: mode,
		})
	}
	return string(javajson.Marshal(body, javajson.Bare))
}

func TestAssignment(t *testing.T) {
	r := start(t)
	topic, g := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 3, 3 }), r.group()
	check := func(want, client, strategy, model string) {
		t.Helper()
		if d := cmp.Diff(want, r.assignment(topic, g, client, strategy, model)); d != "" {
			t.Fatal(d)
		}
	}
	check("{}", "a", "AVG", "CLUSTERING") // nobody is there
	check(assigned(topic, "PULL", 0, 1, 2), "a", "AVG", "BROADCASTING")
	r.join(r.dial(nil), "a", g, protocol.Clustering)
	check(assigned(topic, "PULL", 0, 1, 2), "a", "AVG", "CLUSTERING")
	r.join(r.dial(nil), "b", g, protocol.Clustering)
	check(assigned(topic, "PULL", 0, 1), "a", "AVG", "CLUSTERING")
	check(assigned(topic, "PULL", 1), "b", "AVG_BY_CIRCLE", "CLUSTERING")
	check(assigned(topic, "PULL"), "stranger", "AVG", "CLUSTERING")
	check("{}", "a", "NOPE", "CLUSTERING")
	if got := r.assignment("none", g, "a", "AVG", "CLUSTERING"); got != "{}" {
		t.Fatal(got)
	}
	if a := r.call(protocol.QueryAssignment, nil); a.Code != protocol.SystemError {
		t.Fatalf("without a body: %d", a.Code)
	}
}

func TestRequestModes(t *testing.T) {
	r := start(t)
	topic, g := r.topic(twoQueues), r.group()
	set := func(topic, group, mode string) answer {
		return r.call(protocol.SetMessageRequestMode, nil, text(fmt.Sprintf(`{"topic":%q,"consumerGroup":%q,"mode":%q,"popShareQueueNum":0}`, topic, group, mode))...)
	}
	set(topic, g, "POP").is(protocol.Success, "")
	set("none", g, "POP").is(protocol.TopicNotExist, "topic[none] not exist")
	set("%RETRY%"+g, g, "POP").is(protocol.NoPermission, "retry topic is not allowed to set mode")
	set(topic, "none", "POP").is(protocol.SubscriptionGroupNotExist, "subscription group [none] does not exist")
	set(topic, g, "PUSH").is(protocol.InvalidParameter, "mode [PUSH] is neither PULL nor POP")
	want := fmt.Sprintf(`{"messageRequestModeMap":{"%[1]s":{"%[2]s":{"consumerGroup":"%[2]s","mode":"POP","popShareQueueNum":0,"topic":"%[1]s"}}}}`, topic, g)
	if got := string(r.success(protocol.GetAllMessageRequestMode, nil).Body); got != want {
		t.Fatal(got)
	}
	r.join(r.dial(nil), "a", g, protocol.Clustering)
	r.join(r.dial(nil), "b", g, protocol.Clustering)
	for _, client := range []string{"a", "b"} {
		if d := cmp.Diff(assigned(topic, "POP", -1), r.assignment(topic, g, client, "AVG", "CLUSTERING")); d != "" {
			t.Fatal(d)
		}
	}
	r.stop()
	if got := string(startWith(t, r.cfg).success(protocol.GetAllMessageRequestMode, nil).Body); got != want {
		t.Fatalf("after a restart %s", got)
	}
}

func TestShareOfPops(t *testing.T) {
	for _, c := range []struct {
		situation       string
		with            int32
		self            string
		queues, members int
		want            []int32
	}{
		{"with all", 0, "m1", 4, 3, []int32{-1}},
		{"with as many as there are", 2, "m1", 4, 3, []int32{-1}},
		{"with the next one", 1, "m1", 4, 4, []int32{1, 2}},
		{"with the next one, round the corner", 1, "m3", 4, 4, []int32{3, 0}},
		{"with two", 2, "m0", 8, 4, []int32{0, 1, 2, 3, 4, 5}},
		{"more members than queues", 1, "m3", 2, 4, []int32{1}},
		{"a stranger", 1, "x", 4, 4, nil},
	} {
		t.Run(c.situation, func(t *testing.T) {
			var queues []protocol.MessageQueue
			for q := range c.queues {
				queues = append(queues, protocol.MessageQueue{BrokerName: "b", QueueID: int32(q), Topic: "T"})
			}
			var members []string
			for m := range c.members {
				members = append(members, fmt.Sprint("m", m))
			}
			mode := &protocol.MessageRequestMode{Mode: protocol.ModePop, PopShareQueueNum: c.with}
			var got []int32
			for _, q := range share(assign.Average{}, mode, c.self, queues, members) {
				got = append(got, q.QueueID)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatal(d)
			}
		})
	}
}

// callerFunc is a name server in a function.
type callerFunc func(req *remoting.Command) (*remoting.Command, error)

func (f callerFunc) Call(_ context.Context, _ string, req *remoting.Command) (*remoting.Command, error) {
	return f(req)
}

func TestReadQueues(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Names.Addrs = []string{"127.0.0.1:1"}
	asked, dead := 0, false
	code := protocol.Success
	r := &readQueues{cfg: config.NewLive(cfg), caller: callerFunc(func(*remoting.Command) (*remoting.Command, error) {
		asked++
		if dead {
			return nil, errors.New("dead")
		}
		return &remoting.Command{Code: code, Body: javajson.Marshal(protocol.TopicRouteData{
			BrokerDatas: []protocol.BrokerData{{BrokerName: "b", BrokerAddrs: map[int64]string{0: "127.0.0.1:2"}}},
			QueueDatas:  []protocol.QueueData{{BrokerName: "b", ReadQueueNums: 2, Perm: protocol.PermRead}},
		}, javajson.Standard)}, nil
	})}
	of := func() (int, error) {
		queues, err := r.Of(context.Background(), "T")
		return len(queues), err
	}
	for range 3 {
		if n, err := of(); n != 2 || err != nil {
			t.Fatalf("%d queues, %v", n, err)
		}
	}
	if asked != 1 {
		t.Fatalf("asked %d times", asked)
	}
	stale := r.known["T"]
	stale.asked = stale.asked.Add(-2 * routeFresh)
	r.known["T"] = stale
	dead = true
	if n, err := of(); n != 2 || err != nil || asked != 2 {
		t.Fatalf("without an answer: %d queues, %v, asked %d times", n, err, asked)
	}
	dead, code = false, protocol.TopicNotExist
	if n, err := of(); n != 0 || err != nil {
		t.Fatalf("of a topic that is gone: %d queues, %v", n, err)
	}
	dead = true
	if _, err := of(); err == nil {
		t.Fatal("nobody answers and nothing is known, but no error")
	}
}
