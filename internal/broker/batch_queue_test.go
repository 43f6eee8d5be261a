// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// batchQueues makes a topic one of batch queues.
func batchQueues(c *protocol.TopicConfig) { c.Attributes = map[string]string{"queue.type": "BatchCQ"} }

// letters is a batch of one-letter messages.
func letters(text string) []byte {
	var items []message.BatchItem
	for i, letter := range text {
		items = append(items, item(string(letter), fmt.Sprintf("UNIQ_KEY=U%d", i)))
	}
	return []byte(batchOf(items...))
}

func (r *running) sendBatch(topic, text, pairs string) answer {
	r.Helper()
	more := props(pairs)
	more["m"] = true
	return r.success(protocol.SendBatchMessage, sendExt(topic, more), letters(text)...)
}

// outline tells of records: offset, messages, body of those without inner batch.
func outline(records []message.Record) string {
	var parts []string
	for _, m := range records {
		if m.SysFlag&message.FlagInnerBatch == 0 {
			parts = append(parts, fmt.Sprintf("%d:%s", m.QueueOffset, m.Body))
			continue
		}
		p := message.ParseProperties(m.Properties)
		text := ""
		message.EachBatchItem(m.Body, func(it message.BatchItem) error { text += string(it.Body); return nil })
		parts = append(parts, fmt.Sprintf("%d:%#x(%s from %s)%s", m.QueueOffset, m.SysFlag, p["INNER_NUM"], p["INNER_BASE"], text))
	}
	return strings.Join(parts, " ")
}

func TestInnerBatch(t *testing.T) {
	r := start(t)
	topic := r.topic(batchQueues)
	a := r.sendBatch(topic, "abc", "UNIQ_KEY=OUTER INNER_NUM=9")
	if a.ext("batchUniqId") != "OUTER" || a.ext("queueOffset") != "0" || strings.Contains(a.ext("msgId"), ",") {
		t.Errorf("batchUniqId %q, queue offset %q, ids %q", a.ext("batchUniqId"), a.ext("queueOffset"), a.ext("msgId"))
	}
	r.readable(topic, 0, 3)
	r.send(topic, "d", nil)
	if a := r.sendBatch(topic, "ef", "KEYS=k"); a.ext("queueOffset") != "4" || strings.Count(a.ext("msgId"), ",") != 1 || a.ext("batchUniqId") != "" {
		t.Errorf("a batch without its own key: %v", a.Fields)
	}
	for i := 6; i < 12; i += 3 { // the offset gets a second digit
		r.sendBatch(topic, "ghi", "UNIQ_KEY=MORE")
	}
	a = r.sendBatch(topic, "jk", "UNIQ_KEY=LAST")
	if a.ext("queueOffset") != "12" {
		t.Errorf("the last batch is at %s", a.ext("queueOffset"))
	}
	r.readable(topic, 0, 14)
	all := []string{"0:0xc0(3 from 0)abc", "3:d", "4:e", "5:f", "6:0xc0(3 from 6)ghi", "9:0xc0(3 from 9)ghi", "12:0xc0(2 from 12)jk"}
	tests := []struct {
		situation    string
		offset, most int64
		next         string
		want         []string
	}{
		{"all", 0, 32, "14", all},
		{"from inside a batch", 2, 32, "14", all},
		{"as many as fit", 0, 5, "5", all[:3]},
		{"the first one is always taken", 9, 1, "12", all[5:6]},
		{"a batch that does not fit", 5, 3, "6", all[3:4]},
		{"the last", 13, 32, "14", all[6:]},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			a := r.pull(topic, protocol.GroupTools, tt.offset, ext{"maxMsgNums": tt.most})
			if got, want := outline(a.records()), strings.Join(tt.want, " "); got != want || a.ext("nextBeginOffset") != tt.next {
				t.Errorf("next %s: %s, want %s", a.ext("nextBeginOffset"), got, want)
			}
		})
	}
	properties := string(r.pull(topic, protocol.GroupTools, 0, nil).records()[0].Properties)
	var names []string
	for pair := range strings.SplitSeq(strings.TrimSuffix(properties, "\x02"), "\x02") {
		name, _, _ := strings.Cut(pair, "\x01")
		names = append(names, name)
	}
	if want := []string{"INNER_BASE", "MSG_REGION", "UNIQ_KEY", "CLUSTER", "TRACE_ON", "INNER_NUM"}; !slices.Equal(names, want) {
		t.Errorf("properties %v, want %v, as RocketMQ stores them", names, want)
	}
}

func TestInnerBatchRefusals(t *testing.T) {
	r := start(t)
	topic, simple := r.topic(batchQueues), r.topic()
	illegal := r.sender.illegal(r.Config()).Remark
	key := props("UNIQ_KEY=K")
	with := func(key, more ext) ext {
		key = maps.Clone(key)
		maps.Copy(key, more)
		return key
	}
	tests := []struct {
		situation, topic, body string
		more                   ext
		code                   int32
		remark                 string
	}{
		{"number without the flag", topic, "ab", props("INNER_NUM=2"), protocol.MessageIllegal, illegal},
		{"flag without a key", topic, "ab", ext{"f": message.FlagInnerBatch}, protocol.MessageIllegal, illegal},
		{"flag on a topic of simple queues", simple, "ab", with(key, ext{"f": message.FlagInnerBatch}), protocol.MessageIllegal, illegal},
		{"a delay", topic, "ab", props("UNIQ_KEY=K DELAY=3"), protocol.MessageIllegal, illegal},
		{"a transaction", topic, "ab", with(key, ext{"f": message.TransactionPrepared}), protocol.MessageIllegal, illegal},
		{"without items", topic, "", key, protocol.SystemError, "the message has no body"},
		{"more than the unit can tell", topic, strings.Repeat("x", 1<<15), key, protocol.MessageIllegal, illegal + ": a batch of 32768 messages, 1 to 32767 are allowed"},
		{"a key and a topic of simple queues", simple, "ab", key, protocol.Success, ""},
		{"with the flag", topic, "ab", with(key, ext{"f": message.FlagInnerBatch}), protocol.Success, ""},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			a := r.call(protocol.SendBatchMessage, sendExt(tt.topic, with(tt.more, ext{"m": true})), letters(tt.body)...)
			if a.Code != tt.code || a.Remark != tt.remark {
				t.Errorf("answer %d %q, want %d %q", a.Code, a.Remark, tt.code, tt.remark)
			}
		})
	}
	if _, end := r.store.QueueRange(topic, 0); end > 2 {
		t.Errorf("the topic has %d messages", end)
	}
}
