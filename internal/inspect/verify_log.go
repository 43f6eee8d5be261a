// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/goddard-mq/goddard/internal/message"
)

// Remedies of faults of the log.
const (
	remedyRecord = "restore the file from a copy; without one the message is lost, the others are served"
	remedyFile   = "restore the file from a copy"
)

// walkLog reads the whole log once, in order, and compares each record with its queue and with the index.
func (v *verifier) walkLog() error {
	if len(v.log.Files) == 0 {
		return nil
	}
	if err := v.logSizes(); err != nil {
		return err
	}
	return v.log.Walk(v.ctx, v.log.Min(), math.MaxInt64, func(p *Piece) error {
		v.progress(p.Offset - v.log.Min())
		switch {
		case p.Kind == RecordPiece && p.File.Start == p.Offset:
			v.starts = append(v.starts, fileStart{p.Offset, p.Record.StoreTimestamp})
		case p.Kind == BlankPiece:
			return nil
		}
		if v.cutAt >= 0 {
			if p.Kind == RecordPiece && !p.Refused {
				v.behind++
			}
			return nil
		}
		if p.Kind == RecordPiece && !p.Refused {
			return v.record(p)
		}
		return v.bad(p)
	})
}

// record is for a record that counts.
func (v *verifier) record(p *Piece) error {
	v.r.Messages++
	v.r.LogEnd = p.Offset + p.Size
	if len(p.Faults) > 0 {
		v.addPiece(Damaged, p, strings.Join(p.Faults, "; ")+": "+describe(p.Record), remedyRecord)
	}
	if err := v.queueRecord(p.Record); err != nil {
		return err
	}
	return v.indexRecord(p.Record)
}

// bad is for a part of the log that is no record, as a recovery sees it: the log ends there, or goes on behind.
func (v *verifier) bad(p *Piece) error {
	follows, err := v.fileFollows(p.Offset)
	if err != nil {
		return err
	}
	durable := v.mark != nil && p.Offset < v.mark.Flushed
	if hole := p.Kind == MissingPiece && p.File == nil; !hole && !durable && (v.mark != nil || !follows) {
		v.cutAt, v.cut = p.Offset, *p
		v.cut.Faults, v.cut.Record, v.cut.Bytes = nil, nil, nil
		if p.Kind == RecordPiece {
			v.cut.Kind, v.cut.Reason = DamagedPiece, strings.Join(p.Faults, "; ")
		}
		return nil
	}
	v.hurts(p)
	switch {
	case p.Kind == RecordPiece:
		v.addPiece(Damaged, p, strings.Join(p.Faults, "; ")+": "+describe(p.Record), remedyRecord)
		if p.Record.PhysicalOffset != p.Offset {
			return nil
		}
		return v.queueRecord(p.Record) // the rest of it is what it was
	case p.Kind == MissingPiece && p.File != nil: // logSizes told
	case p.Kind == MissingPiece:
		v.addPiece(Damaged, p, fmt.Sprintf("%d bytes of the log are missing: %s; a broker does not start like this", p.Size, p.Reason), remedyFile+", or move away the files before it to go on without them")
	case p.Kind == UnusedPiece && !follows:
		v.addPiece(Damaged, p, fmt.Sprintf("nothing is written here, though the log was durable up to %d: messages at its end are lost", v.mark.Flushed), remedyFile)
	case p.Kind == UnusedPiece:
		v.addPiece(Damaged, p, fmt.Sprintf("nothing is written here up to the end of the file (%d bytes), though the log goes on in the next", p.Size), remedyFile+"; without one the messages there are lost")
	default:
		v.addPiece(Damaged, p, fmt.Sprintf("no record in %d bytes: %s", p.Size, p.Reason), remedyFile+"; without one the messages there are lost, the others are served")
	}
	return nil
}

// fileFollows tells whether a log file behind the one that holds off begins with a good record.
func (v *verifier) fileFollows(off int64) (bool, error) {
	if v.lastGood == nil {
		v.lastGood = ptr(int64(-1))
		for _, f := range slices.Backward(v.log.Files) {
			var r message.Record
			var err error
			if v.scratch.record, err = v.log.Record(f.Start, &r, v.scratch.record); err == nil {
				v.lastGood = ptr(f.Start)
				break
			} else if !isNoRecord(err) {
				return false, err
			}
		}
	}
	return off < *v.lastGood, nil
}

