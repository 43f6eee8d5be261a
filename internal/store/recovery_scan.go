// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// scan reads the log from from on, puts what the queues lack, and gives the end of the log.
func (r *recovery) scan(from int64) (end int64, err error) {
	sc := r.s.log.Scan(from, r.logEnd, r.check)
	defer sc.Close()
	var rec message.Record
	for {
		_, err := sc.Next(&rec)
		bad := (*commitlog.BadRecord)(nil)
		switch {
		case errors.Is(err, io.EOF):
			return sc.Pos(), nil
		case errors.As(err, &bad):
			next, ok, err := r.torn(bad)
			if err != nil || !ok {
				return bad.Offset, err
			}
			sc.Reset(next, r.logEnd)
		case err != nil:
			return 0, err
		default:
			if err := r.record(&rec, false); err != nil {
				return 0, err
			}
		}
		if err := r.progress(sc.Pos(), r.logEnd); err != nil {
			return 0, err
		}
	}
}

// torn decides about a bad record. The log ends there, if the record may be the one that was being written when the
// machine stopped. If it was durable before, it is damage: then the log goes on at the next good record, when there is
// one. After a Java broker nobody knows what was durable; there it is damage if a later file has records.
func (r *recovery) torn(bad *commitlog.BadRecord) (next int64, ok bool, err error) {
	s := r.s
	durable := bad.Offset < r.mark.Flushed
	if !durable && (r.mark.Number > 0 || !r.fileFollows(bad.Offset)) {
		if !bad.Empty {
			s.logger.Warn("the commit log ends in a torn record, which is cut off", "file", bad.Path, "offset", bad.Offset, "err", bad.Reason)
		}
		return 0, false, nil
	}
	next, ok, err = s.log.Resync(bad.Offset+1, r.logEnd, r.check)
	switch {
	case err != nil:
		return 0, false, err
	case ok:
		s.logger.Error("the commit log is damaged: messages are lost, what follows is kept", "file", bad.Path, "offset", bad.Offset, "bytes", next-bad.Offset, "err", bad.Reason)
	case durable:
		s.logger.Error("the commit log is damaged at its end: messages that were acknowledged are lost", "file", bad.Path, "offset", bad.Offset, "was_durable_to", r.mark.Flushed, "err", bad.Reason)
	}
	return next, ok, nil
}

// fileFollows tells whether a log file after the one that holds off begins with a good record.
func (r *recovery) fileFollows(off int64) bool {
	files := r.s.log.Files()
	for _, start := range files.Starts() {
		if start <= off {
			continue
		}
		sc := r.s.log.Scan(start, r.logEnd, r.check)
		var rec message.Record
		_, err := sc.Next(&rec)
		sc.Close()
		if err == nil && rec.PhysicalOffset == start {
			return true
		}
	}
	return false
}

// record puts a record into its queue. With fill what is missing before it is filled up: the log does not have it.
func (r *recovery) record(rec *message.Record, fill bool) error {
	r.records++
	if rec.PhysicalOffset >= r.last {
		r.last, r.lastTime = rec.PhysicalOffset, rec.StoreTimestamp
	}
	if !fill && rec.PhysicalOffset < r.mark.Dispatched {
		return nil // looked at for damage only: its queue has it, or was deleted since
	}
	if !queued(rec.SysFlag) {
		return nil
	}
	q, err := r.queueNamed(text(rec.Topic), rec.QueueID)
	if err != nil {
		return err
	}
	if q == nil || q.Layout() == consumequeue.Simple {
		if err := r.lights(rec, fill); err != nil {
			return err
		}
	}
	if q == nil {
		return nil
	}
	at := r.s.placedOf(rec)
	if at.messages > 1 && q.Layout() != consumequeue.Batch {
		return nil // of a topic that was deleted and made anew
	}
	r.bits = r.s.extend(q, &at, rec.Properties, r.bits)
	return r.place(q, &at, fill)
}

