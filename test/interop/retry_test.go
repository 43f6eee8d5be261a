// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/test/interop/rig"
)

// TestRetriesDownToTheDeadLetter: a message whose listener always fails comes 17 times, with 0 to 16 attempts behind it, and is a
// dead letter then; ordered members keep trying on the spot, as often as they were told. Nothing is left on the way.
func TestRetriesDownToTheDeadLetter(t *testing.T) {
	t.Parallel()
	const delay, attempts = time.Second, 16
	s := rig.Start(t, "messageDelayLevel="+strings.TrimSpace(strings.Repeat("1s ", 18)))
	l := newLedger()
	type scenario struct {
		client, mode string
		most         int // maxReconsumeTimes
		deliveries   int
		topic, group string
		sent         client.SendResult
		peer         *peer
	}
	scenarios := []*scenario{
		{client: javaV5, mode: "concurrent", most: attempts, deliveries: 17},
		{client: javaV4, mode: "concurrent", most: attempts, deliveries: 17},
		{client: goV2, mode: "concurrent", most: attempts, deliveries: 17},
		{client: goSDK, mode: "concurrent", most: attempts, deliveries: 17},
		{client: javaV5, mode: "orderly", most: 3, deliveries: 4},
		{client: javaV4, mode: "orderly", most: 3, deliveries: 4},
		{client: goV2, mode: "orderly", most: 3, deliveries: 5}, // gives up when the attempts are above the maximum, Java when they reach it
	}
	p, err := client.NewProducer(client.NameServers(s.NameServer()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	for i, c := range scenarios {
		c.topic, c.group = goTopic(t, s, fmt.Sprint("Failing", i), 1), fmt.Sprint("FailingGroup", i)
		c.sent, err = p.Send(t.Context(), &client.Message{Topic: c.topic, Body: fmt.Appendf(nil, "f%d:0", i), Tag: "TagA", Keys: []string{"key" + strconv.Itoa(i)}})
		if err != nil {
			t.Fatal(err)
		}
		c.peer = startPeer(t, s, l, c.client, "worker", c.topic, c.group, c.mode, "all", c.most)
	}
	back := 0
	for i, c := range scenarios {
		name := c.client + " " + c.mode
		dead := deadLetters(t, s, l, c.group, 1)
		d := dead[0]
		if string(d.Body) != fmt.Sprintf("f%d:0", i) || d.Tag != "TagA" || len(d.Keys) != 1 || d.Keys[0] != "key"+strconv.Itoa(i) || d.ID != c.sent.ID {
			t.Errorf("%s: the dead letter is %q, tag %s, keys %v, id %s; sent was id %s", name, d.Body, d.Tag, d.Keys, d.ID, c.sent.ID)
		}
		if topic := d.System["RETRY_TOPIC"]; topic != c.topic {
			t.Errorf("%s: the dead letter's first topic is %q, want %s", name, topic, c.topic)
		}
		checkAttempts(t, name, l.of(c.peer), c.deliveries, delay, c.mode == "concurrent")
		retries := c.deliveries - 1
		if c.mode == "orderly" {
			retries = 0
		}
		back += retries
		if n := maxOffset(t, s, "%RETRY%"+c.group, 0); n != retries {
			t.Errorf("%s: %d copies in the retry topic, want %d", name, n, retries)
		}
		if retries > 0 {
			eventually(t, 60*time.Second, func() string { return name + ": progress of the retry topic" }, func() bool {
				return committed(t, s, c.group, "%RETRY%"+c.group, 0) == retries
			})
		}
	}
	staged := 0
	for level := range 18 {
		staged += maxOffset(t, s, "SCHEDULE_TOPIC_XXXX", level)
	}
	if staged != back {
		t.Errorf("%d messages went through the delay queues, %d came back: some are still to come", staged, back)
	}
	for _, c := range scenarios {
		if n := l.got(c.peer); n != c.deliveries {
			t.Errorf("%s %s: %d deliveries at the end, want %d", c.client, c.mode, n, c.deliveries)
		}
		if dead := deadLetters(t, s, l, c.group, 1); len(dead) != 1 {
			t.Errorf("%s %s: %d dead letters", c.client, c.mode, len(dead))
		}
	}
	l.check(t)
}

// checkAttempts looks at all deliveries of one message.
func checkAttempts(t *testing.T, name string, all []delivery, want int, delay time.Duration, delayed bool) {
	t.Helper()
	if len(all) != want {
		t.Errorf("%s: %d deliveries, want %d", name, len(all), want)
	}
	if len(all) > 0 {
		t.Logf("%s: %d deliveries in %v", name, len(all), time.Duration(all[len(all)-1].end-all[0].begin).Round(time.Millisecond))
	}
	for n, d := range all {
		first := all[0]
		if d.reconsumed != n || d.topic != first.topic || d.id != first.id || d.keys != first.keys || d.body != first.body {
			t.Errorf("%s: delivery %d is %+v, the first was %+v", name, n, d, first)
		}
		// The clocks are those of milliseconds.
		if rest := time.Duration(d.begin - all[max(n-1, 0)].end); n > 0 && delayed && rest < delay-2*time.Millisecond {
			t.Errorf("%s: delivery %d came %v after the one before, want %v", name, n, rest, delay)
		}
	}
}

// deadLetters reads a group's dead letters when there are so many.
func deadLetters(t *testing.T, s rig.Server, l *ledger, group string, atLeast int) []*client.Received {
	t.Helper()
	topic := "%DLQ%" + group
	eventually(t, 2*time.Minute, func() string { return "dead letters of " + group }, func() bool {
		l.check(t)
		ok, _ := rig.HasRoute(t.Context(), s.NameServer(), topic)
		return ok && maxOffset(t, s, topic, 0) >= atLeast
	})
	r, err := client.NewReader(topic, client.NameServers(s.NameServer()), client.UntilEnd())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var dead []*client.Received
	for {
		got, err := r.Poll(ctx)
		if errors.Is(err, io.EOF) {
			return dead
		}
		if err != nil {
			t.Fatal(err)
		}
		dead = append(dead, got...)
	}
}

// maxOffset asks for the end of a queue, 0 when there is none.
func maxOffset(t *testing.T, s rig.Server, topic string, queue int) int {
	t.Helper()
	return offsetField(t, s, 30, map[string]string{"topic": topic, "queueId": strconv.Itoa(queue)})
}

// committed asks for a group's progress, -1 when it has none.
func committed(t *testing.T, s rig.Server, group, topic string, queue int) int {
	t.Helper()
	return offsetField(t, s, 14, map[string]string{"consumerGroup": group, "topic": topic, "queueId": strconv.Itoa(queue)})
}

func offsetField(t *testing.T, s rig.Server, code int, fields map[string]string) int {
	t.Helper()
	header, _, err := rig.Ask(t.Context(), s.Broker(), code, fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header.Code != 0 {
		return -1
	}
	n, err := strconv.Atoi(header.ExtFields["offset"])
	if err != nil {
		t.Fatalf("request %d: %v", code, err)
	}
	return n
}
