// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson_test

import (
	"testing"

	"github.com/goddard-mq/goddard/internal/javajson"
)

// A body as large as one with the topics of a busy broker.
func benchBody() map[string]*target {
	m := make(map[string]*target)
	for i := range 200 {
		m[string(rune('a'+i%26))+string(rune('a'+i/26))] = &target{Int: int32(i), Text: "TopicTest", Color: "RED", ByName: map[string]int64{"x": 1}, Ints: []int32{1, 2}}
	}
	return m
}

func BenchmarkMarshal(b *testing.B) {
	v := benchBody()
	buf := javajson.Marshal(v, javajson.Bare)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = javajson.Append(buf[:0], v, javajson.Bare)
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	in := javajson.Marshal(benchBody(), javajson.Bare)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		var v map[string]*target
		if err := javajson.Unmarshal(in, &v); err != nil {
			b.Fatal(err)
		}
	}
}
