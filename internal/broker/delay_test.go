// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestDelayedMessage(t *testing.T) {
	r := start(t)
	topic, group := r.topic(func(c *protocol.TopicConfig) { c.ReadQueueNums, c.WriteQueueNums = 2, 2 }), r.group()
	begin := time.Now()
	more := props("DELAY=1 TAGS=A UNIQ_KEY=U TIMER_DELAY_SEC=60")
	more["e"] = 1
	a := r.send(topic, "later", more)
	if a.ext("queueId") != "1" || a.ext("recallHandle") != "" {
		t.Errorf("answer %v, want the queue that was asked for", a.Fields)
	}
	m := r.first(topic, 1)
	if took := time.Since(begin); took < 900*time.Millisecond || took > 2200*time.Millisecond {
		t.Errorf("delivered after %v, want about a second", took)
	}
	want := map[string]string{
		"CLUSTER": "DefaultCluster", "DELAY": "1", "MSG_REGION": "DefaultRegion", "REAL_QID": "1", "REAL_TOPIC": topic,
		"TAGS": "A", "TRACE_ON": "true", "UNIQ_KEY": "U",
	}
	if got := propertiesOf(&m); !maps.Equal(got, want) {
		t.Errorf("delivered with %v, want %v", got, want)
	}
	for tag, code := range map[string]int32{"A": protocol.Success, "B": protocol.PullRetryImmediately} {
		if a := r.pull(topic, group, 0, ext{"queueId": 1, "subscription": tag}); a.Code != code {
			t.Errorf("pull by tag %s: %d, want %d", tag, a.Code, code)
		}
	}
	if got := string(r.success(protocol.GetAllDelayOffset, nil).Body); len(got) == 0 || got[0] != '{' {
		t.Errorf("delay offsets: %s", got)
	}
}

func TestDelayLevels(t *testing.T) {
	r := start(t)
	for _, tt := range []struct {
		wish  string
		level int // 0: not delayed
	}{{"10", 10}, {"18", 18}, {"19", 18}, {"100", 18}, {"0", 0}, {"-1", 0}} {
		topic := r.topic()
		_, before := r.store.QueueRange(protocol.TopicSchedule, int32(max(tt.level-1, 0)))
		r.send(topic, "x", props("DELAY="+tt.wish))
		if tt.level == 0 {
			r.readable(topic, 0, 1)
			continue
		}
		r.readable(protocol.TopicSchedule, int32(tt.level-1), before+1)
		if got := propertiesOf(r.staged(tt.level))["DELAY"]; got != fmt.Sprint(tt.level) {
			t.Errorf("level %s is staged with DELAY=%s, want %d", tt.wish, got, tt.level)
		}
	}
}

// A pull that is held is resumed by a delayed message too.
func TestDelayedMessageWakesAHeldPull(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	got := r.held(topic, group, 0, 15*time.Second, nil)
	r.nowHeld(1)
	r.send(topic, "later", props("DELAY=1"))
	if a := <-got; a.Code != protocol.Success || a.bodies() != "later" {
		t.Errorf("answer %s", status(a.answer))
	}
}

func TestDelayedMessageSurvivesARestart(t *testing.T) {
	r := start(t)
	topic := r.topic()
	r.send(topic, "later", props("DELAY=1"))
	r.stop()
	again := startWith(t, r.cfg)
	again.readable(topic, 0, 1)
	again.stop()
	third := startWith(t, r.cfg)
	time.Sleep(200 * time.Millisecond) // a second delivery would come at once
	if _, end := third.store.QueueRange(topic, 0); end != 1 {
		t.Errorf("%d copies after two restarts, want 1", end)
	}
}
