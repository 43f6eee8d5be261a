// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// scheduleTopic is where delayed messages wait: the queue entry says when a message is due instead of its tags.
const scheduleTopic = "SCHEDULE_TOPIC_XXXX"

// Longest topic names, bytes. Only retry topics may be longer than the first.
const (
	maxTopic      = 127
	maxRetryTopic = 255
	retryPrefix   = "%RETRY%"
)

// Append encodes m and gives it its place. The write itself happens in Commit (or sooner, by another goroutine);
// w is told when the promise of the configured flush holds. In sync flush a background group commit may run it instead.
// A message that is refused is answered before Append returns.
func (s *Store) Append(m *Message, w Waiter) {
	status, err := s.append(m, w)
	if err == nil {
		return
	}
	s.rejected.Add(1)
	w.Appended(&Appended{Status: status, Err: err})
	w.Flush()
}

// Commit writes what was appended so far. Readers of connections call it once per batch of requests.
func (s *Store) Commit() { s.log.Commit() }

func (s *Store) append(m *Message, w Waiter) (Status, error) {
	if refused := s.refused.Load(); refused != nil {
		return ServiceNotAvailable, *refused
	}
	if err := s.checkMessage(m); err != nil {
		return MessageIllegal, err
	}
	for {
		q, err := s.queueFor(m.Topic, m.QueueID)
		if err != nil {
			return ServiceNotAvailable, err
		}
		status, err := s.appendTo(q, m, w)
		if !errors.Is(err, commitlog.ErrQueueGone) && !errors.Is(err, commitlog.ErrDigits) {
			return status, err
		}
	}
}

func (s *Store) appendTo(q *queue, m *Message, w Waiter) (Status, error) {
	cfg := s.config()
	seal := cfg.Recovery.AppendSeal
	if m.InnerBatch {
		return s.appendInner(q, m, w, seal)
	}
	if cfg.Light.Enable && !m.Batch && q.Layout() == consumequeue.Simple && queued(m.SysFlag) {
		if names := lightNames(q.topic, m.Properties); names != nil {
			return s.appendLight(q, m, names, w, seal)
		}
	}
	if m.Batch || seal {
		b := drafts.Get().(*draftList)
		defer b.giveBack()
		if status, err := s.draftAll(b, q, m, seal); err != nil {
			return status, err
		}
		return s.log.Append(&q.counter, b.list, w, m.NoWait)
	}
	var one [1]commitlog.Draft
	if len(m.Properties) > message.MaxProperties {
		return PropertiesTooLong, tooLong(m.Properties)
	}
	s.draft(&one[0], q, m, m.Body, m.Properties, m.Flag)
	return s.log.Append(&q.counter, one[:], w, m.NoWait)
}

// queued tells whether a record belongs into its queue: not so prepared and rolled back ones.
func queued(sysFlag int32) bool {
	t := message.Transaction(sysFlag)
	return t == 0 || t == message.TransactionCommit
}

func tooLong(properties []byte) error {
	return fmt.Errorf("properties of %d bytes, %d are allowed", len(properties), message.MaxProperties)
}

func (s *Store) checkMessage(m *Message) error {
	limit := maxTopic
	if strings.HasPrefix(m.Topic, retryPrefix) {
		limit = maxRetryTopic
	}
	switch maxBody := int(s.config().MaxMessageBytes); {
	case len(m.Topic) == 0 || len(m.Topic) > limit:
		return fmt.Errorf("topic name of %d bytes, 1 to %d are allowed", len(m.Topic), limit)
	case strings.ContainsAny(m.Topic, "/\x00") || m.Topic == "." || m.Topic == "..":
		return fmt.Errorf("topic name %q cannot be the name of a folder", m.Topic)
	case m.QueueID < 0:
		return fmt.Errorf("queue id %d", m.QueueID)
	case len(m.Body) > maxBody:
		return fmt.Errorf("body of %d bytes, %d are allowed", len(m.Body), maxBody)
	case m.SysFlag&message.FlagInnerBatch != 0 && !m.InnerBatch:
		return errors.New("the flag of an inner batch on something else")
	case m.InnerBatch && !m.Batch:
		return errors.New("an inner batch that is no batch")
	case m.Batch && message.Transaction(m.SysFlag) != 0:
		return errors.New("a batch in a transaction")
	}
	return nil
}

