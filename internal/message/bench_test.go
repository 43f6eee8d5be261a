// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"bytes"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

// benchRecord is a message of 1 KiB with the properties that a Java producer and the broker give it.
func benchRecord() message.Record {
	r := sample()
	r.Body = bytes.Repeat([]byte("x"), 1024)
	r.Properties = []byte("MSG_REGION\x01DefaultRegion\x02UNIQ_KEY\x017F0000010FA018B4AAC24D1C1FB00000\x02CLUSTER\x01DefaultCluster\x02KEYS\x01order-4711\x02TAGS\x01TagA\x02WAIT\x01true\x02TRACE_ON\x01true\x02")
	return r
}

func BenchmarkAppendRecord(b *testing.B) {
	r := benchRecord()
	buf := make([]byte, 0, 2048)
	b.ReportAllocs()
	b.SetBytes(int64(message.RecordSize(&r)))
	for b.Loop() {
		buf = message.AppendRecord(buf[:0], &r)
	}
}

func BenchmarkDecodeRecord(b *testing.B) {
	r := benchRecord()
	buf := message.AppendRecord(nil, &r)
	for name, check := range map[string]bool{"plain": false, "checksum": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(buf)))
			var got message.Record
			for b.Loop() {
				if _, err := message.DecodeRecord(buf, &got, check); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFindProperty(b *testing.B) {
	props := benchRecord().Properties
	for _, name := range []string{message.PropRegion, message.PropTags, message.PropDelay} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				message.FindProperty(props, name)
			}
		})
	}
}

func BenchmarkEachProperty(b *testing.B) {
	props := benchRecord().Properties
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		message.EachProperty(props, func(_, value []byte) bool {
			n += len(value)
			return true
		})
	}
}

func BenchmarkNormalizeProperties(b *testing.B) {
	props := benchRecord().Properties
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = message.NormalizeProperties(buf[:0], props, message.PropPopCK)
	}
}

func BenchmarkHashString(b *testing.B) {
	for name, s := range map[string][]byte{"ascii": []byte("TopicTest#order-4711"), "cjk": []byte("标签标签标签")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				message.HashString(s)
			}
		})
	}
}

func BenchmarkAppendUniqueID(b *testing.B) {
	buf := make([]byte, 0, message.IDLengthV6)
	b.ReportAllocs()
	for b.Loop() {
		buf = message.AppendUniqueID(buf[:0])
	}
}

func BenchmarkAppendOffsetID(b *testing.B) {
	buf := make([]byte, 0, message.IDLengthV6)
	b.ReportAllocs()
	for b.Loop() {
		buf = message.AppendOffsetID(buf[:0], hostV4, 987654321012)
	}
}

// Encoding, decoding and looking into a message make no garbage.
func TestNoAllocations(t *testing.T) {
	r := benchRecord()
	buf := message.AppendRecord(nil, &r)
	tags := []byte("标签TagA")
	id := make([]byte, 0, message.IDLengthV6)
	out := make([]byte, 0, len(buf))
	for name, f := range map[string]func(){
		"AppendRecord":        func() { out = message.AppendRecord(out[:0], &r) },
		"DecodeRecord":        func() { var d message.Record; _, _ = message.DecodeRecord(buf, &d, true) },
		"FindProperty":        func() { message.FindProperty(r.Properties, message.PropTags) },
		"NormalizeProperties": func() { out = message.NormalizeProperties(out[:0], r.Properties, message.PropPopCK) },
		"HashString":          func() { message.HashString(tags) },
		"AppendUniqueID":      func() { id = message.AppendUniqueID(id[:0]) },
		"AppendOffsetID":      func() { id = message.AppendOffsetID(id[:0], hostV6, 1) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
