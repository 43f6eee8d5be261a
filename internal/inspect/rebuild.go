// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// RebuildOptions are what Rebuild needs beside those of Verify.
type RebuildOptions struct {
	Config store.Config // of the broker; folders and sizes are taken from what is there
	Logger *slog.Logger
	All    bool // build all queues that the log has messages of, and the index, whatever their state
	// Recovering is told how far the log was read; nil: nobody wants to know.
	Recovering func(offset, end int64)
}

// Rebuilt is what Rebuild did.
type Rebuilt struct {
	Before *Report
	After  *Report  // nil: nothing was done
	Aside  string   // folder of what was put aside
	Moved  []string // that is, below the store's folder
	Left   []string // queues with faults that cannot be built: the log has no message of them
}

// Rebuild verifies a stopped store, puts queues and index that have faults aside, and lets a start of the store build
// them again from the log; then it verifies once more. What was put aside is kept, in a folder in the store's.
//
// Queues that the log has no message of stay where they are: nothing but their files knows where their offsets go on.
//
// How the store is made to read its whole log: with a mark of Goddard's, the sums in it do not fit any more. Without
// one, the checkpoint is put aside, too, and the file abort made: nothing is known then.
func Rebuild(ctx context.Context, o Options, r RebuildOptions) (*Rebuilt, error) {
	unlock, err := lockStore(&o.Store)
	if err != nil {
		return nil, err
	}
	defer func() { unlock() }()
	res := &Rebuilt{}
	if res.Before, err = verify(ctx, o); err != nil {
		return nil, err
	}
	needs := &res.Before.rebuild
	if !r.All && !needs.any && !needs.index {
		return res, nil
	}
	cfg, err := needs.config(&o, r.Config)
	if err != nil {
		return res, err
	}
	if err := res.refuse(); err != nil {
		return res, err
	}
	if err := res.putAside(&o.Store, r.All); err != nil {
		return res, err
	}
	unlock()
	unlock = func() {}
	if err := runStore(ctx, cfg, &o, &r, needs); err != nil {
		return res, err
	}
	res.After, err = Verify(ctx, o)
	return res, err
}

// config is what the store is opened with.
func (n *rebuildNeeds) config(o *Options, cfg store.Config) (store.Config, error) {
	cfg.Root, cfg.CommitLogDir = o.Store.Root, strings.Join(o.Store.LogDirs, ",")
	switch {
	case n.logFiles > 1:
		cfg.LogFileBytes = n.logFile
	case n.logFiles == 1 && n.logFile != cfg.LogFileBytes:
		return cfg, fmt.Errorf("the only file of the log has %d bytes, mappedFileSizeCommitLog is %d: say it by --set or --config if it is another; if the file was cut, restore it first", n.logFile, cfg.LogFileBytes)
	}
	if n.queueFile > 0 {
		cfg.QueueFileBytes = n.queueFile
	}
	if n.batchFile > 0 {
		cfg.BatchFileBytes = n.batchFile
	}
	if cfg.Extra.Enable = n.extraFile > 0; cfg.Extra.Enable {
		cfg.Extra.FileBytes = n.extraFile
	}
	cfg.Light = store.LightConfig{Enable: n.lights, Dispatch: n.lights}
	if n.slots > 0 {
		cfg.Index.Slots, cfg.Index.Entries = n.slots, n.entries
	}
	// Nothing is to be removed for its age, or because the disk is full.
	cfg.Retention.Reserved, cfg.Retention.CleanForcibly, cfg.Retention.Interval = 100*365*24*time.Hour, false, time.Hour
	return cfg, cfg.Validate()
}

// refuse tells why nothing should be built: a start of the store would do harm.
func (res *Rebuilt) refuse() error {
	r := res.Before
	switch fault := r.rebuild.topicFault; {
	case r.CutAt >= 0:
		return fmt.Errorf("nothing was done: a start would cut the log at %d, and good records behind it would be lost; take a copy of the folder and restore the log first", r.CutAt)
	case fault != nil && !errors.Is(fault, fs.ErrNotExist):
		return fmt.Errorf("nothing was done: without the topics it cannot be told which queues were deleted: %w", fault)
	case r.LogFiles == 0:
		return errors.New("nothing was done: the log has no files to build from")
	}
	return nil
}

