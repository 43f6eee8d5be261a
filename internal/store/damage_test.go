// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
)

// scribble writes into the log file that holds a physical offset.
func scribble(t *testing.T, fs faultfs.FS, cfg Config, physical int64, b []byte) {
	t.Helper()
	start := physical - physical%cfg.LogFileBytes
	f, err := fs.Open(filepath.Join(cfg.Root, "commitlog", segment.Name(start)), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, physical-start); err != nil {
		t.Fatal(err)
	}
}

// filled opens a store on a disk of its own and puts 60 messages into two queues.
func filled(t *testing.T) (cfg Config, disk *faultfs.Disk, s *Store, last Appended, lastSize int) {
	t.Helper()
	cfg = small("/store")
	disk = faultfs.NewDisk()
	s = open(t, cfg, on(disk))
	for i := range 60 {
		m := msg("T", int32(i%2), fmt.Sprintf("%d-%s", i, strings.Repeat("b", 400)), message.PropKeys, "k")
		last = put(t, s, m)[0]
	}
	b, err := s.View(last.PhysicalOffset)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, disk, s, last, len(b)
}

// A tail that is damaged after a crash costs the damaged record and no other, and the next message follows without a
// gap; whether the record was durable before or not.
func TestDamagedTail(t *testing.T) {
	word := func(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
	random := make([]byte, 4096)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	tests := []struct {
		name  string
		off   int // where to scribble: from the start of the last record or, below 0, from its end (-1: right behind it)
		bytes []byte
		lost  int
	}{
		{"the last record cut in half", 200, make([]byte, 4000), 1},
		{"a byte of its body flipped", 150, []byte{'X'}, 1},
		{"zeros in its middle", 100, make([]byte, 100), 1},
		{"size 0", 0, word(0), 1},
		{"size 7", 0, word(7), 1},
		{"size -1", 0, word(0xFFFFFFFF), 1},
		{"size 2 GiB", 0, word(0x7FFFFFFF), 1},
		{"a size one byte off", 0, word(0), 1},
		{"a wrong magic", 4, word(0xDEADBEEF), 1},
		{"random bytes behind the end", -1, random, 0},
		{"nothing", -1, nil, 0},
	}
	for _, checkpointed := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, checkpoint=%v", tt.name, checkpointed), func(t *testing.T) {
				cfg, disk, s, last, size := filled(t)
				if checkpointed {
					if err := s.checkpoint(false); err != nil {
						t.Fatal(err)
					}
				}
				disk = disk.Kill()
				at := last.PhysicalOffset + int64(tt.off)
				if tt.off < 0 {
					at = last.PhysicalOffset + int64(size)
				}
				if tt.name == "a size one byte off" {
					tt.bytes = word(uint32(size - 1))
				}
				scribble(t, disk, cfg, at, tt.bytes)
				s.Close()

				s = open(t, cfg, on(disk))
				for q := range int32(2) {
					want := 30
					if q == 1 {
						want -= tt.lost // the last message was in queue 1
					}
					got := readAll(t, s, "T", q, 0)
					if len(got) != want {
						t.Fatalf("queue %d has %d messages, want %d", q, len(got), want)
					}
					for i, r := range got {
						if r.QueueOffset != int64(i) || message.BodyCRC(r.Body) != r.BodyCRC {
							t.Errorf("queue %d: message %d is %d", q, i, r.QueueOffset)
						}
					}
				}
				if a := put(t, s, msg("T", 1, "next"))[0]; a.QueueOffset != int64(30-tt.lost) {
					t.Errorf("the next message got offset %d", a.QueueOffset)
				}
				if res, err := s.Query("T", "k", 64, 0, 1<<62); err != nil || res.Count != 60-tt.lost {
					t.Errorf("%d messages by key, %v", res.Count, err)
				}
			})
		}
	}
}

// Damage in the middle of what was durable is told, and takes away nothing but the damaged messages.
func TestDamageBelowTheDurableMark(t *testing.T) {
	cfg, disk, s, _, _ := filled(t)
	var bad []Appended
	bad = append(bad, put(t, s, msg("T", 0, "damaged in the body"))...)
	bad = append(bad, put(t, s, msg("T", 1, "damaged in the size"))...)
	for range 20 {
		put(t, s, msg("T", 0, "x"), msg("T", 1, "y"))
	}
	s.keeper.mu.Lock()
	err := s.keeper.note(s)
	s.keeper.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	disk = disk.Kill()
	s.Close()
	scribble(t, disk, cfg, bad[0].PhysicalOffset+88, []byte("D"))
	scribble(t, disk, cfg, bad[1].PhysicalOffset, []byte{0x7F})

	s = open(t, cfg, on(disk))
	for q := range int32(2) {
		low, end := s.QueueRange("T", q)
		if low != 0 || end != 51 {
			t.Errorf("queue %d is %d..%d, want 0..51", q, low, end)
		}
		var offsets []int64
		for from := int64(0); from < end; {
			b, res := s.Read(nil, &ReadRequest{Topic: "T", QueueID: q, Offset: from, MaxCount: 32})
			records, err := message.DecodeAll(b)
			if err != nil || res.Next <= from {
				t.Fatalf("read at %d: %+v, %v", from, res, err)
			}
			for _, r := range records {
				offsets = append(offsets, r.QueueOffset)
			}
			from = res.Next
		}
		if len(offsets) != 50 || offsets[29] != 29 || offsets[30] != 31 || offsets[49] != 50 {
			t.Errorf("queue %d has messages %v", q, offsets)
		}
	}
	if a := put(t, s, msg("T", 0, "next"))[0]; a.QueueOffset != 51 {
		t.Errorf("the next message got offset %d", a.QueueOffset)
	}
	// The hole stays a hole after a proper stop.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg, on(disk))
	if low, end := s.QueueRange("T", 0); low != 0 || end != 52 {
		t.Errorf("reopened: %d..%d", low, end)
	}
}

