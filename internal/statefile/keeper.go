// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package statefile

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// How soon a changed table is written as a whole. The journal keeps it meanwhile, so
// this bounds the journal and what another server, which knows no journal, misses
// after a crash.
const (
	rewriteAfter   = 200 * time.Millisecond
	rewriteShare   = 10 // writing the file takes at most this part of the time
	rewriteRetry   = 5 * time.Second
	journalIsLarge = 16 << 20 // bytes; then it is written at once
)

// Keeper keeps a table on disk: each change goes into a journal, and a goroutine
// writes the whole file when changes have come to rest for a moment.
type Keeper struct {
	journal *Journal
	encode  func() []byte
	logger  *slog.Logger

	changed chan struct{} // holds one token while there are changes not in the file
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
	err     error // of Close
}

// Keep begins to keep a table whose journal was opened (and replayed) with j. encode
// gives the whole table and is called on the keeper's goroutine. With rewrite the
// file is written soon even without a change: after a replay, or when there was no
// file.
func Keep(j *Journal, encode func() []byte, rewrite bool, logger *slog.Logger) *Keeper {
	k := &Keeper{
		journal: j, encode: encode, logger: logger,
		changed: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if rewrite {
		k.changed <- struct{}{}
	}
	go k.run()
	return k
}

// Append notes a change that was made in memory; see Journal.Append.
func (k *Keeper) Append(record []byte) uint64 {
	n := k.journal.Append(record)
	select {
	case k.changed <- struct{}{}:
	default:
	}
	return n
}

// Wait returns when change n is on disk; see Journal.Wait.
func (k *Keeper) Wait(n uint64) error { return k.journal.Wait(n) }

// Kept tells whether change n is on disk; see Journal.Kept.
func (k *Keeper) Kept(n uint64) bool { return k.journal.Kept(n) }

// Flush waits until every change noted so far is on disk.
func (k *Keeper) Flush() error { return k.journal.Flush() }

// Close writes the file once more if it lacks a change, and ends.
func (k *Keeper) Close() error {
	k.once.Do(func() {
		close(k.stop)
		<-k.done
		select {
		case <-k.changed:
			k.err = k.journal.Rewrite(k.encode)
		default:
		}
		k.err = errors.Join(k.err, k.journal.Close())
	})
	return k.err
}

func (k *Keeper) run() {
	defer close(k.done)
	pause, failed := rewriteAfter, false
	for {
		select {
		case <-k.stop:
			return
		case <-k.changed:
		}
		if !k.rest(pause) {
			k.again() // for Close
			return
		}
		select { // what came while waiting is in memory, hence in the file to come
		case <-k.changed:
		default:
		}
		began := time.Now()
		err := k.journal.Rewrite(k.encode)
		switch {
		case err != nil:
			if !failed {
				k.logger.Error("cannot write state file; its changes are kept by its journal as long as that can be written", "err", err)
			}
			failed, pause = true, rewriteRetry
			k.again()
		case failed:
			k.logger.Info("state file is written again", "file", k.journal.path)
			failed = false
			fallthrough
		default:
			pause = max(rewriteAfter, rewriteShare*time.Since(began))
		}
	}
}

// again puts the token back.
func (k *Keeper) again() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// rest waits for d, less when the journal grows large; false when the keeper ends.
func (k *Keeper) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	tick := time.NewTicker(rewriteAfter)
	defer tick.Stop()
	for {
		select {
		case <-k.stop:
			return false
		case <-t.C:
			return true
		case <-tick.C:
			if d != rewriteRetry && k.journal.Bytes() > journalIsLarge {
				return true
			}
		}
	}
}
