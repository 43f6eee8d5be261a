// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"strings"
	"testing"
)

func TestAppendInMapOrder(t *testing.T) {
	text := func(names string) []byte {
		var p []byte
		for _, n := range strings.Fields(names) {
			p = AppendProperty(p, n, "value of "+n)
		}
		return p
	}
	tests := []struct{ situation, in, want string }{
		{"nothing", "", ""},
		{"one", "TAGS", "TAGS"},
		{"as a Java 5.5.0 broker stored a plain send", "KEYS UNIQ_KEY WAIT TAGS CLUSTER MSG_REGION TRACE_ON", "MSG_REGION UNIQ_KEY CLUSTER TAGS KEYS WAIT TRACE_ON"},
		{"one bucket keeps the order of arrival", "Aa BB", "Aa BB"},
		{"the other way round", "BB Aa", "BB Aa"},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			if got := AppendInMapOrder(nil, text(tt.in), nil); string(got) != string(text(tt.want)) {
				t.Errorf("got %q, want %q", got, text(tt.want))
			}
		})
	}
	if got := AppendInMapOrder([]byte("x"), []byte("b\x01\x02TAGS\x01t\x01u\x02rubbish\x02KEYS\x01k"), nil); string(got) != "xTAGS\x01t\x01u\x02KEYS\x01k\x02" {
		t.Errorf("odd text: %q", got)
	}
	doubles := []byte("UNIQ_KEY\x01u\x02CLUSTER\x01a\x02b\x011\x02CLUSTER\x01c\x02")
	notB := func(name []byte) bool { return string(name) == "b" }
	if got := AppendInMapOrder(nil, doubles, notB); string(got) != "UNIQ_KEY\x01u\x02CLUSTER\x01c\x02" {
		t.Errorf("of doubles the later value at the first place, without b: %q", got)
	}
	var many []string
	for i := range 60 {
		many = append(many, strings.Repeat("n", i+1))
	}
	got := AppendInMapOrder(nil, text(strings.Join(many, " ")), nil)
	last, n := uint8(0), 0
	EachProperty(got, func(name, value []byte) bool {
		b := propertyBucket(name)
		if b < last || string(value) != "value of "+string(name) {
			t.Errorf("%q %q in bucket %d after %d", name, value, b, last)
		}
		last, n = b, n+1
		return true
	})
	if n != 60 {
		t.Errorf("%d of 60 properties", n)
	}
}

func BenchmarkAppendInMapOrder(b *testing.B) {
	var p []byte
	for _, n := range strings.Fields("KEYS UNIQ_KEY WAIT TAGS CLUSTER MSG_REGION TRACE_ON prop0") {
		p = AppendProperty(p, n, "some value")
	}
	dst := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendInMapOrder(dst[:0], p, nil)
	}
}
