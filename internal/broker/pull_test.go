// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// status is what a pull's answer says: code, status name, next, first, end.
func status(a answer) string {
	return fmt.Sprint(a.Code, a.Remark, " ", a.ext("nextBeginOffset"), " ", a.ext("minOffset"), " ", a.ext("maxOffset"))
}

func TestPullFound(t *testing.T) {
	r := start(t)
	topic := r.topic(func(c *protocol.TopicConfig) { c.TopicSysFlag = 1 })
	group := r.group(func(c *protocol.SubscriptionGroupConfig) { c.GroupSysFlag = 1 })
	r.fill(topic, 3, "")
	a := r.pull(topic, group, 0, nil)
	got := map[string]string{}
	for _, f := range a.Fields {
		got[string(f.Key)] = string(f.Value)
	}
	want := map[string]string{"groupSysFlag": "1", "maxOffset": "3", "minOffset": "0", "nextBeginOffset": "3", "suggestWhichBrokerId": "0", "topicSysFlag": "1"}
	if a.Code != protocol.Success || a.Remark != "FOUND" || !maps.Equal(got, want) {
		t.Errorf("answer %d %q %v, want FOUND %v", a.Code, a.Remark, got, want)
	}
	if a.bodies() != "m0 m1 m2" {
		t.Errorf("messages %q", a.bodies())
	}
}

func TestPullAtEveryPlaceOfTheOffset(t *testing.T) {
	r := start(t)
	used, empty, group := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 2, 2 }), r.topic(), r.group()
	r.fill(used, 2, "")
	tests := []struct {
		situation string
		topic     string
		queue     int32
		offset    int64
		want      string
	}{
		{"offset = max", used, 0, 2, "19OFFSET_OVERFLOW_ONE 2 0 2"},
		{"offset > max", used, 0, 3, "21OFFSET_OVERFLOW_BADLY 2 0 2"},
		{"largest offset", used, 0, math.MaxInt64, "21OFFSET_OVERFLOW_BADLY 2 0 2"},
		{"negative offset", used, 0, -1, "21OFFSET_TOO_SMALL 0 0 2"},
		{"never used, offset 0", empty, 0, 0, "19NO_MESSAGE_IN_QUEUE 0 0 0"},
		{"never used, another offset", empty, 0, 5, "21NO_MESSAGE_IN_QUEUE 0 0 0"},
		{"never used, negative offset", empty, 0, -1, "21NO_MESSAGE_IN_QUEUE 0 0 0"},
		{"empty queue of a used topic", used, 1, 0, "19NO_MESSAGE_IN_QUEUE 0 0 0"},
		{"empty queue of a used topic, another offset", used, 1, 5, "21NO_MESSAGE_IN_QUEUE 0 0 0"},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			if got := status(r.pull(tt.topic, group, tt.offset, ext{"queueId": tt.queue})); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPullRefusals(t *testing.T) {
	r := start(t)
	topic, group := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 2, 4 }), r.group()
	unreadable := r.topic(func(c *protocol.TopicConfig) { c.Perm = protocol.PermWrite })
	disabled := r.group(func(c *protocol.SubscriptionGroupConfig) { c.ConsumeEnable = false })
	noBroadcast := r.group(func(c *protocol.SubscriptionGroupConfig) { c.ConsumeBroadcastEnable = false })
	online, elsewhere := r.group(), r.group()
	c := r.dial(nil)
	r.join(c, "c1", noBroadcast, protocol.Broadcasting, subscription(t, topic, "*", 1))
	r.join(c, "c1", online, protocol.Clustering, subscription(t, topic, "*", 100))
	r.join(c, "c1", elsewhere, protocol.Clustering, subscription(t, unreadable, "*", 1))
	fromHeartbeat := ext{"sysFlag": 0}
	tests := []struct {
		situation, topic, group string
		more                    ext
		code                    int32
		remark                  string
		forbidden               string
	}{
		{"queue above the read queues", topic, group, ext{"queueId": 2}, protocol.InvalidParameter,
			"queueId[2] is illegal, topic:[" + topic + "] topicConfig.readQueueNums:[2] consumer:[127.0.0.1:", ""},
		{"negative queue", topic, group, ext{"queueId": -1}, protocol.InvalidParameter, "queueId[-1] is illegal", ""},
		{"unknown topic", "Nowhere", group, nil, protocol.TopicNotExist, "topic[Nowhere] not exist, apply first please!" + helpSuffix, ""},
		{"topic not readable", unreadable, group, nil, protocol.NoPermission, "the topic[" + unreadable + "] pulling message is forbidden", "3"},
		{"group disabled", topic, disabled, nil, protocol.NoPermission, "subscription group no permission, " + disabled, "2"},
		{"illegal group", topic, "no such!", nil, protocol.SubscriptionGroupNotExist, "subscription group [no such!] does not exist, " + helpSuffix, ""},
		{"nobody online", topic, group, fromHeartbeat, protocol.SubscriptionNotExist, "the consumer's group info not exist" + helpSuffix, ""},
		{"topic not subscribed", topic, elsewhere, fromHeartbeat, protocol.SubscriptionNotExist, "the consumer's subscription not exist" + helpSuffix, ""},
		{"newer subscription than the heartbeat's", topic, online, ext{"sysFlag": 0, "subVersion": 101}, protocol.SubscriptionNotLatest, "the consumer's subscription not latest", ""},
		{"same version", topic, online, ext{"sysFlag": 0, "subVersion": 100}, protocol.PullNotFound, "NO_MESSAGE_IN_QUEUE", ""},
		{"older version", topic, online, ext{"sysFlag": 0, "subVersion": 99}, protocol.PullNotFound, "NO_MESSAGE_IN_QUEUE", ""},
		{"broadcast not allowed", topic, noBroadcast, fromHeartbeat, protocol.NoPermission, "the consumer group[" + noBroadcast + "] can not consume by broadcast way", "4"},
		{"nothing but bars", topic, group, ext{"subscription": "||"}, protocol.SubscriptionParseFailed, "parse the consumer's subscription failed", ""},
		{"SQL92", topic, group, ext{"subscription": "a > 1", "expressionType": "SQL92"}, protocol.SystemError,
			"The broker does not support consumer to filter message by SQL92", ""},
		{"a field missing", topic, group, ext{"queueOffset": nil}, protocol.SystemError, "header field queueOffset", ""},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			a := r.pull(tt.topic, tt.group, 0, tt.more)
			if a.Code != tt.code || !strings.HasPrefix(a.Remark, tt.remark) {
				t.Errorf("answer %d %q, want %d %q", a.Code, a.Remark, tt.code, tt.remark)
			}
			if got := a.ext("forbiddenType"); got != tt.forbidden {
				t.Errorf("forbiddenType %q, want %q", got, tt.forbidden)
			}
		})
	}
}

