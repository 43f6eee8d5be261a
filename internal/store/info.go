// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"time"

	"github.com/goddard-mq/goddard/internal/store/commitlog"
)

// Info for runtime info, health and metrics.
type Info struct {
	LogMin, LogMax, Confirm, Flushed       int64         // physical offsets: first, end of what is written, is visible, is durable
	DispatchBehind                         int64         // bytes that are visible but not in the queues yet
	IndexBehind                            int64         // bytes that are visible but not in the index yet
	LockHeld                               time.Duration // of the write in progress
	EarliestTimestamp                      int64         // store time of the first message, ms; -1 when there is none
	Appended, AppendedBytes, Failed        int64
	DiskUsedRatio                          float64 // of the log's file system, 0..1
	QueueDiskUsedRatio                     float64
	DiskTotal, DiskFree                    int64
	Writable                               error     // nil, or why not
	PutTimes                               [13]int64 // appends of the last minute, begun or whole, by the time they took, in RocketMQ's buckets (putMessageDistributeTime)
	PutMax, GetMax                         time.Duration
	Gets, GetsFound, GetsMiss, Transferred int64
	Damaged                                int64 // messages and entries of queues that reads left out because they are damaged
}

var _ = [1]int{}[13-commitlog.PutBuckets]

// Info tells how the store is. Counts are since its start, but PutTimes.
func (s *Store) Info() Info {
	log := s.log
	i := Info{
		LogMin: log.Min(), LogMax: log.Max(), Confirm: log.Confirmed(), LockHeld: log.WriteHeld(),
		Appended: log.Stats.Appended.Load(), AppendedBytes: log.Stats.Bytes.Load(), Failed: log.Stats.Failed.Load() + s.rejected.Load(),
		Writable: s.Writable(), PutMax: time.Duration(log.Stats.PutMax.Load()), GetMax: time.Duration(s.reads.longest.Load()),
		Gets: s.reads.gets.Load(), GetsFound: s.reads.found.Load(), GetsMiss: s.reads.miss.Load(), Transferred: s.reads.transferred.Load(),
		EarliestTimestamp: -1, Damaged: s.damage.met.Load(),
	}
	i.Flushed, _ = log.Flushed()
	s.dispatching.Lock()
	i.DispatchBehind = max(i.Confirm-s.dispatched.end, 0)
	s.dispatching.Unlock()
	if s.index != nil {
		i.IndexBehind = max(i.Confirm-s.index.pos.Load(), 0)
	}
	if ms, err := log.StoreTime(i.LogMin); err == nil {
		i.EarliestTimestamp = ms
	}
	if u := s.disk.logUse.Load(); u != nil {
		i.DiskUsedRatio, i.DiskTotal, i.DiskFree = u.Ratio(), u.Total, u.Available
	}
	if u := s.disk.queueUse.Load(); u != nil {
		i.QueueDiskUsedRatio = u.Ratio()
	}
	for b := range i.PutTimes {
		i.PutTimes[b] = max(log.Stats.PutTimes[b].Load()-s.disk.putsBefore[b].Load(), 0)
	}
	return i
}
