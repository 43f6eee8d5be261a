// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

func lightQueues(c *Config) {
	c.Store.Light.Enable, c.Store.Light.Dispatch = true, true
}

// The answers are those of RocketMQ 5.5.0.
func TestLightTopics(t *testing.T) {
	r := start(t, lightQueues)
	topic := r.topic()
	for range 3 {
		r.send(topic, "both", props("TAGS=A INNER_MULTI_DISPATCH=%LMQ%a,%LMQ%b"))
	}
	r.send(topic, "one", props("TAGS=B INNER_MULTI_DISPATCH=%LMQ%a"))
	r.readable("%LMQ%a", 0, 4)
	for _, tt := range []struct {
		topic, group string
		offset       int64
		more         ext
		want, bodies string
	}{
		{"%LMQ%a", "G1", 0, nil, "0FOUND 4 0 4", "both both both one"},
		{"%LMQ%a", "%LMQ%g", 3, nil, "0FOUND 4 0 4", "one"},
		{"%LMQ%a", "G1", 0, ext{"subscription": "B"}, "0FOUND 4 0 4", "one"},
		{"%LMQ%b", "G1", 0, nil, "0FOUND 3 0 3", "both both both"},
		{"%LMQ%a", "G1", 99, nil, "21OFFSET_OVERFLOW_BADLY 4 0 4", ""},
		{"%LMQ%none", "G1", 0, nil, "19NO_MESSAGE_IN_QUEUE 0 0 0", ""},
	} {
		a := r.pull(tt.topic, tt.group, tt.offset, tt.more)
		if got := status(a); got != tt.want || a.bodies() != tt.bodies {
			t.Errorf("pull of %s at %d by %s %v: %s %q, want %s %q", tt.topic, tt.offset, tt.group, tt.more, got, a.bodies(), tt.want, tt.bodies)
		}
	}
	if a := r.pull("%LMQ%a", "G1", 0, ext{"queueId": 1}); a.Code != protocol.InvalidParameter || !strings.Contains(a.Remark, "queueId[1] is illegal, topic:[%LMQ%a] topicConfig.readQueueNums:[1]") {
		t.Errorf("queue 1: %d %s", a.Code, a.Remark)
	}
	if a := r.trySend("%LMQ%direct", "x", ext{"e": 1}); a.Code != protocol.InvalidParameter {
		t.Errorf("send to queue 1: %d %s", a.Code, a.Remark)
	}
	r.send("%LMQ%direct", "x", nil)
	if a := r.first("%LMQ%direct", 0); string(a.Topic) != "%LMQ%direct" {
		t.Errorf("sent to a light topic: %s", a.Topic)
	}
	for _, delay := range []string{"", " DELAY=1"} {
		if a := r.trySend(topic, "x", props("INNER_MULTI_DISPATCH=%LMQ%a,plain"+delay)); a.Code != protocol.MessageIllegal || !strings.Contains(a.Remark, `"plain"`) {
			t.Errorf("a list of names that are not light queues%s: %d %s", delay, a.Code, a.Remark)
		}
	}

	if got := string(r.success(protocol.GetTopicConfig, ext{"topic": "%LMQ%a"}).Body); !strings.Contains(got, `"readQueueNums":1`) || !strings.Contains(got, `"perm":6`) {
		t.Errorf("settings of the topic: %s", got)
	}
	r.success(protocol.UpdateAndCreateTopic, ext{"topic": "%LMQ%a", "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6,
		"topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": false})
	for code, what := range map[int32]string{protocol.GetAllTopicConfig: `"topicName":"%LMQ%`, protocol.GetAllSubscriptionGroupConfig: `"groupName":"%LMQ%`} {
		if got := string(r.success(code, nil).Body); strings.Contains(got, what) {
			t.Errorf("%s names light ones: %s", protocol.CodeName(code), got)
		}
	}
	if got := r.assignment("%LMQ%a", "%LMQ%g", "c", "AVG", "BROADCASTING"); got != assigned("%LMQ%a", "PULL", 0) {
		t.Errorf("assigned: %s", got)
	}
}

// A pull that is held for a light topic ends when a message comes that is sent elsewhere.
func TestLightTopicLongPoll(t *testing.T) {
	r := start(t, lightQueues)
	topic := r.topic()
	r.send(topic, "old", props("INNER_MULTI_DISPATCH=%LMQ%a"))
	r.readable("%LMQ%a", 0, 1)
	held := r.held("%LMQ%a", "G1", 1, time.Minute, nil)
	r.nowHeld(1)
	r.send(topic, "new", props("INNER_MULTI_DISPATCH=%LMQ%a"))
	if a := <-held; a.bodies() != "new" {
		t.Errorf("%s with %q", status(a.answer), a.bodies())
	}
}

