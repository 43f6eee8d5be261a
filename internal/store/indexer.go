// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// indexer follows the log and adds the keys of its records to the index. It reads the log's tail in memory and needs no
// queue between itself and those who append; when it falls behind it reads the files.
type indexer struct {
	s     *Store
	x     *keyindex.Index
	pulse pulse
	pos   atomic.Int64 // records below are in the index
	start int64        // the log's end when the store was opened: what was missing below is added at leisure

	adding  sync.Mutex // one goroutine adds; guards what follows
	scanner *commitlog.Scanner
	failed  time.Time // when a failure was logged
	told    time.Time // when progress was logged

	marking sync.Mutex // guards what follows
	mark    keyindex.Position
	markPos int64 // records below are durable in the index
	markAt  time.Time
}

const (
	indexEvery  = 10 * time.Millisecond
	indexBatch  = 256 << 10 // bytes of log that are added at a time
	indexMarkAt = 512 << 20 // bytes of log after which the index is made durable
	indexMarkIn = 30 * time.Second
	indexWait   = 64 << 20 // bytes of log that a query waits for
)

func openIndexer(s *Store, cfg keyindex.Config) (*indexer, error) {
	x, err := keyindex.Open(cfg)
	if err != nil {
		return nil, err
	}
	return &indexer{s: s, x: x, pulse: newPulse()}, nil
}

// begin says that records below pos are durably in the index.
func (i *indexer) begin(pos int64, mark keyindex.Position) {
	i.pos.Store(pos)
	i.mark, i.markPos, i.markAt = mark, pos, time.Now()
}

// touch is called after each group of records, of so many bytes, with the log's end. When the index falls so far behind
// that it would soon have to read files, whoever appends has to help.
func (i *indexer) touch(end, bytes int64) {
	i.pulse.touch()
	behind, tail := end-i.pos.Load(), i.s.config().Files.TailBytes
	if behind < tail/2 || i.pos.Load() < i.start {
		return
	}
	if behind < tail*3/4 {
		if !i.adding.TryLock() {
			return
		}
	} else {
		i.adding.Lock()
	}
	defer i.adding.Unlock()
	if err := i.addLocked(2 * bytes); err != nil {
		i.reportLocked(err)
	}
}

func (i *indexer) run(ctx context.Context) {
	i.pulse.run(ctx, func() time.Duration { return i.work(ctx) })
}

// work adds what is new, and makes the index durable when it is time.
func (i *indexer) work(ctx context.Context) time.Duration {
	for ctx.Err() == nil && i.pos.Load() < i.s.log.Confirmed() {
		if err := i.add(indexBatch); err != nil {
			i.report(err)
			return time.Second
		}
		if err := i.checkpoint(false); err != nil {
			i.report(err)
		}
	}
	if err := i.checkpoint(false); err != nil {
		i.report(err)
		return time.Second
	}
	if _, pos := i.durable(); pos == i.pos.Load() && !i.x.Unsettled() {
		return 0
	}
	return indexEvery
}

func (i *indexer) report(err error) {
	i.adding.Lock()
	defer i.adding.Unlock()
	i.reportLocked(err)
}

func (i *indexer) reportLocked(err error) {
	if time.Since(i.failed) > 10*time.Second {
		i.failed = time.Now()
		i.s.logger.Warn("cannot write the key index; messages are safe in the log, and are indexed later", "err", err)
	}
}

// add adds the records of about the next limit bytes of the log.
func (i *indexer) add(limit int64) error {
	i.adding.Lock()
	defer i.adding.Unlock()
	return i.addLocked(limit)
}

func (i *indexer) addLocked(limit int64) error {
	log := i.s.log
	pos := max(i.pos.Load(), log.Min())
	confirmed := log.Confirmed()
	if i.scanner == nil {
		i.scanner = log.Scan(0, 0, commitlog.CheckLayout)
	}
	defer i.scanner.Reset(0, 0) // lets go of the tail
	i.scanner.Reset(pos, confirmed)
	var r message.Record
	for end := pos + limit; i.scanner.Pos() < end; {
		_, err := i.scanner.Next(&r)
		switch bad := (*commitlog.BadRecord)(nil); {
		case errors.Is(err, io.EOF):
			i.pos.Store(max(i.scanner.Pos(), pos))
			if i.scanner.Pos() < confirmed && log.Min() <= i.scanner.Pos() {
				i.pos.Store(confirmed) // a hole in the files
			}
			return nil
		case errors.As(err, &bad):
			next, ok, err := log.Resync(bad.Offset+1, confirmed, commitlog.CheckLayout)
			if err != nil {
				return err
			}
			if !ok {
				next = confirmed
			}
			i.scanner.Reset(next, confirmed)
			continue
		case err != nil:
			return err
		}
		if err := i.x.Add(&r); err != nil {
			i.pos.Store(r.PhysicalOffset)
			return err
		}
	}
	i.pos.Store(i.scanner.Pos())
	i.progress(confirmed)
	return nil
}

// progress tells how an index that was far behind gets on.
func (i *indexer) progress(confirmed int64) {
	if left := confirmed - i.pos.Load(); left > indexWait && time.Since(i.told) > 10*time.Second {
		i.told = time.Now()
		i.s.logger.Info("the key index is being built", "bytes_left", left)
	}
}

// catchUp adds what was readable when it was called. It does not wait for an index that is far behind.
func (i *indexer) catchUp() error {
	confirmed := i.s.log.Confirmed()
	if confirmed-i.pos.Load() > indexWait {
		return nil
	}
	for i.pos.Load() < confirmed {
		before := i.pos.Load()
		if err := i.add(indexBatch); err != nil {
			return err
		}
		if i.pos.Load() == before {
			return nil
		}
	}
	return nil
}

// durable is a state that a power cut does not take away.
func (i *indexer) durable() (mark keyindex.Position, pos int64) {
	i.marking.Lock()
	defer i.marking.Unlock()
	return i.mark, i.markPos
}

// checkpoint makes the index durable, when it is time or with now.
func (i *indexer) checkpoint(now bool) error {
	mark, pos := i.durable()
	behind := i.pos.Load() - pos
	if behind == 0 && !i.x.Unsettled() || !now && behind < indexMarkAt && time.Since(i.markAt) < indexMarkIn {
		return nil
	}
	// An index must not outlive the records that it leads to: others would come to lie there. The first sync is for
	// the many, the second for the few that come meanwhile: appenders may have to wait for that one.
	err := i.s.log.SyncTo(i.pos.Load())
	i.adding.Lock()
	pos = i.pos.Load()
	if err == nil {
		err = i.s.log.SyncTo(pos)
	}
	if err == nil {
		mark, err = i.x.Checkpoint()
	}
	i.adding.Unlock()
	if err != nil {
		return err
	}
	i.marking.Lock()
	defer i.marking.Unlock()
	i.mark, i.markPos, i.markAt = mark, pos, time.Now()
	return nil
}

// close adds the rest and makes all durable. The goroutine that follows the log is gone.
func (i *indexer) close() error {
	for end := i.s.log.Confirmed(); i.pos.Load() < end; {
		before := i.pos.Load()
		if before+indexWait < end {
			break // building it took longer than this process lived; the next one goes on
		}
		if err := i.add(indexBatch); err != nil {
			return err
		}
		if i.pos.Load() == before {
			break
		}
	}
	if i.scanner != nil {
		i.scanner.Close()
	}
	return i.checkpoint(true)
}
