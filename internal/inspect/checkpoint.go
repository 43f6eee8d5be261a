// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// The file checkpoint: see docs/formats/checkpoint.md.
const (
	checkpointBytes = 4096
	plainBytes      = 48
	markMagic       = 0x474F444441524431 // GODDARD1
	markSummed      = 80 + keyindex.HeaderSize + plainBytes
	markBytes       = 512
)

var markOffsets = [2]int64{1024, 2048}

// Checkpoint is what the file checkpoint says.
type Checkpoint struct {
	Path  string
	Size  int64
	Plain PlainCheckpoint
	Marks [2]Mark
	Used  int    // the copy of the mark that counts; -1: none
	Why   string // none counts
}

// PlainCheckpoint is RocketMQ's part (StoreCheckpoint). Times are ms since 1970, offsets physical.
type PlainCheckpoint struct {
	LogTime       int64 // store time of the newest durable record
	QueueTime     int64 // of the newest record that is durable in its queue
	IndexTime     int64 // of the newest record that is durable in the index
	MasterFlushed int64 // of a slave: what its master had
	Confirm       int64 // start of the last record at the last start
	QueuePhysical int64 // start of the last record that is durable in its queue
}

// Mark is a copy of Goddard's part.
type Mark struct {
	Offset      int64 // in the file
	Fault       string
	Number      int64
	Clean       bool  // the store was closed properly
	Dispatched  int64 // the queues durably hold all records below
	ScanFrom    int64 // from where a recovery looks at the log
	Flushed     int64 // the log is durable below
	Queues      int64 // with messages
	Units       int64 // that they have
	IndexPos    int64 // the index durably holds all records below
	IndexFile   int64 // name of the current index file as a number; 0: none
	IndexHeader keyindex.Header
	plain       [plainBytes]byte // RocketMQ's part that goes with it
}

// ReadCheckpoint reads the checkpoint at path: a store's folder, or the file.
func ReadCheckpoint(path string) (*Checkpoint, error) {
	if isDir(path) {
		path = part(path, checkpointName)
	}
	b, err := readHead(path, checkpointBytes)
	if err != nil {
		return nil, err
	}
	c := decodeCheckpoint(b)
	c.Path = path
	if info, err := os.Stat(path); err == nil {
		c.Size = info.Size()
	}
	return c, nil
}

// readHead reads up to n bytes from the beginning of a file.
func readHead(path string, n int) ([]byte, error) {
	if isDir(path) {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.close()
	b := make([]byte, n)
	got, err := src.read(b, 0)
	return b[:got], err
}

// decodeCheckpoint decodes the file; what it lacks counts as zero.
func decodeCheckpoint(b []byte) *Checkpoint {
	if len(b) < checkpointBytes {
		b = append(bytes.Clone(b), make([]byte, checkpointBytes-len(b))...)
	}
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i*8:])) }
	c := &Checkpoint{Plain: PlainCheckpoint{at(0), at(1), at(2), at(3), at(4), at(5)}, Used: -1, Why: "there is none"}
	known := false
	for i, off := range markOffsets {
		m := decodeMark(b[off : off+markBytes])
		m.Offset = off
		c.Marks[i] = m
		if m.Fault != "" || m.Number <= 0 {
			continue
		}
		known = known || bytes.Equal(m.plain[:], b[:plainBytes])
		if c.Used < 0 || m.Number > c.Marks[c.Used].Number {
			c.Used = i
		}
	}
	if c.Used >= 0 && !known {
		c.Used, c.Why = -1, "RocketMQ's part is not the one that goes with it: a Java broker has been here since"
	} else if c.Used >= 0 {
		c.Why = ""
	}
	return c
}

func decodeMark(b []byte) Mark {
	be := binary.BigEndian
	switch {
	case allZero(b):
		return Mark{Fault: "never written"}
	case be.Uint64(b) != markMagic:
		return Mark{Fault: fmt.Sprintf("wrong magic %#016x", be.Uint64(b))}
	case crc32.Checksum(b[:markSummed], castagnoli) != be.Uint32(b[markSummed:]):
		return Mark{Fault: "the checksum differs"}
	}
	at := func(i int) int64 { return int64(be.Uint64(b[8+i*8:])) }
	m := Mark{
		Number: at(0), Clean: at(1) != 0, Dispatched: at(2), ScanFrom: at(3), Flushed: at(4), Queues: at(5), Units: at(6),
		IndexPos: at(7), IndexFile: at(8), IndexHeader: keyindex.DecodeHeader(b[80:]),
	}
	copy(m.plain[:], b[80+keyindex.HeaderSize:])
	return m
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Mark is the copy of the mark that counts; nil when there is none.
func (c *Checkpoint) Mark() *Mark {
	if c.Used < 0 {
		return nil
	}
	return &c.Marks[c.Used]
}
