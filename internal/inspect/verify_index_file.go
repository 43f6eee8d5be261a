// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// indexFileCheck checks one index file by itself: its entries as they come, then header and slots. Its memory is one
// table of slots.
type indexFileCheck struct {
	x      *IndexFile
	before *IndexFile // nil: it is the first one
	newest []int32    // entry of each slot, as the entries so far make it
	used   int32      // slots that have one
	last   keyindex.Entry
	faults []indexFault
}

// indexFault is a fault that a file has once or many times.
type indexFault struct {
	kind  string
	n     int32 // number of the first entry that has it
	what  string
	count int64
}

func (c *indexFileCheck) begin(x, before *IndexFile) {
	c.x, c.before, c.used, c.last, c.faults = x, before, 0, keyindex.Entry{}, nil
	if int64(cap(c.newest)) < int64(x.Slots) {
		c.newest = make([]int32, x.Slots)
	}
	c.newest = c.newest[:x.Slots]
	clear(c.newest)
}

// fault notes that entry n has a fault of a kind.
func (c *indexFileCheck) fault(n int32, kind, what string) {
	for i := range c.faults {
		if c.faults[i].kind == kind {
			c.faults[i].count++
			return
		}
	}
	c.faults = append(c.faults, indexFault{kind, n, what, 1})
}

// entry is for the next entry of the file.
func (c *indexFileCheck) entry(n int32, e keyindex.Entry) {
	c.last = e
	if e.Hash < 0 {
		c.fault(n, "hash", fmt.Sprintf("hash %d is negative", e.Hash))
		return
	}
	if n == 1 && e.Physical != c.x.Header.BeginPhysical {
		c.fault(n, "header", fmt.Sprintf("the header begins at %d, the first entry leads to %d", c.x.Header.BeginPhysical, e.Physical))
	}
	slot := e.Hash % c.x.Slots
	if before := c.newest[slot]; e.Before != before {
		c.fault(n, "chain", fmt.Sprintf("the entry before it in its slot is %d, it names %d", before, e.Before))
	}
	if c.newest[slot] == 0 {
		c.used++
	}
	c.newest[slot] = n
}

// met is for an entry whose record is known. The seconds of a file's first entry are counted from the end of the file
// before; when that is gone, nobody knows any more.
func (c *indexFileCheck) met(n int32, e keyindex.Entry, r *message.Record) {
	h := &c.x.Header
	begin := h.BeginTime
	if n == 1 {
		if begin != r.StoreTimestamp {
			c.fault(n, "header", fmt.Sprintf("the header begins at %s, the first message was stored at %s", timeOf(begin), timeOf(r.StoreTimestamp)))
		}
		if c.before == nil {
			return
		}
		begin = c.before.Header.EndTime
	}
	if n == h.Count-1 && h.EndTime != r.StoreTimestamp {
		c.fault(n, "header", fmt.Sprintf("the header ends at %s, the last message was stored at %s", timeOf(h.EndTime), timeOf(r.StoreTimestamp)))
	}
	if seconds := min(max((r.StoreTimestamp-begin)/1000, 0), math.MaxInt32); int64(e.Seconds) != seconds {
		c.fault(n, "time", fmt.Sprintf("%d s behind the begin, the message was stored %d s behind", e.Seconds, seconds))
	}
}

// endIndexFile looks at header and slots, and tells what was found in the file.
func (v *verifier) endIndexFile() error {
	c := &v.index.file
	if x := c.x; x.Slots > 0 {
		if x.Header.Count > 1 && c.last.Physical != x.Header.EndPhysical {
			c.fault(x.Header.Count-1, "header", fmt.Sprintf("the header ends at %d, the last entry leads to %d", x.Header.EndPhysical, c.last.Physical))
		}
		if x.Header.Slots != c.used {
			c.fault(x.Header.Count, "header", fmt.Sprintf("the header counts %d slots in use, the entries use %d", x.Header.Slots, c.used))
		}
		if err := v.slots(c); err != nil {
			return err
		}
	}
	for _, fault := range c.faults {
		at, what := c.x.EntryAt(fault.n), fmt.Sprintf("entry %d: %s", fault.n, fault.what)
		switch fault.kind {
		case "header":
			at, what = 0, fault.what
		case "slot":
			at, what = slotAt(fault.n), fmt.Sprintf("slot %d: %s", fault.n, fault.what)
		}
		n := fault.n
		if fault.kind == "slot" || fault.kind == "header" {
			n = math.MaxInt32
		}
		if fault.count > 1 {
			what += fmt.Sprintf(" (%d alike in this file)", fault.count)
		}
		v.addIndex(c.x, v.severityOf(c.x, n), at, what)
	}
	return nil
}

// slots compares the table of slots with what the entries make of it.
func (v *verifier) slots(c *indexFileCheck) error {
	src := v.index.r.src
	block := make([]byte, walkBlock)
	for slot := int32(0); slot < c.x.Slots; {
		b := block[:min(int64(len(block)), int64(c.x.Slots-slot)*slotBytes)]
		n, err := src.read(b, slotAt(slot))
		if err != nil {
			return fmt.Errorf("read %s: %w", c.x.Path, err)
		}
		if n < slotBytes {
			return nil // a short file was told
		}
		for b = b[:n]; len(b) >= slotBytes; b, slot = b[slotBytes:], slot+1 {
			named, newest := int32(binary.BigEndian.Uint32(b)), c.newest[slot]
			if named == newest {
				continue
			}
			counted, err := v.counted(c.x, src, named)
			if err != nil {
				return err
			}
			if counted != newest {
				c.fault(slot, "slot", fmt.Sprintf("it names entry %d, its newest is %d", named, newest))
			} else if !v.crashed {
				c.fault(slot, "slot", fmt.Sprintf("it names entry %d, the header counts %d", named, c.x.Header.Count-1))
			}
		}
	}
	return nil
}

// counted follows a slot back to an entry that the header counts: slots may have been written for entries that a crash
// took back.
func (v *verifier) counted(x *IndexFile, src *source, n int32) (int32, error) {
	for n >= x.Header.Count {
		var b [entryBytes]byte
		got, err := src.read(b[:], x.EntryAt(n))
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", x.Path, err)
		}
		e := keyindex.DecodeEntry(b[:])
		if got < len(b) || e.Before >= n {
			return 0, nil
		}
		n = e.Before
	}
	return max(n, 0), nil
}