// place puts a record into a queue.
func (r *recovery) place(q *queue, at *placed, fill bool) error {
	if fill && !r.rebuild {
		if _, gap := r.gaps[q]; !gap {
			return nil
		}
	}
	place, pending := q.put(at)
	switch {
	case place == consumequeue.Ahead && !fill:
		r.gaps[q] = struct{}{}
		return nil
	case place == consumequeue.Ahead:
		r.s.logger.Warn("messages of a queue are lost", "topic", q.name.Topic, "queue", q.name.QueueID, "offset", q.End(), "count", at.offset-q.End())
		q.Fill(at.offset)
		_, pending = q.put(at)
	case place == consumequeue.Before:
		// Its first files are lost, or the log was given older files back.
		r.gaps[q] = struct{}{}
		if err := q.Reset(); err != nil {
			return err
		}
		if !fill {
			return nil
		}
		_, pending = q.put(at)
	case place == consumequeue.Restart:
		// The topic was deleted and made anew; or the disk kept a unit whose record it lost.
		if err := q.Truncate(at.offset); err != nil {
			return err
		}
		_, pending = q.put(at)
	}
	if pending > 0 {
		r.s.dispatching.Lock()
		r.s.listLocked(q, pending)
		r.s.dispatching.Unlock()
	}
	if r.s.unsaved() >= refuseAt/2 {
		return r.save()
	}
	return nil
}

// placedOf is what a record's queue wants to know of it.
func (s *Store) placedOf(rec *message.Record) placed {
	at := placed{
		physical: rec.PhysicalOffset, offset: rec.QueueOffset, size: rec.Size, messages: 1,
		tags: s.tagsCodeOf(rec), time: rec.StoreTimestamp,
	}
	if rec.SysFlag&message.FlagInnerBatch == 0 {
		return at
	}
	if n, ok := numberOf(rec.Properties, message.PropInnerNum); ok && n > 0 && n <= maxInner {
		at.messages = int32(n)
	}
	if base, ok := numberOf(rec.Properties, message.PropInnerBase); ok {
		at.offset = base
	}
	return at
}

// numberOf gives the value of a property that is a number, not negative.
func numberOf(properties []byte, name string) (int64, bool) {
	value, _ := message.FindProperty(properties, name)
	n, err := strconv.ParseInt(text(value), 10, 64)
	return n, err == nil && n >= 0
}

func (r *recovery) save() error {
	k := &r.s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.save(r.s, r.s.takeDirty())
}

// queueNamed finds a queue, or makes it; nil for a topic that was deleted. It keeps nothing of the name.
func (r *recovery) queueNamed(topic string, id int32) (*queue, error) {
	if q := r.s.queues[QueueName{topic, id}]; q != nil {
		return q, nil
	}
	if r.skipped[topic] {
		return nil, nil
	}
	if !r.s.deps.TopicExists(topic) {
		r.skipped[strings.Clone(topic)] = true
		return nil, nil
	}
	return r.s.queueFor(topic, id)
}

// fillGaps reads the log before the scan's start again for queues that lack units from there.
func (r *recovery) fillGaps(from, end int64) error {
	if !r.rebuild && len(r.gaps) == 0 {
		return nil
	}
	start := r.s.log.Min()
	if !r.rebuild {
		low := from
		for q := range r.gaps {
			r.s.logger.Error("a consume queue lacks messages that the log has: it is completed", "topic", q.name.Topic, "queue", q.name.QueueID, "offset", q.End())
			low = min(low, q.Physical())
		}
		start = max(start, low)
	}
	sc := r.s.log.Scan(start, end, r.check)
	defer sc.Close()
	var rec message.Record
	for {
		_, err := sc.Next(&rec)
		bad := (*commitlog.BadRecord)(nil)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &bad):
			next, ok, err := r.s.log.Resync(bad.Offset+1, end, r.check)
			if err != nil {
				return err
			}
			r.s.logger.Error("the commit log is damaged: messages are lost, what follows is kept", "file", bad.Path, "offset", bad.Offset, "err", bad.Reason)
			if !ok {
				return nil
			}
			sc.Reset(next, end)
		case err != nil:
			return err
		default:
			if err := r.record(&rec, true); err != nil {
				return err
			}
		}
		if err := r.progress(sc.Pos(), end); err != nil {
			return err
		}
	}
}

// progress tells now and then how far recovery is.
func (r *recovery) progress(pos, end int64) error {
	if r.records%1024 != 0 {
		return nil
	}
	if r.s.deps.Recovering != nil {
		r.s.deps.Recovering(pos, end)
	}
	if time.Since(r.told) > 2*time.Second {
		r.told = time.Now()
		r.s.logger.Info("recovering", "offset", pos, "of", end, "records", r.records)
	}
	return r.ctx.Err()
}
