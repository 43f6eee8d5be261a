// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func twoQueues(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 2, 2 }

func TestTopicStats(t *testing.T) {
	r := start(t)
	topic := r.topic(twoQueues)
	r.fill(topic, 2, "")
	var s protocol.TopicStats
	a := r.success(protocol.GetTopicStatsInfo, ext{"topic": topic})
	a.decode(&s)
	q := protocol.MessageQueue{BrokerName: "broker-a", Topic: topic}
	first := s.OffsetTable[q]
	if first.MinOffset != 0 || first.MaxOffset != 2 || first.LastUpdateTimestamp != r.store.TimeOf(topic, 0, 1) {
		t.Errorf("queue 0: %+v", first)
	}
	q.QueueID = 1
	if second, ok := s.OffsetTable[q]; !ok || second != (protocol.TopicOffset{}) || len(s.OffsetTable) != 2 {
		t.Errorf("table %+v", s.OffsetTable)
	}
	if !strings.HasPrefix(string(a.Body), `{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"`+topic+`"}:{"lastUpdateTimestamp":`) {
		t.Errorf("%s", a.Body)
	}
	r.call(protocol.GetTopicStatsInfo, ext{"topic": "none"}).is(protocol.TopicNotExist, "topic[none] not exist")
}

func TestConsumeStats(t *testing.T) {
	r := start(t)
	topic, other, g := r.topic(), r.topic(), r.group()
	r.fill(topic, 3, "")
	r.commit(topic, g, 0, 1)
	r.commit(other, g, 0, 1)
	ask := func(e ext) protocol.ConsumeStats {
		t.Helper()
		var s protocol.ConsumeStats
		r.success(protocol.GetConsumeStats, e).decode(&s)
		return s
	}
	q := protocol.MessageQueue{BrokerName: "broker-a", Topic: topic}
	want := protocol.OffsetWrapper{BrokerOffset: 3, ConsumerOffset: 1, PullOffset: 1, LastTimestamp: r.store.TimeOf(topic, 0, 0)}
	for situation, e := range map[string]ext{
		"of the topic": {"topic": topic}, "of a list": {"topicList": topic + ";none;"}, "list before topic": {"topicList": topic, "topic": other},
	} {
		e["consumerGroup"] = g
		if d := cmp.Diff(map[protocol.MessageQueue]protocol.OffsetWrapper{q: want}, ask(e).OffsetTable); d != "" {
			t.Errorf("%s: %s", situation, d)
		}
	}
	if s := ask(ext{"consumerGroup": g}); len(s.OffsetTable) != 2 {
		t.Errorf("of all topics: %+v", s)
	}
	// How far it has read shows as well; what no member wants any more does not.
	r.pull(topic, g, 1, nil)
	r.join(r.dial(nil), "client", g, protocol.Clustering, subscription(t, topic, "*", 1))
	if s := ask(ext{"consumerGroup": g}); len(s.OffsetTable) != 1 || s.OffsetTable[q].PullOffset != 3 {
		t.Errorf("of subscribed topics: %+v", s)
	}
	if got := string(r.success(protocol.GetConsumeStats, ext{"consumerGroup": "none"}).Body); got != `{"consumeTps":0.0,"offsetTable":{}}` {
		t.Error(got)
	}
	// A group without progress starts at 0.
	if s := ask(ext{"consumerGroup": r.group(), "topic": topic}); s.OffsetTable[q] != (protocol.OffsetWrapper{BrokerOffset: 3}) {
		t.Errorf("a new group: %+v", s)
	}
}

func TestBrokerConsumeStats(t *testing.T) {
	r := start(t)
	topic, ordered, g := r.topic(), r.topic(func(c *protocol.TopicConfig) { c.Order = true }), r.group()
	r.fill(topic, 3, "")
	r.commit(topic, g, 0, 1)
	r.commit(ordered, g, 0, 0)
	r.pull(topic, g, 1, nil)
	for _, c := range []struct {
		order                  bool
		topics, diff, inflight int
	}{{false, 2, 2, 2}, {true, 1, 0, 0}} {
		var s protocol.ConsumeStatsList
		r.success(protocol.GetBrokerConsumeStats, ext{"isOrder": c.order}).decode(&s)
		if s.TotalDiff != int64(c.diff) || s.TotalInflightDiff != int64(c.inflight) || len(s.ConsumeStatsList) != r.groups.Len() || s.BrokerAddr == "" {
			t.Errorf("order %v: %+v", c.order, s)
		}
		for _, m := range s.ConsumeStatsList {
			if list, ok := m[g]; ok && len(list) != c.topics {
				t.Errorf("order %v: %+v", c.order, list)
			}
		}
	}
}

