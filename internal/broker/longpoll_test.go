// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/longpoll"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

const holdFlag = protocol.PullSuspend | protocol.PullSubscription

// held sends a pull that is to be held; the channel gives its answer and when that came.
func (r *running) held(topic, group string, offset int64, hold time.Duration, more ext) <-chan timedAnswer {
	r.Helper()
	e := pullExt(topic, group, offset, ext{"sysFlag": holdFlag, "suspendTimeoutMillis": hold.Milliseconds()})
	for k, v := range more {
		e[k] = v
	}
	got := make(chan timedAnswer, 1)
	r.dial(nil).Go(&remoting.Command{Code: protocol.PullMessage, Fields: e.fields()}, time.Minute, func(a *remoting.Command, err error) {
		if err == nil {
			got <- timedAnswer{answer{a, r}, time.Now()}
		}
		close(got)
	})
	return got
}

type timedAnswer struct {
	answer
	at time.Time
}

func (r *running) nowHeld(n int) {
	r.Helper()
	r.until(fmt.Sprintf("%d held pulls", n), func() bool { return r.lot.Held() == n })
}

func TestHeldPulls(t *testing.T) {
	r := start(t)
	const soon = 500 * time.Millisecond
	tests := []struct {
		situation   string
		filled      int // messages there before
		tags        string
		hold        time.Duration
		sent        string // properties of the message sent meanwhile, "-": none
		want        string
		atLeast, in time.Duration
	}{
		{"a message arrives", 1, "*", 15 * time.Second, "", "0FOUND 2 0 2", 0, soon},
		{"the first message of a queue", 0, "*", 15 * time.Second, "", "0FOUND 1 0 1", 0, soon},
		{"a message with a wanted tag", 1, "A || B", 15 * time.Second, "TAGS=B", "0FOUND 2 0 2", 0, soon},
		{"a message with another tag", 1, "A", 30 * time.Second, "TAGS=B", "20NO_MATCHED_MESSAGE 2 0 2", longpoll.DefaultMissDelay, longpoll.DefaultMissDelay + soon},
		{"nothing arrives", 1, "*", time.Second, "-", "19OFFSET_OVERFLOW_ONE 1 0 1", time.Second, time.Second + soon},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			topic, group := r.topic(), r.group()
			r.fill(topic, tt.filled, "")
			begin := time.Now()
			got := r.held(topic, group, int64(tt.filled), tt.hold, ext{"subscription": tt.tags})
			r.nowHeld(1)
			if tt.sent != "-" {
				begin = time.Now()
				r.send(topic, "new", props(tt.sent))
			}
			a := <-got
			if s := status(a.answer); s != tt.want {
				t.Errorf("answer %s, want %s", s, tt.want)
			}
			if took := a.at.Sub(begin); took < tt.atLeast || took > tt.in {
				t.Errorf("answered after %v, want %v to %v", took, tt.atLeast, tt.in)
			}
		})
	}
}

func TestNotHeld(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.fill(topic, 1, "TAGS=A")
	for _, tt := range []struct {
		situation string
		offset    int64
		more      ext
		code      int32
	}{
		{"without the flag", 1, ext{"sysFlag": protocol.PullSubscription}, protocol.PullNotFound},
		{"offset above the end", 9, nil, protocol.PullOffsetMoved},
		{"messages, but none wanted", 0, ext{"subscription": "B"}, protocol.PullRetryImmediately},
	} {
		begin := time.Now()
		a := <-r.held(topic, group, tt.offset, 15*time.Second, tt.more)
		if took := time.Since(begin); a.Code != tt.code || took > 2*time.Second {
			t.Errorf("%s: %d after %v, want %d at once", tt.situation, a.Code, took, tt.code)
		}
	}
}

func TestOneMessageAnswersAllThatWait(t *testing.T) {
	r := start(t)
	topic := r.topic()
	r.fill(topic, 1, "")
	var waiting []<-chan timedAnswer
	for range 20 {
		waiting = append(waiting, r.held(topic, r.group(), 1, 15*time.Second, nil))
	}
	r.nowHeld(20)
	r.send(topic, "new", nil)
	for _, w := range waiting {
		if a := <-w; a.Code != protocol.Success || a.bodies() != "new" {
			t.Errorf("answer %s %q", status(a.answer), a.bodies())
		}
	}
	r.nowHeld(0)
}

// A message sent between the read that found nothing and the parking must be seen: many pulls and sends race.
func TestNoMessageIsMissedBetweenReadAndPark(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	for i := range 100 {
		got := r.held(topic, group, int64(i), 15*time.Second, nil)
		r.send(topic, "x", nil) // not waiting for the pull to be held
		select {
		case a := <-got:
			if a.Code != protocol.Success {
				t.Fatalf("pull %d: %s", i, status(a.answer))
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("pull %d was not woken", i)
		}
	}
}

func TestShortPolling(t *testing.T) {
	r := start(t, func(c *Config) { c.Pull.LongPolling, c.Pull.ShortPolling = false, 300*time.Millisecond })
	topic, group := r.topic(), r.group()
	begin := time.Now()
	a := <-r.held(topic, group, 0, 15*time.Second, nil)
	if took := time.Since(begin); a.Code != protocol.PullNotFound || took < 300*time.Millisecond || took > 2*time.Second {
		t.Errorf("answer %s after %v", status(a.answer), took)
	}
}

func TestCommitOfAHeldPullIsStoredAtOnce(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.fill(topic, 3, "")
	r.held(topic, group, 3, 15*time.Second, ext{"sysFlag": holdFlag | protocol.PullCommit, "commitOffset": 3})
	r.nowHeld(1)
	if at, ok := r.offsets.Query(topic, group, 0); !ok || at != 3 {
		t.Errorf("committed %d %t, want 3", at, ok)
	}
}

func TestTooManyHeldPulls(t *testing.T) {
	r := start(t, func(c *Config) { c.Lanes.PullCapacity = 3 })
	topic, group := r.topic(), r.group()
	for range 3 {
		r.held(topic, group, 0, 15*time.Second, nil)
	}
	r.nowHeld(3)
	if a := <-r.held(topic, group, 0, 15*time.Second, nil); a.Code != protocol.SystemBusy {
		t.Errorf("one more: %d %s, want %d", a.Code, a.Remark, protocol.SystemBusy)
	}
}

// What may no longer be read is refused when the pull is resumed.
func TestTopicDeletedWhileAPullIsHeld(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	got := r.held(topic, group, 0, 300*time.Millisecond, nil)
	r.nowHeld(1)
	if _, err := r.topics.Delete(topic); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.Code != protocol.TopicNotExist {
		t.Errorf("answer %d %s, want %d", a.Code, a.Remark, protocol.TopicNotExist)
	}
}

// While the broker stops nothing is held: the answer is the usual one, with all its offsets.
func TestNothingIsHeldAtTheEnd(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	r.fill(topic, 1, "")
	r.lot.Close()
	if s := status((<-r.held(topic, group, 1, 15*time.Second, nil)).answer); s != "19OFFSET_OVERFLOW_ONE 1 0 1" {
		t.Errorf("answer %s", s)
	}
}
