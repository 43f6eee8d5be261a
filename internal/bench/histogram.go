// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in log-linear buckets: each power of two is cut into
// 128 equal parts, so a percentile is off by less than 1/128 of its value
// whatever its size, and recording is a few instructions without allocation.
//
// Layout, for v in nanoseconds and e = bits(v)-8 (0 below 256):
//
//	v:       0 ... 255 | 256 ... 511 | 512 ... 1023 | ...
//	bucket:  0 ... 255 | 256 ... 383 | 384 ... 511  | ...
//	width:        1    |      2      |      4       | ...
//
// It is not safe for concurrent use.
type Histogram struct {
	counts [buckets]uint64
	count  uint64
	sum    float64 // ns; a sum of int64 could overflow in a long run
	min    int64
	max    int64
}

const (
	subBits = 7 // parts per power of two, as a power of two
	buckets = (63-subBits)<<subBits + 1<<subBits
)

func bucketOf(v int64) int {
	if v < 1<<(subBits+1) {
		return int(v)
	}
	e := bits.Len64(uint64(v)) - (subBits + 1)
	return e<<subBits + int(v>>e)
}

// bucketTop is the largest value that falls into bucket i.
func bucketTop(i int) int64 {
	if i < 1<<(subBits+1) {
		return int64(i)
	}
	e := i>>subBits - 1
	low := int64(i-e<<subBits) << e
	return low + (1<<e - 1)
}

// Record counts one duration; negative ones (a clock stepped back) count as 0.
func (h *Histogram) Record(d time.Duration) {
	v := max(int64(d), 0)
	h.counts[bucketOf(v)]++
	if h.count == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.count++
	h.sum += float64(v)
}

// Add counts everything that o has counted.
func (h *Histogram) Add(o *Histogram) {
	if o.count == 0 {
		return
	}
	for i, n := range o.counts {
		if n != 0 {
			h.counts[i] += n
		}
	}
	if h.count == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.count += o.count
	h.sum += o.sum
}

// Reset forgets everything.
func (h *Histogram) Reset() { *h = Histogram{} }

// Count is how many durations were recorded.
func (h *Histogram) Count() uint64 { return h.count }

// Min, Max and Mean of what was recorded are exact; 0 when nothing was.
func (h *Histogram) Min() time.Duration { return time.Duration(h.min) }

// Max is the largest duration recorded.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Mean is the arithmetic mean.
func (h *Histogram) Mean() time.Duration {
	if h.count == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.count))
}

// Percentile is the smallest recorded value (rounded up to the top of its bucket,
// never above Max) that at least p percent of the values do not exceed; 0 when
// nothing was recorded.
func (h *Histogram) Percentile(p float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(p / 100 * float64(h.count)))
	rank = min(max(rank, 1), h.count)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return time.Duration(min(bucketTop(i), h.max))
		}
	}
	return time.Duration(h.max)
}
