// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// oldVersion is a client below V3_4_9, whose own maximum does not count.
const oldVersion = 100

func (r *running) sendBack(m *message.Record, group string, level int32, version int32, more ext) answer {
	r.Helper()
	e := ext{
		"offset": m.PhysicalOffset, "group": group, "delayLevel": level, "originMsgId": "x", "originTopic": string(m.Topic), "unitMode": false,
	}
	maps.Copy(e, more)
	return r.callAs(version, &remoting.Command{Code: protocol.ConsumerSendMsgBack, Fields: e.fields()})
}

// staged gives the last message in the staging queue of a level.
func (r *running) staged(level int) *message.Record {
	r.Helper()
	_, end := r.store.QueueRange(protocol.TopicSchedule, int32(level-1))
	if end == 0 {
		return nil
	}
	a := r.pull(protocol.TopicSchedule, protocol.GroupTools, end-1, ext{"queueId": level - 1})
	return &a.records()[0]
}

func propertiesOf(m *message.Record, without ...string) map[string]string {
	p := message.ParseProperties(m.Properties)
	for _, name := range without {
		delete(p, name)
	}
	return p
}

func TestSendBack(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.send(topic, "x", props("TAGS=A KEYS=k UNIQ_KEY=u"))
	m := r.first(topic, 0)
	if a := r.sendBack(&m, group, 0, protocol.CurrentVersion, nil); a.Code != protocol.Success || len(a.Fields) != 0 {
		t.Fatalf("answer %d %s %v", a.Code, a.Remark, a.Fields)
	}
	r.readable(protocol.TopicSchedule, 2, 1)
	s := r.staged(3)
	want := map[string]string{
		"CLUSTER": "DefaultCluster", "DELAY": "3", "KEYS": "k", "MSG_REGION": "DefaultRegion", "REAL_QID": "0",
		"REAL_TOPIC": "%RETRY%" + group, "RETRY_TOPIC": topic, "TAGS": "A", "TRACE_ON": "true", "UNIQ_KEY": "u", "WAIT": "false",
		"ORIGIN_MESSAGE_ID": message.OffsetID(m.StoreHost, m.PhysicalOffset),
	}
	if got := propertiesOf(s); !maps.Equal(got, want) {
		t.Errorf("staged with %v, want %v", got, want)
	}
	if s.ReconsumeTimes != 1 || string(s.Body) != "x" {
		t.Errorf("staged %q, reconsumed %d times", s.Body, s.ReconsumeTimes)
	}
	if c := r.topics.Get("%RETRY%" + group); c == nil || c.ReadQueueNums != 1 || c.Perm != 6 {
		t.Errorf("retry topic %+v", c)
	}
}

// The reason that a consumer gives goes with the message; that of an attempt before does not stay.
func TestSendBackReason(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	room := strings.Repeat("x", message.MaxProperties-600)
	for i, tt := range []struct {
		situation  string
		had        string // properties of the message
		level      int32
		reason     any // of the request, nil: none
		want       string
		properties int // that are stored at least, bytes
	}{
		{"a first failure", "", 0, "no such customer", "no such customer", 0},
		{"a dead letter", "", -1, "no such customer", "no such customer", 0},
		{"no reason, as from Java", "", 0, nil, "", 0},
		{"another reason than before", "__FAILURE_REASON=before", 0, "now", "now", 0},
		{"no reason, but there was one before", "__FAILURE_REASON=before", -1, nil, "", 0},
		{"separators and lines", "", 0, "a\x01b\x02c\nd", "a b c d", 0},
		{"long", "", -1, strings.Repeat("y", 40_000), strings.Repeat("y", message.MaxReason-3) + "...", 0},
		{"no room for it", "p=" + room, 0, strings.Repeat("y", 500), "", len(room)},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			r.send(topic, "x", props(tt.had))
			r.readable(topic, 0, int64(i+1))
			m := r.pull(topic, protocol.GroupTools, int64(i), nil).records()[0]
			where, queue := protocol.TopicSchedule, int32(2)
			if tt.level < 0 {
				where, queue = protocol.DeadLetterTopic(group), 0
			}
			_, before := r.store.QueueRange(where, queue)
			if a := r.sendBack(&m, group, tt.level, protocol.CurrentVersion, ext{"failureReason": tt.reason}); a.Code != protocol.Success {
				t.Fatalf("answer %d %s", a.Code, a.Remark)
			}
			r.readable(where, queue, before+1)
			stored := r.pull(where, protocol.GroupTools, before, ext{"queueId": queue}).records()[0]
			got := propertiesOf(&stored)
			if got["__FAILURE_REASON"] != tt.want || got["RETRY_TOPIC"] != topic || len(stored.Properties) < tt.properties {
				t.Errorf("stored with %.600v, want the reason %q", got, tt.want)
			}
		})
	}
}

