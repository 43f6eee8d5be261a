// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Pulls that found nothing wait at the broker, many to a connection and several to a queue. A message wakes those of its
// queue, at once and with the message; the others wait on.
func TestParkedPullsAreWoken(t *testing.T) {
	t.Parallel()
	const queues, connections = 64, 4
	s := start(t, setup{})
	w := dial(t, s.broker)
	w.createTopic("parked", queues)

	type outcome struct {
		queue int32
		pulled
		err error
		at  time.Time
	}
	outcomes := make(chan outcome, queues*connections)
	for range connections {
		c := dial(t, s.broker)
		for queue := range int32(queues) {
			req := pull{topic: "parked", queue: queue, hold: patience}.command()
			c.c.Go(req, 2*patience, func(answer *remoting.Command, err error) {
				o := outcome{queue: queue, err: err, at: time.Now()}
				if err == nil {
					o.pulled, o.err = pulledOf(answer)
				}
				outcomes <- o
			})
		}
		// Requests of a connection are served in order, so when this is answered the pulls are parked.
		c.must(protocol.GetMaxOffset, protocol.QueueHeader{Topic: "parked"}, nil)
	}
	select {
	case o := <-outcomes:
		t.Fatalf("a pull of queue %d came back without a message: %d %v", o.queue, o.code, o.err)
	case <-time.After(50 * time.Millisecond):
	}
	for queue := range int32(queues) {
		sent := time.Now()
		body := fmt.Sprintf("for queue %d", queue)
		w.send(outgoing{topic: "parked", queue: queue, body: []byte(body)})
		for range connections {
			var o outcome
			select {
			case o = <-outcomes:
			case <-time.After(patience):
				t.Fatalf("nobody is woken by the message of queue %d", queue)
			}
			if o.err != nil || o.queue != queue || o.code != 0 || len(o.messages) != 1 || string(o.messages[0].Body) != body {
				t.Fatalf("after a message for queue %d came the pull of queue %d: %d %s, %d messages, %v",
					queue, o.queue, o.code, o.remark, len(o.messages), o.err)
			}
			if took := o.at.Sub(sent); took > 2*time.Second {
				t.Errorf("queue %d: woken after %v", queue, took)
			}
		}
	}
}

// A pull that waits in vain is answered when its time is over, not much later, and a message whose tag it does not want
// is no reason to answer it sooner.
func TestParkedPullEndsInTime(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := dial(t, s.broker)
	w.createTopic("in_vain", 2)
	began := time.Now()
	if got := w.pull(pull{topic: "in_vain", hold: 700 * time.Millisecond}); got.code != protocol.PullNotFound || got.NextBeginOffset != 0 {
		t.Errorf("answered %d, next %d", got.code, got.NextBeginOffset)
	}
	if took := time.Since(began); took < 600*time.Millisecond || took > 6500*time.Millisecond {
		t.Errorf("700 ms became %v", took) // the real server looks every 5 s
	}
	if got := w.pull(pull{topic: "in_vain"}); got.code != protocol.PullNotFound {
		t.Errorf("without waiting: %d", got.code)
	}

	woken := make(chan pulled, 1)
	waiting := dial(t, s.broker)
	go func() {
		answer, err := waiting.ask(pull{topic: "in_vain", queue: 1, tags: "wanted", hold: patience}.command())
		if err == nil {
			got, _ := pulledOf(answer)
			woken <- got
		}
	}()
	var got pulled
	for n := 0; ; n++ { // until the pull is parked and has been passed over, then the one it wants
		tag := "unwanted"
		if n == 200 {
			tag = "wanted"
		}
		w.send(outgoing{topic: "in_vain", queue: 1, body: []byte(tag), props: properties(true, "TAGS", tag)})
		if tag == "wanted" {
			break
		}
	}
	select {
	case got = <-woken:
	case <-time.After(patience):
		t.Fatal("not woken")
	}
	for got.code == protocol.PullRetryImmediately { // it was not parked yet when the first ones came
		got = w.pull(pull{topic: "in_vain", queue: 1, tags: "wanted", offset: got.NextBeginOffset, hold: patience})
	}
	if got.code != 0 || len(got.messages) != 1 || string(got.messages[0].Body) != "wanted" {
		t.Errorf("got %d, %q", got.code, bodies(got.messages))
	}
}
