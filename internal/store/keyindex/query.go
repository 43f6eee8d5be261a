// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package keyindex

import "slices"

// Walk bounds: entries looked at by one query, and how many of them while the index is locked.
const (
	walkLimit = 1 << 20
	walkBatch = 256
)

// setBack is how far, ms, a clock may be set back between two messages that are both found by their times. Entries and
// files are in the order of their messages, so a walk goes on for so long behind where the time asked for begins.
const setBack = 24 * 60 * 60 * 1000

// Query calls found with the physical offsets of messages that may have a key or, with tags, those tags, newest first,
// until it returns false.
// A message with another key, of another topic, or stored some seconds outside [begin, end] (ms), at the begin of a file
// a day, may be among them, and one message may come twice: to look at the record is the caller's duty.
func (x *Index) Query(topic, key []byte, tags bool, begin, end int64, found func(physical int64) bool) error {
	w := walk{hash: keyHash(topic, key, tags), begin: max(begin, 0), end: end, left: walkLimit}
	var batch []int64
	for {
		var err error
		batch, err = x.step(&w, batch[:0])
		for _, physical := range batch {
			if !found(physical) {
				return nil
			}
		}
		if err != nil || w.done {
			return err
		}
	}
}

// walk is the state of a query.
type walk struct {
	hash       int32
	begin, end int64
	left       int // entries that may still be looked at

	file string // the file being walked; "": none yet
	next int32  // its next entry; 0: none
	done bool
}

// step looks at some entries and appends the candidates to batch.
func (x *Index) step(w *walk, batch []int64) ([]int64, error) {
	// The lock is the writer's: looking at a slot of the current file may bring a piece of the table in.
	x.mu.Lock()
	defer x.mu.Unlock()
	for range walkBatch {
		f := x.fileOf(w)
		if f == nil || w.left == 0 {
			w.done = true
			return batch, nil
		}
		if w.next <= 0 || w.next > f.head.Count {
			if w.done = f.head.BeginTime < w.begin-setBack; w.done {
				return batch, nil
			}
			if err := x.enter(w, f.name); err != nil {
				return batch, err
			}
			continue
		}
		w.left--
		e, err := f.entry(w.next)
		if err != nil {
			return batch, err
		}
		// The whole second counts: entries know no smaller part.
		from := f.head.BeginTime + int64(e.Seconds)*1000
		if w.next == 1 {
			from = f.head.BeginTime // its seconds are counted from elsewhere: see file.put
		}
		to := from + 999
		if e.Seconds == 0 {
			from -= setBack // entries know no time before the first one's
		}
		if e.Hash == w.hash && from <= w.end && to >= w.begin {
			batch = append(batch, e.Physical)
		}
		switch {
		case e.Before >= w.next, to < w.begin-setBack:
			w.next = 0
		default:
			w.next = e.Before
		}
	}
	return batch, nil
}

// fileOf gives the file that the walk is in; at first it enters the newest one.
func (x *Index) fileOf(w *walk) *file {
	if w.file == "" {
		if len(x.files) == 0 {
			return nil
		}
		w.file = "~" // above all names
		if x.enter(w, w.file) != nil {
			return nil
		}
	}
	i, ok := slices.BinarySearchFunc(x.files, w.file, func(f *file, name string) int {
		switch {
		case f.name < name:
			return -1
		case f.name > name:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return x.files[i]
}

// enter goes to the newest file before the named one that has messages of the time asked for; to none at the end.
func (x *Index) enter(w *walk, before string) error {
	w.file, w.next = "-", 0
	for _, f := range slices.Backward(x.files) {
		if f.name >= before {
			continue
		}
		h := &f.head
		if h.Count > 1 && h.BeginTime-1000-setBack <= w.end && h.EndTime+setBack >= w.begin {
			next, err := f.slot(w.hash % f.slots)
			if err != nil {
				return err
			}
			w.file, w.next = f.name, next
			return nil
		}
		if h.BeginTime < w.begin-setBack {
			return nil
		}
	}
	return nil
}
