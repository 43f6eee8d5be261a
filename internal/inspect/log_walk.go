// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goddard-mq/goddard/internal/message"
)

// PieceKind says what lies at a place of the log.
type PieceKind uint8

// Kinds of pieces.
const (
	RecordPiece  PieceKind = iota // a record, or what still can be read of one: see Faults
	BlankPiece                    // filler up to the end of the file
	UnusedPiece                   // zeros up to the end of the file: never written
	DamagedPiece                  // no record; behind it is one, or the end of the file
	MissingPiece                  // a file, or the end of one, is not there
)

// Piece is a part of the log.
type Piece struct {
	Kind   PieceKind
	File   *RunFile // nil: the file is missing
	Offset int64    // physical
	Size   int64
	Reason string   // of damage
	Faults []string // of a record that could be read: checksums that differ, a wrong place
	// Refused: a recovery takes the record for none, as its body or its place is not what it says.
	Refused bool

	Record *message.Record // valid during the call, like its bytes
	Bytes  []byte
}

// InFile is where the piece begins in its file.
func (p *Piece) InFile() int64 {
	if p.File == nil {
		return 0
	}
	return p.Offset - p.File.Start
}

// Path of the file; the one that is missing for a MissingPiece.
func (p *Piece) Path() string {
	if p.File == nil {
		return ""
	}
	return p.File.Path
}

// Walk calls f for each piece of the log that begins in [from, to), in order, until f returns an error. A record that
// begins at from is found without looking at those before it in its file.
func (l *Log) Walk(ctx context.Context, from, to int64, f func(*Piece) error) error {
	for i := range l.Files {
		file := &l.Files[i]
		if file.Start >= to {
			return nil
		}
		next := int64(math.MaxInt64)
		if i+1 < len(l.Files) {
			next = l.Files[i+1].Start
		}
		if next <= from {
			continue
		}
		if file.end() > from {
			if err := l.walkFile(ctx, file, next, from, to, f); err != nil {
				return err
			}
		}
		if gap := l.gap(file, next); gap != nil && gap.Offset < to {
			if err := f(gap); err != nil {
				return err
			}
		}
	}
	return nil
}

// gap tells what is missing behind a file, before the one that begins at next.
func (l *Log) gap(file *RunFile, next int64) *Piece {
	end := file.end()
	switch {
	case next == math.MaxInt64 && file.Size < l.FileSize:
		return &Piece{Kind: MissingPiece, File: file, Offset: end, Size: l.FileSize - file.Size, Reason: fmt.Sprintf("the file has %d bytes, others have %d", file.Size, l.FileSize)}
	case next == math.MaxInt64 || end == next:
		return nil
	case end > next:
		return &Piece{Kind: DamagedPiece, File: file, Offset: next, Size: end - next, Reason: fmt.Sprintf("the file has %d bytes, but another begins %d behind its start", file.Size, next-file.Start)}
	case file.Size < l.FileSize:
		return &Piece{Kind: MissingPiece, File: file, Offset: end, Size: next - end, Reason: fmt.Sprintf("the file has %d bytes, others have %d", file.Size, l.FileSize)}
	}
	return &Piece{Kind: MissingPiece, Offset: end, Size: next - end, Reason: "files are missing"}
}

// walker reads one file of the log.
type walker struct {
	log   *Log
	file  *RunFile
	src   *source
	pos   int64 // in the file
	end   int64 // of the file, or where the next one begins
	block []byte
	base  int64 // place of block in the file
	spare []byte
}

const walkBlock = 1 << 20

func (l *Log) walkFile(ctx context.Context, file *RunFile, next, from, to int64, f func(*Piece) error) error {
	src, err := openSource(file.Path)
	if err != nil {
		return err
	}
	defer src.close()
	w := &walker{log: l, file: file, src: src, end: min(src.size, next-file.Start)}
	if from > file.Start {
		var r message.Record
		if _, err := l.Record(from, &r, nil); err == nil {
			w.pos = from - file.Start
		}
	}
	var p Piece
	var r message.Record
	for w.pos < w.end {
		if err := ctx.Err(); err != nil {
			return err
		}
		p = Piece{File: file, Offset: file.Start + w.pos, Faults: p.Faults[:0], Record: &r}
		if p.Offset >= to {
			return nil
		}
		if err := w.next(&p); err != nil {
			return fmt.Errorf("read %s: %w", file.Path, err)
		}
		w.pos += p.Size
		if p.Kind != RecordPiece {
			p.Record, p.Bytes = nil, nil
		}
		if p.Offset < from {
			continue
		}
		if err := f(&p); err != nil {
			return err
		}
	}
	return nil
}

