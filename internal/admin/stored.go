// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
)

// Place is where a message is in a queue of a topic that goes without saying.
type Place struct {
	Broker  string
	QueueID int32
	Offset  int64
}

// String gives BROKER:QUEUE@OFFSET, or QUEUE@OFFSET where no broker is named.
func (p Place) String() string {
	if p.Broker == "" {
		return fmt.Sprintf("%d@%d", p.QueueID, p.Offset)
	}
	return fmt.Sprintf("%s:%d@%d", p.Broker, p.QueueID, p.Offset)
}

// Stored is a message as a broker keeps it. Its slices share no memory with anything else.
type Stored struct {
	message.Record
	Broker string // by name
}

// readStored takes the messages out of an answer's body, those of an inner batch one by one.
func readStored(body []byte, broker string) ([]*Stored, error) {
	records, err := message.DecodeAll(bytes.Clone(body))
	if err != nil {
		return nil, err
	}
	var all []*Stored
	for i := range records {
		m := &Stored{Record: records[i], Broker: broker}
		if m.SysFlag&message.FlagInnerBatch == 0 || m.SysFlag&message.FlagNeedUnwrap == 0 {
			all = append(all, m)
			continue
		}
		items, err := m.unwrap()
		if err != nil {
			return nil, fmt.Errorf("read the batch at %s: %w", m.Place(), err)
		}
		all = append(all, items...)
	}
	return all, nil
}

// unwrap takes an inner batch apart: its messages have offsets from the record's on, and share the rest of it.
func (m *Stored) unwrap() ([]*Stored, error) {
	body, err := m.Content()
	if err != nil {
		return nil, err
	}
	var items []*Stored
	err = message.EachBatchItem(body, func(it message.BatchItem) error {
		one := *m
		one.SysFlag &^= message.FlagInnerBatch | message.FlagNeedUnwrap | message.FlagCompressed | message.CompressionMask
		one.QueueOffset += int64(len(items))
		one.Flag, one.Body, one.Properties = it.Flag, it.Body, it.Properties
		items = append(items, &one)
		return nil
	})
	return items, err
}

// Place gives where it is.
func (m *Stored) Place() Place { return Place{m.Broker, m.QueueID, m.QueueOffset} }

// StoredAt gives when the broker stored it, by its clock.
func (m *Stored) StoredAt() time.Time { return time.UnixMilli(m.StoreTimestamp) }

// Property gives a property's value, "" where there is none.
func (m *Stored) Property(name string) string {
	value, _ := message.FindProperty(m.Properties, name)
	return string(value)
}

// ID gives the id that the sender's client made, which copies of a message share, or the place where there is none.
func (m *Stored) ID() string { return cmp.Or(m.Property(message.PropUniqueKey), m.OffsetID()) }

// OffsetID gives the id that names its place in the broker's log.
func (m *Stored) OffsetID() string { return message.OffsetID(m.StoreHost, m.PhysicalOffset) }

// OriginID gives its id before the first retry, "" where it does not say.
func (m *Stored) OriginID() string { return m.Property(message.PropOriginID) }

// Keys gives the keys it is found by.
func (m *Stored) Keys() []string { return strings.Fields(m.Property(message.PropKeys)) }

// OriginalTopic gives where it was sent to before it was retried or became a dead letter, "" where it does not say.
func (m *Stored) OriginalTopic() string { return m.Property(message.PropRetryTopic) }

// FailureReason gives why the last attempt at it failed, "" where the consumer did not tell.
func (m *Stored) FailureReason() string { return m.Property(message.PropFailureReason) }

// maxContent bounds what a compressed body may unpack to.
const maxContent = 512 << 20

// Content gives the body, unpacked.
func (m *Stored) Content() ([]byte, error) {
	body, err := message.Decompress(m.Body, m.SysFlag, maxContent)
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", m.OffsetID(), err)
	}
	return body, nil
}
