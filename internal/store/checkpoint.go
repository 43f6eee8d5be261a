// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// The file checkpoint has 4096 bytes. Its first 48 are RocketMQ's (StoreCheckpoint), and mean here what they mean there.
// The rest, which RocketMQ leaves alone, holds what Goddard knows better, twice, written in turns:
//
//	 0          48           1024            1536    2048            2560     4096
//	+----------+------------+---------------+-------+---------------+--------+
//	| RocketMQ | zero       | copy A        | zero  | copy B        | zero   |
//	+----------+------------+---------------+-------+---------------+--------+
//
// A copy counts only if its checksum is right and the first 48 bytes are those of one of the copies: otherwise a Java
// broker has been here since. Of two the one with the larger number counts.
const (
	checkpointSize = 4096
	foreignSize    = 48
	copySize       = 512
)

var copyOffsets = [2]int64{1024, 2048}

// foreign is RocketMQ's part of the checkpoint.
type foreign struct {
	LogTime       int64 // store time of the newest durable record, ms
	QueueTime     int64 // of the newest record that is durable in its queue
	IndexTime     int64 // of the newest record that is durable in the index
	MasterFlushed int64 // a slave's: what its master had when it started; kept as it is
	Confirm       int64 // start of the last record at the last start
	QueuePhysical int64 // start of the last record that is durable in its queue (5.5.0)
}

func (f *foreign) append(dst []byte) []byte {
	for _, v := range []int64{f.LogTime, f.QueueTime, f.IndexTime, f.MasterFlushed, f.Confirm, f.QueuePhysical} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

func decodeForeign(b []byte) foreign {
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i*8:])) }
	return foreign{at(0), at(1), at(2), at(3), at(4), at(5)}
}

// mark is Goddard's part: a state of the store that a power cut does not take away.
type mark struct {
	Number     int64 // of the mark; 0: there is none
	Clean      bool  // the store was closed
	Dispatched int64 // the queues durably hold all records of the log below
	ScanFrom   int64 // start of a record or file well below Dispatched, from where recovery looks at the log again
	Flushed    int64 // the log is durable below
	Queues     int64 // with messages below Dispatched
	Units      int64 // that they have, all together
	Index      keyindex.Position
	IndexPos   int64 // the index durably holds all records below
}

// copyMagic begins a copy. The layout is fixed by it.
const copyMagic = 0x474F444441524431 // GODDARD1

func (m *mark) append(dst []byte, f *foreign) []byte {
	start := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint64(dst, copyMagic)
	clean := int64(0)
	if m.Clean {
		clean = 1
	}
	for _, v := range []int64{m.Number, clean, m.Dispatched, m.ScanFrom, m.Flushed, m.Queues, m.Units, m.IndexPos, m.Index.File} {
		dst = be.AppendUint64(dst, uint64(v))
	}
	dst = m.Index.Header.Append(dst)
	dst = f.append(dst)
	dst = be.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	return append(dst, make([]byte, copySize-(len(dst)-start))...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const copyUsed = 10*8 + keyindex.HeaderSize + foreignSize

func decodeMark(b []byte) (m mark, f []byte, ok bool) {
	be := binary.BigEndian
	if be.Uint64(b) != copyMagic || crc32.Checksum(b[:copyUsed], castagnoli) != be.Uint32(b[copyUsed:]) {
		return mark{}, nil, false
	}
	at := func(i int) int64 { return int64(be.Uint64(b[8+i*8:])) }
	m = mark{
		Number: at(0), Clean: at(1) != 0, Dispatched: at(2), ScanFrom: at(3), Flushed: at(4), Queues: at(5), Units: at(6), IndexPos: at(7),
		Index: keyindex.Position{File: at(8), Header: keyindex.DecodeHeader(b[80:])},
	}
	return m, b[80+keyindex.HeaderSize : copyUsed], true
}

// checkpoint is the file.
type checkpoint struct {
	file    faultfs.File
	foreign foreign // as in the file
	mark    mark
	lost    bool // the file was not there, or holds nothing that a broker writes: nobody knows what was durable
}

// openCheckpoint reads the file, or makes it. mark.Number is 0 when there is no mark that counts.
func openCheckpoint(fsys faultfs.FS, path, dir string) (*checkpoint, error) {
	file, err := fsys.Open(path, os.O_RDWR)
	lost := errors.Is(err, fs.ErrNotExist)
	if lost {
		if file, err = fsys.Open(path, os.O_RDWR|os.O_CREATE); err == nil {
			err = errors.Join(file.Truncate(checkpointSize), fsys.SyncDir(dir))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the checkpoint: %w", err)
	}
	c := &checkpoint{file: file, lost: lost}
	b := make([]byte, checkpointSize)
	if _, err := file.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		file.Close()
		return nil, fmt.Errorf("read the checkpoint: %w", err)
	}
	c.foreign = decodeForeign(b)
	known := false
	for _, off := range copyOffsets {
		m, f, ok := decodeMark(b[off : off+copySize])
		if !ok {
			continue
		}
		known = known || bytes.Equal(f, b[:foreignSize])
		if m.Number > c.mark.Number {
			c.mark = m
		}
	}
	if known {
		return c, nil
	}
	c.mark = mark{}
	if c.foreign == (foreign{}) || !c.foreign.plausible(time.Now()) {
		c.foreign, c.lost = foreign{}, true
	}
	return c, nil
}

// plausible tells whether a broker may have written f. Clocks may be wrong by a day.
func (f *foreign) plausible(now time.Time) bool {
	latest := now.Add(24 * time.Hour).UnixMilli()
	for _, ms := range []int64{f.LogTime, f.QueueTime, f.IndexTime} {
		if ms < 0 || ms > latest {
			return false
		}
	}
	return f.QueuePhysical >= 0
}

// write stores foreign and mark, the next in number, durably. The copy goes first, so that at any moment the first 48
// bytes belong to one of the copies.
func (c *checkpoint) write(f foreign, m mark) error {
	if err := c.writeCopy(f, m); err != nil {
		return err
	}
	if err := c.file.Datasync(); err != nil {
		return fmt.Errorf("sync the checkpoint: %w", err)
	}
	if _, err := c.file.WriteAt(f.append(nil), 0); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	if err := c.file.Datasync(); err != nil {
		return fmt.Errorf("sync the checkpoint: %w", err)
	}
	c.foreign = f
	return nil
}

// writeCopy writes the older one of the two copies anew.
func (c *checkpoint) writeCopy(f foreign, m mark) error {
	m.Number = c.mark.Number + 1
	if _, err := c.file.WriteAt(m.append(nil, &f), copyOffsets[m.Number%2]); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	c.mark = m
	return nil
}

// note stores a mark, not durably: a power cut may take it back.
func (c *checkpoint) note(m mark) error { return c.writeCopy(c.foreign, m) }

// writeBoth replaces both copies, so that an older mark cannot come back.
func (c *checkpoint) writeBoth(f foreign, m mark) error {
	if err := c.write(f, m); err != nil {
		return err
	}
	return c.write(f, m)
}

func (c *checkpoint) close() error { return c.file.Close() }
