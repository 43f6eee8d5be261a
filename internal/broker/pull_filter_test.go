// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/goddard-mq/goddard/internal/broker/longpoll"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func filtering(c *Config) { c.Filter.Properties = true }

// sql is the part of a pull that brings an expression.
func sql(expression string) ext {
	return ext{"subscription": expression, "expressionType": protocol.ExpressionSQL92}
}

// bySQL is a subscription by an expression, as clients send it.
func bySQL(topic, expression string, version int64) *protocol.SubscriptionData {
	return &protocol.SubscriptionData{
		CodeSet: []int32{}, TagsSet: []string{}, ExpressionType: protocol.ExpressionSQL92, SubString: expression, SubVersion: version, Topic: topic,
	}
}

// fillWith sends a message per text of properties.
func (r *running) fillWith(topic string, messages ...string) {
	r.Helper()
	for _, pairs := range messages {
		r.send(topic, pairs, props(pairs))
	}
	r.readable(topic, 0, int64(len(messages)))
}

func TestPullBySQL(t *testing.T) {
	r := start(t, filtering)
	topic, group := r.topic(), r.group()
	r.fillWith(topic, "a=1", "a=6 b=x", "a=abc b=x", "b=x", "a=7", "TAGS=T a=8 b=x")
	tests := []struct{ expression, want, bodies string }{
		{"a > 5", "0FOUND 6 0 6", "a=6 b=x a=7 TAGS=T a=8 b=x"},
		{"a > 5 AND b = 'x'", "0FOUND 6 0 6", "a=6 b=x TAGS=T a=8 b=x"},
		{"a IS NULL", "0FOUND 6 0 6", "b=x"},
		{"TAGS = 'T'", "0FOUND 6 0 6", "TAGS=T a=8 b=x"},
		{"TRUE", "0FOUND 6 0 6", "a=1 a=6 b=x a=abc b=x b=x a=7 TAGS=T a=8 b=x"},
		{"a > 100", "20NO_MATCHED_MESSAGE 6 0 6", ""},
	}
	for _, tt := range tests {
		a := r.pull(topic, group, 0, sql(tt.expression))
		if got := status(a); got != tt.want || a.bodies() != tt.bodies {
			t.Errorf("%s: %s with %q, want %s with %q", tt.expression, got, a.bodies(), tt.want, tt.bodies)
		}
	}
}

// A filter that wants next to nothing moves on by what one pull looks at, and says so.
func TestPullBySQLMovesOn(t *testing.T) {
	r := start(t, filtering)
	topic, group := r.topic(), r.group()
	r.fill(topic, 1000, "a=1")
	r.send(topic, "wanted", props("a=2"))
	r.readable(topic, 0, 1001)
	if got := status(r.pull(topic, group, 0, sql("a = 2"))); got != "20NO_MATCHED_MESSAGE 800 0 1001" {
		t.Errorf("first pull: %s", got)
	}
	if a := r.pull(topic, group, 800, sql("a = 2")); a.bodies() != "wanted" || a.ext("nextBeginOffset") != "1001" {
		t.Errorf("second pull: %s with %q", status(a), a.bodies())
	}
}

func TestRefusedExpressions(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.fillWith(topic, "a=6")
	c := r.dial(nil)
	r.join(c, "c", group, protocol.Clustering, bySQL(topic, "a > 5", 1))
	const unsupported = "The broker does not support consumer to filter message by "
	heartbeats := ext{"sysFlag": 0, "subscription": "", "expressionType": protocol.ExpressionSQL92}
	tests := []struct {
		situation string
		enabled   bool
		more      ext
		code      int32
		remark    string
	}{
		{"switched off", false, sql("a > 5"), protocol.SystemError, unsupported + "SQL92"},
		{"switched off, and it does not compile", false, sql("a >"), protocol.SystemError, unsupported + "SQL92"},
		{"switched off, of the group", false, heartbeats, protocol.SystemError, unsupported + "SQL92"},
		{"switched on", true, sql("a > 5"), protocol.Success, "FOUND"},
		{"switched on, of the group", true, heartbeats, protocol.Success, "FOUND"},
		{"it does not compile", true, sql("a >"), protocol.SubscriptionParseFailed,
			`parse the consumer's subscription failed: line 1, column 4: found the end, want a property, a value, NOT or "("`},
		{"it is empty", true, sql(""), protocol.SubscriptionParseFailed, "parse the consumer's subscription failed: line 1, column 1: found the end"},
		{"another type", true, ext{"expressionType": "NONE"}, protocol.SystemError, unsupported + "NONE"},
		{"switched off again", false, sql("a > 5"), protocol.SystemError, unsupported + "SQL92"},
	}
	for _, tt := range tests { // the setting changes while the broker runs
		r.success(protocol.UpdateBrokerConfig, nil, text("enablePropertyFilter="+map[bool]string{true: "true", false: "false"}[tt.enabled])...)
		if a := r.pull(topic, group, 0, tt.more); a.Code != tt.code || !strings.HasPrefix(a.Remark, tt.remark) {
			t.Errorf("%s: %d %q, want %d %q", tt.situation, a.Code, a.Remark, tt.code, tt.remark)
		}
	}
}