// Queues and index that are missing, in part or in whole, are made again from the log.
func TestDerivedFilesAreMadeAgain(t *testing.T) {
	tests := []struct {
		name   string
		remove []string
	}{
		{"all queues", []string{"consumequeue"}},
		{"one queue", []string{"consumequeue/T/1"}},
		{"one topic", []string{"consumequeue/T"}},
		{"the last file of a queue", []string{"consumequeue/T/0/" + segment.Name(2000)}},
		{"the first file of a queue", []string{"consumequeue/T/0/" + segment.Name(0)}},
		{"the index", []string{"index"}},
		{"the checkpoint", []string{"checkpoint"}},
		{"everything but the log", []string{"consumequeue", "index", "checkpoint"}},
	}
	for _, killed := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, killed=%v", tt.name, killed), func(t *testing.T) {
				cfg := small("/store")
				disk := faultfs.NewDisk()
				s := open(t, cfg, on(disk))
				for i := range 260 {
					put(t, s, msg("T", int32(i%2), fmt.Sprint(i), message.PropKeys, fmt.Sprintf("k%d", i)))
				}
				if err := s.checkpoint(false); err != nil {
					t.Fatal(err)
				}
				if killed {
					disk = disk.Kill()
				}
				s.Close()
				for _, path := range tt.remove {
					if err := disk.RemoveAll(filepath.Join("/store", path)); err != nil {
						t.Fatal(err)
					}
				}
				s = open(t, cfg, on(disk))
				for q := range int32(2) {
					if got := readAll(t, s, "T", q, 0); len(got) != 130 {
						t.Errorf("queue %d has %d messages", q, len(got))
					}
				}
				for i := range 260 {
					if res, err := s.Query("T", fmt.Sprintf("k%d", i), 64, 0, 1<<62); err != nil || res.Count != 1 {
						t.Fatalf("key of message %d: %d found, %v", i, res.Count, err)
					}
				}
				if a := put(t, s, msg("T", 1, "next"))[0]; a.QueueOffset != 130 {
					t.Errorf("the next message got offset %d", a.QueueOffset)
				}
			})
		}
	}
}

func TestRefusesToOpen(t *testing.T) {
	tests := []struct {
		name   string
		spoil  func(t *testing.T, disk *faultfs.Disk, cfg *Config)
		reason string
	}{
		{"another file size of the log", func(t *testing.T, _ *faultfs.Disk, cfg *Config) { cfg.LogFileBytes *= 2 }, "file size"},
		{"another file size of the queues", func(t *testing.T, _ *faultfs.Disk, cfg *Config) { cfg.QueueFileBytes *= 2 }, "file size"},
		{"a smaller size of the index", func(t *testing.T, _ *faultfs.Disk, cfg *Config) { cfg.Index.Slots /= 2 }, "maxHashSlotNum"},
		{"a log file missing in the middle", func(t *testing.T, d *faultfs.Disk, cfg *Config) {
			d.Remove(filepath.Join("/store/commitlog", segment.Name(cfg.LogFileBytes)))
		}, "is missing"},
		{"all log files missing", func(t *testing.T, d *faultfs.Disk, _ *Config) { d.RemoveAll("/store/commitlog") }, "is a disk missing"},
		{"a store in use", func(t *testing.T, d *faultfs.Disk, _ *Config) {
			lock, err := d.Lock("/store/lock")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { lock.Close() })
		}, "in use by another broker"},
		{"bad settings", func(t *testing.T, _ *faultfs.Disk, cfg *Config) { cfg.Retention.DeleteWhen = "25" }, "deleteWhen"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := small("/store")
			disk := faultfs.NewDisk()
			s := open(t, cfg, on(disk))
			for range 200 {
				put(t, s, msg("T", 0, strings.Repeat("b", 1000), message.PropKeys, "k"))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, disk, &cfg)
			s, err := tryOpen(t, cfg, on(disk))
			if err == nil {
				s.Close()
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("error %q does not say %q", err, tt.reason)
			}
		})
	}
}
