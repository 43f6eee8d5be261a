// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// unconsumed counts messages that the store removed before groups had consumed them, and says so: once for each group
// and topic after a round of cleaning. A group that never committed progress in a queue may not want its messages, and
// does not count.
//
// One goroutine uses it, the store's that cleans.
type unconsumed struct {
	logger *slog.Logger
	count  *prometheus.CounterVec
	groups func(topic string) []string                                    // with progress in a topic
	next   func(topic, group string, queue int32) (offset int64, ok bool) // the offset that a group takes next
	delay  func(level int) int64                                          // the same of the deliveries of a delay level

	lost map[consumption]*loss
}

// consumption is what a group has to do with a topic.
type consumption struct{ group, topic string }

// loss is what a group lost of a topic in one round.
type loss struct {
	messages int64
	queues   map[int32]int64
	why      store.Cause
}

// delays stands for a group: the messages that wait in SCHEDULE_TOPIC_XXXX are consumed by the broker.
const delays = "delayed delivery"

// removed compares what was removed with the progress of the groups.
func (u *unconsumed) removed(gone []store.Removal, why store.Cause) {
	groups := map[string][]string{}
	for _, r := range gone {
		if r.Topic == protocol.TopicSchedule {
			u.compare(r, delays, u.delay(int(r.QueueID)+1), why)
			continue
		}
		list, known := groups[r.Topic]
		if !known {
			list = u.groups(r.Topic)
			groups[r.Topic] = list
		}
		for _, group := range list {
			if next, ok := u.next(r.Topic, group, r.QueueID); ok {
				u.compare(r, group, next, why)
			}
		}
	}
}

// compare notes what lies between the next offset of a group and the end of what was removed.
func (u *unconsumed) compare(r store.Removal, group string, next int64, why store.Cause) {
	n := r.To - max(r.From, next)
	if n <= 0 {
		return
	}
	key := consumption{group, r.Topic}
	l := u.lost[key]
	if l == nil {
		l = &loss{queues: map[int32]int64{}}
		u.lost[key] = l
	}
	l.messages += n
	l.queues[r.QueueID] += n
	l.why = why
}

// Bounds of what is logged after a round.
const (
	mostLosses     = 50 // lines, those with most messages
	mostLostQueues = 8  // named in a line, those with most messages
)

// tell counts and logs what was lost since it was called last.
func (u *unconsumed) tell() {
	keys := make([]consumption, 0, len(u.lost))
	for key, l := range u.lost {
		u.count.WithLabelValues(key.group, key.topic).Add(float64(l.messages))
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b consumption) int {
		return cmp.Or(cmp.Compare(u.lost[b].messages, u.lost[a].messages), strings.Compare(a.group, b.group), strings.Compare(a.topic, b.topic))
	})
	for i, key := range keys {
		if i == mostLosses {
			u.logger.Warn("messages of further groups and topics were removed before they were consumed: see the metrics", "count", len(keys)-i)
			break
		}
		l := u.lost[key]
		u.logger.Warn("messages were removed before a group had consumed them",
			"group", key.group, "topic", key.topic, "messages", l.messages, "queue", l.queueText(), "why", l.why)
	}
	clear(u.lost)
}

// queueText names the queues with their messages: "3: 120, 0: 7".
func (l *loss) queueText() string {
	ids := make([]int32, 0, len(l.queues))
	for id := range l.queues {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int32) int {
		return cmp.Or(cmp.Compare(l.queues[b], l.queues[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, id := range ids {
		if i == mostLostQueues {
			parts = append(parts, fmt.Sprintf("and %d more", len(ids)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d: %d", id, l.queues[id]))
	}
	return strings.Join(parts, ", ")
}