// The expression comes by heartbeat, and pulls do not bring it.
func TestRegisteredExpressions(t *testing.T) {
	r := start(t, filtering)
	topic, group := r.topic(), r.group()
	r.fillWith(topic, "a=1", "a=6", "a=9")
	c := r.dial(nil)
	pull := func(version int64, code int32, want string) {
		t.Helper()
		a := r.pull(topic, group, 0, ext{"sysFlag": 0, "subVersion": version, "subscription": "", "expressionType": protocol.ExpressionSQL92})
		got := a.Remark
		if a.Code == protocol.Success {
			got = a.bodies()
		}
		if a.Code != code || got != want {
			t.Fatalf("%d %q, want %d %q", a.Code, got, code, want)
		}
	}
	const missing = "The broker's consumer filter data is not exist!Your expression may be wrong!"
	pull(1, protocol.SubscriptionNotExist, "the consumer's group info not exist"+helpSuffix)
	r.join(c, "c", group, protocol.Clustering, bySQL(topic, "a > 5", 5))
	pull(5, protocol.Success, "a=6 a=9")
	pull(4, protocol.Success, "a=6 a=9")
	pull(6, protocol.SubscriptionNotLatest, "the consumer's subscription not latest")
	r.join(c, "c", group, protocol.Clustering, bySQL(topic, "a > 8", 6))
	pull(6, protocol.Success, "a=9")
	r.join(c, "c", group, protocol.Clustering, bySQL(topic, "a >", 7))
	pull(7, protocol.FilterDataNotExist, missing)
	pull(6, protocol.FilterDataNotExist, missing)
	r.join(c, "c", group, protocol.Clustering, bySQL(topic, "", 8))
	pull(8, protocol.FilterDataNotExist, missing)
	r.join(c, "c", group, protocol.Clustering, bySQL(topic, "a IS NOT NULL", 9))
	pull(9, protocol.Success, "a=1 a=6 a=9")
	r.join(c, "c", group, protocol.Clustering, subscription(t, topic, "*", 10))
	pull(10, protocol.Success, "a=1 a=6 a=9")
}

func TestCheckClientConfigWithSQL(t *testing.T) {
	r := start(t, filtering)
	for _, c := range []struct {
		situation, kind, expression string
		code                        int32
		remark                      string
	}{
		{"an expression", "SQL92", "a > 1", protocol.Success, ""},
		{"one that does not compile", "SQL92", "a > 'x'", protocol.SubscriptionParseFailed,
			"the expression does not compile: line 1, column 5: found \"'x'\", want a property or a number (texts are compared with = and <> only; numbers stand without quotes)"},
		{"none", "SQL92", "", protocol.SubscriptionParseFailed, `the expression does not compile: line 1, column 1: found the end, want a property, a value, NOT or "("`},
		{"another type", "NONE", "x", protocol.SubscriptionParseFailed, `unknown type of expression "NONE"`},
		{"tags", "TAG", "a > 'x'", protocol.Success, ""},
	} {
		t.Run(c.situation, func(t *testing.T) {
			body := `{"clientId":"c","group":"g","subscriptionData":{"topic":"T","subString":"` + c.expression + `","expressionType":"` + c.kind + `"}}`
			a := r.call(protocol.CheckClientConfig, nil, text(body)...)
			if a.Code != c.code || a.Remark != c.remark {
				t.Fatalf("%d %q", a.Code, a.Remark)
			}
		})
	}
}

func TestHeldPullsBySQL(t *testing.T) {
	const soon = 500 * time.Millisecond
	tests := []struct {
		situation   string
		sent, want  string
		atLeast, in time.Duration
	}{
		{"a message that matches", "a=6", "0FOUND 2 0 2", 0, soon},
		{"a message that does not match", "a=1", "20NO_MATCHED_MESSAGE 2 0 2", longpoll.DefaultMissDelay, longpoll.DefaultMissDelay + soon},
		{"a message that cannot be compared", "a=x", "20NO_MATCHED_MESSAGE 2 0 2", longpoll.DefaultMissDelay, longpoll.DefaultMissDelay + soon},
		{"a message without properties", "", "20NO_MATCHED_MESSAGE 2 0 2", longpoll.DefaultMissDelay, longpoll.DefaultMissDelay + soon},
	}
	r := start(t, filtering)
	topics, answers := make([]string, len(tests)), make([]<-chan timedAnswer, len(tests))
	for i := range tests {
		topics[i] = r.topic()
		r.fill(topics[i], 1, "a=7")
		answers[i] = r.held(topics[i], r.group(), 1, 30*time.Second, sql("a > 5"))
	}
	r.nowHeld(len(tests))
	begin := time.Now()
	for i, tt := range tests {
		r.send(topics[i], "new", props(tt.sent))
	}
	for i, tt := range tests {
		a := <-answers[i]
		if took := a.at.Sub(begin); status(a.answer) != tt.want || took < tt.atLeast || took > tt.in {
			t.Errorf("%s: %s after %v, want %s", tt.situation, status(a.answer), took, tt.want)
		}
	}
}

