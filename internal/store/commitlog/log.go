// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/segment"
)

// Reasons why the log takes nothing.
var (
	ErrClosed  = errors.New("the store is shut down")
	ErrBusy    = errors.New("the disk is too slow: too much is waiting to be written")
	ErrNoSpace = errors.New("no space for the log")
)

// Config of a log.
type Config struct {
	Handles  *segment.Handles
	Dirs     []string // where the files are; several take turns
	OldDirs  []string // where files are, too, but no new ones are made
	FileSize int64    // bytes of each file
	Logger   *slog.Logger

	// Sync: waiters are told, and messages become visible, after fdatasync; else after the write.
	Sync bool
	// SyncTimeout: with Sync, who waits longer is told FlushDiskTimeout.
	SyncTimeout time.Duration
	// FlushInterval, FlushLeast, FlushThorough: without Sync, how often the log is synced, for how many bytes at
	// least, and after what time for any.
	FlushInterval time.Duration
	FlushLeast    int64
	FlushThorough time.Duration

	TailBytes    int64 // of the log's end kept in memory
	PendingBytes int64 // that may wait to be written
	Ahead        int64 // bytes reserved on disk beyond the end

	Now func() time.Time // the time of day that records get; nil: time.Now

	// Dispatch is given each group that readers may see from now on, in the order of the log, before its waiters are
	// told. end is the log's end after it.
	Dispatch func(entries []Entry, end int64)
}

// Log is the commit log. Until Start it only reads.
type Log struct {
	cfg   Config
	files *segment.Files
	epoch time.Time
	tail  *tail

	mu           sync.Mutex
	pos          int64 // where the next record goes
	chunk        *chunk
	pending      *group
	spare        []*group
	pendingBytes int64
	started      bool
	refuse       error // why nothing is taken: ErrClosed, ErrNoSpace or a disk error, wrapped

	writing   sync.Mutex
	reserving sync.Mutex

	first     atomic.Int64 // where the log begins
	waiting   atomic.Int32 // entries in the pending group
	reserved  atomic.Int64 // below this, files are there and blocks are reserved
	written   atomic.Int64
	flushed   atomic.Int64 // durable
	confirmed atomic.Int64 // readers may see the log up to here
	delivered atomic.Int64 // groups below were dispatched and their waiters told
	broken    atomic.Pointer[error]
	writeFrom atomic.Int64 // since the epoch, ns: when the write in progress began; 0: none
	lastTime  atomic.Int64 // store time of the newest written record, ms
	flushTime atomic.Int64 // store time of the newest flushed record, ms

	inFlight   atomic.Pointer[group] // with Sync: the group being synced
	passing    atomic.Int32          // with Sync: groups that deliverLoop has still to deliver
	deliveries chan delivery         // to deliverLoop; closed by Close
	ticking    atomic.Bool           // the ticker knows that there is something to commit
	flushing   atomic.Bool           // the flusher knows that there is something to flush
	syncing    sync.Mutex            // one fdatasync round at a time
	kick       chan struct{}         // to the syncer
	hand       chan struct{}         // to the ticker: commit at once
	tick       chan struct{}         // to the ticker
	flush      chan struct{}         // to the flusher
	extend     chan struct{}         // to the allocator
	done       chan struct{}
	background sync.WaitGroup
	delivering sync.WaitGroup

	Stats Stats
}

// Open lists the files of the log. They are to be scanned for the end, which Start is given.
func Open(cfg Config) (*Log, error) {
	files, err := segment.OpenBeside(cfg.Handles, cfg.FileSize, cfg.Dirs, cfg.OldDirs)
	if err != nil {
		return nil, fmt.Errorf("open the commit log: %w", err)
	}
	l := &Log{
		cfg: cfg, files: files, epoch: time.Now(), tail: newTail(cfg.TailBytes, cfg.FileSize),
		kick: make(chan struct{}, 1), hand: make(chan struct{}, 1), tick: make(chan struct{}, 1), flush: make(chan struct{}, 1), extend: make(chan struct{}, 1),
		done: make(chan struct{}), deliveries: make(chan delivery, 2),
	}
	if first, end, ok := files.Range(); ok {
		l.first.Store(first)
		l.confirmed.Store(end) // all that is there may be looked at until the true end is known
	}
	return l, nil
}

