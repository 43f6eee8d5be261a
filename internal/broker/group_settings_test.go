// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// updateGroup changes a group as administrators do.
func (r *running) updateGroup(name string, change func(*protocol.SubscriptionGroupConfig)) {
	r.Helper()
	c := r.groups.Get(name).Clone()
	change(c)
	c.Attributes = nil
	r.success(protocol.UpdateAndCreateSubscriptionGroup, nil, javajson.Marshal(c, javajson.Bare)...)
}

// Each setting of a group that a broker acts on, changed while its member is connected.
func TestGroupSettingsTakeEffect(t *testing.T) {
	r := start(t, func(c *Config) { c.Store.Limits.MemoryRatio, c.Pull.SlaveRead = 0, true })
	topic := r.topic()
	r.fill(topic, 1, "")
	m := r.first(topic, 0)
	for _, c := range []struct {
		setting string
		model   protocol.MessageModel
		change  func(*protocol.SubscriptionGroupConfig)
		see     func(g string) string
		before  string
		after   string
	}{
		{"consumeEnable", protocol.Clustering, func(c *protocol.SubscriptionGroupConfig) { c.ConsumeEnable = false },
			func(g string) string { return protocol.ResponseName(r.pull(topic, g, 0, ext{"sysFlag": 0}).Code) }, "SUCCESS", "NO_PERMISSION"},
		{"consumeBroadcastEnable", protocol.Broadcasting, func(c *protocol.SubscriptionGroupConfig) { c.ConsumeBroadcastEnable = false },
			func(g string) string { return protocol.ResponseName(r.pull(topic, g, 0, ext{"sysFlag": 0}).Code) }, "SUCCESS", "NO_PERMISSION"},
		{"consumeFromMinEnable has no effect, as in RocketMQ", protocol.Clustering, func(c *protocol.SubscriptionGroupConfig) { c.ConsumeFromMinEnable = false },
			func(g string) string { return protocol.ResponseName(r.pull(topic, g, 0, ext{"sysFlag": 0}).Code) }, "SUCCESS", "SUCCESS"},
		{"whichBrokerWhenConsumeSlowly", protocol.Clustering, func(c *protocol.SubscriptionGroupConfig) { c.WhichBrokerWhenConsumeSlowly = 7 },
			func(g string) string { return r.pull(topic, g, 0, nil).ext("suggestWhichBrokerId") }, "1", "7"},
		{"brokerId, with nothing old to read", protocol.Clustering, func(c *protocol.SubscriptionGroupConfig) { c.BrokerID = 3 },
			func(g string) string { return r.pull(topic, g, 1, nil).ext("suggestWhichBrokerId") }, "0", "3"},
		{"groupSysFlag", protocol.Clustering, func(c *protocol.SubscriptionGroupConfig) { c.GroupSysFlag = 1 },
			func(g string) string { return r.pull(topic, g, 0, nil).ext("groupSysFlag") }, "0", "1"},
		{"retryMaxTimes", protocol.Clustering, func(c *protocol.SubscriptionGroupConfig) { c.RetryMaxTimes = 0 },
			func(g string) string {
				r.sendBack(&m, g, 0, protocol.CurrentVersion, nil)
				if r.topics.Get(protocol.DeadLetterTopic(g)) != nil {
					return "dead"
				}
				return "comes back"
			}, "comes back", "dead"},
	} {
		t.Run(c.setting, func(t *testing.T) {
			g := r.group()
			r.join(r.dial(nil), "c", g, c.model, subscription(t, topic, "*", 1))
			if got := c.see(g); got != c.before {
				t.Errorf("before: %s, want %s", got, c.before)
			}
			r.updateGroup(g, c.change)
			if got := c.see(g); got != c.after {
				t.Errorf("after: %s, want %s", got, c.after)
			}
		})
	}
}