func TestSendBackLevels(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	for _, tt := range []struct{ consumed, asked, level int }{{0, 0, 3}, {1, 0, 4}, {5, 0, 8}, {15, 0, 18}, {0, 18, 18}, {0, 25, 18}} {
		_, before := r.store.QueueRange(topic, 0)
		r.send(topic, "x", ext{"j": tt.consumed})
		r.readable(topic, 0, before+1)
		m := r.pull(topic, protocol.GroupTools, before, nil).records()[0]
		_, staged := r.store.QueueRange(protocol.TopicSchedule, int32(tt.level-1))
		if a := r.sendBack(&m, group, int32(tt.asked), protocol.CurrentVersion, nil); a.Code != protocol.Success {
			t.Fatalf("consumed %d times, asked for %d: %d %s", tt.consumed, tt.asked, a.Code, a.Remark)
		}
		r.readable(protocol.TopicSchedule, int32(tt.level-1), staged+1)
	}
}

func TestDeadLettersOfSendBacks(t *testing.T) {
	r := start(t)
	topic := r.topic()
	for _, tt := range []struct {
		situation     string
		consumed      int
		level         int32
		limit         any // of the request, nil: none
		version, ofGr int32
		dead          bool
	}{
		{"as often as the request allows", 2, 0, 2, protocol.CurrentVersion, 16, true},
		{"once less", 1, 0, 2, protocol.CurrentVersion, 16, false},
		{"an old client's limit does not count", 2, 0, 2, oldVersion, 16, false},
		{"then the group's does", 16, 0, 99, oldVersion, 16, true},
		{"a new client's counts alone", 16, 0, 99, protocol.CurrentVersion, 16, false},
		{"no limit: the group's", 16, 0, nil, protocol.CurrentVersion, 16, true},
		{"a group without retries", 0, 0, nil, protocol.CurrentVersion, 0, true},
		{"asked for: a negative level", 0, -1, nil, protocol.CurrentVersion, 16, true},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			group := r.group(func(c *protocol.SubscriptionGroupConfig) { c.RetryMaxTimes = tt.ofGr })
			_, before := r.store.QueueRange(topic, 0)
			r.send(topic, "x", ext{"j": tt.consumed, "i": string(propertyText("TAGS=A KEYS=k"))})
			r.readable(topic, 0, before+1)
			m := r.pull(topic, protocol.GroupTools, before, nil).records()[0]
			if a := r.sendBack(&m, group, tt.level, tt.version, ext{"maxReconsumeTimes": tt.limit}); a.Code != protocol.Success {
				t.Fatalf("answer %d %s", a.Code, a.Remark)
			}
			dlq := protocol.DeadLetterTopic(group)
			if c := r.topics.Get(dlq); (c != nil) != tt.dead {
				t.Fatalf("dead-letter topic %v, want one: %t", c, tt.dead)
			}
			if !tt.dead {
				return
			}
			d := r.first(dlq, 0)
			want := map[string]string{
				"CLUSTER": "DefaultCluster", "DELAY": "0", "KEYS": "k", "MSG_REGION": "DefaultRegion", "RETRY_TOPIC": topic,
				"TAGS": "A", "TRACE_ON": "true", "WAIT": "false",
			}
			if got := propertiesOf(&d, "UNIQ_KEY", "ORIGIN_MESSAGE_ID"); !maps.Equal(got, want) {
				t.Errorf("dead letter with %v, want %v", got, want)
			}
			if d.ReconsumeTimes != int32(tt.consumed)+1 {
				t.Errorf("consumed %d times", d.ReconsumeTimes)
			}
			if c := r.topics.Get(dlq); c.Perm != 6 || c.ReadQueueNums != 1 || c.WriteQueueNums != 1 {
				t.Errorf("dead-letter topic %+v", c)
			}
		})
	}
}

