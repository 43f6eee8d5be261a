// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBucketsAreContiguous(t *testing.T) {
	next := int64(0)
	for i := range buckets {
		if got := bucketOf(next); got != i {
			t.Fatalf("value %d falls into bucket %d, want %d", next, got, i)
		}
		top := bucketTop(i)
		if top < next || bucketOf(top) != i {
			t.Fatalf("bucket %d: top %d does not belong to it", i, top)
		}
		if top == math.MaxInt64 {
			if i != buckets-1 {
				t.Fatalf("the largest value falls into bucket %d of %d", i, buckets)
			}
			return
		}
		next = top + 1
	}
	t.Fatalf("the last bucket ends at %d", next-1)
}

func TestPercentilesAgreeWithSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 300).Draw(t, "values")
		cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
		var a, b Histogram // recorded in two parts, to cover Add
		for i, v := range values {
			if i < cut {
				a.Record(time.Duration(v))
			} else {
				b.Record(time.Duration(v))
			}
		}
		a.Add(&b)
		slices.Sort(values)
		if a.Count() != uint64(len(values)) || int64(a.Min()) != values[0] || int64(a.Max()) != values[len(values)-1] {
			t.Fatalf("count %d min %d max %d of %v", a.Count(), a.Min(), a.Max(), values)
		}
		for _, p := range []float64{0, 1, 50, 90, 99, 99.9, 100} {
			rank := min(max(int(math.Ceil(p/100*float64(len(values)))), 1), len(values))
			want, got := values[rank-1], int64(a.Percentile(p))
			if got < want || float64(got-want) > float64(want)/128 {
				t.Fatalf("p%v = %d, the value of rank %d is %d", p, got, rank, want)
			}
		}
	})
}

func TestHistogramWithNothingOrOddValues(t *testing.T) {
	var h Histogram
	if h.Percentile(99) != 0 || h.Mean() != 0 || h.Max() != 0 || h.Min() != 0 {
		t.Error("an empty histogram must say 0 everywhere")
	}
	h.Record(-time.Second)
	h.Record(math.MaxInt64)
	if h.Min() != 0 || h.Max() != math.MaxInt64 || h.Percentile(100) != math.MaxInt64 {
		t.Errorf("min %v max %v p100 %v", h.Min(), h.Max(), h.Percentile(100))
	}
	h.Reset()
	h.Record(2 * time.Millisecond)
	h.Record(4 * time.Millisecond)
	if h.Mean() != 3*time.Millisecond || h.Count() != 2 {
		t.Errorf("mean %v count %d", h.Mean(), h.Count())
	}
}

func BenchmarkRecord(b *testing.B) {
	var h Histogram
	for i := range b.N {
		h.Record(time.Duration(i * 97 & 0xfffffff))
	}
}
