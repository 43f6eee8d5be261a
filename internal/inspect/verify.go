// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
)

// Options of Verify.
type Options struct {
	Store Store
	// DelayOf gives the delay of a level, for the entries of SCHEDULE_TOPIC_XXXX. nil: they are not compared.
	DelayOf func(level int) time.Duration
	// Slots of index files (maxHashSlotNum); 0: found out from the files.
	Slots int32
	// MaxFindings are kept; the rest is counted. 0: 1,000.
	MaxFindings int
	// Progress is told now and then how far the log was read. nil: nobody wants to know.
	Progress func(done, total int64)
}

// ErrInUse: a broker has the store open.
var ErrInUse = errors.New("a broker has it open")

// Verify compares the files of a stopped store with each other: every record with its checksum, every unit with the
// record it points at and every record with its unit, the index both ways, checkpoint and state files. It holds the
// store's lock meanwhile and changes nothing but to make the file lock if there is none. The error is about what could not be looked at; what was found is in the
// report.
func Verify(ctx context.Context, o Options) (*Report, error) {
	unlock, err := lockStore(&o.Store)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return verify(ctx, o)
}

// lockStore keeps brokers off the store.
func lockStore(s *Store) (unlock func(), err error) {
	lock, err := faultfs.OS.Lock(s.path(lockName))
	switch {
	case errors.Is(err, faultfs.ErrLocked):
		by := ""
		if pid, held := Running(s.Root); held && pid > 0 {
			by = fmt.Sprintf(", process %d", pid)
		}
		return nil, fmt.Errorf("%s: %w%s; stop it first", s.Root, ErrInUse, by)
	case errors.Is(err, syscall.EROFS):
		return func() {}, nil // nobody can have it open
	case err != nil:
		return nil, fmt.Errorf("lock the store: %w", err)
	}
	return func() { lock.Close() }, nil
}

// verifier is one run of Verify.
type verifier struct {
	ctx context.Context
	o   Options
	r   *Report
	log *Log

	checkpoint *Checkpoint     // nil: there is none
	mark       *Mark           // nil: there is none that counts
	crashed    bool            // the last broker did not stop properly
	topics     map[string]bool // nil: not known
	extras     bool            // there is something beside queues

	batch   map[string]bool // topics with batch queues, by the settings or by their folders
	queues  map[string]map[int32]*queueCheck
	all     []*queueCheck
	reached int64 // end of the last message that any queue knows
	healed  [runHurt + 1]healedRuns
	lost    healedRuns // units that point behind the end of the log, in a store that was stopped properly
	index   *indexCheck

	starts   []fileStart
	lastGood *int64 // start of the last log file that begins with a good record, -1 for none; nil: not looked for yet
	hurt     []span // parts of the log without records
	cutAt    int64  // here the log ends for the next start; -1: not yet
	cut      Piece  // what is there
	behind   int64  // good records behind
	told     int64  // Progress was, so far
	total    int64
	scratch
}

// fileStart is the first record of a log file.
type fileStart struct{ start, storeTime int64 }

// span is a part of the log.
type span struct{ from, to int64 }

func verify(ctx context.Context, o Options) (*Report, error) {
	if o.MaxFindings <= 0 {
		o.MaxFindings = 1000
	}
	v := &verifier{ctx: ctx, o: o, r: &Report{Store: o.Store.Root, CutAt: -1}, cutAt: -1}
	for _, step := range []func() error{v.survey, v.findQueues, v.findIndex, v.walkLog, v.endLog, v.endQueues, v.endIndex, v.states} {
		if err := step(); err != nil {
			v.close()
			return nil, err
		}
	}
	v.close()
	slices.SortStableFunc(v.r.Findings, func(a, b Finding) int { return cmp.Compare(order(a), order(b)) })
	return v.r, nil
}

// order puts what matters first, then the parts in the order of their importance.
func order(f Finding) int {
	severity := slices.Index([]Severity{Damaged, Derived, Note}, f.Severity)
	part := slices.Index([]string{PartLog, PartCheckpoint, PartState, PartQueue, PartIndex}, f.Part)
	return severity*10 + part
}

func (v *verifier) close() {
	if v.log != nil {
		v.log.Close()
	}
	if v.index != nil {
		v.index.close()
	}
}