func TestSettingsThatRefusePulls(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	tests := []struct {
		situation string
		change    func(*Config)
		code      int32 // of the request
		remark    string
		forbidden string
	}{
		{"broker not readable", func(c *Config) { c.Identity.Perm = 2 }, protocol.PullMessage, "the broker[127.0.0.1] pulling message is forbidden", "1"},
		{"lite pulls off", func(c *Config) { c.Pull.LitePull = false }, protocol.LitePullMessage, "the broker[127.0.0.1] for lite pull consumer is forbidden", "1"},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			before := *r.Config()
			r.set(tt.change)
			defer r.set(func(c *Config) { *c = before })
			a := r.call(tt.code, pullExt(topic, group, 0, nil))
			if a.Code != protocol.NoPermission || a.Remark != tt.remark || a.ext("forbiddenType") != tt.forbidden {
				t.Errorf("answer %d %q %s", a.Code, a.Remark, a.ext("forbiddenType"))
			}
		})
	}
	r.set(func(c *Config) { c.Groups.AutoCreate = false })
	if a := r.pull(topic, name("G"), 0, nil); a.Code != protocol.SubscriptionGroupNotExist {
		t.Errorf("unknown group, none created: %d", a.Code)
	}
	if a := r.pull(topic, "CID_RMQ_SYS_x", 0, nil); a.Code != protocol.PullNotFound {
		t.Errorf("system group: %d %s", a.Code, a.Remark)
	}
	if r.set(func(c *Config) { c.Groups.RejectPull = true }); r.pull(topic, group, 0, nil).Code != protocol.SubscriptionNotExist {
		t.Error("rejectPullConsumerEnable lets a stranger pull")
	}
}

