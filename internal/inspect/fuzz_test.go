// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// Each fuzz target writes the bytes as one file, as they might lie on a disk.

func fuzzFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func seedRecord(at int64) []byte {
	r := message.Record{Topic: []byte("T"), Body: []byte("body"), PhysicalOffset: at, BornHost: netip.MustParseAddrPort("1.2.3.4:5"), StoreHost: netip.MustParseAddrPort("[::1]:5")}
	return message.AppendRecord(nil, &r)
}

// Pieces cover the file from its first byte to its last, each record says it lies where it was found or has a fault.
func FuzzLogFile(f *testing.F) {
	first := seedRecord(0)
	two := append(first, seedRecord(int64(len(first)))...)
	f.Add(two)
	f.Add(append(two[:len(two):len(two)], make([]byte, 50)...))
	f.Add(append(append(two[:len(two):len(two)], "garbage in between"...), seedRecord(int64(len(two)+18))...))
	blank := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), message.MagicBlank)
	f.Add(append(two[:len(two):len(two)], blank...))
	f.Add([]byte{0x7F, 0xFF, 0xFF, 0xFF, 0xDA, 0xA3, 0x20, 0xA7})
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "00000000000000000000")
		fuzzFile(t, path, b)
		l, err := OpenLog(path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		at := int64(0)
		err = l.Walk(context.Background(), 0, math.MaxInt64, func(p *Piece) error {
			if p.Offset != at || p.Size <= 0 {
				t.Fatalf("a piece of %d bytes at %d, the one before ends at %d", p.Size, p.Offset, at)
			}
			if p.Kind == RecordPiece && (len(p.Bytes) != int(p.Size) || int64(p.Record.Size) != p.Size || p.Refused != (len(p.Faults) > 0 && p.Faults[0] != "the checksum of the record differs")) {
				t.Fatalf("record of %d bytes in %d, refused %v for %v", p.Record.Size, p.Size, p.Refused, p.Faults)
			}
			at += p.Size
			return nil
		})
		if err != nil || at != int64(len(b)) {
			t.Fatalf("pieces end at %d of %d, %v", at, len(b), err)
		}
	})
}

// Units cover the file; what is called one unit is one, and lies where it says.
func FuzzQueueFile(f *testing.F) {
	unit := consumequeue.AppendUnit(nil, consumequeue.Unit{PhysicalOffset: 100, Size: 50, TagsCode: -1})
	filler := consumequeue.AppendUnit(nil, consumequeue.Unit{Size: math.MaxInt32})
	zero := make([]byte, 20)
	for _, units := range [][][]byte{{unit}, {filler, unit, zero}, {zero, unit}, {unit, zero, zero, unit[:7]}, {zero, zero}} {
		var b []byte
		for _, u := range units {
			b = append(b, u...)
		}
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, batch bool) {
		dir := filepath.Join(t.TempDir(), queuesName, "T", "0")
		if batch {
			dir = filepath.Join(t.TempDir(), batchQueuesName, "T", "0")
		}
		fuzzFile(t, filepath.Join(dir, "00000000000000000000"), b)
		queues, err := FindQueues(dir)
		if err != nil {
			t.Fatal(err)
		}
		q := queues[0]
		if q.Batch() != batch {
			t.Fatalf("batch %v", q.Batch())
		}
		n := int64(0)
		err = q.Walk(context.Background(), 0, math.MaxInt64, func(u *Units) error {
			if u.First != n || u.Count <= 0 || u.Kind == OneUnit && u.Count != 1 || u.Kind == MissingUnits {
				t.Fatalf("%+v, want from %d on", u, n)
			}
			at := u.First * q.UnitBytes()
			if u.Kind == OneUnit && (u.Unit != q.Layout.Decode(b[at:]) || u.At != at || !q.valid(u.Unit)) {
				t.Fatalf("%+v", u)
			}
			n += u.Count
			return nil
		})
		if err != nil || n != int64(len(b))/q.UnitBytes() {
			t.Fatalf("%d units of %d, %v", n, int64(len(b))/q.UnitBytes(), err)
		}
	})
}