// next says what lies at pos.
func (w *walker) next(p *Piece) error {
	rest := w.end - w.pos
	head, err := w.bytes(message.BlankSize)
	switch {
	case err != nil:
		return err
	case len(head) < message.BlankSize && allZero(head):
		p.Kind, p.Size = UnusedPiece, rest
		return nil
	case len(head) < message.BlankSize:
		return w.damaged(p, fmt.Sprintf("%d bytes, too few for a record", rest))
	case allZero(head):
		return w.unused(p)
	}
	size, magic := int64(int32(binary.BigEndian.Uint32(head))), binary.BigEndian.Uint32(head[4:])
	if magic == message.MagicBlank {
		// A file that was cut ends before its filler does.
		if whole := max(w.end, w.log.FileSize) - w.pos; size != rest && size != whole {
			return w.damaged(p, fmt.Sprintf("filler of %d bytes, %d are left in the file", size, rest))
		}
		p.Kind, p.Size = BlankPiece, rest
		return nil
	}
	if size > rest {
		return w.damaged(p, fmt.Sprintf("size of %d bytes, %d are left in the file", size, rest))
	}
	return w.record(p, head)
}

func (w *walker) record(p *Piece, head []byte) error {
	n, reason, err := recordSize(w.src, w.pos, head)
	if err != nil {
		return err
	}
	if reason != "" {
		return w.damaged(p, reason)
	}
	if p.Bytes, err = w.bytes(n); err != nil {
		return err
	}
	if _, err := message.DecodeRecord(p.Bytes, p.Record, false); err != nil {
		return w.damaged(p, err.Error())
	}
	p.Kind, p.Size = RecordPiece, int64(n)
	p.judge()
	return nil
}

// judge tells what is wrong with a record whose layout is right.
func (p *Piece) judge() {
	r := p.Record
	if r.PhysicalOffset != p.Offset {
		p.Faults = append(p.Faults, fmt.Sprintf("it says it lies at %d", r.PhysicalOffset))
	}
	if len(r.Body) > 0 && message.BodyCRC(r.Body) != r.BodyCRC {
		p.Faults = append(p.Faults, "the checksum of the body differs")
	}
	p.Refused = len(p.Faults) > 0
	if fault := sealFault(p.Bytes); fault != "" {
		p.Faults = append(p.Faults, fault)
	}
}

// unused looks at zeros: either the rest of the file was never written, or something was lost.
func (w *walker) unused(p *Piece) error {
	at, err := w.src.used(w.pos, w.end)
	if err != nil {
		return err
	}
	if at >= w.end {
		p.Kind, p.Size = UnusedPiece, w.end-w.pos
		return nil
	}
	return w.damaged(p, fmt.Sprintf("%d bytes are zero, others follow", at-w.pos))
}

// damaged makes p the part from pos to the next good record of the file.
func (w *walker) damaged(p *Piece, reason string) error {
	at, err := w.resync(w.pos + 1)
	p.Kind, p.Size, p.Reason = DamagedPiece, at-w.pos, reason
	return err
}

// magicPrefix is what both magic numbers of records begin with.
var magicPrefix = []byte{0xDA, 0xA3, 0x20}

// placeKnown is how many bytes of a record tell where it says it lies.
const placeKnown = message.PosPhysicalOffset + 8

// resync finds the first place at or behind from with a record that has nothing wrong; the file's end if there is none.
func (w *walker) resync(from int64) (int64, error) {
	block := make([]byte, min(walkBlock, max(w.end-from, 0)))
	var r message.Record
	var record []byte
	for at := from; at+placeKnown <= w.end; {
		at = max(at, w.src.data(at)-message.BlankSize) // a record may begin before the data does
		b := block[:min(int64(len(block)), max(w.end-at, 0))]
		n, err := w.src.read(b, at)
		if err != nil {
			return 0, err
		}
		b = b[:n]
		for i := 4; i+4 <= len(b); i++ {
			next := bytes.Index(b[i:], magicPrefix)
			if next < 0 {
				break
			}
			i += next
			place := at + int64(i) - 4
			if i-4+placeKnown > len(b) {
				break // the next block has it whole
			}
			if w.file.Start+place != int64(binary.BigEndian.Uint64(b[i-4+message.PosPhysicalOffset:])) {
				continue // none, or it lies elsewhere: seen before any of it is read
			}
			if record, err = w.log.Record(w.file.Start+place, &r, record); err == nil {
				return place, nil
			}
		}
		if at+int64(len(b)) >= w.end || len(b) < placeKnown {
			break
		}
		at += int64(len(b)) - placeKnown + 1 // a record's beginning may lie across the border of two blocks
	}
	return w.end, nil
}

// bytes gives n bytes from pos on, fewer at the end of the file.
func (w *walker) bytes(n int) ([]byte, error) {
	if at := w.pos - w.base; at >= 0 && at+int64(n) <= int64(len(w.block)) {
		return w.block[at : at+int64(n)], nil
	}
	want := int(min(max(int64(n), walkBlock), w.end-w.pos))
	if cap(w.spare) < want {
		w.spare = make([]byte, want)
	}
	got, err := w.src.read(w.spare[:want], w.pos)
	if err != nil {
		return nil, err
	}
	w.block, w.base = w.spare[:got], w.pos
	return w.block[:min(n, got)], nil
}
