// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestMessagesRefusedBeforeTheyAreSent(t *testing.T) {
	cfg := defaultProducer()
	cfg.maxBytes = 100
	body := []byte("x")
	for _, test := range []struct {
		situation string
		m         *Message
		code      Code
		text      string
	}{
		{"no message", nil, CodeClient, "no message"},
		{"no topic", &Message{Body: body}, CodeInvalidParameter, "topic is blank"},
		{"a topic with a dot", &Message{Topic: "a.b", Body: body}, CodeInvalidParameter, "illegal characters"},
		{"a topic of 128 characters", &Message{Topic: strings.Repeat("t", 128), Body: body}, CodeInvalidParameter, "longer than"},
		{"a topic of the system", &Message{Topic: protocol.TopicSchedule, Body: body}, CodeNoPermission, "forbidden"},
		{"no body", &Message{Topic: "T"}, CodeMessageIllegal, "the body is empty"},
		{"a body over the limit", &Message{Topic: "T", Body: make([]byte, 101)}, CodeMessageIllegal, "101 bytes: at most 100"},
		{"a delay level below zero", &Message{Topic: "T", Body: body, DelayLevel: -1}, CodeClient, "below zero"},
		{"two delays", &Message{Topic: "T", Body: body, DelayLevel: 1, DeliverAt: time.Now()}, CodeClient, "choose one"},
		{"a bad property", &Message{Topic: "T", Body: body, Properties: map[string]string{"KEYS": "x"}}, CodeClient, "used by the system"},
	} {
		t.Run(test.situation, func(t *testing.T) {
			_, err := cfg.outgoing(test.m, time.Now())
			if err == nil {
				t.Fatal("no error")
			}
			err = wrapInvalid(err)
			if CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v with code %d, want %q with %d", err, CodeOf(err), test.text, test.code)
			}
		})
	}
}

// wrapInvalid is what the methods of a Producer do with such an error.
func wrapInvalid(err error) error { return invalid("send", err) }

func TestBatchesRefusedBeforeTheyAreSent(t *testing.T) {
	cfg := defaultProducer()
	cfg.maxBytes = 1000
	m := func(change func(*Message)) *Message {
		m := &Message{Topic: "T", Body: []byte("x")}
		if change != nil {
			change(m)
		}
		return m
	}
	for _, test := range []struct {
		situation string
		batch     []*Message
		text      string
	}{
		{"empty", nil, "empty"},
		{"two topics", []*Message{m(nil), m(func(m *Message) { m.Topic = "U" })}, "message 1 of the batch: topic U"},
		{"a delay level", []*Message{m(func(m *Message) { m.DelayLevel = 1 })}, "delayed"},
		{"a delivery time", []*Message{m(func(m *Message) { m.DeliverAt = time.Now() })}, "delayed"},
		{"waiting and not waiting", []*Message{m(nil), m(func(m *Message) { m.NoWait = true })}, "NoWait"},
		{"two sharding keys", []*Message{m(nil), m(func(m *Message) { m.ShardingKey = "s" })}, "ShardingKey"},
		{"a retry topic", []*Message{m(func(m *Message) { m.Topic = "%RETRY%g" })}, "retry topic"},
		{"one too large among small ones", []*Message{m(nil), m(func(m *Message) { m.Body = make([]byte, 1001) })}, "1001 bytes"},
		{"too large together", []*Message{m(func(m *Message) { m.Body = make([]byte, 600) }), m(func(m *Message) { m.Body = make([]byte, 600) })}, "split it"},
		{"properties too long", []*Message{m(func(m *Message) {
			m.Properties = map[string]string{"x": strings.Repeat("y", maxPropertiesBytes)}
		})}, "bytes of properties"},
		{"a hole", []*Message{m(nil), nil}, "message 1 of the batch: no message"},
	} {
		t.Run(test.situation, func(t *testing.T) {
			_, err := cfg.outgoingBatch(test.batch, time.Now())
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want one with %q", err, test.text)
			}
		})
	}
}

func TestBatchOnTheWire(t *testing.T) {
	cfg := defaultProducer()
	batch := []*Message{
		{Topic: "T", Body: []byte("one"), Flag: 7, Tag: "A"},
		{Topic: "T", Body: bytes.Repeat([]byte("2"), 5000), Properties: map[string]string{"x": "y"}},
	}
	o, err := cfg.outgoingBatch(batch, time.UnixMilli(42))
	if err != nil {
		t.Fatal(err)
	}
	if o.code != protocol.SendBatchMessage || !o.header.Batch || o.header.SysFlag != 0 || o.header.BornTimestamp != 42 {
		t.Errorf("code %d, header %+v", o.code, o.header)
	}
	ids := strings.Split(o.id, ",")
	var i int
	err = message.EachBatchItem(o.body, func(it message.BatchItem) error {
		id, _ := message.FindProperty(it.Properties, message.PropUniqueKey)
		if !bytes.Equal(it.Body, batch[i].Body) || it.Flag != batch[i].Flag || string(id) != ids[i] {
			t.Errorf("item %d: flag %d, id %s, body of %d bytes", i, it.Flag, id, len(it.Body))
		}
		i++
		return nil
	})
	if err != nil || i != 2 || len(ids) != 2 {
		t.Errorf("%d items, ids %v, error %v", i, ids, err)
	}
}

func TestCompression(t *testing.T) {
	noise := make([]byte, 8000)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		situation string
		body      []byte
		flag      int32
	}{
		{"one byte less than it begins at", bytes.Repeat([]byte("x"), 4095), 0},
		{"as many as it begins at", bytes.Repeat([]byte("x"), 4096), 0x301},
		{"what does not get smaller stays", noise, 0},
	} {
		t.Run(test.situation, func(t *testing.T) {
			cfg := defaultProducer()
			o, err := cfg.outgoing(&Message{Topic: "T", Body: test.body}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if o.header.SysFlag != test.flag {
				t.Errorf("sysFlag %#x, want %#x", o.header.SysFlag, test.flag)
			}
			body := o.body
			if o.header.SysFlag != 0 {
				if body, err = message.Decompress(o.body, o.header.SysFlag, maxBody); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(body, test.body) {
				t.Error("another body")
			}
		})
	}
}
