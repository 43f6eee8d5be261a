// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
)

// maxBody bounds what a compressed body may unpack to: brokers and clients agree on
// limits of a few MiB, so more than this is an attack or damage.
const maxBody = 512 << 20

// readRecords makes messages of a pull's answer. They share no memory with it. What
// can not be read is left out and told by the error.
func readRecords(body []byte, broker string) ([]*Received, error) {
	records, err := message.DecodeAll(body)
	errs := []error{err}
	messages := make([]*Received, 0, len(records))
	for i := range records {
		r := &records[i]
		if r.SysFlag&message.FlagInnerBatch != 0 && r.SysFlag&message.FlagNeedUnwrap != 0 {
			inner, err := readInnerBatch(r, broker)
			messages = append(messages, inner...)
			errs = append(errs, err)
			continue
		}
		m, err := readRecord(r, broker)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		messages = append(messages, m)
	}
	return messages, errors.Join(errs...)
}

func readRecord(r *message.Record, broker string) (*Received, error) {
	m := received(r, broker, r.Flag, r.QueueOffset, r.Properties)
	if r.SysFlag&message.FlagCompressed == 0 {
		m.Body = bytes.Clone(r.Body)
		return m, nil
	}
	body, err := message.Decompress(r.Body, r.SysFlag, maxBody)
	if err != nil {
		return nil, fmt.Errorf("unpack message %s of queue %s offset %d: %w", m.OffsetID, m.Queue, m.Offset, err)
	}
	m.Body = body
	return m, nil
}

// readInnerBatch makes the messages that one record holds: they have offsets from the
// record's on, and share its place, times and hosts.
func readInnerBatch(r *message.Record, broker string) ([]*Received, error) {
	var messages []*Received
	body := r.Body
	if r.SysFlag&message.FlagCompressed != 0 {
		unpacked, err := message.Decompress(r.Body, r.SysFlag, maxBody)
		if err != nil {
			return nil, fmt.Errorf("unpack a batch of queue %d offset %d: %w", r.QueueID, r.QueueOffset, err)
		}
		body = unpacked
	}
	err := message.EachBatchItem(body, func(it message.BatchItem) error {
		m := received(r, broker, it.Flag, r.QueueOffset+int64(len(messages)), it.Properties)
		m.Body = bytes.Clone(it.Body)
		messages = append(messages, m)
		return nil
	})
	if err != nil {
		return messages, fmt.Errorf("read a batch of queue %d offset %d: %w", r.QueueID, r.QueueOffset, err)
	}
	return messages, nil
}

func received(r *message.Record, broker string, flag int32, offset int64, properties []byte) *Received {
	topic := string(r.Topic)
	m := &Received{
		Message:   Message{Topic: topic, Flag: flag},
		OffsetID:  message.OffsetID(r.StoreHost, r.PhysicalOffset),
		Queue:     Queue{Topic: topic, Broker: broker, ID: int(r.QueueID)},
		Offset:    offset,
		Attempts:  int(r.ReconsumeTimes),
		BornAt:    time.UnixMilli(r.BornTimestamp),
		BornHost:  r.BornHost,
		StoredAt:  time.UnixMilli(r.StoreTimestamp),
		StoreHost: r.StoreHost,

		physicalOffset: r.PhysicalOffset,
	}
	readProperties(m, properties)
	if m.ID == "" {
		m.ID = m.OffsetID
	}
	return m
}
