// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/segment"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// Store is the door. All methods may be called from many goroutines.
//
// Locks, in the order in which they may be taken: checkpointing, the log's (see package commitlog), dispatching,
// queuesMu.
type Store struct {
	cfg     atomic.Pointer[Config]
	deps    Deps
	logger  *slog.Logger
	fs      faultfs.FS
	handles *segment.Handles
	lock    io.Closer
	log     *commitlog.Log
	sets    [2]*consumequeue.Set // by layout
	index   *indexer             // nil: no index
	disk    diskWatch
	reads   readStats
	ages    retention
	day     func() time.Time // of Deps.Clock; nil: time.Now
	damage  damageLog

	queuesMu sync.RWMutex
	queues   map[QueueName]*queue
	batched  map[string]bool          // topics that have batch queues
	deleting map[string]bool          // topics whose folders are being removed
	floors   map[string]*atomic.Int64 // of topics that have queues: see queue.floor

	dispatching sync.Mutex
	dispatched  dispatched // guarded by dispatching
	keeper      keeper

	refused  atomic.Pointer[error] // why appends are refused though the log would take them
	rejected atomic.Int64          // appends that were refused at once
	closed   atomic.Bool
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// Open locks the folder, loads, recovers and starts the background work. It reads no more than recovery needs. When ctx
// ends, recovery gives up; ctx has no meaning later.
func Open(ctx context.Context, cfg Config, d Deps) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("store settings: %w", err)
	}
	s := newStore(cfg, d)
	if err := s.open(ctx); err != nil {
		if s.lock != nil && d.Abandon != nil {
			d.Abandon()
		}
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func newStore(cfg Config, d Deps) *Store {
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	if d.DelayOf == nil {
		d.DelayOf = func(int) time.Duration { return time.Second }
	}
	if d.TopicExists == nil {
		d.TopicExists = func(string) bool { return true }
	}
	if d.BatchTopic == nil {
		d.BatchTopic = func(string) (bool, bool) { return false, false }
	}
	if d.FS == nil {
		d.FS = faultfs.OS
	}
	s := &Store{deps: d, logger: d.Logger, fs: d.FS, queues: make(map[QueueName]*queue), batched: make(map[string]bool),
		deleting: make(map[string]bool), floors: make(map[string]*atomic.Int64)}
	if s.deps.Clock == nil {
		s.deps.Clock = machineClock() // which the log does not need to be told
	} else {
		s.day = func() time.Time { day, _ := s.deps.Clock(); return day }
	}
	s.keeper.pulse = newPulse()
	s.keeper.enough.Store(cfg.Flushing.CheckpointBytes)
	s.dispatched.saveAt = mostSaveAt
	s.keeper.unsynced = make(map[*queue]struct{})
	s.cfg.Store(&cfg)
	s.damage = damageLog{logger: s.logger, path: func(physical int64) string { return s.log.Files().Path(physical) }}
	s.handles = segment.NewHandles(d.FS, int(cfg.Files.OpenFiles))
	s.sets[consumequeue.Simple] = consumequeue.NewSet(s.handles, consumequeue.Simple, cfg.queueDir(), cfg.QueueFileBytes)
	s.sets[consumequeue.Simple].KeepExtras(cfg.extraDir(), cfg.Extra.FileBytes, cfg.Extra.Enable)
	s.sets[consumequeue.Batch] = consumequeue.NewSet(s.handles, consumequeue.Batch, cfg.batchQueueDir(), cfg.BatchFileBytes)
	return s
}

func (s *Store) open(ctx context.Context) error {
	cfg := s.config()
	for _, dir := range append([]string{cfg.Root}, cfg.logDirs()...) {
		if err := s.makeDir(dir); err != nil {
			return fmt.Errorf("create the store's folder: %w", err)
		}
	}
	for _, dir := range cfg.oldLogDirs() {
		if _, err := s.fs.Stat(dir); err != nil {
			return fmt.Errorf("a folder of readOnlyCommitLogStorePaths cannot be looked at: %w", err)
		}
	}
	if err := s.takeLock(); err != nil {
		return err
	}
	crashed, err := s.abortLeft()
	if err != nil {
		return err
	}
	if s.keeper.file, err = openCheckpoint(s.fs, cfg.checkpointPath(), cfg.Root); err != nil {
		return err
	}
	if s.log, err = commitlog.Open(s.logConfig()); err != nil {
		return err
	}
	if cfg.Index.Enable {
		if s.index, err = openIndexer(s, keyindex.Config{FS: s.fs, Dir: cfg.indexDir(), Slots: cfg.Index.Slots, Entries: cfg.Index.Entries, Tags: cfg.Index.Tags}); err != nil {
			return err
		}
	}
	s.loadFloors()
	end, err := s.recover(ctx, crashed)
	if err != nil {
		return err
	}
	if err := s.beginRetention(end); err != nil {
		return err
	}
	if err := s.setAbort(); err != nil {
		return err
	}
	s.start(end)
	return nil
}

// makeDir makes a folder and those above it, durably.
func (s *Store) makeDir(dir string) error {
	there := dir
	for {
		if _, err := s.fs.Stat(there); err == nil || filepath.Dir(there) == there {
			break
		}
		there = filepath.Dir(there)
	}
	if err := s.fs.MkdirAll(dir); err != nil {
		return err
	}
	for at := filepath.Clean(dir); at != there; {
		at = filepath.Dir(at)
		if err := s.fs.SyncDir(at); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

func (s *Store) config() *Config { return s.cfg.Load() }

// Reconfigure makes the settings that may change while the store runs those of cfg.
func (s *Store) Reconfigure(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("store settings: %w", err)
	}
	s.cfg.Store(&cfg)
	return nil
}

func (s *Store) logConfig() commitlog.Config {
	cfg := s.config()
	return commitlog.Config{
		Now:     s.day,
		Handles: s.handles, Dirs: cfg.logDirs(), OldDirs: cfg.oldLogDirs(), FileSize: cfg.LogFileBytes, Logger: s.logger,
		Sync: cfg.Flush == SyncFlush, SyncTimeout: cfg.Flushing.SyncTimeout,
		FlushInterval: cfg.Flushing.Interval, FlushLeast: int64(cfg.Flushing.LeastPages) * 4096, FlushThorough: cfg.Flushing.Thorough,
		TailBytes: cfg.Files.TailBytes, PendingBytes: cfg.Files.PendingBytes, Ahead: cfg.Files.AheadBytes,
		Dispatch: s.dispatch,
	}
}

// start begins to take messages at end.
func (s *Store) start(end int64) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.log.Start(end)
	s.running.Go(func() { s.keeper.run(ctx, s) })
	s.running.Go(func() { s.watchDisk(ctx) })
	if s.index != nil {
		s.index.start = end
		s.running.Go(func() { s.index.run(ctx) })
	}
	s.register()
}

// Close stops accepting, commits what was accepted, persists queues, index and checkpoint, removes abort, unlocks. When
// something of that fails, abort stays, and the next start looks more closely.
func (s *Store) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	s.stop()
	s.running.Wait()
	s.endRetention()
	err := s.log.Close()
	if err == nil {
		err = s.checkpoint(true)
	}
	if err == nil {
		err = s.clearAbort()
	}
	return errors.Join(err, s.release())
}