// endLog judges the end of the log.
func (v *verifier) endLog() error {
	v.r.LogEnd = max(v.r.LogEnd, v.log.Min())
	if n := len(v.log.Files); v.cutAt < 0 && n > 0 {
		end := v.log.Files[n-1].end()
		v.cutAt, v.cut = end, Piece{Kind: UnusedPiece, File: &v.log.Files[n-1], Offset: end}
		if h := len(v.hurt); h > 0 && v.hurt[h-1].to >= end {
			return nil // it was told
		}
	}
	p := &v.cut
	lost := v.reached > v.cutAt
	const next = "the next start cuts the log there"
	switch {
	case len(v.log.Files) == 0:
	case v.behind > 0 && (!v.crashed || lost && v.mark == nil):
		v.r.CutAt = v.cutAt
		v.addPiece(Damaged, p, fmt.Sprintf("%s; %d good records follow: %s", p.fault(), v.behind, next),
			"take a copy of the folder before any broker opens it, or they are lost; restore the file from a copy of before")
	case v.behind > 0:
		v.addPiece(Note, p, fmt.Sprintf("%s; %d good records follow. It is the end of what was written when the machine stopped: %s", p.fault(), v.behind, next), "")
	case p.Kind == DamagedPiece && v.crashed:
		v.addPiece(Note, p, "the log ends in a torn record: "+p.fault(), next)
	case p.Kind == DamagedPiece:
		v.addPiece(Note, p, "behind the end of the log is something: "+p.fault(), "the next messages are written over it")
	}
	return v.emptyLog()
}

// lostEnd tells that queues of a store that was stopped properly know of messages behind the end of the log.
func (v *verifier) lostEnd() {
	if v.lost.queues == 0 {
		return
	}
	p := v.cut
	p.Offset = v.cutAt
	v.addPiece(Damaged, &p, fmt.Sprintf("the log ends here (%s), but %d units in %d queues point at messages behind", p.fault(), v.lost.units, v.lost.queues),
		"restore the last file of the log from a copy; without one the messages are lost, and the next start cuts the queues")
}

// emptyLog is for queues without a log.
func (v *verifier) emptyLog() error {
	if len(v.log.Files) > 0 || len(v.all) == 0 || v.mark != nil && v.mark.Dispatched == 0 {
		return nil
	}
	v.add(Finding{Severity: Damaged, Part: PartLog, File: strings.Join(v.o.Store.LogDirs, ","),
		What:   fmt.Sprintf("the log has no files, but there are %d queues: a broker does not start like this", len(v.all)),
		Remedy: "if the log lies elsewhere (storePathCommitLog), name its folders by --commitlog; else restore it from a copy"})
	return nil
}

// fault tells what is at the end of the log.
func (p *Piece) fault() string {
	switch {
	case p.Reason != "":
		return p.Reason
	case p.Kind == UnusedPiece:
		return "nothing is written here"
	}
	return "no record"
}

// addPiece adds a finding about a part of the log.
func (v *verifier) addPiece(s Severity, p *Piece, what, remedy string) {
	f := Finding{Severity: s, Part: PartLog, File: p.Path(), Offset: p.InFile(), Physical: ptr(p.Offset), What: what, Remedy: remedy}
	if f.File == "" {
		f.File = v.o.Store.LogDirs[0]
	}
	if r := p.Record; r != nil && p.Kind == RecordPiece {
		f.Topic, f.Queue, f.QueueOffset = string(r.Topic), ptr(r.QueueID), ptr(r.QueueOffset)
	}
	v.add(f)
}

// describe names a message.
func describe(r *message.Record) string {
	return fmt.Sprintf("message %d of topic %s, queue %d", r.QueueOffset, r.Topic, r.QueueID)
}

// mostHurt bounds how many damaged parts of the log are remembered one by one.
const mostHurt = 4096

// hurts remembers a part of the log without records: what points into it is a consequence.
func (v *verifier) hurts(p *Piece) {
	if n := len(v.hurt); n >= mostHurt {
		v.hurt[n-1].to = p.Offset + p.Size
		return
	}
	v.hurt = append(v.hurt, span{p.Offset, p.Offset + p.Size})
}

// isHurt tells whether a part of the log without records holds off.
func (v *verifier) isHurt(off int64) bool {
	i := sort.Search(len(v.hurt), func(i int) bool { return v.hurt[i].to > off })
	return i < len(v.hurt) && v.hurt[i].from <= off
}

// logSizes looks for files of another size than the others.
func (v *verifier) logSizes() error {
	size := v.log.FileSize
	for i := range v.log.Files {
		f := &v.log.Files[i]
		if size == 0 || f.Size == size && f.Start%size == 0 { // 0: all are empty, a crash left them
			continue
		}
		used, err := v.fileFollows(f.Start)
		if err != nil {
			return err
		}
		found := Finding{Severity: Damaged, Part: PartLog, File: f.Path, Offset: f.Size, Physical: ptr(f.end()),
			What: fmt.Sprintf("it has %d bytes, others have %d: a broker does not start like this", f.Size, size), Remedy: remedyFile}
		switch {
		case f.Start%size != 0:
			found.Offset, found.Physical = 0, ptr(f.Start)
			found.What = fmt.Sprintf("its name is no multiple of %d, the size of the others: a broker does not start like this", size)
		case f.Size < size && !used:
			found.Severity, found.What, found.Remedy = Note, fmt.Sprintf("it has %d bytes, others have %d", f.Size, size), "the next start gives it its size back"
		}
		v.add(found)
	}
	return nil
}
