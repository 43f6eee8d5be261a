// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import "testing"

func BenchmarkMatch(b *testing.B) {
	// The order is that of a real message: the client's own properties come first.
	text := []byte("a\x017\x02b\x01x\x02UNIQ_KEY\x017F000001567818B4AAC2000000000001\x02CLUSTER\x01DefaultCluster\x02TAGS\x01TagA\x02WAIT\x01true\x02")
	for _, source := range []string{
		"a > 5", "a > 5 AND b = 'x'", "b = 'x'", "TAGS IN ('TagA','TagB')", "a BETWEEN 1 AND 10", "a > 5.5", "z IS NULL AND a <> 3",
		"(a > 5 AND b = 'x') OR (c = 1 AND d CONTAINS 'y') OR TAGS = 'TagC'",
	} {
		b.Run(source, func(b *testing.B) {
			e := compile(b, source)
			b.ReportAllocs()
			for b.Loop() {
				e.Match(text)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile("a > 5 AND b = 'x' OR c IN ('1','2')"); err != nil {
			b.Fatal(err)
		}
	}
}
