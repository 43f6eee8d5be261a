// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"sync/atomic"
	"time"
)

// putLimits are the upper bounds of the buckets of times that appends took, as RocketMQ cuts them.
var putLimits = [...]time.Duration{
	time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second, 10 * time.Second,
}

// PutBuckets is the number of buckets: the last one has no bound.
const PutBuckets = len(putLimits) + 1

// Stats count since the start.
type Stats struct {
	Appended atomic.Int64 // messages
	Bytes    atomic.Int64
	Failed   atomic.Int64 // appends that were accepted and then refused
	PutTimes [PutBuckets]atomic.Int64
	PutMax   atomic.Int64 // ns
}

func (s *Stats) stored(messages int, bytes int64, took time.Duration) {
	s.Appended.Add(int64(messages))
	s.Bytes.Add(bytes)
	bucket := 0
	for bucket < len(putLimits) && took >= putLimits[bucket] {
		bucket++
	}
	s.PutTimes[bucket].Add(1)
	for old := s.PutMax.Load(); int64(took) > old; old = s.PutMax.Load() {
		if s.PutMax.CompareAndSwap(old, int64(took)) {
			break
		}
	}
}