// A message that two members had comes back once, whoever gives it back how often, as long as the first copy is on its way; and
// is one dead letter. Another group's copy is its own.
func TestSendBackTwice(t *testing.T) {
	r := start(t, func(c *Config) { c.Send.DelayLevels = "1s 1h" })
	topic, group, other := r.topic(), r.group(), r.group()
	r.send(topic, "x", nil)
	m := r.first(topic, 0)
	back := func(group string, level int32) {
		t.Helper()
		if a := r.sendBack(&m, group, level, protocol.CurrentVersion, nil); a.Code != protocol.Success {
			t.Fatalf("answer %d %s", a.Code, a.Remark)
		}
	}
	staged := func(level int32) int64 {
		_, end := r.store.QueueRange(protocol.TopicSchedule, level-1)
		return end
	}
	for range 3 {
		back(group, 2)
	}
	back(other, 2)
	r.readable(protocol.TopicSchedule, 1, 2)
	if n := staged(2); n != 2 {
		t.Errorf("%d copies of two groups", n)
	}
	third := r.group()
	back(third, 1)
	r.readable("%RETRY%"+third, 0, 1) // it has come: who fails on the old one again gets another
	back(third, 1)
	r.readable("%RETRY%"+third, 0, 2)
	fourth := r.group()
	for range 3 {
		back(fourth, -1)
	}
	r.readable("%DLQ%"+fourth, 0, 1)
	if _, end := r.store.QueueRange("%DLQ%"+fourth, 0); end != 1 {
		t.Errorf("%d dead letters", end)
	}
}

func TestComebacksAreBounded(t *testing.T) {
	var c comebacks
	now := time.Now()
	for i := range int64(maxComebacks) * 3 {
		b := comeback{"G", i}
		if store, exists := c.begin(b, now, remoting.ReplyTo{}); !store || exists {
			t.Fatalf("message %d is known", i)
		}
		c.ended(b, now, now.Add(time.Hour))
	}
	if n := len(c.until); n > maxComebacks {
		t.Errorf("%d are remembered", n)
	}
	last := comeback{"G", maxComebacks*3 - 1}
	if _, exists := c.begin(last, now, remoting.ReplyTo{}); !exists {
		t.Error("the last one is forgotten")
	}
	later := now.Add(time.Hour)
	if store, _ := c.begin(last, later, remoting.ReplyTo{}); !store {
		t.Error("one whose time is over is still known")
	}
	if store, exists := c.begin(last, later, remoting.ReplyTo{}); store || exists {
		t.Error("a second copy, while the first is being stored")
	}
	if waiting := c.ended(last, later, time.Time{}); len(waiting) != 1 {
		t.Errorf("%d wait for it", len(waiting))
	}
	if store, _ := c.begin(last, later, remoting.ReplyTo{}); !store {
		t.Error("one that was not stored is still known")
	}
}

func TestSendBackRefusals(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.send(topic, "x", nil)
	m := r.first(topic, 0)
	nowhere := m
	nowhere.PhysicalOffset = 1 << 50
	if a := r.sendBack(&nowhere, group, 0, protocol.CurrentVersion, nil); a.Code != protocol.SystemError || a.Remark != "look message by offset failed, 1125899906842624" {
		t.Errorf("no such message: %d %q", a.Code, a.Remark)
	}
	for _, at := range []int64{-1, m.PhysicalOffset + 3, math.MaxInt64, math.MinInt64} {
		odd := m
		odd.PhysicalOffset = at
		if a := r.sendBack(&odd, group, 0, protocol.CurrentVersion, nil); a.Code != protocol.SystemError {
			t.Errorf("offset %d: %d %q", at, a.Code, a.Remark)
		}
	}
	none := r.group(func(c *protocol.SubscriptionGroupConfig) { c.RetryQueueNums = 0 })
	if a := r.sendBack(&m, none, 1, protocol.CurrentVersion, nil); a.Code != protocol.Success || r.topics.Get("%RETRY%"+none) != nil {
		t.Errorf("a group that wants no retries: %d %q", a.Code, a.Remark)
	}
	if a := r.sendBack(&m, name("G"), 1, protocol.CurrentVersion, nil); a.Code != protocol.Success {
		t.Errorf("a new group: %d %q", a.Code, a.Remark)
	}
	r.set(func(c *Config) { c.Groups.AutoCreate = false })
	unknown := name("G")
	for what, a := range map[string]answer{
		"send back":           r.sendBack(&m, unknown, 1, protocol.CurrentVersion, nil),
		"send to retry topic": r.trySend("%RETRY%"+unknown, "x", nil),
	} {
		if a.Code != protocol.SubscriptionGroupNotExist || a.Remark != "subscription group not exist, "+unknown+helpSuffix {
			t.Errorf("%s of an unknown group: %d %q", what, a.Code, a.Remark)
		}
	}
	r.set(func(c *Config) { c.Identity.Perm = protocol.PermRead })
	if a := r.sendBack(&m, group, 1, protocol.CurrentVersion, nil); a.Code != protocol.NoPermission {
		t.Errorf("broker not writable: %d %q", a.Code, a.Remark)
	}
}

