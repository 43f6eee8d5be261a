// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// proxied is what a proxy adds to a pull in broadcasting mode.
func proxied(client string) ext {
	return ext{"requestSource": protocol.SourceProxyBroadcast, "proxyFrowardClientId": client}
}

func (r *running) broadcastOffset(topic, group string) int64 {
	r.Helper()
	r.broadcast.Settle()
	at, ok := r.offsets.Query(topic, offset.BroadcastGroup(group), 0)
	if !ok {
		return -1
	}
	return at
}

func TestBroadcastPulls(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.fill(topic, 5, "")
	a, b := r.dial(nil), r.dial(nil)
	sub := subscription(t, topic, "*", 1)
	r.join(a, "a", g, protocol.Broadcasting, sub)
	r.join(b, "b", g, protocol.Broadcasting, sub)
	pull := func(c *remoting.Conn, offset int64) string {
		t.Helper()
		return status(r.ask(c, protocol.PullMessage, pullExt(topic, g, offset, ext{"sysFlag": 0})))
	}
	if got := pull(a, 3); got != "0FOUND 5 0 5" {
		t.Fatal(got)
	}
	if got := pull(b, 2); got != "0FOUND 5 0 5" {
		t.Fatal(got)
	}
	if got := r.broadcastOffset(topic, g); got != 2 {
		t.Errorf("the group is at %d", got)
	}
	pull(b, 4)
	if got := r.broadcastOffset(topic, g); got != 3 {
		t.Errorf("the group is at %d", got)
	}
	// A pull that asks for what is not there is told where to go on, and that is where it is.
	if got := pull(a, 99); got != "21OFFSET_OVERFLOW_BADLY 5 0 5" {
		t.Fatal(got)
	}
	if got := r.broadcastOffset(topic, g); got != 4 {
		t.Errorf("the group is at %d", got)
	}
	if got := string(r.success(protocol.QueryTopicConsumeByWho, ext{"topic": topic}).Body); got != `{"groupList":["`+g+`"]}` {
		t.Errorf("groups %s", got)
	}
}

func TestBroadcastThroughProxies(t *testing.T) {
	r := start(t)
	topic, g, c := r.topic(), r.group(), r.dial(nil)
	r.fill(topic, 5, "")
	through := func(offset int64) string { t.Helper(); return status(r.pull(topic, g, offset, proxied("c"))) }
	direct := func(offset int64) string {
		t.Helper()
		return status(r.ask(c, protocol.PullMessage, pullExt(topic, g, offset, ext{"sysFlag": 0})))
	}
	// The first pull of a proxy does not know where to begin: at 0, as the queue is young.
	if got := through(-1); got != "21OFFSET_RESET 0 0 5" {
		t.Fatal(got)
	}
	if got := through(3); got != "0FOUND 5 0 5" {
		t.Fatal(got)
	}
	// The client goes over to the broker, with an old offset in its own file, and back.
	r.join(c, "c", g, protocol.Broadcasting, subscription(t, topic, "*", 1))
	for _, step := range []struct {
		how  func(int64) string
		at   int64
		want string
	}{
		{direct, 1, "21OFFSET_RESET 3 0 5"}, {direct, 3, "0FOUND 5 0 5"}, {direct, 4, "0FOUND 5 0 5"},
		{through, 0, "21OFFSET_RESET 4 0 5"}, {through, 4, "0FOUND 5 0 5"},
	} {
		if got := step.how(step.at); got != step.want {
			t.Fatalf("pull at %d: %s, want %s", step.at, got, step.want)
		}
	}
	// Another client of the group begins where the group is.
	r.broadcast.Settle()
	if got := status(r.pull(topic, g, -1, proxied("new"))); got != "21OFFSET_RESET 4 0 5" {
		t.Error(got)
	}
	r.set(func(c *Config) { c.Offsets.Broadcast = false })
	if got := direct(1); got != "0FOUND 5 0 5" {
		t.Errorf("switched off: %s", got)
	}
}

// A held pull of a broadcasting client counts as well when it is answered.
func TestBroadcastHeldPull(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.fill(topic, 2, "")
	got := r.held(topic, g, 2, time.Minute, proxied("c"))
	r.nowHeld(1)
	if at := r.broadcastOffset(topic, g); at != 2 {
		t.Errorf("while it is held the group is at %d", at)
	}
	r.broadcast.RemoveTopic(topic)
	r.send(topic, "m2", nil)
	if a := <-got; a.bodies() != "m2" {
		t.Fatal(status(a.answer))
	}
	r.offsets.RemoveTopic(topic)
	if at := r.broadcastOffset(topic, g); at != 2 {
		t.Errorf("after it was answered the group is at %d", at)
	}
}

func TestBroadcastProgressGoesWithTopicAndGroup(t *testing.T) {
	r := start(t)
	topic, other, g := r.topic(), r.topic(), r.group()
	for _, name := range []string{topic, other} {
		r.fill(name, 2, "")
		r.pull(name, g, 1, proxied("c"))
		if at := r.broadcastOffset(name, g); at != 1 {
			t.Fatalf("the group is at %d", at)
		}
	}
	r.success(protocol.DeleteTopicInBroker, ext{"topic": topic})
	if at := r.broadcastOffset(topic, g); at != -1 {
		t.Errorf("in a deleted topic the group is at %d", at)
	}
	r.success(protocol.DeleteSubscriptionGroup, ext{"groupName": g, "cleanOffset": true})
	if at := r.broadcastOffset(other, g); at != -1 {
		t.Errorf("the deleted group is at %d", at)
	}
}
