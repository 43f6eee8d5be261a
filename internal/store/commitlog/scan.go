// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
)

// Check says what a scan verifies beside the layout of records.
type Check uint8

// Checks.
const (
	CheckLayout Check = iota
	CheckBody         // the body's checksum
	CheckSeal         // the seal: a record without one is bad
)

// BadRecord tells where the bytes of the log are no record, and why.
type BadRecord struct {
	Path   string // of the file
	Offset int64  // physical
	Empty  bool   // eight zero bytes: nothing was ever written here
	Reason string
}

func (e *BadRecord) Error() string {
	return fmt.Sprintf("%s: no valid record at physical offset %d: %s", e.Path, e.Offset, e.Reason)
}

// scanBlock is what a scanner reads from a file at a time.
const scanBlock = 1 << 20

// Scanner walks over the records of the log in order. It is used by one goroutine, and closed.
type Scanner struct {
	log   *Log
	pos   int64
	limit int64
	check Check

	block []byte // bytes of a file from base on
	base  int64
	spare []byte // memory for block
	held  *chunk // or of the tail
}

// Scan begins at from, the start of a record or of a file, and ends at limit. Records that reach past limit are not
// given.
func (l *Log) Scan(from, limit int64, check Check) *Scanner {
	return &Scanner{log: l, pos: from, limit: limit, check: check}
}

// Pos is where the next record begins.
func (s *Scanner) Pos() int64 { return s.pos }

// Reset goes on at from, up to limit.
func (s *Scanner) Reset(from, limit int64) {
	s.pos, s.limit = from, limit
	s.letGo()
}

// Close lets go of memory that the scanner holds.
func (s *Scanner) Close() { s.letGo() }

func (s *Scanner) letGo() {
	if s.held != nil {
		s.held.release()
		s.held = nil
	}
	s.block = nil
}

// Next decodes the next record into r and gives its bytes, which are valid until the next call. io.EOF: the limit, or
// the end of the last file, is reached. *BadRecord: there is none at Pos. Fillers are passed over.
func (s *Scanner) Next(r *message.Record) (record []byte, err error) {
	l := s.log
	for {
		end := l.files.Start(s.pos) + l.cfg.FileSize
		if s.limit-s.pos < message.BlankSize || s.pos < 0 {
			return nil, io.EOF
		}
		head, err := s.bytes(message.BlankSize)
		if err != nil {
			return nil, err
		}
		size, magic := int64(int32(binary.BigEndian.Uint32(head))), binary.BigEndian.Uint32(head[4:])
		switch {
		case magic == message.MagicBlank && size == end-s.pos:
			s.pos = end
			continue
		case magic == message.MagicBlank:
			return nil, s.bad("filler of %d bytes, %d are left in the file", size, end-s.pos)
		case magic != message.MagicV1 && magic != message.MagicV2:
			bad := s.bad("wrong magic %#08x", magic)
			bad.Empty = size == 0 && magic == 0
			return nil, bad
		case size < message.BlankSize || size > end-s.pos:
			return nil, s.bad("size of %d bytes, %d are left in the file", size, end-s.pos)
		case size > s.limit-s.pos:
			return nil, io.EOF
		}
		record, err = s.bytes(int(size))
		if err != nil {
			return nil, err
		}
		if bad := s.verify(record, r); bad != nil {
			return nil, bad
		}
		s.pos += size
		return record, nil
	}
}

func (s *Scanner) bad(format string, args ...any) *BadRecord {
	return &BadRecord{Path: s.log.files.Path(s.pos), Offset: s.pos, Reason: fmt.Sprintf(format, args...)}
}

func (s *Scanner) verify(record []byte, r *message.Record) error {
	if _, err := message.DecodeRecord(record, r, s.check == CheckBody); err != nil {
		return s.bad("%v", err)
	}
	if r.PhysicalOffset != s.pos {
		return s.bad("it says it lies at %d", r.PhysicalOffset)
	}
	if s.check == CheckSeal {
		if present, right := sealState(record); !present {
			return s.bad("no checksum of the record")
		} else if !right {
			return s.bad("checksum of the record differs")
		}
	}
	return nil
}