// Start takes end as the end of the log, where the next record goes, and begins to take records. Everything below end
// is durable.
func (l *Log) Start(end int64) {
	l.mu.Lock()
	l.pos, l.started = end, true
	l.mu.Unlock()
	if l.files.Len() == 0 {
		l.first.Store(l.files.Start(end))
	}
	for _, p := range []*atomic.Int64{&l.reserved, &l.written, &l.flushed, &l.confirmed, &l.delivered} {
		p.Store(end)
	}
	loops := []func(){l.tickLoop, l.allocateLoop}
	if l.cfg.Sync {
		loops = append(loops, l.syncLoop)
		l.delivering.Go(l.deliverLoop)
	} else {
		loops = append(loops, l.flushLoop)
	}
	for _, loop := range loops {
		l.background.Go(loop)
	}
	notify(l.extend)
}

// notify wakes a loop that reads c; it never waits.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close refuses new records, writes and syncs those that were accepted, and stops. Files made ahead are removed.
// Close of a log that was never started does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	if errors.Is(l.refuse, ErrClosed) || !l.started {
		l.refuse = ErrClosed
		l.mu.Unlock()
		return nil
	}
	failed := l.refuse
	l.refuse = ErrClosed
	l.mu.Unlock()

	close(l.done)
	l.background.Wait()
	l.Drain()
	close(l.deliveries)
	l.delivering.Wait()
	if failed != nil && !errors.Is(failed, ErrNoSpace) {
		return failed
	}
	if err := l.SyncTo(l.written.Load()); err != nil {
		return err
	}
	if err := l.Err(); err != nil {
		return err
	}
	if _, err := l.files.RemoveFrom(l.written.Load()); err != nil {
		return fmt.Errorf("remove log files made ahead: %w", err)
	}
	return l.files.SyncDirs()
}

// fail makes the log refuse everything for good.
func (l *Log) fail(err error) {
	if l.broken.CompareAndSwap(nil, &err) {
		l.cfg.Logger.Error("the commit log takes no more messages until restart: what the disk holds is not known", "err", err)
	}
	l.mu.Lock()
	if l.refuse == nil || errors.Is(l.refuse, ErrNoSpace) {
		l.refuse = err
	}
	late := l.takeLocked()
	l.mu.Unlock()
	if late != nil {
		l.tell(late, ServiceNotAvailable, err)
	}
}

// Err is why the log is broken for good, or nil.
func (l *Log) Err() error {
	if err := l.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// Writable is nil, or why the log takes nothing at the moment.
func (l *Log) Writable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refuse
}

// Min is where the log begins: the offset of the first file.
func (l *Log) Min() int64 { return l.first.Load() }

// RemoveFirst removes the first file, never the last one.
func (l *Log) RemoveFirst() error {
	starts := l.files.Starts()
	if len(starts) < 2 || starts[1] > l.confirmed.Load() {
		return nil
	}
	l.first.Store(starts[1]) // nobody begins to read there any more
	if err := l.files.Remove(starts[0]); err != nil {
		return fmt.Errorf("remove log file %s: %w", l.files.Path(starts[0]), err)
	}
	if err := l.files.SyncDirs(); err != nil {
		return fmt.Errorf("remove log file %s: %w", l.files.Path(starts[0]), err)
	}
	return nil
}

// Max is the end of what was written.
func (l *Log) Max() int64 { return l.written.Load() }

// Confirmed is the end of what readers may see.
func (l *Log) Confirmed() int64 { return l.confirmed.Load() }

// Flushed is the end of what is durable, and the store time of its newest record, ms; 0 when not known.
func (l *Log) Flushed() (offset, storeTime int64) { return l.flushed.Load(), l.flushTime.Load() }

// WriteHeld is how long the write in progress has been going on; 0 when there is none.
func (l *Log) WriteHeld() time.Duration {
	if from := l.writeFrom.Load(); from != 0 {
		return max(time.Since(l.epoch)-time.Duration(from), 0)
	}
	return 0
}

// Files are the log's files, for recovery, retention and tools.
func (l *Log) Files() *segment.Files { return l.files }