// survey finds out what is there and who wrote last.
func (v *verifier) survey() error {
	s := &v.o.Store
	log, err := v.openLog()
	if err != nil {
		return err
	}
	v.log = log
	for i := range log.Files {
		v.total += log.Files[i].Size
	}
	v.checkpoint, err = ReadCheckpoint(s.path(checkpointName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	if v.checkpoint != nil {
		v.mark = v.checkpoint.Mark()
	}
	v.crashed = exists(s.path(abortName)) || v.mark != nil && !v.mark.Clean
	v.r.Clean, v.r.ByJava = !v.crashed, v.mark == nil
	v.r.LogBegin, v.r.LogFiles = log.Min(), len(log.Files)
	v.checkCheckpoint()
	v.readTopics()
	v.extras = exists(s.path(extendedName))
	for _, name := range []string{"timerwheel", "timerlog", "compaction", "rocksdbstore"} {
		if exists(s.path(name)) {
			v.r.NotChecked = append(v.r.NotChecked, name)
		}
	}
	needs := &v.r.rebuild
	needs.logFile, needs.logFiles, needs.mark = log.FileSize, len(log.Files), v.mark != nil
	return nil
}

// openLog lists the log; one without files is a log, too.
func (v *verifier) openLog() (*Log, error) {
	var dirs []string
	for _, dir := range v.o.Store.LogDirs {
		switch files, err := runFiles(dir); {
		case err != nil:
			return nil, err
		case len(files) > 0:
			dirs = append(dirs, dir)
		case !exists(dir):
			v.add(Finding{Severity: Note, Part: PartLog, File: dir, What: "the folder does not exist",
				Remedy: "if the log lies elsewhere (storePathCommitLog), name its folders by --commitlog"})
		}
	}
	return OpenLog(dirs...)
}

// checkCheckpoint looks whether what the checkpoint says can be.
func (v *verifier) checkCheckpoint() {
	path := v.o.Store.path(checkpointName)
	c := v.checkpoint
	switch {
	case c == nil && len(v.log.Files) == 0:
	case c == nil:
		v.add(Finding{Severity: Note, Part: PartCheckpoint, File: path, What: "there is no checkpoint", Remedy: "the next start reads the log and makes one"})
	case c.Size != checkpointBytes:
		v.add(Finding{Severity: Note, Part: PartCheckpoint, File: path, Offset: c.Size, What: fmt.Sprintf("it has %d bytes, not %d", c.Size, checkpointBytes), Remedy: "the next start makes it anew"})
	}
	if c == nil {
		return
	}
	for _, m := range c.Marks {
		if m.Fault != "" && m.Fault != "never written" {
			v.add(Finding{Severity: Note, Part: PartCheckpoint, File: path, Offset: m.Offset, What: "a copy of the mark cannot be read: " + m.Fault, Remedy: "the other copy counts, or RocketMQ's part"})
		}
	}
	soon := time.Now().Add(24 * time.Hour).UnixMilli()
	for i, ms := range []int64{c.Plain.LogTime, c.Plain.QueueTime, c.Plain.IndexTime} {
		if ms < 0 || ms > soon {
			v.add(Finding{Severity: Note, Part: PartCheckpoint, File: path, Offset: int64(i) * 8, What: fmt.Sprintf("a time of %d ms cannot be: it is damaged, or the clock was", ms),
				Remedy: "remove the file; the next start reads the whole log"})
		}
	}
	v.checkMark(path)
}

func (v *verifier) checkMark(path string) {
	m, end := v.mark, v.log.End()
	if m == nil {
		return
	}
	for _, at := range []struct {
		name   string
		offset int64
	}{{"the queues hold the log", m.Dispatched}, {"the log is durable", m.Flushed}} {
		if at.offset > end {
			v.add(Finding{Severity: Damaged, Part: PartCheckpoint, File: path, Offset: m.Offset, Physical: ptr(at.offset),
				What:   fmt.Sprintf("it says that %s up to %d, but the files of the log end at %d", at.name, at.offset, end),
				Remedy: "files at the end of the log are gone: restore them from a copy"})
			return
		}
	}
}

// progress tells how far the log was read.
func (v *verifier) progress(done int64) {
	if v.o.Progress != nil && done-v.told >= walkBlock {
		v.told = done
		v.o.Progress(done, v.total)
	}
}

// scratch is memory for records that are read out of order.
type scratch struct{ record []byte }
