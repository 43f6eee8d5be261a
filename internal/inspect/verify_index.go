// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// indexCheck compares the index with the records of the log as they come.
//
// Entries are added in the order of the log, so both are walked in step: the entries that lead to a record come when
// the record does. What is out of step is looked up in the log.
type indexCheck struct {
	files []*IndexFile
	at    int          // the file that is read
	r     *entryReader // nil: none yet, or no more
	file  indexFileCheck

	have bool // n and e are the next entry
	n    int32
	e    keyindex.Entry

	lack             int64 // messages in a row that the index lacks
	lackFrom, lackTo int64 // their physical offsets
	wanted           []int32
	found            []bool
}

// findIndex lists the index files.
func (v *verifier) findIndex() error {
	dir := v.o.Store.path(indexName)
	v.index = &indexCheck{}
	paths, err := indexFiles(dir)
	if err != nil {
		return fmt.Errorf("list the key index: %w", err)
	}
	for _, path := range paths {
		x, err := openIndexFile(path)
		if err != nil {
			return err
		}
		v.index.files = append(v.index.files, x)
	}
	v.r.IndexFiles = len(v.index.files)
	if err := knowSlots(v.index.files, v.o.Slots); err != nil {
		return err
	}
	sizes := make(map[int64]int)
	for _, x := range v.index.files {
		sizes[x.Size]++
	}
	needs := &v.r.rebuild
	for _, x := range v.index.files {
		switch common := commonSize(sizes); {
		case x.Fault != "":
			v.addIndex(x, v.severityOf(x, math.MaxInt32), 0, x.Fault)
		case x.Size != common:
			v.addIndex(x, Derived, x.Size, fmt.Sprintf("it has %d bytes, others have %d: a broker does not start like this", x.Size, common))
		case x.Slots > 0:
			needs.slots, needs.entries = x.Slots, int32(min((x.Size-x.EntryAt(0))/entryBytes, math.MaxInt32))
		}
	}
	return v.nextEntry()
}

func (x *indexCheck) close() {
	if x.r != nil {
		x.r.close()
		x.r = nil
	}
}

// nextEntry goes on to the next entry, of the next file after the last one of a file.
func (v *verifier) nextEntry() error {
	x := v.index
	for {
		if x.r == nil {
			if x.at >= len(x.files) {
				x.have = false
				return nil
			}
			var err error
			if x.r, err = x.files[x.at].read(); err != nil {
				return err
			}
			before := (*IndexFile)(nil)
			if x.at > 0 {
				before = x.files[x.at-1]
			}
			x.file.begin(x.files[x.at], before)
		}
		n, e, ok, err := x.r.next()
		if err != nil {
			return err
		}
		if ok {
			x.have, x.n, x.e = true, n, e
			x.file.entry(n, e)
			v.r.Entries++
			return nil
		}
		if err := v.endIndexFile(); err != nil {
			return err
		}
		x.close()
		x.at++
	}
}

// indexRecord compares the entries that lead to a record with its keys.
func (v *verifier) indexRecord(r *message.Record) error {
	x := v.index
	for x.have && x.e.Physical < r.PhysicalOffset {
		if err := v.lookUp(); err != nil {
			return err
		}
		if err := v.nextEntry(); err != nil {
			return err
		}
	}
	x.wanted = appendKeys(x.wanted[:0], r)
	x.found = append(x.found[:0], make([]bool, len(x.wanted))...)
	for x.have && x.e.Physical == r.PhysicalOffset {
		v.meets(r)
		if err := v.nextEntry(); err != nil {
			return err
		}
	}
	if message.Transaction(r.SysFlag) != message.TransactionRollback && slices.Contains(x.found, false) {
		if x.lack == 0 {
			x.lackFrom = r.PhysicalOffset
		}
		x.lack, x.lackTo = x.lack+1, r.PhysicalOffset
	} else if len(x.wanted) > 0 {
		v.endLack()
	}
	return nil
}

// appendKeys appends the hashes of the keys by which a message is to be found.
func appendKeys(dst []int32, r *message.Record) []int32 {
	if unique := property(r, message.PropUniqueKey); len(unique) > 0 {
		dst = append(dst, KeyHash(r.Topic, unique))
	}
	for key := range bytes.SplitSeq(property(r, message.PropKeys), []byte(message.KeySeparator)) {
		if len(key) > 0 {
			dst = append(dst, KeyHash(r.Topic, key))
		}
	}
	return dst
}

