// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// unasked looks at the units from asked to n, which no record of the log has as its own.
func (v *verifier) unasked(c *queueCheck, n int64) error {
	for at := max(c.asked, c.q.First()); at < min(n, c.q.room()); at++ {
		u, err := c.unit(at, v.blockUnits())
		if err != nil {
			return err
		}
		if err := v.stray(c, at, u); err != nil {
			return err
		}
	}
	return nil
}

// stray judges a unit that no record has as its own.
func (v *verifier) stray(c *queueCheck, n int64, u consumequeue.Unit) error {
	switch {
	case u.Filler() || c.q.valid(u) && u.PhysicalOffset < v.log.Min():
		return nil // for no message, or for one that is gone with its file
	case !everWritten(u):
		c.note(run{runVoid, n, n + 1, math.MaxInt64, ""})
		return nil
	case !c.q.valid(u):
		c.note(run{runStray, n, n + 1, math.MaxInt64, invalid(c.q, u)})
		return nil
	case v.isHurt(u.PhysicalOffset):
		c.note(run{runHurt, n, n + 1, u.PhysicalOffset, ""})
		return nil
	}
	what := fmt.Sprintf("it points at %d", u.PhysicalOffset)
	if c.looks++; c.looks <= mostLooks {
		var r message.Record
		var err error
		v.scratch.record, err = v.log.Record(u.PhysicalOffset, &r, v.scratch.record)
		switch {
		case err == nil:
			what += ", where " + describe(&r) + " lies"
		case isNoRecord(err):
			what += ": " + strings.TrimPrefix(err.Error(), errNoRecord.Error()+": ")
		default:
			return err
		}
	}
	c.note(run{runStray, n, n + 1, u.PhysicalOffset, what})
	return nil
}

// endQueues looks at the ends of all queues, and tells what was found in them.
func (v *verifier) endQueues() error {
	slices.SortFunc(v.all, func(a, b *queueCheck) int {
		return cmp.Or(cmp.Compare(a.q.Layout, b.q.Layout), strings.Compare(a.q.Topic, b.q.Topic), cmp.Compare(a.q.ID, b.q.ID))
	})
	var queues int64
	for _, c := range v.all {
		if err := v.endQueue(c); err != nil {
			return err
		}
		if c.end > c.q.First() {
			queues++
			v.r.Units += c.end - c.q.First()
		}
	}
	right := v.mark != nil && !v.crashed && queues == v.mark.Queues && v.r.Units == v.mark.Units
	from := v.scanFrom()
	for _, c := range v.all {
		// A queue without a folder was deleted when its topic is not among the settings, or when the sums of the
		// checkpoint are right without it.
		if !c.present && (right || v.unknown(c.q.Topic)) {
			v.r.Deleted += c.records
			continue
		}
		v.tell(c, from)
		v.r.rebuild.queues = append(v.r.rebuild.queues, queueNeed{c.q, c.broken, c.any})
	}
	v.tellHealed()
	v.lostEnd()
	if v.mark != nil && !v.crashed && !right {
		v.sums(queues)
	}
	v.unknownTopics()
	return nil
}

// endQueue looks at the units behind the last record's.
func (v *verifier) endQueue(c *queueCheck) error {
	return c.q.Walk(v.ctx, c.asked, math.MaxInt64, func(u *Units) error {
		switch u.Kind {
		case UnusedUnits, MissingUnits: // a gap between files was told
			return nil
		case DamagedUnits:
			c.note(run{runVoid, u.First, u.First + u.Count, math.MaxInt64, u.Reason})
		case OneUnit:
			if err := v.stray(c, u.First, u.Unit); err != nil {
				return err
			}
		}
		c.end = max(c.end, u.First+u.Count)
		return nil
	})
}

// scanFrom is from where on the next start puts records into the queues again.
func (v *verifier) scanFrom() int64 {
	switch {
	case v.mark != nil:
		return v.mark.Dispatched
	case len(v.starts) == 0 || v.checkpoint == nil:
		return v.log.Min()
	}
	plain := v.checkpoint.Plain
	for _, s := range slices.Backward(v.starts) {
		switch {
		case !v.crashed && s.start <= v.reached:
			return s.start
		case v.crashed && plain.QueuePhysical > 0 && s.start <= plain.QueuePhysical:
			return s.start
		case v.crashed && plain.QueuePhysical == 0 && s.storeTime <= min(plain.LogTime, plain.QueueTime)-3000:
			return s.start
		}
	}
	return v.log.Min()
}

// sums tells that the queues are not those that the checkpoint counts.
func (v *verifier) sums(queues int64) {
	m, units := v.mark, v.r.Units
	f := Finding{Severity: Note, Part: PartCheckpoint, File: v.o.Store.path(checkpointName), Offset: m.Offset,
		What:   fmt.Sprintf("it counts %d queues with %d units, there are %d with %d", m.Queues, m.Units, queues, units),
		Remedy: "the next start builds what is missing from the log"}
	if !v.r.rebuild.any && units < m.Units {
		f.Severity = Damaged
		f.What += "; none that the log has messages of is short, so those are missing whose messages have all expired"
		f.Remedy = "restore their folders from a copy: without them their offsets begin at 0 again"
	}
	v.add(f)
}

// readTopics reads which topics there are, and which have batch queues.
func (v *verifier) readTopics() {
	v.batch = make(map[string]bool)
	v.r.rebuild.batch = v.batch
	s, err := ReadState(filepath.Join(v.o.Store.path(configName), "topics.json"))
	if err == nil {
		err = s.Err
	}
	if err != nil {
		v.r.rebuild.topicFault = err
		return
	}
	v.topics = make(map[string]bool)
	for name, entry := range below(s.Table, tables["topics.json"]) {
		v.topics[name] = true
		if topic, ok := entry.(Table); ok {
			attributes, _ := topic["attributes"].(Table)
			v.batch[name] = textOf(attributes, "queue.type") == "BatchCQ"
		}
	}
	v.r.rebuild.topics = v.topics
}

// unknown tells whether a topic is known not to be among the settings.
func (v *verifier) unknown(topic string) bool {
	return v.topics != nil && !v.topics[topic] && !protocol.IsSystemTopic(topic)
}

// unknownTopics tells of queues of topics that are not among the settings.
func (v *verifier) unknownTopics() {
	for _, c := range v.all {
		if c.present && v.unknown(c.q.Topic) && !protocol.IsLMQ(c.q.Topic) {
			v.addQueue(c, Note, c.q.Dir, 0, c.q.First(), "the topic is not among the settings")
		}
	}
}

func timeOf(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }
