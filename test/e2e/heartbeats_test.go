// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// 20,000 consumer groups beat, 50 of them in a heartbeat: they come to be, with their retry topics, each member is known, and
// beating on costs little.
func TestTwentyThousandGroupsBeat(t *testing.T) {
	t.Parallel()
	clients, groups, rounds := 400, 50, 5
	if testing.Short() {
		clients = 40
	}
	s := start(t, setup{})
	before := s.rss()
	all := make([]beating, clients)
	for i := range all {
		all[i] = beating{dial(t, s.broker), manyGroups(i, groups)}
	}
	report := func(what string, heartbeats int, f func()) {
		began, ticks := time.Now(), s.ticks()
		f()
		used := (s.ticks() - ticks) * (time.Second / 100)
		t.Logf("%s: %d heartbeats of %d groups in %v; %v of processor time a heartbeat, %v a group", what, heartbeats, groups,
			time.Since(began).Round(time.Millisecond), used/time.Duration(heartbeats), used/time.Duration(heartbeats*groups))
	}
	report("new groups", clients, func() { beatTogether(all) })
	t.Logf("%d bytes of memory for a group, its topic and its member", (s.rss()-before)/int64(clients*groups))
	report("known groups", rounds*clients, func() {
		for range rounds {
			beatTogether(all)
		}
	})
	w := dial(t, s.broker)
	for i := range clients {
		for g := range groups {
			if got, want := w.members(groupOf(i, g)), []string{clientOf(i)}; !slices.Equal(got, want) {
				t.Fatalf("the members of %s are %v, want %v", groupOf(i, g), got, want)
			}
		}
		retry := protocol.RetryTopic(groupOf(i, i%groups))
		w.must(protocol.GetTopicConfig, protocol.TopicHeader{Topic: retry}, nil)
	}
}

// beating is a client and its heartbeat.
type beating struct {
	*wire
	body []byte
}

// beatTogether sends the heartbeats of all, many at a time.
func beatTogether(all []beating) {
	var wait sync.WaitGroup
	next := make(chan *beating)
	for range 32 {
		wait.Go(func() {
			for b := range next {
				if _, err := b.ask(request(protocol.HeartBeat, nil, b.body)); err != nil {
					b.t.Errorf("heartbeat: %v", err)
				}
			}
		})
	}
	for i := range all {
		next <- &all[i]
	}
	close(next)
	wait.Wait()
}

func clientOf(i int) string   { return fmt.Sprintf("10.0.0.1@client-%d", i) }
func groupOf(i, g int) string { return fmt.Sprintf("group-%d-%d", i, g) }

// manyGroups is the heartbeat of client i, which is in so many groups, as Java clients send it.
func manyGroups(i, groups int) []byte {
	var beat protocol.HeartbeatData
	for g := range groups {
		one := member{id: clientOf(i), group: groupOf(i, g), topic: "orders"}.heartbeat()
		retry, _ := protocol.ParseTagExpression(protocol.RetryTopic(groupOf(i, g)), "*")
		one.ConsumerDataSet[0].SubscriptionDataSet = append(one.ConsumerDataSet[0].SubscriptionDataSet, retry)
		one.ConsumerDataSet = append(beat.ConsumerDataSet, one.ConsumerDataSet...)
		beat = one
	}
	return jsonOf(beat)
}
