// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/test/interop/rig"
)

// TestOrderedConsumptionWithFailures: 20 messages of one queue, of which number 5 fails. It is tried again on the spot, and the
// others wait for it; given up, it is a dead letter once, and they go on.
func TestOrderedConsumptionWithFailures(t *testing.T) {
	t.Parallel()
	const messages = 20
	s := rig.Start(t)
	l := newLedger()
	type scenario struct {
		client, situation string
		fail              string
		most              int // maxReconsumeTimes
		fifth             int // deliveries of number 5
		dead              int
		group             string
		peer              *peer
	}
	var scenarios []*scenario
	for _, c := range []string{javaV5, javaV4, goV2} {
		givesUp := 3 // at the maximum
		if c == goV2 {
			givesUp = 4 // above it
		}
		scenarios = append(scenarios,
			&scenario{client: c, situation: "three times, then it works", fail: "m:5:3", most: -1, fifth: 4},
			&scenario{client: c, situation: "always, two retries allowed", fail: "m:5:1000000", most: 2, fifth: givesUp, dead: 1},
			&scenario{client: c, situation: "1,100 times, then it works", fail: "m:5:1100", most: -1, fifth: 1101})
		if c != goV2 { // whose listeners must not panic
			scenarios = append(scenarios, &scenario{client: c, situation: "with an exception", fail: "m:5:3!", most: -1, fifth: 4})
		}
	}
	p, err := client.NewProducer(client.NameServers(s.NameServer()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	for i, c := range scenarios {
		topic := goTopic(t, s, fmt.Sprint("InOrder", i), 1)
		c.group = fmt.Sprint("InOrderGroup", i)
		for n := range messages {
			m := &client.Message{Topic: topic, Body: fmt.Appendf(nil, "m:%d", n+1)}
			if _, err := p.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		c.peer = startPeer(t, s, l, c.client, "worker", topic, c.group, "orderly", c.fail, c.most)
	}
	for _, c := range scenarios {
		t.Run(strings.ReplaceAll(c.client+" "+c.situation, ",", ""), func(t *testing.T) {
			var want, got []int
			for n := 1; n <= messages; n++ {
				times := 1
				if n == 5 {
					times = c.fifth
				}
				want = append(want, slices.Repeat([]int{n}, times)...)
			}
			eventually(t, 90*time.Second, func() string { return fmt.Sprintf("%d deliveries, %d so far", len(want), l.got(c.peer)) }, func() bool {
				l.check(t)
				return l.got(c.peer) >= len(want)
			})
			for _, d := range l.of(c.peer) {
				got = append(got, d.seq)
			}
			if !slices.Equal(got, want) {
				t.Errorf("delivered %v", got)
			}
			if c.dead == 0 {
				if n := maxOffset(t, s, "%DLQ%"+c.group, 0); n > 0 {
					t.Errorf("%d dead letters", n)
				}
			} else if dead := deadLetters(t, s, l, c.group, c.dead); len(dead) != c.dead || string(dead[0].Body) != "m:5" {
				t.Errorf("%d dead letters, the first %q", len(dead), dead[0].Body)
			}
			if n := maxOffset(t, s, "%RETRY%"+c.group, 0); n > 0 {
				t.Errorf("%d messages in the retry topic", n)
			}
		})
	}
}
