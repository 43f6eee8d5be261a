// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// A topic is deleted and made again under a group that is there, and under one that is not: what is sent then is consumed, all
// of it, and nobody is told of a negative lag.
func TestTopicMadeAgainUnderAGroup(t *testing.T) {
	for _, online := range []bool{true, false} {
		t.Run(fmt.Sprintf("a member is there: %t", online), func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH"}})
			w, p := dial(t, s.broker), sdkProducer(t, s, client.RouteRefresh(100*time.Millisecond), client.TopicTemplate(""), client.SendRetries(50), client.SendTimeout(patience))
			w.createTopic("again", 4)
			s.routable("again")
			box := &inbox{}
			c := sdkConsumer(t, s, "again_group", box.handle, all("again"))
			before := numbered("before", 1000)
			sendBodies(t, p, "again", "", before...)
			none := func() bool { sum, _ := w.lag("again_group", "again"); return sum == 0 }
			eventually(t, "all of the first ones", func() bool { return len(box.got()) == len(before) && none() })
			if !online {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			s.deleteTopic("again")
			w.createTopic("again", 4)
			s.routable("again")
			after := numbered("after", 5)
			sendBodies(t, p, "again", "", after...)
			if !online {
				sdkConsumer(t, s, "again_group", box.handle, all("again"))
			}
			eventually(t, "all of the new ones", func() bool {
				if _, least := w.lag("again_group", "again"); least < 0 {
					t.Fatalf("the lag is %d", least)
				}
				return len(box.got()) == len(before)+len(after) && none()
			})
			box.exactly(t, "in all", append(before, after...)...)
		})
	}
}

// Three members that subscribe to the same two topics get all of both, each message once.
func TestMembersOfTwoTopics(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w, p := dial(t, s.broker), sdkProducer(t, s)
	w.createTopic("t1", 8)
	w.createTopic("t2", 8)
	s.routable("t2")
	box := &inbox{}
	var members []*client.Consumer
	for range 3 {
		members = append(members, sdkConsumer(t, s, "two_topics", box.handle, all("t1"), all("t2")))
	}
	eventually(t, "queues divided", func() bool { return divided(members, "t1", 8) && divided(members, "t2", 8) })
	bodies := append(numbered("one-", 60), numbered("two-", 60)...)
	sendBodies(t, p, "t1", "", bodies[:60]...)
	sendBodies(t, p, "t2", "", bodies[60:]...)
	eventually(t, "all messages", func() bool { return len(box.got()) == len(bodies) })
	box.exactly(t, "three members", bodies...)
}

// divided tells whether each member has queues of the topic and together they have each queue once.
func divided(members []*client.Consumer, topic string, queues int) bool {
	seen := map[client.Queue]bool{}
	n := 0
	for _, m := range members {
		own := 0
		for _, q := range m.Queues() {
			if q.Topic == topic {
				seen[q], own, n = true, own+1, n+1
			}
		}
		if own == 0 {
			return false
		}
	}
	return len(seen) == queues && n == queues
}

// Members that subscribe to different topics, or by different tags, is a mistake of the user: the broker warns of it and names the
// group, nothing crashes, and when they agree again what was not consumed is.
func TestMembersThatDisagree(t *testing.T) {
	for _, test := range []struct {
		situation     string
		first, second client.ConsumerOption
	}{
		{"different topics", all("d1"), all("d2")},
		{"different tags", client.Subscribe("d1", client.Tags("A")), client.Subscribe("d1", client.Tags("B"))},
	} {
		t.Run(test.situation, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH", "consumerGroupCheckInterval=50"}})
			w, p := dial(t, s.broker), sdkProducer(t, s)
			w.createTopic("d1", 4)
			w.createTopic("d2", 4)
			s.routable("d2")
			box := &inbox{}
			one := sdkConsumer(t, s, "disagree", box.handle, test.first)
			two := sdkConsumer(t, s, "disagree", box.handle, test.second)
			eventually(t, "a warning that names the group", func() bool {
				return strings.Contains(s.log.String(), "kind="+protocol.FaultUnequalSubscriptions+" group=disagree")
			})
			sendBodies(t, p, "d1", "A", numbered("a", 20)...)
			sendBodies(t, p, "d1", "B", numbered("b", 20)...)
			sendBodies(t, p, "d2", "A", numbered("c", 20)...)
			for _, c := range []*client.Consumer{one, two} {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			// Both agree now.
			late := &inbox{}
			for range 2 {
				sdkConsumer(t, s, "disagree", late.handle, all("d1"), all("d2"))
			}
			sendBodies(t, p, "d1", "A", numbered("late", 20)...)
			sendBodies(t, p, "d2", "B", numbered("later", 20)...)
			eventually(t, "what was sent since they agree", func() bool {
				n := 0
				for body := range late.got() {
					if strings.HasPrefix(body, "late") {
						n++
					}
				}
				return n == 40
			})
		})
	}
}

