// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
)

// ErrNoRecord: at this offset there is no record that readers may see.
var ErrNoRecord = errors.New("no record at this offset")

// headerSize is what holds the fixed fields of any record up to its store time.
const headerSize = 76

// InTail tells whether the byte at off is in memory.
func (l *Log) InTail(off int64) bool { return l.tail.holds(off) }

// TailStart is the lowest offset in memory; the end of the log when there is none.
func (l *Log) TailStart() int64 {
	if list := *l.tail.index.Load(); len(list) > 0 {
		return list[0].base
	}
	return l.written.Load()
}

// Read appends the bytes [off, off+size) of the log to dst. They must lie in one file. segment.ErrGone: the file was
// removed. dst is unchanged with an error.
func (l *Log) Read(dst []byte, off int64, size int) ([]byte, error) {
	if off < l.first.Load() || size < 0 || off > l.confirmed.Load()-int64(size) {
		return dst, ErrNoRecord
	}
	if l.tail.view(off, size, func(b []byte) { dst = append(dst, b[:size]...) }) {
		return dst, nil
	}
	n := len(dst)
	dst = slices.Grow(dst, size)[:n+size]
	if _, err := l.files.ReadAt(dst[n:], off); err != nil {
		return dst[:n], err
	}
	return dst, nil
}

// Record appends the whole record at off to dst and decodes it into r, whose slices alias dst. What is no record that
// says it lies at off is ErrNoRecord; so is one that is damaged, and then it is a *BadRecord, too.
func (l *Log) Record(dst []byte, off int64, r *message.Record) ([]byte, error) {
	n := len(dst)
	dst, err := l.Read(dst, off, message.BlankSize)
	if err != nil {
		return dst, noRecord(err)
	}
	size := int(int32(binary.BigEndian.Uint32(dst[n:])))
	magic := binary.BigEndian.Uint32(dst[n+4:])
	dst = dst[:n]
	if magic != message.MagicV1 && magic != message.MagicV2 || size < message.BlankSize || int64(size) > l.cfg.FileSize-off%l.cfg.FileSize {
		return dst, ErrNoRecord
	}
	if dst, err = l.Read(dst, off, size); err != nil {
		return dst, noRecord(err)
	}
	_, err = message.DecodeRecord(dst[n:], r, !l.InTail(off))
	switch {
	case err == nil && r.PhysicalOffset == off:
		return dst, nil
	case err == nil || size < headerSize || int64(binary.BigEndian.Uint64(dst[n+message.PosPhysicalOffset:])) != off:
		return dst[:n], ErrNoRecord
	}
	return dst[:n], fmt.Errorf("%w: %w", ErrNoRecord, &BadRecord{Path: l.files.Path(off), Offset: off, Reason: err.Error()})
}

func noRecord(err error) error {
	if errors.Is(err, segment.ErrGone) {
		return ErrNoRecord
	}
	return err
}

// StoreTime is the store time of the record at off, ms.
func (l *Log) StoreTime(off int64) (int64, error) {
	var scratch [headerSize]byte
	b, err := l.Read(scratch[:0], off, headerSize)
	if err != nil {
		return 0, noRecord(err)
	}
	be := binary.BigEndian
	if magic := be.Uint32(b[4:]); magic != message.MagicV1 && magic != message.MagicV2 {
		return 0, ErrNoRecord
	}
	at := message.StoreTimestampPos(int32(be.Uint32(b[message.PosSysFlag:])))
	return int64(be.Uint64(b[at:])), nil
}

// SyncFiles makes [from, to) durable, before Start.
func (l *Log) SyncFiles(from, to int64) error {
	for at := l.files.Start(from); at < to; at += l.cfg.FileSize {
		if !l.files.Has(at) {
			continue
		}
		if err := l.files.Datasync(at); err != nil {
			return fmt.Errorf("sync %s: %w", l.files.Path(at), err)
		}
	}
	return nil
}

// Cut ends the log at end, before Start: what lies behind reads as zero, durably, so that no later scan finds an old
// record there.
func (l *Log) Cut(end int64) error {
	if _, err := l.files.RemoveFrom(end); err != nil {
		return fmt.Errorf("cut the commit log at %d: %w", end, err)
	}
	if l.files.Has(end) {
		if err := l.files.Zero(end, l.files.Start(end)+l.cfg.FileSize-end); err != nil {
			return fmt.Errorf("cut the commit log at %d: %w", end, err)
		}
		if err := l.files.Datasync(end); err != nil {
			return fmt.Errorf("cut the commit log at %d: %w", end, err)
		}
	}
	if l.files.Len() > 0 {
		if err := l.files.SyncDirs(); err != nil {
			return fmt.Errorf("cut the commit log at %d: %w", end, err)
		}
	}
	return nil
}