// bytes gives n bytes from pos on. A file that ends before, or is not there, is io.EOF or a *BadRecord.
func (s *Scanner) bytes(n int) ([]byte, error) {
	if at := s.pos - s.base; at >= 0 && at+int64(n) <= int64(len(s.block)) {
		return s.block[at : at+int64(n)], nil
	}
	s.letGo()
	if c, at := s.log.tail.acquire(s.pos); c != nil {
		if b := c.mem[:c.n.Load()]; at+int64(n) <= int64(len(b)) {
			s.held, s.block, s.base = c, b, s.pos-at
			return b[at : at+int64(n)], nil
		}
		c.release()
	}
	return s.load(n)
}

// load reads a block of at least n bytes from pos on from the file.
func (s *Scanner) load(n int) ([]byte, error) {
	l := s.log
	rest := l.files.Start(s.pos) + l.cfg.FileSize - s.pos
	if rest < int64(n) {
		return nil, s.bad("%d bytes are left in the file", rest)
	}
	want := min(max(int64(n), scanBlock), rest, max(s.limit-s.pos, int64(n)))
	if int64(cap(s.spare)) < want {
		s.spare = make([]byte, want)
	}
	b := s.spare[:want]
	if _, err := l.files.ReadAt(b, s.pos); errors.Is(err, segment.ErrGone) {
		return nil, io.EOF
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.files.Path(s.pos), err)
	}
	s.block, s.base = b, s.pos
	return b[:n], nil
}

// Resync finds the first valid record at or behind from, byte by byte, up to limit; ok is false when there is none.
func (l *Log) Resync(from, limit int64, check Check) (pos int64, ok bool, err error) {
	s := l.Scan(from, limit, check)
	defer s.Close()
	for at := from; at < limit; {
		if !l.files.Has(at) {
			at = l.files.Start(at) + l.cfg.FileSize
			continue
		}
		end := min(l.files.Start(at)+l.cfg.FileSize, limit)
		pos, ok, err = l.resyncIn(s, at, end)
		if ok || err != nil {
			return pos, ok, err
		}
		at = end
	}
	return 0, false, nil
}

// magicPrefix is what both magic numbers of records begin with.
var magicPrefix = []byte{0xDA, 0xA3, 0x20}

// placeKnown is how many bytes of a record tell where it says it lies.
const placeKnown = message.PosPhysicalOffset + 8

// resyncIn looks at [from, end) of one file.
func (l *Log) resyncIn(s *Scanner, from, end int64) (pos int64, ok bool, err error) {
	block := make([]byte, scanBlock)
	for at := from; at+placeKnown <= end; {
		b := block[:min(int64(len(block)), end-at)]
		if _, err := l.files.ReadAt(b, at); err != nil {
			return 0, false, fmt.Errorf("read %s: %w", l.files.Path(at), err)
		}
		for i := 4; i+4 <= len(b); i++ {
			next := bytes.Index(b[i:], magicPrefix)
			if next < 0 {
				break
			}
			i += next
			place := i - 4
			if place+placeKnown > len(b) {
				break // the next block has it whole
			}
			// Most of what looks like a record, as in bodies that hold records, is none or lies elsewhere: that is seen
			// before any of it is read.
			if at+int64(place) != int64(binary.BigEndian.Uint64(b[place+message.PosPhysicalOffset:])) {
				continue
			}
			var r message.Record
			s.Reset(at+int64(place), s.limit)
			if _, err := s.Next(&r); err == nil && r.PhysicalOffset == at+int64(place) {
				return at + int64(place), true, nil
			}
		}
		if int64(len(b)) == end-at {
			break
		}
		at += int64(len(b)) - placeKnown + 1 // a record's beginning may lie across the blocks' border
	}
	return 0, false, nil
}
