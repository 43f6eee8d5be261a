// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// checkAtOnce has faults of groups found as soon as they are there.
func checkAtOnce(c *Config) {
	c.Groups.Check = CheckConfig{Every: 2 * time.Millisecond, Unconsumed: 5 * time.Millisecond, Stuck: 5 * time.Millisecond}
}

// faults of a group, or of all, as the broker tells them.
func (r *running) faults(group string) []protocol.GroupFault {
	r.Helper()
	var c protocol.GroupCheck
	r.success(protocol.CheckConsumerGroups, ext{"group": group}).decode(&c)
	return c.Faults
}

// comes waits until a group has just that fault, and gives it.
func (r *running) comes(group, kind string) (fault protocol.GroupFault) {
	r.Helper()
	r.until(kind+" of "+group, func() bool {
		all := r.faults(group)
		if len(all) == 1 && all[0].Kind == kind {
			fault = all[0]
			return true
		}
		return false
	})
	r.until("a line in the log", func() bool { return strings.Contains(r.log.String(), "kind="+kind+" group="+group) })
	return fault
}

// goes waits until nothing is wrong with a group.
func (r *running) goes(group string) {
	r.Helper()
	r.until("nothing is wrong with "+group, func() bool { return len(r.faults(group)) == 0 })
}

// gauge gives a metric with a label; -1 when it is not there.
func (r *running) gauge(name, label, value string) float64 {
	r.Helper()
	families, err := r.metrics.registry.(prometheus.Gatherer).Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && l.GetValue() == value {
					return m.GetGauge().GetValue()
				}
			}
		}
	}
	return -1
}

func (r *running) pullAs(c *remoting.Conn, topic, group string, queue int32, offset int64) {
	r.Helper()
	r.ask(c, protocol.PullMessage, pullExt(topic, group, offset, ext{"queueId": queue}))
}

func TestStuckMember(t *testing.T) {
	r := start(t, checkAtOnce)
	topic, g := r.topic(twoQueues), r.group()
	r.fill(topic, 3, "")
	a, b := r.dial(nil), r.dial(nil)
	r.join(a, "a", g, protocol.Clustering, subscription(t, topic, "*", 1))
	r.join(b, "b", g, protocol.Clustering, subscription(t, topic, "*", 1))
	r.pullAs(b, topic, g, 0, 0)
	f := r.comes(g, protocol.FaultStuckMember)
	if f.Topic != topic || !slices.Equal(f.Queues, []int32{0}) || !slices.Equal(f.Clients, []string{"b"}) || f.Waiting != 3 || f.LastPull == 0 || f.Since == 0 {
		t.Errorf("fault %+v", f)
	}
	r.until("the metric", func() bool { return r.gauge("goddard_broker_group_faults", "kind", protocol.FaultStuckMember) == 1 })
	r.commit(topic, g, 0, 3)
	r.goes(g)
	r.until("the metric", func() bool { return r.gauge("goddard_broker_group_faults", "kind", protocol.FaultStuckMember) == 0 })
	r.until("the log", func() bool { return strings.Contains(r.log.String(), "consumer group: a fault is over") })
}

func TestUnconsumedQueue(t *testing.T) {
	r := start(t, checkAtOnce)
	topic, g, c := r.topic(twoQueues), r.group(), r.dial(nil)
	r.send(topic, "x", ext{"e": 1})
	r.readable(topic, 1, 1)
	r.join(c, "a", g, protocol.Clustering, subscription(t, topic, "*", 1))
	r.pullAs(c, topic, g, 0, 0)
	f := r.comes(g, protocol.FaultUnconsumedQueue)
	if f.Topic != topic || !slices.Equal(f.Queues, []int32{1}) || f.Clients != nil || f.Waiting != 1 || f.LastPull != 0 {
		t.Errorf("fault %+v", f)
	}
	// A client that died with the queue locked keeps the member from it.
	r.success(protocol.LockBatchMQ, nil, lockBody(g, "dead", fmt.Sprintf(`{"brokerName":"broker-a","queueId":1,"topic":%q}`, topic))...)
	r.until("the lock is named", func() bool {
		all := r.faults(g)
		return len(all) == 1 && slices.Equal(all[0].Clients, []string{"dead"})
	})
	r.commit(topic, g, 1, 1)
	r.goes(g)
	// Without members there is no fault: nobody is there to consume.
	r.send(topic, "x", ext{"e": 1})
	r.comes(g, protocol.FaultUnconsumedQueue)
	_ = c.Close()
	<-c.Done()
	r.goes(g)
}

func TestUnequalMembers(t *testing.T) {
	r := start(t, checkAtOnce)
	topic, other, g := r.topic(), r.topic(), r.group()
	a, b := r.dial(nil), r.dial(nil)
	r.join(a, "a", g, protocol.Clustering, subscription(t, topic, "A || B", 1), subscription(t, other, "*", 1))
	r.join(b, "b", g, protocol.Clustering, subscription(t, other, "*", 1), subscription(t, topic, "A", 1))
	f := r.comes(g, protocol.FaultUnequalSubscriptions)
	if f.Topic != topic || !slices.Equal(f.Clients, []string{"a", "b"}) || !strings.Contains(f.Text, `a want "A || B"; b want "A"`) {
		t.Errorf("fault %+v", f)
	}
	r.join(b, "b", g, protocol.Clustering, subscription(t, other, "*", 2), subscription(t, topic, "B||A", 2))
	r.goes(g)
}

