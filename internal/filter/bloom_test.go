// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"slices"
	"testing"
)

func TestBloom(t *testing.T) {
	var golden struct {
		Filters []struct {
			F, N, K, M int
			Keys       []struct {
				Key       string
				Positions []int32
			}
		}
	}
	readGolden(t, "bloom.json", &golden)
	if len(golden.Filters) < 5 {
		t.Fatalf("%d filters", len(golden.Filters))
	}
	for _, f := range golden.Filters {
		b := NewBloom(f.F, f.N)
		if b.Hashes != f.K || b.Bits != f.M {
			t.Errorf("%d %% of %d keys: %+v, Java: %d hashes, %d bits", f.F, f.N, b, f.K, f.M)
		}
		for _, k := range f.Keys {
			if got := b.Positions(k.Key); !slices.Equal(got, k.Positions) {
				t.Errorf("%q in %+v: %v, Java: %v", k.Key, b, got, k.Positions)
			}
		}
	}
}

// The vectors have short keys; these are longer than a block of the hash. From the reference implementation.
func TestMurmur3(t *testing.T) {
	for key, want := range map[string]uint64{
		"":                          0,
		"hello":                     0xcbd8a7b341bd9b02,
		"hello, world":              0x342fac623a5ebc8e,
		"19 Jan 2038 at 3:14:07 AM": 0xb89e5988b737affc,
		"The quick brown fox jumps over the lazy dog.": 0xcd99481f9ee902c9,
	} {
		if got := murmur3([]byte(key)); got != want {
			t.Errorf("%q: %#x, want %#x", key, got, want)
		}
	}
}

func TestBloomKey(t *testing.T) {
	if got := BloomKey("G1", "Topic"); got != "G1#Topic" {
		t.Error(got)
	}
}
