// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"maps"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func batchOf(items ...message.BatchItem) string {
	var b []byte
	for _, it := range items {
		b = message.AppendBatchItem(b, it)
	}
	return string(b)
}

func item(body, pairs string) message.BatchItem {
	return message.BatchItem{Body: []byte(body), Properties: propertyText(pairs)}
}

func TestBatch(t *testing.T) {
	r := start(t)
	topic := r.topic()
	three := []message.BatchItem{item("a", "UNIQ_KEY=U1 TAGS=x"), item("b", "UNIQ_KEY=U2"), item("c", "UNIQ_KEY=U3 KEYS=k")}
	three[1].Flag = 5
	more := props("outer=1")
	more["m"] = true
	a := r.success(protocol.SendBatchMessage, sendExt(topic, more), []byte(batchOf(three...))...)
	if a.ext("queueOffset") != "0" || a.ext("transactionId") != "" {
		t.Errorf("queue offset %q, transaction id %q", a.ext("queueOffset"), a.ext("transactionId"))
	}
	ids := strings.Split(a.ext("msgId"), ",")
	r.readable(topic, 0, 3)
	rs := r.pull(topic, protocol.GroupTools, 0, nil).records()
	if len(rs) != 3 || len(ids) != 3 {
		t.Fatalf("%d messages, ids %v", len(rs), ids)
	}
	for i, m := range rs {
		if m.QueueOffset != int64(i) || string(m.Body) != string(three[i].Body) || m.Flag != three[i].Flag ||
			string(m.Properties) != string(three[i].Properties) {
			t.Errorf("message %d: offset %d body %q flag %d properties %q", i, m.QueueOffset, m.Body, m.Flag, m.Properties)
		}
		if id := message.OffsetID(m.StoreHost, m.PhysicalOffset); id != ids[i] {
			t.Errorf("message %d has id %s, the answer said %s", i, id, ids[i])
		}
	}
}

func TestBatchIsDecidedByItsField(t *testing.T) {
	r := start(t)
	as310, as320 := r.topic(), r.topic()
	body := []byte(batchOf(item("a", ""), item("b", "")))
	r.success(protocol.SendMessageV2, sendExt(as310, ext{"m": true}), body...)
	r.success(protocol.SendBatchMessage, sendExt(as320, ext{"m": nil}), body...)
	r.readable(as310, 0, 2)
	r.readable(as320, 0, 1)
	if _, end := r.store.QueueRange(as320, 0); end != 1 {
		t.Errorf("code 320 without m stored %d messages", end)
	}
}

func TestBatchRefusals(t *testing.T) {
	r := start(t)
	topic, group := r.topic(), r.group()
	illegal := r.sender.illegal(r.Config()).Remark
	two := batchOf(item("a", "DELAY=3"), item("b", ""))
	wide := message.AppendBatchItem(nil, item("a", ""))
	wide = append(wide[:len(wide)-2], 0x80, 0x00) // properties of 32768 bytes, a negative number in 16 bits
	wide = append(wide, make([]byte, 32768)...)
	tests := []struct {
		situation, topic, body string
		more                   ext
		code                   int32
		remark                 string // "*": any
	}{
		{"a delay inside is not looked at", topic, two, nil, protocol.Success, ""},
		{"to a retry topic", protocol.RetryTopic(group), two, nil, protocol.MessageIllegal, "batch request does not support retry group %RETRY%" + group},
		{"with a delay level", topic, two, props("DELAY=3"), protocol.MessageIllegal, illegal},
		{"with transaction bits", topic, two, ext{"f": message.TransactionPrepared}, protocol.MessageIllegal, illegal},
		{"without items", topic, "", nil, protocol.SystemError, "the message has no body"},
		{"too large", topic, batchOf(item(strings.Repeat("x", 2<<20), ""), item(strings.Repeat("x", 2<<20), "")), nil, protocol.SystemError, "*"},
		{"small items whose records are too large together", topic, strings.Repeat(batchOf(item("x", "")), 100_000), nil, protocol.SystemError, "*"},
		{"rubbish", topic, "\x00\x00\x00\x01rubbish", nil, protocol.MessageIllegal, "*"},
		{"an item with too large properties", topic, string(wide), nil, protocol.MessageIllegal, "*"},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			_, before := r.store.QueueRange(tt.topic, 0)
			more := ext{"m": true}
			maps.Copy(more, tt.more)
			a := r.call(protocol.SendBatchMessage, sendExt(tt.topic, more), []byte(tt.body)...)
			if a.Code != tt.code || tt.remark != "*" && a.Remark != tt.remark {
				t.Errorf("answer %d %q, want %d %q", a.Code, a.Remark, tt.code, tt.remark)
			}
			if _, end := r.store.QueueRange(tt.topic, 0); a.Code != protocol.Success && end != before {
				t.Errorf("refused, but the queue grew from %d to %d", before, end)
			}
		})
	}
}