// What the broker only keeps, for clients of the proxy: it comes back as it was set.
func TestGroupSettingsForOthers(t *testing.T) {
	r := start(t)
	for situation, change := range map[string]func(*protocol.SubscriptionGroupConfig){
		"order": func(c *protocol.SubscriptionGroupConfig) { c.ConsumeMessageOrderly = true },
		"a policy of growing delays": func(c *protocol.SubscriptionGroupConfig) {
			c.GroupRetryPolicy = &protocol.GroupRetryPolicy{Type: protocol.RetryExponential,
				ExponentialRetryPolicy: &protocol.ExponentialRetryPolicy{Initial: 1000, Max: 60_000, Multiplier: 3}}
		},
		"a policy of given delays": func(c *protocol.SubscriptionGroupConfig) {
			c.GroupRetryPolicy = &protocol.GroupRetryPolicy{Type: protocol.RetryCustomized,
				CustomizedRetryPolicy: &protocol.CustomizedRetryPolicy{Next: []int64{1000, 2000}}}
		},
		"a time-out": func(c *protocol.SubscriptionGroupConfig) { c.ConsumeTimeoutMinute = 99 },
	} {
		t.Run(situation, func(t *testing.T) {
			g := r.group()
			r.updateGroup(g, change)
			want := protocol.NewSubscriptionGroupConfig(g)
			change(want)
			got := new(protocol.SubscriptionGroupConfig)
			r.success(protocol.GetSubscriptionGroupConfig, ext{"group": g}).decode(got)
			if string(javajson.Marshal(got, javajson.Bare)) != string(javajson.Marshal(want, javajson.Bare)) {
				t.Errorf("got  %s\nwant %s", javajson.Marshal(got, javajson.Bare), javajson.Marshal(want, javajson.Bare))
			}
		})
	}
}

// A group that wants more queues for its retries has them at once, also those that members read; what comes back would
// otherwise go to queues that nobody reads.
func TestRetryQueuesGrow(t *testing.T) {
	r := start(t)
	topic, g, c := r.topic(), r.group(), r.dial(nil)
	r.join(c, "c", g, protocol.Clustering, subscription(t, topic, "*", 1))
	retry := protocol.RetryTopic(g)
	queues := func() [2]int32 {
		t := r.topics.Get(retry)
		return [2]int32{t.ReadQueueNums, t.WriteQueueNums}
	}
	if got := queues(); got != [2]int32{1, 1} {
		t.Fatalf("at first %v", got)
	}
	r.updateGroup(g, func(c *protocol.SubscriptionGroupConfig) { c.RetryQueueNums = 4 })
	if got := queues(); got != [2]int32{4, 4} {
		t.Fatalf("after the change %v", got)
	}
	// Fewer queues again leave the topic alone: there may be messages in all of them.
	r.updateGroup(g, func(c *protocol.SubscriptionGroupConfig) { c.RetryQueueNums = 2 })
	r.join(c, "c", g, protocol.Clustering, subscription(t, topic, "*", 2))
	if got := queues(); got != [2]int32{4, 4} {
		t.Fatalf("after the second change %v", got)
	}
	if r.topics.Get(protocol.RetryTopic(r.group())) != nil {
		t.Error("a retry topic was made for a group that never had a member")
	}
}

func TestMembersAreNotToldWhenTheGroupDoesNotWantIt(t *testing.T) {
	r := start(t)
	silent := r.group(func(c *protocol.SubscriptionGroupConfig) { c.NotifyConsumerIDsChangedEnable = false })
	told, news := r.group(), make(joinedNews, 100)
	r.join(r.dial(news), "first", silent, protocol.Clustering)
	r.join(r.dial(news), "first", told, protocol.Clustering)
	// Members are told of all groups that changed before they are told of one that changes later.
	for range 3 {
		for len(news) > 0 {
			<-news
		}
		r.join(r.dial(nil), "another", silent, protocol.Clustering)
		r.join(r.dial(nil), "another", told, protocol.Clustering)
		if g := <-news; g != told {
			t.Fatalf("told of %s, which does not want it", g)
		}
	}
}

// A topic with one queue, for a whole in order, locked by one member after another.
func TestGloballyOrderedTopic(t *testing.T) {
	r := start(t)
	topic := r.topic(func(c *protocol.TopicConfig) { c.Order = true })
	g := r.group()
	queue := `{"brokerName":"broker-a","queueId":0,"topic":"` + topic + `"}`
	holder := func(client, want string) {
		t.Helper()
		got := string(r.success(protocol.LockBatchMQ, nil, lockBody(g, client, queue)...).Body)
		if got != `{"lockOKMQSet":[`+want+`]}` {
			t.Fatalf("%s: %s", client, got)
		}
	}
	holder("a", queue)
	holder("b", "")
	r.fill(topic, 20, "")
	if a := r.pull(topic, g, 0, nil); a.bodies() != "m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19" {
		t.Errorf("order %s", a.bodies())
	}
	r.success(protocol.UnlockBatchMQ, nil, lockBody(g, "a", queue)...)
	holder("b", queue)
	holder("a", "")
	// A lock that was not renewed in time is as good as none.
	r.locks.Lock(g, "b", []protocol.MessageQueue{{BrokerName: "broker-a", Topic: topic}}, time.Now().Add(-2*group.LockLife))
	holder("a", queue)
}
