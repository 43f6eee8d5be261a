// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// 500 pulls wait at 50 queues. In whatever way a message comes, those that wait for it get it at once; at the end none waits.
func TestEveryWayInWakesWaitingPulls(t *testing.T) {
	t.Parallel()
	const queues, each = 50, 10
	s := start(t, setup{set: []string{"flushDiskType=ASYNC_FLUSH", "messageDelayLevel=1s 1s 1s"}})
	w := dial(t, s.broker)
	first := w.send(outgoing{topic: "source", body: []byte("given back")}) // makes the topic
	for _, way := range []struct {
		name  string
		topic string
		put   func(queue int32)
	}{
		{"a send", "ways_send", func(queue int32) {
			w.send(outgoing{topic: "ways_send", queue: queue, body: []byte("x"), props: properties(true, "TAGS", "A")})
		}},
		{"a batch", "ways_batch", func(queue int32) {
			body := message.AppendBatchItem(nil, message.BatchItem{Body: []byte("x"), Properties: []byte(properties(true, "TAGS", "A"))})
			w.send(outgoing{topic: "ways_batch", queue: queue, body: body, batch: true})
		}},
		{"a delay that is over", "ways_delay", func(queue int32) {
			w.send(outgoing{topic: "ways_delay", queue: queue, body: []byte("x"), props: properties(true, "TAGS", "A", "DELAY", "1")})
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			w.createTopic(way.topic, queues)
			answers := make(chan pulled, queues*each)
			for i := range each {
				c := dial(t, s.broker)
				tags := []string{"*", "A", "B || A"}[i%3]
				for queue := range int32(queues) {
					c.c.Go(pull{topic: way.topic, queue: queue, tags: tags, hold: patience}.command(), 2*patience, func(a *remoting.Command, err error) {
						got := pulled{code: -1}
						if err == nil {
							got, _ = pulledOf(a)
						}
						answers <- got
					})
				}
				c.must(protocol.GetMaxOffset, protocol.QueueHeader{Topic: way.topic}, nil) // parked
			}
			for queue := range int32(queues) {
				way.put(queue)
			}
			var latest time.Duration
			for range queues * each {
				got := <-answers
				if got.code != protocol.Success || len(got.messages) != 1 {
					t.Fatalf("answered %d %s, %d messages", got.code, got.remark, len(got.messages))
				}
				latest = max(latest, time.Since(time.UnixMilli(got.messages[0].StoreTimestamp)))
			}
			t.Logf("%d pulls, the last answer %v after its message was stored", queues*each, latest)
		})
	}
	t.Run("a message that is given back", func(t *testing.T) {
		w.join(member{id: "m", group: "wakers", topic: "source"})
		retry := protocol.RetryTopic("wakers")
		waiting := dial(t, s.broker)
		got := make(chan pulled, 1)
		go func() {
			if a, err := waiting.ask(pull{group: "wakers", topic: retry, hold: patience}.command()); err == nil {
				p, _ := pulledOf(a)
				got <- p
			}
		}()
		w.must(protocol.ConsumerSendMsgBack, &protocol.SendBackRequest{Offset: first.physical, Group: "wakers"}, nil)
		select {
		case p := <-got:
			if p.code != protocol.Success || len(p.messages) != 1 || string(p.messages[0].Body) != "given back" {
				t.Errorf("answered %d %s", p.code, p.remark)
			}
		case <-time.After(patience):
			t.Error("not woken")
		}
	})
}

// Pulls that wait are answered when the broker stops, and wait on while it takes no messages.
func TestWaitingPullsAtTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t, setup{set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w := dial(t, s.broker)
	w.createTopic("ending", 50)
	answers := make(chan int32, 500)
	for range 10 {
		c := dial(t, s.broker)
		for queue := range int32(50) {
			c.c.Go(pull{topic: "ending", queue: queue, hold: 2 * patience}.command(), 2*patience, func(a *remoting.Command, err error) {
				code := int32(-1)
				if err == nil {
					code = a.Code
				}
				answers <- code
			})
		}
		c.must(protocol.GetMaxOffset, protocol.QueueHeader{Topic: "ending"}, nil)
	}
	w.must(protocol.UpdateBrokerConfig, nil, []byte("brokerPermission=4"))
	if _, err := w.trySend(outgoing{topic: "unknown", body: []byte("x")}); err == nil {
		t.Log("a broker without permission to write takes messages of topics that are not ordered, as RocketMQ's does")
	}
	select {
	case code := <-answers:
		t.Fatalf("a pull was answered %d though nothing came", code)
	default:
	}
	s.stop()
	for i := range cap(answers) {
		if code := <-answers; code != protocol.PullNotFound {
			t.Fatalf("pull %d was answered %d when the broker stopped", i, code)
		}
	}
}

// A backlog of 1,000 messages is read without a wait by one who pulls, tag or no tag.
func TestBacklogIsReadWithoutAWait(t *testing.T) {
	t.Parallel()
	s := start(t, setup{set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w := dial(t, s.broker)
	w.createTopic("backlog", 1)
	var all []outgoing
	for i := range 1000 {
		all = append(all, outgoing{topic: "backlog", body: fmt.Appendf(nil, "%d", i), props: properties(true, "TAGS", []string{"A", "B"}[i%2])})
	}
	dial(t, s.broker).sendAll(all)
	for _, tags := range []string{"*", "A"} {
		began, pulls, got := time.Now(), 0, 0
		for offset := int64(0); offset < 1000; pulls++ {
			a := w.pull(pull{topic: "backlog", offset: offset, tags: tags, hold: patience})
			if a.NextBeginOffset <= offset || a.code != protocol.Success && a.code != protocol.PullRetryImmediately {
				t.Fatalf("at %d: answered %d, next %d", offset, a.code, a.NextBeginOffset)
			}
			offset, got = a.NextBeginOffset, got+len(a.messages)
		}
		if want := map[string]int{"*": 1000, "A": 500}[tags]; got != want {
			t.Errorf("%s: %d messages, want %d", tags, got, want)
		}
		t.Logf("%s: %d messages by %d pulls in %v", tags, got, pulls, time.Since(began).Round(time.Millisecond))
	}
}
