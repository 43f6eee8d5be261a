// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// recovery finds the end of the log, and brings queues and index there.
//
//	log      |----------------------|=============|~~~~~~|
//	         logMin              scan from    Dispatched  end
//	queues   loaded as they are ...........|  put again
//
// Below the mark's Dispatched the queues are complete and durable; units above are thrown away and put again from the
// log. The scan begins below that, to look for damage in the last records. Without a mark (a Java broker wrote last) it
// begins where that broker would begin. The scan ends at the first bad record, unless that is damage and not the torn
// end: see torn.
type recovery struct {
	s       *Store
	ctx     context.Context
	mark    mark
	crashed bool // the last broker did not stop properly
	logEnd  int64
	check   commitlog.Check

	rebuild  bool                // queues are missing or short: read the whole log
	gaps     map[*queue]struct{} // queues whose units below the scan's start are missing
	skipped  map[string]bool     // deleted topics that still have records
	last     int64               // start of the last good record
	lastTime int64
	records  int64
	told     time.Time
	bits     []byte // scratch
}

// recover gives the end of the log, where the next record goes.
func (s *Store) recover(ctx context.Context, crashed bool) (int64, error) {
	r := &recovery{
		s: s, ctx: ctx, mark: s.keeper.file.mark, crashed: crashed, check: commitlog.CheckLayout,
		gaps: make(map[*queue]struct{}), skipped: make(map[string]bool), last: -1, told: time.Now(),
	}
	switch cfg := s.config(); {
	case cfg.Recovery.CheckSeal:
		r.check = commitlog.CheckSeal
	case cfg.Recovery.CheckCRC:
		r.check = commitlog.CheckBody
	}
	return r.run()
}

func (r *recovery) run() (int64, error) {
	s, began := r.s, time.Now()
	if err := r.survey(); err != nil {
		return 0, err
	}
	if r.crashed {
		s.logger.Warn("the last broker did not stop properly, recovering", "mark", r.mark.Dispatched, "scan_from", r.mark.ScanFrom, "known", r.mark.Number > 0)
	}
	if err := r.loadQueues(); err != nil {
		return 0, err
	}
	from, err := r.scanFrom()
	if err != nil {
		return 0, err
	}
	end, err := r.scan(from)
	if err != nil {
		return 0, err
	}
	if err := r.cut(from, end); err != nil {
		return 0, err
	}
	if err := r.fillGaps(from, end); err != nil {
		return 0, err
	}
	if s.index != nil {
		if err := r.restoreIndex(end); err != nil {
			return 0, err
		}
	}
	if err := r.finish(from, end); err != nil {
		return 0, err
	}
	if len(r.skipped) > 0 {
		names := slices.Sorted(maps.Keys(r.skipped))
		s.logger.Info("the log has messages of topics that are not among the settings, which were deleted or lost: they are left out",
			"topics", len(names), "some", names[:min(len(names), 10)])
	}
	s.logger.Info("the store is open", "end", end, "queues", len(s.queues), "scanned_from", from, "scanned_records", r.records,
		"took", time.Since(began).Round(time.Millisecond))
	return end, nil
}

// survey looks at what is there, and decides whether the mark can be believed.
func (r *recovery) survey() error {
	s := r.s
	if holes := s.log.Files().Holes(); len(holes) > 0 {
		return fmt.Errorf("a file of the commit log is missing: %s; restore it, or move away the files before it to go on without them", s.log.Files().Path(holes[0]))
	}
	first, logEnd, ok := s.log.Files().Range()
	r.logEnd = logEnd
	if r.mark.Number > 0 && !r.mark.Clean {
		r.crashed = true
	}
	if ok && s.keeper.file.lost {
		s.logger.Error("the checkpoint is missing or damaged: the whole log is read", "file", s.config().checkpointPath())
		r.crashed = true
	}
	if ok && r.mark.Number > 0 && r.mark.Dispatched > logEnd {
		s.logger.Error("the commit log ends before the last checkpoint: files were removed; queues are checked anew", "checkpoint", r.mark.Dispatched, "log_end", logEnd)
		r.mark, r.crashed = mark{}, true
	}
	if !ok && r.mark.Number > 0 && r.mark.Dispatched == 0 {
		return nil
	}
	if !ok {
		for _, set := range s.sets {
			names, err := set.List()
			if err != nil {
				return err
			}
			if len(names) > 0 {
				return fmt.Errorf("the commit log %v is empty, but there are %d consume queues in %s: is a disk missing? Remove consumequeue, batchconsumequeue and index to start with an empty store",
					s.config().logDirs(), len(names), set.Dir())
			}
		}
		r.mark = mark{}
	}
	r.mark.ScanFrom = max(r.mark.ScanFrom, first)
	return nil
}