func TestFiltersSwitchedOffWhileAPullIsHeld(t *testing.T) {
	r := start(t, filtering)
	topic, group := r.topic(), r.group()
	got := r.held(topic, group, 0, 15*time.Second, sql("a > 5"))
	r.nowHeld(1)
	r.set(func(c *Config) { c.Filter.Properties = false })
	r.send(topic, "new", props("a=6"))
	if a := <-got; a.Code != protocol.SystemError {
		t.Errorf("%d %q", a.Code, a.Remark)
	}
}

// Messages of a retry topic that is subscribed by an expression: with filterSupportRetry that of the first topic counts.
func TestFiltersOfRetriedMessages(t *testing.T) {
	r := start(t, filtering)
	topic, group := r.topic(), r.group()
	retry := protocol.RetryTopic(group)
	r.join(r.dial(nil), "c", group, protocol.Clustering, bySQL(topic, "a > 5", 1), bySQL(retry, "a < 3", 1))
	r.fillWith(retry, "a=1 RETRY_TOPIC="+topic, "a=6 RETRY_TOPIC="+topic, "a=2 RETRY_TOPIC=Elsewhere", "a=2")
	for _, tt := range []struct {
		enabled bool
		want    string
	}{
		{false, "a=1 RETRY_TOPIC=" + topic + " a=2 RETRY_TOPIC=Elsewhere a=2"},
		{true, "a=6 RETRY_TOPIC=" + topic + " a=2 RETRY_TOPIC=Elsewhere a=2"},
	} {
		r.set(func(c *Config) { c.Filter.Retry = tt.enabled })
		if got := r.pull(retry, group, 0, ext{"sysFlag": 0, "subVersion": 1}).bodies(); got != tt.want {
			t.Errorf("%t: %q, want %q", tt.enabled, got, tt.want)
		}
	}
	if got := r.pull(retry, group, 0, nil).records(); len(got) != 4 { // by tags, as clients do
		t.Errorf("%d messages for *", len(got))
	}
}

// Whose message is missing because of a type finds it in the log, once, and in the metrics.
func TestFilterFailuresAreSaid(t *testing.T) {
	r := start(t, filtering)
	topic, group := r.topic(), r.group()
	r.fillWith(topic, "a=5.5", "a=x", "a=6")
	for range 3 {
		if got := r.pull(topic, group, 0, sql("a > 5")).bodies(); got != "a=6" {
			t.Fatalf("messages %q", got)
		}
	}
	if n := testutil.ToFloat64(r.metrics.filterFaults); n != 6 {
		t.Errorf("%v failures counted", n)
	}
	log := r.log.String()
	if strings.Count(log, "cannot be evaluated") != 1 || !strings.Contains(log, `\"5.5\" is not an integer of 32 bits`) || !strings.Contains(log, group) {
		t.Error("the log does not say it once")
	}
}

// The expressions of groups are on disk after a stop, and there again after a start.
func TestExpressionsSurviveARestart(t *testing.T) {
	r := start(t, filtering)
	topic, group := r.topic(), r.group()
	r.join(r.dial(nil), "c", group, protocol.Clustering, bySQL(topic, "a > 5", 7))
	r.stop()
	b, err := os.ReadFile(filepath.Join(r.cfg.Store.Root, "config", "consumerFilter.json"))
	if err != nil || !strings.Contains(string(b), `"expression":"a > 5"`) {
		t.Fatalf("%s, %v", b, err)
	}
	r = startWith(t, r.cfg)
	if x := r.filters.Get(topic, group); x == nil || x.Version != 7 {
		t.Fatalf("after the start: %+v", x)
	}
	r.join(r.dial(nil), "c", group, protocol.Clustering, bySQL(topic, "a > 5", 7))
	r.fillWith(topic, "a=5", "a=6")
	a := r.pull(topic, group, 0, ext{"sysFlag": 0, "subVersion": 7})
	if a.bodies() != "a=6" {
		t.Errorf("%s with %q", status(a), a.bodies())
	}
}

func TestQueueEntriesShowTheFilter(t *testing.T) {
	r := start(t, filtering)
	topic, group := r.topic(), r.group()
	r.join(r.dial(nil), "c", group, protocol.Clustering, bySQL(topic, "a > 5", 7))
	r.fillWith(topic, "a=5")
	var data protocol.ConsumeQueueData
	r.call(protocol.QueryConsumeQueue, ext{"topic": topic, "queueId": 0, "index": 0, "count": 10, "consumerGroup": group}).decode(&data)
	if data.FilterData == nil || !strings.Contains(*data.FilterData, `"expression":"a > 5"`) || len(data.QueueData) != 1 || !data.QueueData[0].Eval {
		t.Errorf("%+v", data)
	}
}
