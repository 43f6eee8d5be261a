// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// A message whose property INNER_MULTI_DISPATCH names light queues, separated by commas, is stored once, in its own
// topic, and can be read in each of them, too. What offsets it has there stands in INNER_MULTI_QUEUE_OFFSET, in the same
// order; its digits are written under the log's lock. A light queue is queue 0 of the topic of its name.
const (
	lightPrefix    = "%LMQ%"
	lightSeparator = ","
	maxLightName   = 255 // bytes: it becomes the name of a folder
)

// Topics whose messages are in no light queue, whatever they say: they are on their way to another topic.
const (
	systemPrefix = "rmq_sys_"
	halfTopic    = "RMQ_SYS_TRANS_HALF_TOPIC"
)

// leastRecord is less than the size of any record, bytes.
const leastRecord = 80

// lightsOf gives the names of the light queues that a message asks for; nil when it is for none.
func lightsOf(topic, properties []byte) []byte {
	names, ok := message.FindProperty(properties, message.PropMultiDispatch)
	if !ok || !asksFor(names, text(topic)) {
		return nil
	}
	return names
}

// asksFor tells whether a list of names that a message of a topic has means anything.
func asksFor(list []byte, topic string) bool {
	return len(bytes.TrimSpace(list)) > 0 && !strings.HasPrefix(topic, retryPrefix) && !strings.HasPrefix(topic, systemPrefix) &&
		topic != scheduleTopic && topic != halfTopic
}

// splitLights gives the names in a list. Commas at its end do not count, as in Java.
func splitLights(names []byte) []string {
	return strings.Split(strings.TrimRight(string(names), lightSeparator), lightSeparator)
}

// CheckLights tells what is wrong with the light queues that a message for topic names in INNER_MULTI_DISPATCH: then it is
// stored as if it named none. A Java broker takes some such lists, and stops to bring anything into its queues.
func CheckLights(topic string, list []byte) error {
	if !asksFor(list, topic) {
		return nil
	}
	return checkLights(topic, splitLights(list))
}

func checkLights(topic string, names []string) error {
	for i, name := range names {
		switch {
		case !strings.HasPrefix(name, lightPrefix) || len(name) == len(lightPrefix):
			return fmt.Errorf("%s names %.64q, which is no light queue: all of its names must begin with %s", message.PropMultiDispatch, name, lightPrefix)
		case len(name) > maxLightName || strings.ContainsAny(name, "/\x00"):
			return fmt.Errorf("%s names %.64q, which cannot be the name of a folder", message.PropMultiDispatch, name)
		case name == topic:
			return fmt.Errorf("%s names the topic of the message itself", message.PropMultiDispatch)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%s names %.64q twice", message.PropMultiDispatch, name)
		}
	}
	return nil
}

// lightNames gives the names of the light queues that a message is for.
func lightNames(topic, properties []byte) []string {
	list := lightsOf(topic, properties)
	if list == nil {
		return nil
	}
	names := splitLights(list)
	if checkLights(text(topic), names) != nil {
		return nil
	}
	return names
}

// appendLight appends a message to its queue and to the light queues of these names.
func (s *Store) appendLight(q *queue, m *Message, names []string, w Waiter, seal bool) (Status, error) {
	lights := make(commitlog.Lights, len(names)) // the log keeps them
	for i, name := range names {
		light, err := s.queueFor(name, 0)
		if err != nil {
			return ServiceNotAvailable, err
		}
		if light.Layout() != consumequeue.Simple {
			return MessageIllegal, fmt.Errorf("%s has batch queues", name)
		}
		lights[i].Counter = &light.counter
	}
	b := drafts.Get().(*draftList)
	defer b.giveBack()
	properties := s.lightProperties(b, m, lights, seal)
	if len(properties) > message.MaxProperties {
		return PropertiesTooLong, tooLong(properties)
	}
	b.list = append(b.list, commitlog.Draft{Sealed: seal, Lights: &lights})
	d := &b.list[0]
	s.draft(d, q, m, m.Body, properties, m.Flag)
	return s.log.Append(&q.counter, b.list, w, m.NoWait)
}

