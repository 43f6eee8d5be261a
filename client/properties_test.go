// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/goddard-mq/goddard/internal/message"
)

func TestCheckProperties(t *testing.T) {
	for _, test := range []struct {
		situation string
		m         Message
		err       string // part of the error, "" for none
	}{
		{"nothing", Message{}, ""},
		{"all of it, with odd characters", Message{
			Tag: "A|b", Keys: []string{"k1", "键"}, ShardingKey: "s p a c e",
			Properties: map[string]string{"имя": "a=b;c 你好", "x": " y "},
		}, ""},
		{"a key with a blank is two keys", Message{Keys: []string{"a b"}}, `key "a b"`},
		{"an empty key", Message{Keys: []string{""}}, `key ""`},
		{"a tag that reads as two", Message{Tag: "A || B"}, `tag "A || B"`},
		{"a tag that filters would trim", Message{Tag: " A"}, `tag " A"`},
		{"a property without a value", Message{Properties: map[string]string{"x": ""}}, `property "x"=""`},
		{"a property without a name", Message{Properties: map[string]string{" ": "v"}}, `property " "="v"`},
		{"a separator in a value", Message{Properties: map[string]string{"x": "a\x02b"}}, `property "x" contains a separator`},
		{"a name of the system", Message{Properties: map[string]string{"UNIQ_KEY": "v"}}, `property "UNIQ_KEY" is used by the system`},
	} {
		t.Run(test.situation, func(t *testing.T) {
			err := checkProperties(&test.m)
			if test.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want one with %q", err, test.err)
			}
		})
	}
}

func TestPropertiesThereAndBack(t *testing.T) {
	for _, test := range []struct {
		situation string
		m         Message
		text      map[string]string // beside UNIQ_KEY
	}{
		{"nothing", Message{}, map[string]string{"WAIT": "true"}},
		{"no wait", Message{NoWait: true}, map[string]string{"WAIT": "false"}},
		{"tag, keys, sharding key, properties", Message{
			Tag: "TagA", Keys: []string{"k1", "k2"}, ShardingKey: "s", Properties: map[string]string{"x": "你好", "y": "1"},
		}, map[string]string{"WAIT": "true", "TAGS": "TagA", "KEYS": "k1 k2", "__SHARDINGKEY": "s", "x": "你好", "y": "1"}},
		{"a delay level", Message{DelayLevel: 3}, map[string]string{"WAIT": "true", "DELAY": "3"}},
		{"a delivery time", Message{DeliverAt: time.UnixMilli(1796000000123)}, map[string]string{"WAIT": "true", "TIMER_DELIVER_MS": "1796000000123"}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			text := appendProperties(nil, &test.m, "ID")
			want := map[string]string{"UNIQ_KEY": "ID"}
			for k, v := range test.text {
				want[k] = v
			}
			if diff := cmp.Diff(want, message.ParseProperties(text)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			var got Received
			readProperties(&got, text)
			if diff := cmp.Diff(test.m, got.Message); diff != "" || got.ID != "ID" {
				t.Errorf("read back, id %q (-sent +got):\n%s", got.ID, diff)
			}
		})
	}
}

func TestReadPropertiesOfOthers(t *testing.T) {
	for _, test := range []struct {
		situation string
		text      string
		want      Received
	}{
		{"none", "", Received{}},
		{"no separator at the end, as 4.9 writes it", "x\x01y\x02TAGS\x01A", Received{
			Message: Message{Tag: "A", Properties: map[string]string{"x": "y"}}, System: map[string]string{"TAGS": "A"},
		}},
		{"a delay level that is no number", "DELAY\x01soon\x02", Received{System: map[string]string{"DELAY": "soon"}}},
		{"damaged pieces are left out", "a\x01\x02\x01b\x02c\x02x\x01y\x02", Received{Message: Message{Properties: map[string]string{"x": "y"}}}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			var got Received
			readProperties(&got, []byte(test.text))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Received{}), cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