// loadQueues finds the ends of all queues, several at a time.
func (r *recovery) loadQueues() error {
	simple, err := r.s.sets[consumequeue.Simple].List()
	if err != nil {
		return err
	}
	names, err := r.s.sets[consumequeue.Batch].List()
	if err != nil {
		return err
	}
	batches := len(names)
	names = append(names, simple...)
	limit, trust := int64(math.MaxInt64), consumequeue.Whole
	switch {
	case r.crashed && r.mark.Number > 0:
		limit, trust = r.mark.Dispatched, consumequeue.Below
	case r.mark.Number > 0:
		limit = r.mark.Dispatched // what says it is for a later message is damaged
	case r.crashed:
		limit, trust = r.logEnd, consumequeue.Doubtful
	}
	err = r.eachOf(len(names), func(i int) error {
		layout := consumequeue.Simple
		if i < batches {
			layout = consumequeue.Batch
		}
		return r.loadQueue(layout, names[i], limit, trust)
	})
	if err != nil || r.mark.Number == 0 {
		return err
	}
	if queues, units := r.s.countUnits(); queues != r.mark.Queues || units != r.mark.Units {
		r.s.logger.Error("consume queues are missing or short: they are built again from the whole log",
			"queues", queues, "queues_expected", r.mark.Queues, "units", units, "units_expected", r.mark.Units)
		r.rebuild = true
	}
	return nil
}

// loadQueue finds the end of one queue. A topic's queues must have the layout that the settings say: messages that were
// stored for the other one cannot be found by it.
func (r *recovery) loadQueue(layout consumequeue.Layout, of consumequeue.Name, limit int64, trust consumequeue.Trust) error {
	set := r.s.sets[layout]
	if batch, ok := r.s.deps.BatchTopic(of.Topic); ok && batch != (layout == consumequeue.Batch) {
		return fmt.Errorf("topic %s has queues in %s, which its attribute queue.type denies: restore the settings, or remove the topic's folder there", of.Topic, set.Dir())
	}
	cq, err := set.New(of)
	if err != nil {
		return err
	}
	if err := cq.Load(limit, trust); err != nil {
		return err
	}
	name := QueueName{of.Topic, of.ID}
	r.s.queuesMu.Lock()
	defer r.s.queuesMu.Unlock()
	if r.s.queues[name] != nil {
		return fmt.Errorf("topic %s has simple queues and batch queues: remove its folder in %s or in %s", of.Topic,
			r.s.sets[consumequeue.Simple].Dir(), r.s.sets[consumequeue.Batch].Dir())
	}
	r.s.addQueueLocked(name, cq)
	return nil
}