// putAside moves what is to be built again into a folder of its own.
func (res *Rebuilt) putAside(s *Store, all bool) error {
	needs := &res.Before.rebuild
	res.Aside = s.path("aside-" + time.Now().Format("20060102T150405.000"))
	mendable := needs.index || all
	for _, q := range needs.queues {
		switch {
		case !q.broken && !all:
		case !q.records && q.broken:
			res.Left = append(res.Left, s.below(q.Dir))
		case q.records:
			mendable = true
			if err := res.move(s, s.below(q.Dir)); err != nil {
				return err
			}
			_ = os.Remove(filepath.Dir(q.Dir)) // the topic's folder, if nothing is left in it
			if beside := q.extrasDir(); beside != "" {
				if err := res.move(s, s.below(beside)); err != nil {
					return err
				}
			}
		}
	}
	if !mendable {
		return fmt.Errorf("nothing can be built: the log has no messages of %s", strings.Join(res.Left, ", "))
	}
	if needs.index || all || !needs.mark {
		if err := res.move(s, indexName); err != nil {
			return err
		}
	}
	if !needs.mark {
		if err := res.move(s, checkpointName); err != nil {
			return err
		}
		if err := os.WriteFile(s.path(abortName), nil, 0o644); err != nil {
			return fmt.Errorf("make the file abort: %w", err)
		}
	}
	return faultfs.OS.SyncDir(s.Root)
}

// below is a path relative to the store's folder.
func (s *Store) below(path string) string {
	root, err := filepath.Abs(s.Root)
	if err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			if rel, err := filepath.Rel(root, abs); err == nil {
				return rel
			}
		}
	}
	return path
}

// move moves a part of the store aside; one that is not there needs no moving.
func (res *Rebuilt) move(s *Store, name string) error {
	from, to := s.path(name), filepath.Join(res.Aside, name)
	if !exists(from) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("put %s aside: %w", name, err)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("put %s aside: %w", name, err)
	}
	res.Moved = append(res.Moved, name)
	for _, dir := range []string{filepath.Dir(from), filepath.Dir(to)} {
		if err := faultfs.OS.SyncDir(dir); err != nil {
			return fmt.Errorf("put %s aside: %w", name, err)
		}
	}
	return nil
}

// indexPatience is how long the index may make no progress.
const indexPatience = time.Minute

// runStore opens the store, which builds the queues, and waits for the index.
func runStore(ctx context.Context, cfg store.Config, o *Options, r *RebuildOptions, needs *rebuildNeeds) error {
	deps := store.Deps{
		Logger: r.Logger, DelayOf: o.DelayOf, Recovering: r.Recovering,
		BatchTopic: func(topic string) (batch, ok bool) {
			return needs.batch[topic], needs.batch[topic] || needs.topics[topic]
		},
	}
	if needs.topics != nil {
		deps.TopicExists = func(topic string) bool {
			return needs.topics[topic] || protocol.IsSystemTopic(topic) || protocol.IsLMQ(topic)
		}
	}
	s, err := store.Open(ctx, cfg, deps)
	if err != nil {
		return fmt.Errorf("build from the log: %w", err)
	}
	err = waitForIndex(ctx, s)
	if cerr := s.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close the store: %w", cerr)
	}
	return err
}

func waitForIndex(ctx context.Context, s *store.Store) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	least, since := int64(-1), time.Now()
	for {
		behind := s.Info().IndexBehind
		switch {
		case behind == 0:
			return nil
		case least < 0 || behind < least:
			least, since = behind, time.Now()
		case time.Since(since) > indexPatience:
			return fmt.Errorf("the index makes no progress, %d bytes of the log are not in it", behind)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