// A delayed message is in its light queues when its time has come. RocketMQ then writes its properties anew: it loses its
// level, and says that nobody waits for it.
func TestLightTopicAfterDelay(t *testing.T) {
	r := start(t, lightQueues)
	topic := r.topic()
	r.send(topic, "later", props("INNER_MULTI_DISPATCH=%LMQ%a DELAY=1 UNIQ_KEY=K"))
	m := r.first("%LMQ%a", 0)
	want := "MSG_REGION\x01DefaultRegion\x02UNIQ_KEY\x01K\x02CLUSTER\x01DefaultCluster\x02INNER_MULTI_QUEUE_OFFSET\x010\x02WAIT\x01false\x02" +
		"TRACE_ON\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a\x02REAL_TOPIC\x01" + topic + "\x02REAL_QID\x010\x02"
	if string(m.Topic) != topic || string(m.Properties) != want {
		t.Errorf("delivered to %s with\n     %q,\nwant %q", m.Topic, m.Properties, want)
	}
}

// Progress is kept where a RocketMQ broker with light queues has it. When they are switched on it begins with what was
// known before.
func TestLightOffsets(t *testing.T) {
	r := start(t)
	topic := r.topic()
	group := r.group()
	r.commit(topic, group, 0, 7).is(protocol.Success, "")
	r.stop()
	cfg := r.cfg
	lightQueues(&cfg)
	r = startWith(t, cfg)
	r.send(topic, "x", props("INNER_MULTI_DISPATCH=%LMQ%a"))
	r.readable("%LMQ%a", 0, 1)
	r.committed(topic, group, 0, nil).offset("7")
	r.commit("%LMQ%a", "%LMQ%g", 0, 5).is(protocol.Success, "")
	r.commit("%LMQ%a", group, 0, 6).is(protocol.Success, "")
	r.commit(topic, "%LMQ%g", 0, 4).is(protocol.Success, "")
	r.committed("%LMQ%a", "%LMQ%h", 0, nil).offset("0") // a new group
	r.stop()
	b, err := os.ReadFile(filepath.Join(cfg.Store.Root, "config", "lmqConsumerOffset.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\"lmqOffsetTable\":{\n\"%LMQ%a@%LMQ%g\":5}", "\"%LMQ%a@" + group + "\":{0:6}", "\"" + topic + "@%LMQ%g\":{0:4}"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the file has no %s:\n%s", want, b)
		}
	}
	r = startWith(t, cfg)
	r.committed("%LMQ%a", "%LMQ%g", 0, nil).offset("5")
	r.committed("%LMQ%a", group, 0, nil).offset("6")
	r.committed(topic, group, 0, nil).offset("7")
	r.committed(topic, "%LMQ%g", 0, nil).offset("4")
}

// Without the settings the property says nothing, and names that begin so are names like others.
func TestNoLightTopics(t *testing.T) {
	r := start(t)
	topic := r.topic()
	r.send(topic, "x", props("INNER_MULTI_DISPATCH=%LMQ%a,plain"))
	if m := r.first(topic, 0); strings.Contains(string(m.Properties), "INNER_MULTI_QUEUE_OFFSET") {
		t.Errorf("stored with %q", m.Properties)
	}
	if a := r.pull("%LMQ%a", "G1", 0, nil); a.Code != protocol.TopicNotExist {
		t.Errorf("pull: %s", status(a))
	}
}

// nobody does not want to know what became of an append.
type nobody struct{}

func (nobody) Appended(*store.Appended) {}
func (nobody) Flush()                   {}

// A level above the highest, of a table that was longer when the message was sent, is the highest.
func TestDelayLevelsAboveTheHighest(t *testing.T) {
	r := start(t, func(c *Config) { c.Send.DelayLevels = "1h 2h" })
	for _, level := range []string{"1", "2", "3", "100"} {
		topic := "SCHEDULE_TOPIC_XXXX"
		want := 2 * time.Hour
		if level == "1" {
			want = time.Hour
		}
		_, at := r.store.QueueRange(topic, 7)
		m := &store.Message{Topic: topic, QueueID: 7, StoreHost: r.sender.storeHost, BornHost: r.sender.storeHost, Body: []byte("x"), Properties: propertyText("DELAY=" + level)}
		r.store.Append(m, nobody{})
		r.store.Commit()
		r.readable(topic, 7, at+1)
		e := r.store.Entries(topic, 7, at, 1)[0]
		if due := e.TagsCode - r.store.TimeOf(topic, 7, at); due != want.Milliseconds() {
			t.Errorf("level %s is due after %d ms, want %v", level, due, want)
		}
	}
}