// eachOf calls do for 0 to n-1 on some goroutines, and gives the first error.
func (r *recovery) eachOf(n int, do func(i int) error) error {
	workers := min(n, 2*runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				if errs[w] = r.ctx.Err(); errs[w] == nil {
					errs[w] = do(i)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// scanFrom is where the scan begins.
func (r *recovery) scanFrom() (int64, error) {
	first, _, ok := r.s.log.Files().Range()
	switch {
	case !ok:
		return 0, nil
	case r.mark.Number > 0 && r.crashed:
		return min(r.mark.ScanFrom, max(r.mark.Dispatched, first)), nil
	case r.mark.Number > 0:
		return max(r.mark.Dispatched, first), nil
	case !r.known():
		return first, nil // all of it
	}
	return r.foreignStart(), nil
}

// known tells whether there are simple queues, which every broker has.
func (r *recovery) known() bool {
	for _, q := range r.s.queues {
		if q.Layout() == consumequeue.Simple {
			return true
		}
	}
	return false
}

// foreignStart is the file that a Java broker would begin to scan: the last one whose first record was in the queues
// for certain when it stopped.
func (r *recovery) foreignStart() int64 {
	s := r.s
	f := s.keeper.file.foreign
	if f.QueuePhysical > 0 && !r.holdsRecord(f.QueuePhysical) {
		f.QueuePhysical = 0
	}
	reached := int64(0)
	for _, q := range s.queues {
		reached = max(reached, q.Physical())
	}
	starts := s.log.Files().Starts()
	for _, start := range slices.Backward(starts) {
		sc := s.log.Scan(start, r.logEnd, r.check)
		var rec message.Record
		_, err := sc.Next(&rec)
		sc.Close()
		if err != nil || rec.StoreTimestamp <= 0 || rec.PhysicalOffset != start {
			continue
		}
		switch {
		case !r.crashed && start <= reached:
			return start
		case r.crashed && f.QueuePhysical > 0 && start <= f.QueuePhysical:
			return start
		case r.crashed && f.QueuePhysical == 0 && rec.StoreTimestamp <= min(f.LogTime, f.QueueTime)-3000:
			return start
		}
	}
	return starts[0]
}

// holdsRecord tells whether a record begins at a place of the log.
func (r *recovery) holdsRecord(at int64) bool {
	sc := r.s.log.Scan(at, r.logEnd, r.check)
	defer sc.Close()
	var rec message.Record
	_, err := sc.Next(&rec)
	return err == nil && rec.PhysicalOffset == at
}

// cut makes end the end of log and queues. What was read from from on may still be in the page cache only.
func (r *recovery) cut(from, end int64) error {
	s := r.s
	if r.crashed || r.mark.Number == 0 || end != r.mark.Dispatched {
		if err := s.log.Cut(end); err != nil {
			return err
		}
		if err := s.log.SyncFiles(min(r.mark.Flushed, from), end); err != nil {
			return err
		}
	}
	for _, q := range s.queues {
		if at := q.Physical(); at > end || at == 0 && q.End() > 0 {
			if err := q.Save(); err != nil {
				return err
			}
			if err := q.Load(end, consumequeue.Below); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreIndex brings the index to a state that can be gone on from. What it lacks is added in the background.
func (r *recovery) restoreIndex(end int64) error {
	i, logMin := r.s.index, r.s.log.Min()
	anew := func() error {
		i.begin(logMin, keyindex.Position{})
		return i.x.Clear()
	}
	switch {
	case r.mark.Number > 0 && i.x.Whole(r.mark.Index):
		pos := r.mark.IndexPos
		if err := i.x.Restore(r.mark.Index, !r.crashed); err != nil {
			return err
		}
		fits, err := i.x.EndFits()
		if err != nil {
			return err
		}
		if !fits || r.indexGap() {
			r.s.logger.Error("the key index is damaged or lacks files: it is made again from the log", "dir", r.s.config().indexDir())
			return anew()
		}
		i.begin(min(pos, end), r.mark.Index)
		if pos > end {
			i.x.Limit(end)
		}
		return nil
	case r.mark.Number > 0:
		r.s.logger.Error("the key index is missing or damaged: it is made again from the log", "dir", r.s.config().indexDir())
		return anew()
	case i.x.Empty(), i.x.Lost(), r.indexGap():
		return anew()
	case !r.crashed:
		i.begin(end, keyindex.Position{})
		return i.x.Continue()
	}
	err := i.x.RestoreBefore(r.s.keeper.file.foreign.IndexTime)
	_, last := i.x.Last()
	i.begin(max(logMin, min(last, end)), keyindex.Position{})
	return err
}

// indexGapBytes bounds how far the log is read to find out that nothing is missing between two index files.
const indexGapBytes = 4 << 20

// indexGap tells whether index files are missing: whether the log has a message with a key between the last one of a file,
// or its own beginning, and the first one of the next file.
func (r *recovery) indexGap() bool {
	log, x := r.s.log, r.s.index.x
	from, known := log.Min(), int64(-1) // known: the record there has been added
	for _, span := range x.Spans() {
		first, last := span[0], span[1]
		if first > from && last > first {
			sc := log.Scan(from, min(first, from+indexGapBytes), commitlog.CheckLayout)
			for {
				var rec message.Record
				if _, err := sc.Next(&rec); err != nil {
					break // nothing more, or nothing that can be read
				}
				if rec.PhysicalOffset != known && x.Wants(&rec) {
					sc.Close()
					return true
				}
			}
			sc.Close()
		}
		from, known = max(last, log.Min()), last
	}
	return false
}

// finish hands over to the running store.
func (r *recovery) finish(from, end int64) error {
	s := r.s
	for _, q := range s.queues {
		s.log.SetNext(&q.counter, q.End())
	}
	k := &s.keeper
	for _, q := range s.queues { // also those that were only cut
		if q.Dirty() {
			k.unsynced[q] = struct{}{}
		}
	}
	s.dispatched.end = end
	if r.last >= 0 {
		s.dispatched.last, s.dispatched.time = r.last, r.lastTime
		k.confirm = r.last
	}
	k.last = time.Now()
	if r.mark.Number > 0 {
		s.dispatched.start = append(s.dispatched.start, r.mark.ScanFrom)
	} else {
		s.dispatched.start = append(s.dispatched.start, from)
	}
	if r.mark.Number > 0 && end >= max(r.mark.Dispatched, r.mark.IndexPos) {
		k.marked.Store(r.mark.Dispatched)
		return nil
	}
	// A mark beyond the end would be believed once more by a start after a crash right now.
	return k.restart(s, end)
}
