// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
)

const noSpaceErrno = syscall.ENOSPC

// putFile writes a log file of 8192 bytes.
func putFile(t testing.TB, disk *faultfs.Disk, start int64, content []byte) {
	t.Helper()
	disk.MkdirAll("/log")
	f, err := disk.Open("/log/"+segment.Name(start), os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(8192); err != nil {
		t.Fatal(err)
	}
	if len(content) > 0 {
		if _, err := f.WriteAt(content[:min(len(content), 8192)], 0); err != nil {
			t.Fatal(err)
		}
	}
}

func encoded(dst []byte, physical int64, body string) []byte {
	d := draft(body)
	d.Record.PhysicalOffset = physical + int64(len(dst))
	d.Record.Properties = []byte("KEYS\x01k\x02")
	return message.AppendRecord(dst, &d.Record)
}

func blank(dst []byte) []byte {
	rest := 8192 - len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(rest))
	return binary.BigEndian.AppendUint32(dst, message.MagicBlank)
}

// walk scans and writes down what it meets.
func walk(t testing.TB, l *testLog, from, limit int64, check Check) string {
	t.Helper()
	sc := l.Scan(from, limit, check)
	defer sc.Close()
	text := ""
	for {
		var r message.Record
		b, err := sc.Next(&r)
		bad := (*BadRecord)(nil)
		switch {
		case err == io.EOF:
			return text + fmt.Sprintf("end %d", sc.Pos())
		case errors.As(err, &bad):
			return text + fmt.Sprintf("bad %d %v: %s", bad.Offset, bad.Empty, bad.Reason)
		case err != nil:
			return text + err.Error()
		}
		if len(b) != int(r.Size) {
			t.Errorf("%d bytes of a record of %d", len(b), r.Size)
		}
		text += fmt.Sprintf("%s@%d ", r.Body, r.PhysicalOffset)
	}
}