// A message that comes back twice keeps where it first came from.
func TestRetryTwice(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.send(topic, "x", nil)
	m := r.first(topic, 0)
	begin := time.Now()
	r.sendBack(&m, group, 1, protocol.CurrentVersion, nil)
	retry := protocol.RetryTopic(group)
	first := r.first(retry, 0)
	if took := time.Since(begin); took < 900*time.Millisecond || took > 2200*time.Millisecond {
		t.Errorf("came back after %v, want about a second", took)
	}
	r.sendBack(&first, group, 1, protocol.CurrentVersion, nil)
	r.readable(retry, 0, 2)
	second := r.pull(retry, protocol.GroupTools, 1, nil).records()[0]
	got := propertiesOf(&second)
	if second.ReconsumeTimes != 2 || got["RETRY_TOPIC"] != topic || got["ORIGIN_MESSAGE_ID"] != message.OffsetID(m.StoreHost, m.PhysicalOffset) {
		t.Errorf("second time: reconsumed %d, %v", second.ReconsumeTimes, got)
	}
}

func TestSendsToRetryTopics(t *testing.T) {
	r := start(t)
	for _, tt := range []struct {
		situation string
		consumed  int
		limit     any
		locked    bool
		dead      bool
	}{
		{"as often as the group allows", 16, nil, false, false},
		{"once more", 17, nil, false, true},
		{"as often as the sender allows", 2, 2, false, false},
		{"once more than it allows", 3, 2, false, true},
		{"an ordered consumer holds a queue", 0, nil, true, true},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			group := r.group()
			if tt.locked {
				r.locks.Lock(group, "c1", []protocol.MessageQueue{{Topic: "t", BrokerName: "broker-a"}}, time.Now())
			}
			retry, dlq := protocol.RetryTopic(group), protocol.DeadLetterTopic(group)
			a := r.trySend(retry, "x", ext{"j": tt.consumed, "l": tt.limit, "i": string(propertyText("RETRY_TOPIC=origin DELAY=0"))})
			if a.Code != protocol.Success {
				t.Fatalf("answer %d %s", a.Code, a.Remark)
			}
			if !tt.dead {
				r.readable(retry, 0, 1)
				return
			}
			d := r.first(dlq, 0)
			if got := propertiesOf(&d)["DELAY"]; got != "-1" {
				t.Errorf("dead letter with DELAY=%q, want -1", got)
			}
		})
	}
}

// Retry topics of the longest group that a client may have.
func TestLongestGroup(t *testing.T) {
	r := start(t)
	group := name("G")
	for len(group) < protocol.MaxGroupLength {
		group += "x"
	}
	topic := r.topic()
	r.send(topic, "x", nil)
	m := r.first(topic, 0)
	if a := r.sendBack(&m, group, 1, protocol.CurrentVersion, nil); a.Code != protocol.Success {
		t.Fatalf("answer %d %s", a.Code, a.Remark)
	}
	if back := r.first(protocol.RetryTopic(group), 0); string(back.Body) != "x" {
		t.Errorf("came back: %q", back.Body)
	}
}