// release gives back files and the lock.
func (s *Store) release() error {
	var errs []error
	s.unregister()
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.index != nil {
		errs = append(errs, s.index.x.Close())
	}
	if s.keeper.file != nil {
		errs = append(errs, s.keeper.file.close())
	}
	errs = append(errs, s.handles.Close())
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// takeLock makes this process the only one that uses the folder, Java brokers included.
func (s *Store) takeLock() error {
	lock, err := s.fs.Lock(s.config().lockPath())
	if errors.Is(err, faultfs.ErrLocked) {
		return fmt.Errorf("the store %s is in use by another broker: %w", s.config().Root, err)
	}
	if err != nil {
		return fmt.Errorf("lock the store: %w", err)
	}
	s.lock = lock
	return nil
}

// abortLeft tells whether the file abort is there: the last broker did not stop properly.
func (s *Store) abortLeft() (bool, error) {
	_, err := s.fs.Stat(s.config().abortPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the file abort: %w", err)
	}
	return true, nil
}

func (s *Store) setAbort() error {
	f, err := s.fs.Open(s.config().abortPath(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("create the file abort: %w", err)
	}
	pid := strconv.Itoa(os.Getpid())
	err = f.Truncate(int64(len(pid)))
	if err == nil {
		_, err = f.WriteAt([]byte(pid), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.fs.SyncDir(filepath.Dir(s.config().abortPath()))
	}
	if err != nil {
		return fmt.Errorf("create the file abort: %w", err)
	}
	return nil
}

func (s *Store) clearAbort() error {
	err := s.fs.Remove(s.config().abortPath())
	if err == nil {
		err = s.fs.SyncDir(s.config().Root)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the file abort: %w", err)
	}
	return nil
}