func TestScan(t *testing.T) {
	two := encoded(encoded(nil, 0, "a"), 0, "b")
	tests := []struct {
		name  string
		files [][]byte
		check Check
		limit int64
		want  string
	}{
		{"no files", nil, CheckBody, math.MaxInt64, "end 0"},
		{"an empty file", [][]byte{nil}, CheckBody, math.MaxInt64, "bad 0 true: wrong magic 0x00000000"},
		{"two records", [][]byte{two}, CheckBody, math.MaxInt64, "a@0 b@100 bad 200 true: wrong magic 0x00000000"},
		{"two files", [][]byte{blank(two), encoded(nil, 8192, "c")}, CheckBody, math.MaxInt64, "a@0 b@100 c@8192 bad 8292 true: wrong magic 0x00000000"},
		{"a filler and no next file", [][]byte{blank(two)}, CheckBody, math.MaxInt64, "a@0 b@100 end 8192"},
		{"a limit between records", [][]byte{two}, CheckBody, 100, "a@0 end 100"},
		{"a limit inside a record", [][]byte{two}, CheckBody, 150, "a@0 end 100"},
		{"a filler that does not reach the end", [][]byte{append(append([]byte(nil), two...), 0, 0, 0, 9, 0xCB, 0xD4, 0x31, 0x94)}, CheckBody, math.MaxInt64,
			"a@0 b@100 bad 200 false: filler of 9 bytes, 7992 are left in the file"},
		{"a record of another place", [][]byte{append(append([]byte(nil), two...), two[:100]...)}, CheckBody, math.MaxInt64, "a@0 b@100 bad 200 false: it says it lies at 0"},
		{"no seal where one must be", [][]byte{two}, CheckSeal, math.MaxInt64, "bad 0 false: no checksum of the record"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			disk := faultfs.NewDisk()
			for i, content := range tt.files {
				putFile(t, disk, int64(i)*8192, content)
			}
			if got := walk(t, newLog(t, disk, nil), 0, tt.limit, tt.check); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestScanOfDamage(t *testing.T) {
	content := encoded(encoded(encoded(nil, 0, "a"), 0, "b"), 0, "c")
	tests := []struct {
		name   string
		at     int
		bytes  string
		check  Check
		reason string
		resync int64 // the next good record; -1: none is lost
	}{
		{"a flipped bit in a body", 188, "X", CheckBody, "checksum of the body differs", 200},
		{"the same, not checked", 188, "X", CheckLayout, "", -1},
		{"size 7", 100, "\x00\x00\x00\x07", CheckBody, "size of 7 bytes", 200},
		{"size -1", 100, "\xff\xff\xff\xff", CheckBody, "size of -1 bytes", 200},
		{"a size past the file", 100, "\x00\x00\xff\xff", CheckBody, "size of 65535 bytes", 200},
		{"a size of two records", 100, "\x00\x00\x00\xc8", CheckBody, "properties", 200},
		{"a wrong magic", 104, "\x00", CheckBody, "wrong magic", 200},
		{"zeros", 110, strings.Repeat("\x00", 80), CheckBody, "properties of", 200},
		{"a wrong place", 135, "\x01", CheckBody, "it says it lies at", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := append([]byte(nil), content...)
			copy(b[tt.at:], tt.bytes)
			disk := faultfs.NewDisk()
			putFile(t, disk, 0, b)
			l := newLog(t, disk, nil)
			got := walk(t, l, 0, 8192, tt.check)
			if tt.resync < 0 {
				if !strings.Contains(got, "c@200") {
					t.Errorf("got %s", got)
				}
				return
			}
			if !strings.HasPrefix(got, "a@0 bad 100 false: ") || !strings.Contains(got, tt.reason) {
				t.Errorf("got %s, want %s", got, tt.reason)
			}
			if pos, ok, err := l.Resync(101, 8192, tt.check); pos != tt.resync || !ok || err != nil {
				t.Errorf("goes on at %d, %v, %v", pos, ok, err)
			}
			if pos, ok, err := l.Resync(201, 8192, tt.check); ok || err != nil {
				t.Errorf("behind the last record it finds %d, %v", pos, err)
			}
		})
	}
}

// A file that looks like the beginnings of many large records is searched without reading each of them: this would take
// hours.
func TestResyncOverManyBeginnings(t *testing.T) {
	const size = 16 << 20
	content := make([]byte, 0, size)
	for len(content) < size-4096 {
		content = binary.BigEndian.AppendUint32(content, 8<<20)
		content = binary.BigEndian.AppendUint32(content, message.MagicV1)
	}
	at := int64(len(content))
	content = encoded(content, 0, "the next good one")
	disk := faultfs.NewDisk()
	var read int64
	disk.ReadFault(func(op faultfs.Op) error {
		read += op.N
		return nil
	})
	if err := disk.MkdirAll("/log"); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Open("/log/"+segment.Name(0), os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(append(content, make([]byte, size-len(content))...), 0); err != nil {
		t.Fatal(err)
	}
	l := newLog(t, disk, func(c *Config) { c.FileSize = size })
	if pos, ok, err := l.Resync(1, size, CheckBody); pos != at || !ok || err != nil {
		t.Errorf("found %d, %v, %v; want %d", pos, ok, err, at)
	}
	if read > 2*size {
		t.Errorf("%d bytes were read of a file of %d", read, size)
	}
}

func TestCut(t *testing.T) {
	disk := faultfs.NewDisk()
	putFile(t, disk, 0, blank(encoded(encoded(nil, 0, "a"), 0, "b")))
	putFile(t, disk, 8192, encoded(nil, 8192, "c"))
	putFile(t, disk, 16384, nil)
	disk.SyncAll("/")
	l := newLog(t, disk, nil)
	if err := l.Cut(100); err != nil {
		t.Fatal(err)
	}
	want := "a@0 bad 100 true: wrong magic 0x00000000"
	if got := walk(t, newLog(t, disk, nil), 0, math.MaxInt64, CheckBody); got != want {
		t.Errorf("now: %s", got)
	}
	if got := walk(t, newLog(t, disk.Survive(3), nil), 0, math.MaxInt64, CheckBody); got != want {
		t.Errorf("after a power cut: %s", got)
	}
}

// Whatever a log file holds, a scan ends, gives records that say they lie where they are, and so does the search for
// the next good one; and a log can be begun at the end that was found.
func FuzzScan(f *testing.F) {
	two := encoded(encoded(nil, 0, "a"), 0, "b")
	f.Add(two, int64(0), byte(1))
	f.Add(blank(two), int64(0), byte(0))
	f.Add(two[1:], int64(0), byte(2))
	f.Fuzz(func(t *testing.T, content []byte, from int64, check byte) {
		disk := faultfs.NewDisk()
		putFile(t, disk, 0, content)
		putFile(t, disk, 8192, encoded(nil, 8192, "next"))
		l := newLog(t, disk, nil)
		from = max(from, 0) % 8192
		sc := l.Scan(from, 16384, Check(check%3))
		defer sc.Close()
		for last := int64(-1); ; {
			var r message.Record
			b, err := sc.Next(&r)
			if bad := (*BadRecord)(nil); errors.As(err, &bad) {
				if bad.Offset != sc.Pos() {
					t.Fatalf("bad at %d, the scan is at %d", bad.Offset, sc.Pos())
				}
				pos, ok, err := l.Resync(bad.Offset+1, 16384, Check(check%3))
				if err != nil || ok && pos <= bad.Offset {
					t.Fatalf("from %d on to %d: %v", bad.Offset, pos, err)
				}
				if !ok {
					break
				}
				sc.Reset(pos, 16384)
				continue
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.PhysicalOffset <= last || r.PhysicalOffset+int64(len(b)) != sc.Pos() || r.PhysicalOffset < from {
				t.Fatalf("record of %d bytes at %d after %d, the scan is at %d", len(b), r.PhysicalOffset, last, sc.Pos())
			}
			last = r.PhysicalOffset
		}
		if _, err := l.StoreTime(from); err != nil && err != ErrNoRecord {
			t.Fatal(err)
		}
		var r message.Record
		if _, err := l.Record(nil, from, &r); err != nil && !errors.Is(err, ErrNoRecord) {
			t.Fatal(err)
		}
	})
}

// The record with a seal that the description of the format gives.
func TestSealVector(t *testing.T) {
	r := message.Record{
		QueueID: 1, QueueOffset: 5, PhysicalOffset: 4096, BornTimestamp: 1700000000000, BornHost: netip.MustParseAddrPort("127.0.0.1:10000"),
		StoreTimestamp: 1700000000123, StoreHost: host, Body: []byte("Hello RocketMQ"), Topic: []byte("TopicTest"),
		Properties: AppendSeal([]byte("KEYS\x01KEY1\x02TAGS\x01TagA\x02")),
	}
	b := message.AppendRecord(nil, &r)
	fillSeal(b)
	if got := string(b[len(b)-SealSize:]); got != "__CRC32#\x011564495291\x02" || len(b) != 154 {
		t.Errorf("%d bytes, seal %q", len(b), got)
	}
}
