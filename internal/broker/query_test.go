// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func (r *running) query(topic, key string, more ext) answer {
	r.Helper()
	e := ext{"topic": topic, "key": key, "maxNum": 32, "beginTimestamp": 0, "endTimestamp": int64(1) << 62}
	for k, v := range more {
		e[k] = v
	}
	return r.call(protocol.QueryMessage, e)
}

func TestQueryByKey(t *testing.T) {
	r := start(t)
	topic, other := r.topic(), r.topic()
	r.send(topic, "one", props("UNIQ_KEY=u1"))
	r.send(topic, "two", ext{"i": "KEYS\x01k1 k2\x02UNIQ_KEY\x01u2\x02"})
	r.send(topic, "three", props("KEYS=k2"))
	r.until("the index has come so far", func() bool { return len(r.query(topic, "k2", nil).records()) == 2 })
	notFound := "can not find message, maybe time range not correct"
	for _, tt := range []struct {
		situation, topic, key string
		more                  ext
		want                  string
	}{
		{"one of two keys", topic, "k1", nil, "0 two"},
		{"a key of two messages", topic, "k2", nil, "0 two three"},
		{"another topic", other, "k1", nil, "22" + notFound},
		{"another case", topic, "K1", nil, "22" + notFound},
		{"both keys at once", topic, "k1 k2", nil, "22" + notFound},
		{"the unique key", topic, "u1", ext{"_UNIQUE_KEY_QUERY": "true"}, "0 one"},
		{"the unique key, asked for as a key", topic, "u1", nil, "0 one"},
		{"a key, asked for as unique", topic, "k1", ext{"_UNIQUE_KEY_QUERY": "true"}, "0 two"},
		{"the newest only", topic, "k2", ext{"maxNum": 1}, "0 three"},
		{"before there was anything", topic, "k2", ext{"endTimestamp": 1000}, "22" + notFound},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			a := r.query(tt.topic, tt.key, tt.more)
			got := fmt.Sprint(a.Code, a.Remark)
			if a.Code == protocol.Success {
				got += " " + a.bodies()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if a.ext("indexLastUpdateTimestamp") == "" || a.ext("indexLastUpdatePhyoffset") == "" {
				t.Errorf("answer lacks the index's state: %v", a.Fields)
			}
		})
	}
	if a := r.query(topic, "k1", ext{"endTimestamp": nil}); a.Code != protocol.SystemError {
		t.Errorf("without the end of the range: %d %q", a.Code, a.Remark)
	}
}

func TestView(t *testing.T) {
	r := start(t)
	topic := r.topic()
	a := r.send(topic, "seen", props("TAGS=A"))
	_, at, err := message.ParseOffsetID(a.ext("msgId"))
	if err != nil {
		t.Fatal(err)
	}
	v := r.success(protocol.ViewMessageByID, ext{"offset": at, "topic": topic})
	if m := v.records()[0]; string(m.Body) != "seen" || string(m.Topic) != topic || len(v.Fields) != 0 {
		t.Errorf("%q of %s, fields %v", m.Body, m.Topic, v.Fields)
	}
	for _, at := range []int64{1 << 50, -1, at + 1} {
		want := fmt.Sprintf("can not find message by the offset, %d", at)
		if a := r.call(protocol.ViewMessageByID, ext{"offset": at}); a.Code != protocol.SystemError || a.Remark != want {
			t.Errorf("offset %d: %d %q", at, a.Code, a.Remark)
		}
	}
}