func TestConsumeTimeSpan(t *testing.T) {
	r := start(t)
	topic, g := r.topic(twoQueues), r.group()
	r.fill(topic, 3, "")
	r.commit(topic, g, 0, 2)
	var s protocol.ConsumeTimeSpans
	r.success(protocol.QueryConsumeTimeSpan, ext{"topic": topic, "group": g}).decode(&s)
	if len(s.ConsumeTimeSpanSet) != 2 {
		t.Fatalf("got %+v", s)
	}
	q, empty := s.ConsumeTimeSpanSet[0], s.ConsumeTimeSpanSet[1]
	at := func(offset int64) int64 { return r.store.TimeOf(topic, 0, offset) }
	if q.MinTimeStamp != at(0) || q.ConsumeTimeStamp != at(1) || q.MaxTimeStamp != at(2) || q.DelayTime < 0 || q.DelayTime > 60_000 {
		t.Errorf("queue 0: %+v", q)
	}
	if want := time.UnixMilli(at(0)).Format("2006-01-02#15:04:05") + ":"; !strings.HasPrefix(q.MinTimeStampStr, want) || len(q.MinTimeStampStr) != len(want)+3 {
		t.Errorf("%q, want %q and milliseconds", q.MinTimeStampStr, want)
	}
	if empty.MinTimeStamp != -1 || empty.MaxTimeStamp != -1 || empty.DelayTime != 0 {
		t.Errorf("queue 1: %+v", empty)
	}
	r.call(protocol.QueryConsumeTimeSpan, ext{"topic": "none", "group": g}).is(protocol.TopicNotExist, "topic[none] not exist")
}

func TestBrokerStats(t *testing.T) {
	r := start(t)
	topic, g := r.topic(), r.group()
	r.fill(topic, 2, "")
	r.pull(topic, g, 0, nil)
	r.send(topic, "later", props("DELAY=1"))
	r.readable(topic, 0, 3)
	const cluster, staged = "DefaultCluster", "SCHEDULE_TOPIC_XXXX"
	r.until("the delivery is counted", func() bool { return r.counted("QUEUE_GET_SIZE", staged+"@0@SCHEDULE_CONSUMER") })
	for _, c := range [][2]string{
		{"TOPIC_PUT_NUMS", topic}, {"TOPIC_PUT_SIZE", topic}, {"TOPIC_PUT_LATENCY", "0@" + topic},
		{"GROUP_GET_NUMS", topic + "@" + g}, {"GROUP_GET_SIZE", topic + "@" + g}, {"GROUP_GET_LATENCY", "0@" + topic + "@" + g},
		{"BROKER_PUT_NUMS", cluster}, {"BROKER_GET_NUMS", cluster},
		{"BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC", cluster}, {"BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC", cluster},
		{"BROKER_GET_FROM_DISK_NUMS", cluster}, {"BROKER_GET_FROM_DISK_SIZE", cluster},
		{"TOPIC_PUT_NUMS", staged}, {"QUEUE_PUT_NUMS", staged + "@0"}, {"QUEUE_PUT_SIZE", staged + "@0"},
		{"QUEUE_GET_NUMS", staged + "@0@SCHEDULE_CONSUMER"}, {"QUEUE_GET_SIZE", staged + "@0@SCHEDULE_CONSUMER"},
		{"GROUP_GET_NUMS", staged + "@SCHEDULE_CONSUMER"},
	} {
		r.success(protocol.ViewBrokerStatsData, ext{"statsName": c[0], "statsKey": c[1]})
	}
	r.call(protocol.ViewBrokerStatsData, ext{"statsName": "TOPIC_PUT_NUMS", "statsKey": "none"}).is(protocol.SystemError,
		"The stats <TOPIC_PUT_NUMS> <none> not exist")
	r.call(protocol.ViewBrokerStatsData, ext{"statsName": "NOPE", "statsKey": "x"}).is(protocol.SystemError, "The stats <NOPE> <x> not exist")
	r.success(protocol.DeleteTopicInBroker, ext{"topic": topic})
	if a := r.call(protocol.ViewBrokerStatsData, ext{"statsName": "TOPIC_PUT_NUMS", "statsKey": topic}); a.Code != protocol.SystemError {
		t.Error("a deleted topic is still counted")
	}
}

// A delayed message counts where it was sent when it is delivered there, unless that is switched off.
func TestDelayedMessagesAreCounted(t *testing.T) {
	r := start(t, func(c *Config) { c.Send.DelayLevels = "1s" })
	deliver := func(count bool) (topic string) {
		t.Helper()
		r.set(func(c *Config) { c.Send.DelayStats = count })
		topic = r.topic()
		before := r.delay.Offset(1)
		r.send(topic, "later", props("DELAY=1"))
		r.until("its delivery is over", func() bool { return r.delay.Offset(1) > before })
		return topic
	}
	not, counted := deliver(false), deliver(true)
	r.until("it is counted", func() bool { return r.counted("TOPIC_PUT_NUMS", counted) })
	if r.counted("TOPIC_PUT_NUMS", not) {
		t.Error("counted although it was switched off")
	}
}

func (r *running) counted(name, key string) bool {
	r.Helper()
	return r.call(protocol.ViewBrokerStatsData, ext{"statsName": name, "statsKey": key}).Code == protocol.Success
}

// Messages that are no longer in memory are counted once more when they are read.
func TestReadsFromDiskAreCounted(t *testing.T) {
	r := start(t, func(c *Config) { c.Store.Files.TailBytes = 64 << 10 })
	topic, g := r.topic(), r.group()
	r.fill(topic, 1, "")
	for _, body := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} { // until the tail goes on without m0
		r.send(topic, strings.Repeat(body, 1<<20), nil)
	}
	r.until("the message is no longer in memory", func() bool { return !r.store.Hot(topic, 0, 0) })
	if a := r.pull(topic, g, 0, ext{"maxMsgNums": 1}); a.bodies() != "m0" {
		t.Fatal(status(a))
	}
	for _, name := range []string{"GROUP_GET_FROM_DISK_NUMS", "GROUP_GET_FROM_DISK_SIZE"} {
		r.success(protocol.ViewBrokerStatsData, ext{"statsName": name, "statsKey": topic + "@" + g})
	}
}
