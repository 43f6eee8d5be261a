// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package delay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// propertyEnd stands after each property.
const propertyEnd = 0x02

// deliver puts the messages of consecutive entries where they were sent. It returns how many, counted from the first,
// are done with for good, and how long to wait before going on.
//
// All are appended, then waited for together, so that they share the flushes of the log. One that the store refuses is
// tried again and again; those behind it that were taken are not put a second time. A crash in between has some come twice.
func (l *level) deliver(ctx context.Context, offset int64, entries []store.QueueEntry) (done int, wait time.Duration) {
	msgs, wait := l.load(offset, entries)
	for len(msgs) > 0 {
		l.put(msgs)
		for done < len(msgs) && msgs[done].settled {
			done++
		}
		if done == len(msgs) || !sleep(ctx, retryAfter) {
			return done, wait
		}
	}
	return 0, wait
}

// delivery is one message on its way.
type delivery struct {
	message store.Message
	settled bool // stored, or not worth storing
}

// load reads the messages of the entries until there are enough. wait is not 0 when one could not be read now.
func (l *level) load(offset int64, entries []store.QueueEntry) (msgs []delivery, wait time.Duration) {
	log := l.scheduler.cfg.Logger
	bytes := 0
	for i, e := range entries {
		if bytes += int(e.Size); bytes > batchBytes && i > 0 {
			break
		}
		record, err := l.store.View(e.PhysicalOffset)
		if err != nil && !errors.Is(err, store.ErrNoMessage) {
			log.Error("delayed message cannot be read; its level waits", "level", l.n, "offset", offset+int64(i), "err", err)
			return msgs, faultAfter
		}
		d := delivery{}
		if err == nil {
			d.message, err = restore(record)
		}
		if err != nil {
			log.Warn("delayed message is given up", "level", l.n, "offset", offset+int64(i), "physicalOffset", e.PhysicalOffset, "err", err)
			d.settled = true
		}
		msgs = append(msgs, d)
	}
	return msgs, 0
}

// restore makes the message that was sent of the record that waited. As in RocketMQ the properties stay as they are, so
// consumers still see DELAY, REAL_TOPIC and REAL_QID; nobody takes them for a new wish. It waits for the disk even if the
// sender did not want to (RocketMQ never waits): progress is written by and by and must not run ahead of what was moved.
func restore(record []byte) (store.Message, error) {
	var r message.Record
	if _, err := message.DecodeRecord(record, &r, true); err != nil {
		return store.Message{}, err
	}
	topic, _ := message.FindProperty(r.Properties, message.PropRealTopic)
	text, _ := message.FindProperty(r.Properties, message.PropRealQueueID)
	queueID, err := strconv.ParseInt(string(text), 10, 32)
	switch {
	case len(topic) == 0 || err != nil || queueID < 0:
		return store.Message{}, fmt.Errorf("it does not say where to: %s=%q %s=%q", message.PropRealTopic, topic, message.PropRealQueueID, text)
	case string(topic) == protocol.TopicTransHalf || string(topic) == protocol.TopicSchedule:
		return store.Message{}, fmt.Errorf("it goes to %s", topic)
	}
	properties := r.Properties
	if n := len(properties); n > 0 && properties[n-1] != propertyEnd {
		properties = append(properties[:n:n], propertyEnd) // of 4.9, which leaves the last one out
	}
	return store.Message{
		Topic: string(topic), QueueID: int32(queueID), Flag: r.Flag, SysFlag: r.SysFlag,
		BornTimestamp: r.BornTimestamp, BornHost: r.BornHost, StoreHost: r.StoreHost,
		ReconsumeTimes: r.ReconsumeTimes, Body: r.Body, Properties: properties, Delayed: true,
	}, nil
}

// put appends those that are not settled and waits for the outcome of each.
func (l *level) put(msgs []delivery) {
	var stored sync.WaitGroup
	waiters := make([]putWaiter, len(msgs))
	for i := range msgs {
		if msgs[i].settled {
			continue
		}
		waiters[i] = putWaiter{delivery: &msgs[i], stored: &stored, level: l}
		stored.Add(1)
		l.store.Append(&msgs[i].message, &waiters[i])
	}
	l.store.Commit()
	stored.Wait()
}

type putWaiter struct {
	delivery *delivery
	stored   *sync.WaitGroup
	level    *level
}

// Appended settles what is stored, safely or not: putting it again would only make it two (RocketMQ does).
func (w *putWaiter) Appended(a *store.Appended) {
	switch a.Status {
	case store.OK, store.FlushDiskTimeout:
		w.delivery.settled = true
		if told := w.level.scheduler.cfg.Delivered; told != nil {
			told(w.level.n, &w.delivery.message)
		}
	case store.MessageIllegal, store.PropertiesTooLong:
		w.delivery.settled = true
		w.level.scheduler.cfg.Logger.Error("delayed message is refused by the store and given up",
			"level", w.level.n, "topic", w.delivery.message.Topic, "err", a.Err)
	default:
		w.level.scheduler.cfg.Logger.Warn("delayed message is not stored and tried again",
			"level", w.level.n, "topic", w.delivery.message.Topic, "err", a.Err)
	}
}

func (w *putWaiter) Flush() { w.stored.Done() }
