// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// maxInner is the most messages in an inner batch: the queue's unit has 16 bits for their number.
const maxInner = math.MaxInt16

// innerFlags are the flags of a record that holds an inner batch.
const innerFlags = message.FlagInnerBatch | message.FlagNeedUnwrap

// appendInner appends a batch as one record, in a queue where it takes as many offsets as it has messages.
func (s *Store) appendInner(q *queue, m *Message, w Waiter, seal bool) (Status, error) {
	if q.Layout() != consumequeue.Batch {
		return MessageIllegal, fmt.Errorf("an inner batch for topic %s, which has simple queues", m.Topic)
	}
	if _, delayed := message.FindProperty(m.Properties, message.PropDelay); delayed {
		return MessageIllegal, errors.New("a batch with a delay")
	}
	count := 0
	if err := message.EachBatchItem(m.Body, func(message.BatchItem) error { count++; return nil }); err != nil {
		return MessageIllegal, err
	}
	if count < 1 || count > maxInner {
		return MessageIllegal, fmt.Errorf("a batch of %d messages, 1 to %d are allowed", count, maxInner)
	}
	b := drafts.Get().(*draftList)
	defer b.giveBack()
	properties, offset := b.innerProperties(m.Properties, count, commitlog.Digits(s.log.Next(&q.counter)), seal)
	if len(properties) > message.MaxProperties {
		return PropertiesTooLong, tooLong(properties)
	}
	b.list = append(b.list, commitlog.Draft{Sealed: seal})
	d := &b.list[0]
	s.draft(d, q, m, m.Body, properties, m.Flag)
	d.Record.SysFlag |= innerFlags
	d.Messages, d.Offset = int32(count), offset
	return s.log.Append(&q.counter, b.list, w, m.NoWait)
}

// innerProperties makes the properties of an inner batch, in the order in which a Java broker writes them, with room for
// an INNER_BASE of so many digits, which it gives, too.
func (b *draftList) innerProperties(own []byte, count, digits int, seal bool) (properties, offset []byte) {
	var number [20]byte
	all := append(make([]byte, 0, len(own)+64), own...)
	if n := len(all); n > 0 && all[n-1] != 0x02 {
		all = append(all, 0x02)
	}
	all = message.AppendProperty(all, message.PropInnerNum, string(strconv.AppendInt(number[:0], int64(count), 10)))
	for i := range digits {
		number[i] = '0'
	}
	all = message.AppendProperty(all, message.PropInnerBase, string(number[:digits]))
	b.properties = message.AppendInMapOrder(b.properties[:0], all, func(name []byte) bool { return string(name) == commitlog.SealName })
	if seal {
		b.properties = commitlog.AppendSeal(b.properties)
	}
	offset, _ = message.FindProperty(b.properties, message.PropInnerBase)
	return b.properties, offset
}