// draft fills in what is known of a record before it has a place.
func (s *Store) draft(d *commitlog.Draft, q *queue, m *Message, body, properties []byte, flag int32) {
	d.Record = message.Record{
		QueueID: m.QueueID, Flag: flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, BornHost: m.BornHost, StoreHost: m.StoreHost,
		ReconsumeTimes: m.ReconsumeTimes, PreparedOffset: m.PreparedOffset, Body: body, Topic: q.topic, Properties: properties,
	}
	d.TagsCode, d.Delay, d.Delayed = s.tagsCode(q.topic, properties)
}

// tagsCode is what the queue entry says beside the place: the hash of the tags, or with delayed that the message is
// due so many ms after its store time.
func (s *Store) tagsCode(topic, properties []byte) (code, delay int64, delayed bool) {
	if string(topic) == scheduleTopic {
		if text, ok := message.FindProperty(properties, message.PropDelay); ok {
			if level, err := strconv.Atoi(string(text)); err == nil && level > 0 {
				return 0, s.deps.DelayOf(level).Milliseconds(), true
			}
		}
	}
	if tags, ok := message.FindProperty(properties, message.PropTags); ok {
		return message.TagsCode(tags), 0, false
	}
	return 0, 0, false
}

// draftList is the drafts of one append, and memory for the properties made for them.
type draftList struct {
	list       []commitlog.Draft
	properties []byte
}

var drafts = sync.Pool{New: func() any { return new(draftList) }}

const keepProperties = 1 << 20

func (b *draftList) giveBack() {
	clear(b.list) // holds on to no message
	b.list, b.properties = b.list[:0], b.properties[:0]
	if cap(b.properties) > keepProperties {
		b.properties = nil
	}
	drafts.Put(b)
}

// draftAll fills in the drafts of a batch, or of a message that gets a seal. All of a batch is refused or none.
func (s *Store) draftAll(b *draftList, q *queue, m *Message, seal bool) (Status, error) {
	if !m.Batch {
		return s.draftItem(b, q, m, m.Body, m.Properties, nil, m.Flag, seal)
	}
	if _, delayed := message.FindProperty(m.Properties, message.PropDelay); delayed {
		return MessageIllegal, errors.New("a batch with a delay")
	}
	status := OK
	err := message.EachBatchItem(m.Body, func(it message.BatchItem) (err error) {
		status, err = s.draftItem(b, q, m, it.Body, it.Properties, m.Properties, it.Flag, seal)
		return err
	})
	switch {
	case err != nil && status == OK:
		return MessageIllegal, err
	case err == nil && len(b.list) == 0:
		return MessageIllegal, errors.New("a batch without messages")
	}
	return status, err
}

func (s *Store) draftItem(b *draftList, q *queue, m *Message, body, own, common []byte, flag int32, seal bool) (Status, error) {
	properties := own
	if m.Batch && s.config().Light.Enable {
		if _, given := message.FindProperty(own, message.PropMultiQueueOffset); given {
			return MessageIllegal, errOwnOffsets
		}
	}
	if len(common) > 0 || seal {
		// Later growth moves b.properties; what was handed out stays where it is.
		from := len(b.properties)
		if _, sealed := message.FindProperty(own, commitlog.SealName); sealed { // of a message that was stored before
			b.properties = message.NormalizeProperties(b.properties, own, commitlog.SealName)
		} else {
			b.properties = append(b.properties, own...)
		}
		if n := len(b.properties); n > from && b.properties[n-1] != 0x02 {
			b.properties = append(b.properties, 0x02)
		}
		b.properties = append(b.properties, common...)
		if seal {
			b.properties = commitlog.AppendSeal(b.properties)
		}
		properties = b.properties[from:len(b.properties):len(b.properties)]
	}
	if len(properties) > message.MaxProperties {
		return PropertiesTooLong, tooLong(properties)
	}
	b.list = append(b.list, commitlog.Draft{Sealed: seal})
	s.draft(&b.list[len(b.list)-1], q, m, body, properties, flag)
	return OK, nil
}

// tagsCodeOf is the tags code of a record as recovery computes it.
func (s *Store) tagsCodeOf(r *message.Record) int64 {
	code, delay, delayed := s.tagsCode(r.Topic, r.Properties)
	if delayed {
		return r.StoreTimestamp + delay
	}
	return code
}

// text gives bytes as a string without a copy, for look-ups that do not keep it.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
