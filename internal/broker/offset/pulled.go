// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package offset

import "time"

// pull is how far a group has read in a queue, whatever it committed.
type pull struct {
	offset int64
	at     int64  // ns since 1970; 0: before the start
	by     uint64 // connection
}

// Pull is a pull that was answered: the next offset that its group will pull from the
// queue, and who pulled when.
type Pull struct {
	Next int64
	At   time.Time
	By   uint64 // id of the connection
}

// SetPulled remembers the last pull of a queue by a group.
func (t *Table) SetPulled(topic, group []byte, queue int32, p Pull) {
	for !t.entryForBytes(topic, group).setPulled(t, queue, &p) {
	}
}

func (e *entry) setPulled(t *Table, queue int32, p *Pull) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return false
	}
	known := e.pulled[queue]
	if known == nil {
		if e.pulled == nil {
			e.pulled = map[int32]*pull{}
		}
		known = &pull{offset: -1}
		e.pulled[queue] = known
	}
	if known.offset != p.Next {
		known.offset = p.Next
		t.touch()
	}
	known.at, known.by = p.At.UnixNano(), p.By
	return true
}

// Progress is how far a group has come in a queue.
type Progress struct {
	Committed int64 // with Known
	Known     bool
	PulledAt  int64  // when it last pulled, ns since 1970; 0: not since the start
	PulledBy  uint64 // connection of that pull
}

// Progress appends the progress of a group in the first queues of a topic to dst.
func (t *Table) Progress(dst []Progress, topic, group string, queues int32) []Progress {
	var key [keySize]byte
	e := t.entries.GetBytes(appendKey(key[:0], topic, group))
	if e == nil {
		return append(dst, make([]Progress, queues)...)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for q := range queues {
		var p Progress
		p.Committed, p.Known = e.committed[q]
		p.Known = p.Known && p.Committed >= 0
		if pulled := e.pulled[q]; pulled != nil {
			p.PulledAt, p.PulledBy = pulled.at, pulled.by
		}
		dst = append(dst, p)
	}
	return dst
}

// Pulled gives the next offset a group will pull from a queue, as far as it is known.
func (t *Table) Pulled(topic, group string, queue int32) (int64, bool) {
	e := t.entries.Get(topic + string(separator) + group)
	if e == nil {
		return 0, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.pulled[queue]; p != nil {
		return p.offset, true
	}
	return 0, false
}