// A group goes over from one topic to two, one member after the other. When the last one has, nothing is lost.
func TestRollingChangeOfTopics(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w, p := dial(t, s.broker), sdkProducer(t, s)
	w.createTopic("r1", 8)
	w.createTopic("r2", 8)
	s.routable("r2")
	box := &inbox{}
	members := make([]*client.Consumer, 3)
	for i := range members {
		members[i] = sdkConsumer(t, s, "rolling", box.handle, all("r1"))
	}
	var sent []string
	for i, m := range members {
		more := append(numbered(fmt.Sprint("r1-", i, "-"), 20), numbered(fmt.Sprint("r2-", i, "-"), 20)...)
		sendBodies(t, p, "r1", "", more[:20]...)
		sendBodies(t, p, "r2", "", more[20:]...)
		sent = append(sent, more...)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		sdkConsumer(t, s, "rolling", box.handle, all("r1"), all("r2"))
	}
	eventually(t, "everything", func() bool {
		got := box.got()
		for _, body := range sent {
			if got[body] == 0 {
				return false
			}
		}
		return true
	})
}

// Two members that were given one client id both have every queue: the broker warns of it. Of a message that fails in both one copy
// comes back, and one dead letter is left, not twice as many with each attempt.
func TestTwoMembersWithOneClientID(t *testing.T) {
	t.Parallel()
	const each = 5 * time.Second // between attempts; both give a message back within this time
	s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH", "messageDelayLevel=5s 5s 5s 5s 5s", "consumerGroupCheckInterval=50"}})
	w, p := dial(t, s.broker), sdkProducer(t, s)
	w.createTopic("twins", 4)
	s.routable("twins")
	both := []chan struct{}{make(chan struct{}), make(chan struct{})} // closed when both have begun the attempt
	var begun [2]atomic.Int32
	box := &inbox{answer: func(m *client.Received) error {
		if begun[m.Attempts].Add(1) == 2 {
			close(both[m.Attempts])
		}
		select {
		case <-both[m.Attempts]:
		case <-time.After(patience):
		}
		return errors.New("always")
	}}
	for range 2 {
		sdkConsumer(t, s, "twin_group", box.handle, all("twins"), client.ClientIP("10.0.0.1"), client.Instance("1"), client.MaxAttempts(1), client.HeartbeatInterval(50*time.Millisecond))
	}
	eventually(t, "a warning that names the group and the id", func() bool {
		_, fault, found := strings.Cut(s.log.String(), "kind="+protocol.FaultSharedClientID+" group=twin_group")
		return found && strings.Contains(fault, "client=[10.0.0.1@1]")
	})
	began := time.Now()
	sdkSend(t, p, &client.Message{Topic: "twins", Body: []byte("fails")})
	dead, retry := protocol.DeadLetterTopic("twin_group"), protocol.RetryTopic("twin_group")
	eventually(t, "the dead letter", func() bool { return w.maxOffset(dead, 0) > 0 })
	if took := time.Since(began); took < each {
		t.Errorf("a dead letter after %v", took)
	}
	eventually(t, "both have given up", func() bool { return box.got()["fails"] == 4 })
	for queue, want := range map[string]int64{dead: 1, retry: 1} {
		if n := w.maxOffset(queue, 0); n != want {
			t.Errorf("%d messages in %s, want %d", n, queue, want)
		}
	}
}

// Ids that clients choose themselves differ.
func TestClientIDsOfOneProcessDiffer(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server", set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w := dial(t, s.broker)
	w.createTopic("ids", 4)
	s.routable("ids")
	for range 3 {
		sdkConsumer(t, s, "id_group", (&inbox{}).handle, all("ids"))
	}
	if got := w.members("id_group"); len(got) != 3 {
		t.Errorf("the members are %v", got)
	}
}