// lightProperties makes the properties of a message for light queues, in the order in which a Java broker writes them,
// with room for the digits of its offsets there, to which it lets the lights point. That broker writes them anew for light
// queues, which shows in messages that were delayed.
func (s *Store) lightProperties(b *draftList, m *Message, lights commitlog.Lights, seal bool) []byte {
	own := m.Properties
	var room []byte
	digits := make([]int, len(lights))
	for i := range lights {
		if i > 0 {
			room = append(room, lightSeparator...)
		}
		digits[i] = commitlog.Digits(s.log.Next(lights[i].Counter))
		room = append(room, bytes.Repeat([]byte{'0'}, digits[i])...)
	}
	all := append(make([]byte, 0, len(own)+len(room)+32), own...)
	if n := len(all); n > 0 && all[n-1] != 0x02 {
		all = append(all, 0x02)
	}
	if m.Delayed {
		all = message.AppendProperty(all, message.PropWait, "false")
	}
	all = message.AppendProperty(all, message.PropMultiQueueOffset, string(room))
	b.properties = message.AppendInMapOrder(b.properties[:0], all, func(name []byte) bool {
		switch string(name) {
		case commitlog.SealName:
			return true
		case message.PropDelay, message.PropTimerDeliverMs, message.PropTimerDelaySec:
			return m.Delayed
		}
		return false
	})
	if seal {
		b.properties = commitlog.AppendSeal(b.properties)
	}
	offsets, _ := message.FindProperty(b.properties, message.PropMultiQueueOffset)
	for i := range lights {
		lights[i].Offset = offsets[:digits[i]:digits[i]]
		offsets = offsets[min(digits[i]+len(lightSeparator), len(offsets)):]
	}
	return b.properties
}

// errOwnOffsets refuses what recovery could not tell from offsets that the store gave out.
var errOwnOffsets = errors.New(message.PropMultiQueueOffset + " in a batch: it is for the broker to say")

// placeLights puts a record that was dispatched into its light queues. s.dispatching is held.
func (s *Store) placeLights(e *commitlog.Entry) {
	for _, light := range *e.Lights {
		q := light.Counter.Owner.(*queue)
		place, pending := q.put(&placed{
			physical: e.PhysicalOffset, offset: light.QueueOffset, size: int32(len(e.Record)), messages: 1,
			tags: e.TagsCode, time: e.StoreTimestamp,
		})
		s.placedLocked(q, place, pending, light.QueueOffset)
	}
}

// arriveLights reports a record's arrival in its light queues.
func (s *Store) arriveLights(e *commitlog.Entry) {
	for _, light := range *e.Lights {
		q := light.Counter.Owner.(*queue)
		s.deps.Arrived(Arrival{
			Topic: q.name.Topic, QueueID: q.name.QueueID, Next: light.QueueOffset + 1, TagsCode: e.TagsCode,
			StoreTimestamp: e.StoreTimestamp, Properties: e.Properties(),
		})
	}
}

// lights puts a record into the light queues that it is in by its properties.
func (r *recovery) lights(rec *message.Record, fill bool) error {
	if !r.s.dispatchesLights() || rec.SysFlag&message.FlagInnerBatch != 0 {
		return nil
	}
	given, _ := message.FindProperty(rec.Properties, message.PropMultiQueueOffset)
	if len(given) == 0 {
		return nil
	}
	names, offsets := lightNames(rec.Topic, rec.Properties), strings.Split(string(given), lightSeparator)
	if len(offsets) != len(names) {
		return nil // nor has a Java broker units for it
	}
	for i, name := range names {
		n, err := strconv.ParseInt(offsets[i], 10, 64)
		if err != nil || n < 0 {
			return nil
		}
		if err := r.light(rec, name, n, fill); err != nil {
			return err
		}
	}
	return nil
}

// light puts a record into a light queue, at an offset that the record claims: of a message that was stored while there
// were no light queues its sender may have said anything.
func (r *recovery) light(rec *message.Record, name string, offset int64, fill bool) error {
	q, err := r.queueNamed(name, 0)
	if q == nil || err != nil {
		return err
	}
	if q.Layout() != consumequeue.Simple || offset-q.End() > (rec.PhysicalOffset-q.Physical())/leastRecord {
		return nil // there were not so many messages
	}
	return r.place(q, &placed{
		physical: rec.PhysicalOffset, offset: offset, size: rec.Size, messages: 1, tags: r.s.tagsCodeOf(rec), time: rec.StoreTimestamp,
	}, fill)
}

// dispatchesLights tells whether messages can be read in light queues.
func (s *Store) dispatchesLights() bool {
	cfg := &s.config().Light
	return cfg.Enable && cfg.Dispatch
}
