// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
)

// Whatever is left of a log file when the next record does not fit, all messages are found, before and after a restart.
func TestRollOverAtEveryRemainder(t *testing.T) {
	cfg := small(t.TempDir())
	cfg.LogFileBytes, cfg.QueueFileBytes = 4096, 10*20
	cfg.Files.AheadBytes = 4096
	cfg.Flush = AsyncFlush
	cfg.Retention.Interval = 1 << 60
	s := open(t, cfg)
	n := 0
	var at []int64
	send := func(bodySize int) {
		t.Helper()
		m := msg("T", 0, strings.Repeat("b", bodySize), message.PropKeys, fmt.Sprintf("k%04d", n))
		n++
		at = append(at, put(t, s, m)[0].PhysicalOffset)
	}
	overhead := message.RecordSize(&message.Record{Topic: []byte("T"), BornHost: bornHost, StoreHost: storeHost,
		Properties: message.AppendProperty(nil, message.PropKeys, "k0000")})
	for rest := range 201 {
		send(100) // the first of a file, or the second after the one that did not fit
		used := int(s.Info().LogMax % 4096)
		// One record that leaves rest bytes. What cannot be left, because a filler of 8 bytes must fit, rolls over itself.
		send(4096 - used - overhead - rest)
		send(300 - overhead)
		if rest%40 == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, cfg)
		}
	}
	check := func() {
		t.Helper()
		got := readAll(t, s, "T", 0, 0)
		if len(got) != n {
			t.Fatalf("%d messages, want %d", len(got), n)
		}
		for i, r := range got {
			if r.QueueOffset != int64(i) || r.PhysicalOffset != at[i] || s.TimeOf("T", 0, int64(i)) != r.StoreTimestamp {
				t.Fatalf("message %d is %d at %d, want it at %d", i, r.QueueOffset, r.PhysicalOffset, at[i])
			}
			if r.PhysicalOffset/4096 != (r.PhysicalOffset+int64(r.Size)+message.BlankSize-1)/4096 {
				t.Errorf("message %d at %d with %d bytes leaves no room for a filler", i, r.PhysicalOffset, r.Size)
			}
			if res, err := s.Query("T", fmt.Sprintf("k%04d", i), 32, 0, 1<<62); err != nil || res.Count != 1 {
				t.Fatalf("key of message %d: %d found, %v", i, res.Count, err)
			}
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkFillers(t, cfg)
	s = open(t, cfg)
	check()
}

// checkFillers looks at the end of each log file: a filler that reaches to the file's end, and names without gaps.
func checkFillers(t *testing.T, cfg Config) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cfg.Root, "commitlog"))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		if want := segment.Name(int64(i) * cfg.LogFileBytes); e.Name() != want {
			t.Errorf("log file %d is named %s, want %s", i, e.Name(), want)
		}
		if i == len(entries)-1 {
			break
		}
		b, err := os.ReadFile(filepath.Join(cfg.Root, "commitlog", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pos := 0
		for binary.BigEndian.Uint32(b[pos+4:]) != message.MagicBlank {
			pos += int(binary.BigEndian.Uint32(b[pos:]))
		}
		if size := int(binary.BigEndian.Uint32(b[pos:])); pos+size != len(b) {
			t.Errorf("file %s: filler of %d bytes at %d", e.Name(), size, pos)
		}
	}
}

func TestMessagesThatFitNowhere(t *testing.T) {
	cfg := small(t.TempDir())
	s := open(t, cfg)
	put(t, s, msg("T", 0, "before"))
	long := msg("T", 0, "", message.PropKeys, strings.Repeat("k", message.MaxProperties-len(message.PropKeys)-2))
	batch := msg("T", 0, "")
	batch.Batch = true
	for range 70 {
		batch.Body = message.AppendBatchItem(batch.Body, message.BatchItem{Body: make([]byte, 1000)})
	}
	oneLong := msg("T", 0, "")
	oneLong.Batch, oneLong.Properties = true, message.AppendProperty(nil, "CLUSTER", "c")
	oneLong.Body = message.AppendBatchItem(nil, message.BatchItem{Body: []byte("short")})
	oneLong.Body = message.AppendBatchItem(oneLong.Body, message.BatchItem{Properties: long.Properties[:message.MaxProperties-3]})
	prepared := msg("T", 0, "")
	prepared.Batch, prepared.SysFlag, prepared.Body = true, message.TransactionPrepared, oneLong.Body[:27]
	cut := msg("T", 0, "")
	cut.Batch, cut.Body = true, oneLong.Body[:30]
	tests := []struct {
		name string
		m    *Message
		want Status
	}{
		{"a record larger than a file", msg("T", 0, strings.Repeat("b", 64<<10)), MessageIllegal},
		{"a batch larger than a file", batch, MessageIllegal},
		{"a body larger than allowed", msg("T", 0, strings.Repeat("b", 5<<20)), MessageIllegal},
		{"properties of 32768 bytes", func() *Message { m := *long; m.Properties = append([]byte{'k'}, m.Properties...); return &m }(), PropertiesTooLong},
		{"a batch one of whose items has them with the common ones", oneLong, PropertiesTooLong},
		{"a batch in a transaction", prepared, MessageIllegal},
		{"a batch cut off", cut, MessageIllegal},
		{"an empty batch", func() *Message { m := msg("T", 0, ""); m.Batch = true; return m }(), MessageIllegal},
		{"a topic of 128 bytes", msg(strings.Repeat("t", 128), 0, ""), MessageIllegal},
		{"a retry topic of 256 bytes", msg("%RETRY%"+strings.Repeat("t", 249), 0, ""), MessageIllegal},
		{"a topic that is a path", msg("../../etc", 0, ""), MessageIllegal},
		{"no topic", msg("", 0, ""), MessageIllegal},
		{"a negative queue", msg("T", -1, ""), MessageIllegal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := newOutcome()
			s.Append(tt.m, o)
			s.Commit()
			if a := o.wait(t); a.Status != tt.want || a.Err == nil {
				t.Errorf("got %v, %v, want %v", a.Status, a.Err, tt.want)
			}
		})
	}
	good := []*Message{long, msg("%RETRY%"+strings.Repeat("t", 248), 0, "v2"), msg("T", 0, ""), msg("T", 0, "after")}
	a := put(t, s, good...)
	if a[0].QueueOffset != 1 || a[3].QueueOffset != 3 {
		t.Errorf("refused messages took offsets: %+v", a)
	}
	if got := readAll(t, s, "%RETRY%"+strings.Repeat("t", 248), 0, 0); len(got) != 1 || got[0].Magic != message.MagicV2 {
		t.Errorf("long topic: %+v", got)
	}
}