// Entries are those that the file has room for, whatever the header says.
func FuzzIndexFile(f *testing.F) {
	head := keyindex.Header{BeginTime: 1, EndTime: 2, BeginPhysical: 5, EndPhysical: 9, Slots: 2, Count: 3}
	b := head.Append(nil)
	b = append(b, 0, 0, 0, 1, 0, 0, 0, 2)
	b = append(b, make([]byte, entryBytes)...)
	b = keyindex.Entry{Hash: 2, Physical: 5}.Append(b)
	b = keyindex.Entry{Hash: 3, Physical: 9}.Append(b)
	f.Add(b, int32(2))
	f.Add(b, int32(0))
	f.Add(b[:50], int32(1))
	f.Add(make([]byte, 40), int32(0))
	f.Fuzz(func(t *testing.T, b []byte, slots int32) {
		path := filepath.Join(t.TempDir(), indexName, "20260102030405678")
		fuzzFile(t, path, b)
		files, err := FindIndex(path, max(slots, 0))
		if err != nil {
			t.Fatal(err)
		}
		x := files[0]
		last := int32(0)
		err = x.Walk(context.Background(), func(n int32, e Entry) error {
			at := x.EntryAt(n)
			if n != last+1 || n >= x.Header.Count || e != keyindex.DecodeEntry(b[at:at+entryBytes]) {
				t.Fatalf("entry %d behind %d of %d: %+v", n, last, x.Header.Count, e)
			}
			last = n
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s := Store{Root: filepath.Dir(filepath.Dir(path))}
		if _, err := verify(context.Background(), Options{Store: s, Slots: max(slots, 0)}); err != nil {
			t.Fatal(err)
		}
	})
}

// A mark counts only if its checksum is right, and of two that count it is the one with the larger number.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, checkpointBytes))
	marks := make([]byte, checkpointBytes)
	for i, off := range markOffsets {
		m := marks[off : off+markBytes]
		binary.BigEndian.PutUint64(m, markMagic)
		m[15] = byte(i + 1) // its number
		binary.BigEndian.PutUint32(m[markSummed:], crc32.Checksum(m[:markSummed], castagnoli))
	}
	f.Add(marks)
	if c := decodeCheckpoint(marks); c.Mark() == nil || c.Mark().Number != 2 {
		f.Fatalf("of two good marks %+v counts: %s", c.Mark(), c.Why)
	}
	f.Add(append(bytes.Repeat([]byte{1}, 8), marks[8:]...)) // a Java broker has been here
	f.Fuzz(func(t *testing.T, b []byte) {
		c := decodeCheckpoint(b)
		m := c.Mark()
		if (m == nil) != (c.Why != "") {
			t.Fatalf("mark %v, why not: %s", m, c.Why)
		}
		if m == nil {
			return
		}
		if m.Fault != "" || m.Number <= 0 || b[m.Offset] != 'G' {
			t.Fatalf("%+v counts", m)
		}
		for _, other := range c.Marks {
			if other.Fault == "" && other.Number > m.Number {
				t.Fatalf("%d counts, there is %d", m.Number, other.Number)
			}
		}
	})
}

// A state file and its journal: whatever they hold, reading them ends, and touches nothing.
func FuzzStateFile(f *testing.F) {
	f.Add([]byte(`{"topicConfigTable":{}}`), []byte{}, "topics.json")
	f.Add([]byte(`{"subscriptionGroupTable":{"G":{}},"dataVersion":{"counter":3}}`), []byte("\x00\x00\x00\x02\x0d\x1e\x5a\x07{}"), "subscriptionGroup.json")
	f.Add([]byte("a=b\nc"), []byte{}, "broker.properties")
	f.Fuzz(func(t *testing.T, b, journal []byte, name string) {
		if name != filepath.Base(name) || len(name) > 50 || !isState(name) || stem(name) != name {
			return
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return // no name for a file
		}
		fuzzFile(t, path+".journal", journal)
		s, err := ReadState(path)
		if err != nil {
			t.Fatal(err)
		}
		if (s.Used == "") != (s.Err != nil) {
			t.Fatalf("used %q, %v", s.Used, s.Err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(b) {
			t.Fatalf("the file was changed: %q, %v", after, err)
		}
	})
}