// meets notes that the next entry leads to a record, whose keys are in wanted.
func (v *verifier) meets(r *message.Record) {
	x := v.index
	fits := false
	for i, hash := range x.wanted {
		if hash == x.e.Hash {
			x.found[i], fits = true, true
		}
	}
	if !fits && !isTags(r, x.e.Hash) {
		x.file.fault(x.n, "key", "it leads to "+describe(r)+" at "+strconv.FormatInt(r.PhysicalOffset, 10)+", which has no key of this hash")
		return
	}
	v.r.Matched++
	x.file.met(x.n, x.e, r)
}

// isTags tells whether a hash is that of a message's tags, which are indexed like a key topic#T#tags by some brokers.
func isTags(r *message.Record, hash int32) bool {
	tags := property(r, message.PropTags)
	return len(tags) > 0 && KeyHash(r.Topic, append([]byte("T#"), tags...)) == hash
}

// lookUp judges the next entry when its record did not come in step.
func (v *verifier) lookUp() error {
	x := v.index
	if x.e.Physical < v.log.Min() && x.e.Physical >= 0 && x.e.Physical >= x.file.x.Header.BeginPhysical || v.isHurt(x.e.Physical) {
		return nil // its message is gone
	}
	var r message.Record
	var err error
	v.scratch.record, err = v.log.Record(x.e.Physical, &r, v.scratch.record)
	switch {
	case err == nil:
		x.wanted = appendKeys(x.wanted[:0], &r)
		x.found = append(x.found[:0], make([]bool, len(x.wanted))...)
		v.meets(&r)
	case isNoRecord(err):
		x.file.fault(x.n, "nowhere", fmt.Sprintf("it leads to %d: %v", x.e.Physical, err))
	default:
		return err
	}
	return nil
}

// endLack tells of messages that the index lacks.
func (v *verifier) endLack() {
	x := v.index
	if x.lack == 0 {
		return
	}
	f := Finding{Severity: Derived, Part: PartIndex, File: v.o.Store.path(indexName), Physical: ptr(x.lackFrom), Count: x.lack,
		What:   fmt.Sprintf("messages with keys are not in it, or not with all keys, from %d to %d", x.lackFrom, x.lackTo),
		Remedy: remedyRebuild}
	if x.lackFrom >= v.indexedFrom() {
		f.Severity, f.Remedy = Note, "the next start adds them, if messageIndexEnable is on"
	} else {
		v.r.rebuild.index = true
	}
	x.lack = 0
	v.add(f)
}

// indexedFrom is from where on the next start adds messages to the index.
func (v *verifier) indexedFrom() int64 {
	x, last := v.index, int64(0)
	has := func(f *IndexFile) bool { return fileNumber(f) == v.mark.IndexFile }
	switch {
	case v.mark != nil && v.mark.IndexFile != 0 && !slices.ContainsFunc(x.files, has):
		if v.crashed {
			return 0 // it is made anew
		}
		return math.MaxInt64 // so it is after a proper stop, but files must not get lost
	case len(x.files) == 0:
		return 0
	case v.mark != nil:
		return v.mark.IndexPos
	case !v.crashed:
		return math.MaxInt64
	}
	for _, f := range x.files {
		if v.checkpoint == nil || f.Header.EndTime > v.checkpoint.Plain.IndexTime {
			break
		}
		last = f.Header.EndPhysical
	}
	return last
}

func fileNumber(x *IndexFile) int64 {
	n, _ := strconv.ParseInt(x.Name, 10, 64)
	return n
}

// severityOf tells what a fault of an entry, or of all of a file from it on, means: after a crash the next start takes
// back what a checkpoint did not make durable.
func (v *verifier) severityOf(x *IndexFile, n int32) Severity {
	switch {
	case !v.crashed:
		return Derived
	case v.mark != nil && (fileNumber(x) > v.mark.IndexFile || fileNumber(x) == v.mark.IndexFile && n >= v.mark.IndexHeader.Count):
		return Note
	case v.mark == nil && v.checkpoint != nil && x.Header.EndTime > v.checkpoint.Plain.IndexTime:
		return Note
	}
	return Derived
}

func (v *verifier) addIndex(x *IndexFile, s Severity, at int64, what string) *Finding {
	f := Finding{Severity: s, Part: PartIndex, File: x.Path, Offset: at, What: what, Remedy: remedyRebuild}
	if s == Note {
		f.Remedy = remedyStart
	} else {
		v.r.rebuild.index = true
	}
	v.add(f)
	return &f
}

// endIndex looks at the entries that lead behind the last record.
func (v *verifier) endIndex() error {
	for v.index.have {
		if err := v.lookUp(); err != nil {
			return err
		}
		if err := v.nextEntry(); err != nil {
			return err
		}
	}
	v.endLack()
	return nil
}
