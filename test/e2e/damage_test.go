// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

// damage is what happens to the end of a log after kill -9. The last record lies at at in the file.
type damage struct {
	name   string
	do     func(t *testing.T, f *os.File, at, size int64)
	leaves bool // the last record is whole
}

func writeAt(t *testing.T, f *os.File, b []byte, at int64) {
	t.Helper()
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

func totalSize(n int32) func(*testing.T, *os.File, int64, int64) {
	return func(t *testing.T, f *os.File, at, _ int64) {
		writeAt(t, f, binary.BigEndian.AppendUint32(nil, uint32(n)), at)
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

var tailDamages = []damage{
	{name: "second half of the last record never written", do: func(t *testing.T, f *os.File, at, size int64) {
		writeAt(t, f, make([]byte, size-size/2), at+size/2)
	}},
	{name: "file cut within the last record", do: func(t *testing.T, f *os.File, at, size int64) {
		if err := f.Truncate(at + size/2); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "one bit of a body", do: func(t *testing.T, f *os.File, at, size int64) {
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, at+size/2); err != nil {
			t.Fatal(err)
		}
		writeAt(t, f, []byte{b[0] ^ 0x10}, at+size/2)
	}},
	{name: "100 zeros in the middle", do: func(t *testing.T, f *os.File, at, size int64) {
		writeAt(t, f, make([]byte, 100), at+size/2-50)
	}},
	{name: "size 0", do: totalSize(0)},
	{name: "size 7", do: totalSize(7)},
	{name: "size -1", do: totalSize(-1)},
	{name: "size 2 GiB", do: totalSize(math.MaxInt32)},
	{name: "wrong magic", do: func(t *testing.T, f *os.File, at, _ int64) {
		writeAt(t, f, []byte{0xDE, 0xAD, 0xBE, 0xEF}, at+4)
	}},
	{name: "noise after the end", leaves: true, do: func(t *testing.T, f *os.File, at, size int64) {
		writeAt(t, f, noise(4096), at+size)
	}},
	{name: "the magic of a record after the end", leaves: true, do: func(t *testing.T, f *os.File, at, size int64) {
		b := binary.BigEndian.AppendUint32(nil, 500)
		b = binary.BigEndian.AppendUint32(b, message.MagicV1)
		writeAt(t, f, append(b, noise(492)...), at+size)
	}},
	{name: "an older record after the end", leaves: true, do: func(t *testing.T, f *os.File, at, size int64) {
		b := make([]byte, size)
		if _, err := f.ReadAt(b, at); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		writeAt(t, f, b, at+size)
	}},
}

// However the last record is damaged, the broker starts, has all whole records before the damage, cuts off what is
// behind, and goes on with the offset that follows.
func TestDamagedEndOfTheLog(t *testing.T) {
	t.Parallel()
	for _, d := range tailDamages {
		for _, flush := range []string{"SYNC_FLUSH", "ASYNC_FLUSH"} {
			t.Run(d.name+"/"+flush, func(t *testing.T) {
				t.Parallel()
				const count, queues = 60, 2
				s := start(t, setup{set: []string{"flushDiskType=" + flush, "mappedFileSizeCommitLog=65536"}})
				w := dial(t, s.broker)
				w.createTopic("tail", queues)
				sent := make([][][]byte, queues)
				for i := range count {
					queue := i % queues
					body := append(fmt.Appendf(nil, "message %d ", i), noise(600)...)
					w.send(outgoing{topic: "tail", queue: int32(queue), body: body, props: properties(true, "KEYS", fmt.Sprint("k", i))})
					sent[queue] = append(sent[queue], body)
				}
				s.kill()

				records := s.logRecords()
				if len(records) != count {
					t.Fatalf("the log holds %d records of %d", len(records), count)
				}
				last := &records[count-1]
				start := last.PhysicalOffset / 65536 * 65536
				f, err := os.OpenFile(s.logFile(start), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				d.do(t, f, last.PhysicalOffset-start, int64(last.Size))
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				if !d.leaves {
					sent[last.QueueID] = sent[last.QueueID][:len(sent[last.QueueID])-1]
				}

				s.begin()
				wantQueues(t, s, sent)
				w = dial(t, s.broker)
				for i := range 4 { // into the place of what was cut off
					queue := i % queues
					body := fmt.Appendf(nil, "later %d", i)
					place := w.send(outgoing{topic: "tail", queue: int32(queue), body: body, props: properties(true, "KEYS", fmt.Sprint("later", i))})
					if want := int64(len(sent[queue])); place.offset != want {
						t.Errorf("the next message of queue %d came to %d, want %d", queue, place.offset, want)
					}
					sent[queue] = append(sent[queue], body)
				}
				wantQueues(t, s, sent)
				s.crash()
				wantQueues(t, s, sent)
				w = dial(t, s.broker)
				eventually(t, "the last message by its key", func() bool { return len(w.query("tail", "later3", 9)) == 1 })
				want := 1
				if !d.leaves {
					want = 0
				}
				if found := w.query("tail", fmt.Sprint("k", count-1), 9); len(found) != want {
					t.Errorf("the damaged message's key finds %d messages, want %d", len(found), want)
				}
				if found := w.query("tail", fmt.Sprint("k", count-2), 9); len(found) != 1 {
					t.Errorf("the key of the message before finds %d messages", len(found))
				}
			})
		}
	}
}

// wantQueues compares the queues of the topic tail with bodies.
func wantQueues(t *testing.T, s *server, want [][][]byte) {
	t.Helper()
	w := dial(t, s.broker)
	for queue, bodies := range want {
		got := w.read("tail", int32(queue))
		if len(got) != len(bodies) || w.maxOffset("tail", int32(queue)) != int64(len(bodies)) {
			t.Fatalf("queue %d has %d messages and ends at %d, want %d", queue, len(got), w.maxOffset("tail", int32(queue)), len(bodies))
		}
		for i := range bodies {
			if !bytes.Equal(got[i].Body, bodies[i]) {
				t.Fatalf("queue %d at %d has another body", queue, i)
			}
		}
	}
}