func TestPullByTags(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	for _, tag := range []string{"A", "B", "A", "C", "BB", ""} {
		pairs := ""
		if tag != "" {
			pairs = "TAGS=" + tag
		}
		r.send(topic, "x", props(pairs))
	}
	r.readable(topic, 0, 6)
	for expression, want := range map[string]string{
		"*":        "0FOUND 6 0 6 [0 1 2 3 4 5]",
		"":         "0FOUND 6 0 6 [0 1 2 3 4 5]",
		"A || C":   "0FOUND 6 0 6 [0 2 3]",
		"  A  ":    "0FOUND 6 0 6 [0 2]",
		"||A||":    "0FOUND 6 0 6 [0 2]",
		"Aa":       "0FOUND 6 0 6 [4]", // of one hash with BB
		"none":     "20NO_MATCHED_MESSAGE 6 0 6 []",
		" || ":     "20NO_MATCHED_MESSAGE 6 0 6 []",
		"A|B":      "20NO_MATCHED_MESSAGE 6 0 6 []",
		"A || A":   "0FOUND 6 0 6 [0 2]",
		"C||\t\n ": "0FOUND 6 0 6 [3]",
	} {
		t.Run(expression, func(t *testing.T) {
			a := r.pull(topic, group, 0, ext{"subscription": expression})
			offsets := []int64{}
			for _, m := range a.records() {
				offsets = append(offsets, m.QueueOffset)
			}
			if got := status(a) + " " + fmt.Sprint(offsets); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestPullUsesTheHeartbeatsSubscription(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.send(topic, "a", props("TAGS=A"))
	r.send(topic, "b", props("TAGS=B"))
	r.readable(topic, 0, 2)
	r.join(r.dial(nil), "c1", group, protocol.Clustering, subscription(t, topic, "B", 7))
	if a := r.pull(topic, group, 0, ext{"sysFlag": 0, "subVersion": 7}); a.bodies() != "b" {
		t.Errorf("pulled %q", a.bodies())
	}
}

func TestPullLimits(t *testing.T) {
	r := start(t)
	topic, large, group := r.topic(), r.topic(), r.group()
	var items []message.BatchItem
	for range 1000 {
		items = append(items, item("x", "TAGS=A"))
	}
	for part := range slices.Chunk(items, 100) {
		r.success(protocol.SendBatchMessage, sendExt(topic, ext{"m": true}), []byte(batchOf(part...))...)
	}
	r.readable(topic, 0, 1000)
	for asked, want := range map[int]int{64: 32, 32: 32, 5: 5, 1: 1, 0: 1, -1: 1, 1 << 30: 32} {
		if n := len(r.pull(topic, group, 0, ext{"maxMsgNums": asked}).records()); n != want {
			t.Errorf("asked for %d messages, got %d, want %d", asked, n, want)
		}
	}
	if got := status(r.pull(topic, group, 0, ext{"subscription": "B"})); got != "20NO_MATCHED_MESSAGE 800 0 1000" {
		t.Errorf("a filter that nothing matches: %s", got)
	}
	for _, kib := range []int{100, 100, 100, 300} {
		r.send(large, strings.Repeat("x", kib<<10), nil)
	}
	r.readable(large, 0, 4)
	if n := len(r.pull(large, group, 0, nil).records()); n != 2 {
		t.Errorf("%d messages of 100 KiB in one answer, want 2", n)
	}
	if n := len(r.pull(large, group, 3, nil).records()); n != 1 {
		t.Errorf("%d messages of 300 KiB in one answer, want 1", n)
	}
}

func TestPullCommits(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.fill(topic, 3, "")
	for _, tt := range []struct {
		situation      string
		flag           int32
		offset, commit int64
		want           int64
	}{
		{"with messages", 5, 0, 2, 2},
		{"when nothing is found", 5, 3, 3, 3},
		{"back", 5, 0, 1, 1},
		{"not asked to", 4, 0, 3, 1},
	} {
		r.pull(topic, group, tt.offset, ext{"sysFlag": tt.flag, "commitOffset": tt.commit})
		if got, _ := r.offsets.Query(topic, group, 0); got != tt.want {
			t.Errorf("%s: committed %d, want %d", tt.situation, got, tt.want)
		}
	}
}

// A reset by an administrator reaches the consumer with its next pull, once. The offset that this pull carries is stored,
// as in RocketMQ; the consumer commits the one it was told.
func TestPullAfterReset(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.fill(topic, 5, "")
	r.offsets.Commit(topic, group, 0, 5)
	r.offsets.Reset(topic, group, 0, 2)
	a := r.pull(topic, group, 5, ext{"sysFlag": 7, "commitOffset": 5, "suspendTimeoutMillis": 10000})
	if got := status(a); got != "21OFFSET_RESET 2 0 5" {
		t.Errorf("first pull: %s", got)
	}
	if at, _ := r.offsets.Query(topic, group, 0); at != 5 {
		t.Errorf("committed %d, want the 5 of the pull", at)
	}
	if a := r.pull(topic, group, 2, nil); a.bodies() != "m2 m3 m4" {
		t.Errorf("second pull: %s %q", status(a), a.bodies())
	}
}
