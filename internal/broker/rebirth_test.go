// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// A topic is deleted and made again while a member reads it: the pull that is held learns of it at once, and wherever the member
// was it is sent to the beginning, once for each queue. A group that is not there, or a topic that is made for the first time, is
// none of this.
func TestTopicIsMadeAgainUnderAMember(t *testing.T) {
	for _, at := range []int64{1, 2, 3, 9} { // in the new topic, at its end, and behind it
		r := start(t)
		topic, online, offline := name("T"), r.group(), r.group()
		create := func() {
			t.Helper()
			e := topicExt(topic, nil)
			e["readQueueNums"], e["writeQueueNums"] = 2, 2
			r.call(protocol.UpdateAndCreateTopic, e).is(protocol.Success, "")
		}
		create()
		r.fill(topic, int(at), "")
		r.join(r.dial(nil), "c1", online, protocol.Clustering, subscription(t, topic, "*", 1))
		held := r.held(topic, online, at, time.Minute, nil)
		r.nowHeld(1)
		r.call(protocol.DeleteTopicInBroker, ext{"topic": topic}).is(protocol.Success, "")
		if a := <-held; a.Code != protocol.TopicNotExist {
			t.Errorf("at %d: the held pull is answered %d, want %d", at, a.Code, protocol.TopicNotExist)
		}
		create()
		r.fill(topic, 2, "")
		commit := ext{"sysFlag": protocol.PullSubscription | protocol.PullCommit, "commitOffset": at}
		if got := status(r.pull(topic, online, at, commit)); got != "21OFFSET_RESET 0 0 2" {
			t.Errorf("at %d: the next pull is answered %s", at, got)
		}
		if at > 2 {
			r.committed(topic, online, 0, nil).offset("0")
		}
		if got := r.pull(topic, online, 0, nil).bodies(); got != "m0 m1" {
			t.Errorf("at %d: then it gets %q", at, got)
		}
		if got := status(r.pull(topic, online, 1, ext{"queueId": 1})); got != "21OFFSET_RESET 0 0 0" {
			t.Errorf("at %d: a pull of the other queue is answered %s", at, got)
		}
		if got := status(r.pull(topic, offline, 2, nil)); got != "19OFFSET_OVERFLOW_ONE 2 0 2" {
			t.Errorf("a group that was not there is answered %s", got)
		}
		r.stop()
	}
}