func TestSharedClientID(t *testing.T) {
	r := start(t, checkAtOnce)
	topic, g := r.topic(), r.group()
	a, b := r.dial(nil), r.dial(nil)
	beat := func(c *remoting.Conn) {
		r.join(c, "1.2.3.4@DEFAULT", g, protocol.Clustering, subscription(t, topic, "*", 1))
	}
	beat(a)
	beat(b)
	r.until("both have beaten since the second came", func() bool { beat(a); beat(b); return len(r.faults(g)) == 1 })
	f := r.comes(g, protocol.FaultSharedClientID)
	if !slices.Equal(f.Clients, []string{"1.2.3.4@DEFAULT"}) || !slices.Equal(f.Addrs, []string{a.LocalAddr(), b.LocalAddr()}) {
		t.Errorf("fault %+v, want %s and %s", f, a.LocalAddr(), b.LocalAddr())
	}
	_ = a.Close()
	<-a.Done()
	r.goes(g)
}

// What is as it should be, or cannot be judged, is not named, however long it lasts.
func TestWhatIsNoFault(t *testing.T) {
	r := start(t, checkAtOnce)
	full, empty := r.topic(), r.topic()
	r.fill(full, 3, "")
	unreadable := r.topic(func(c *protocol.TopicConfig) { c.Perm = protocol.PermWrite })
	r.send(unreadable, "x", nil)
	member := func(g string, model protocol.MessageModel, typ protocol.ConsumeType, topic string) {
		t.Helper()
		r.heartbeat(r.dial(nil), protocol.HeartbeatData{ClientID: "c", ConsumerDataSet: []protocol.ConsumerData{{
			GroupName: g, ConsumeType: typ, MessageModel: model, ConsumeFromWhere: protocol.ConsumeFromLastOffset,
			SubscriptionDataSet: []*protocol.SubscriptionData{subscription(t, topic, "*", 1)},
		}}})
	}
	done := r.group()
	r.commit(full, done, 0, 3)
	forbidden := r.group()
	if err := r.groups.SetReadable(forbidden, full, false); err != nil {
		t.Fatal(err)
	}
	fine := map[string]string{
		"has consumed all": done, "waits for its first message": r.group(), "broadcasts": r.group(), "pulls and commits elsewhere": r.group(),
		"pops": r.group(), "is disabled": r.group(func(c *protocol.SubscriptionGroupConfig) { c.ConsumeEnable = false }),
		"may not read the topic": forbidden, "subscribes to a topic that is not here": r.group(), "and to one that may not be read": r.group(),
	}
	member(fine["has consumed all"], protocol.Clustering, protocol.ConsumePassively, full)
	member(fine["waits for its first message"], protocol.Clustering, protocol.ConsumePassively, empty)
	member(fine["broadcasts"], protocol.Broadcasting, protocol.ConsumePassively, full)
	member(fine["pulls and commits elsewhere"], protocol.Clustering, protocol.ConsumeActively, full)
	member(fine["pops"], protocol.Clustering, protocol.ConsumePop, full)
	member(fine["is disabled"], protocol.Clustering, protocol.ConsumePassively, full)
	member(fine["may not read the topic"], protocol.Clustering, protocol.ConsumePassively, full)
	member(fine["subscribes to a topic that is not here"], protocol.Clustering, protocol.ConsumePassively, "Elsewhere")
	member(fine["and to one that may not be read"], protocol.Clustering, protocol.ConsumePassively, unreadable)
	// A group that came last and has a fault shows that all were looked at for long enough.
	last := r.group()
	member(last, protocol.Clustering, protocol.ConsumePassively, full)
	r.comes(last, protocol.FaultUnconsumedQueue)
	for why, g := range fine {
		if f := r.faults(g); len(f) != 0 {
			t.Errorf("a group that %s: %+v", why, f)
		}
	}
	if all := r.faults(""); len(all) != 1 {
		t.Errorf("of all groups %+v", all)
	}
}

func TestGroupCheckSwitchedOff(t *testing.T) {
	r := start(t, func(c *Config) { c.Groups.Check.Every = 0 })
	if got := string(r.success(protocol.CheckConsumerGroups, nil).Body); got != `{"checkedAt":0,"faults":[],"groups":0,"more":0}` {
		t.Error(got)
	}
}

// Looking at 20,000 groups must be next to nothing.
func BenchmarkGroupCheck(b *testing.B) {
	r := start(b, func(c *Config) { c.Groups.Check.Every = 0 })
	topic := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 8, 8 })
	r.fill(topic, 3, "")
	c, now := r.dial(nil), time.Now()
	var list []*protocol.SubscriptionGroupConfig
	for i := range 20_000 {
		g := fmt.Sprint("G", i)
		list = append(list, protocol.NewSubscriptionGroupConfig(g))
		r.members.Join(group.Client{Conn: c, ID: "c"}, group.Membership{
			Group: g, Type: protocol.ConsumePassively, Model: protocol.Clustering,
			Subscriptions: []*protocol.SubscriptionData{subscription(b, topic, "*", 1)},
		}, now)
		for q := range int32(8) {
			r.offsets.Commit(topic, g, q, 3)
		}
	}
	if err := r.groups.Update(list...); err != nil {
		b.Fatal(err)
	}
	r.set(func(c *Config) { c.Groups.Check.Every = time.Hour })
	b.ReportAllocs()
	for b.Loop() {
		r.trouble.Look(time.Now())
	}
}
