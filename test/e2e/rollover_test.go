// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

// ledger is what was sent and where it came to lie.
type ledger struct {
	topic  string
	queues map[int32][]entry // in the order of the offsets
}

type entry struct {
	stored
	body []byte
	key  string
}

// check reads everything back: by offset, by id and by key.
func (l *ledger) check(t *testing.T, s *server) {
	t.Helper()
	w := dial(t, s.broker)
	for queue, entries := range l.queues {
		got := w.read(l.topic, queue)
		if len(got) != len(entries) {
			t.Fatalf("queue %d has %d messages, %d were sent", queue, len(got), len(entries))
		}
		for i, e := range entries {
			if e.offset != int64(i) {
				t.Fatalf("message %d of queue %d was acknowledged at %d", i, queue, e.offset)
			}
			if !bytes.Equal(got[i].Body, e.body) || got[i].PhysicalOffset != e.physical {
				t.Fatalf("queue %d at %d: another body, or at %d of the log instead of %d", queue, i, got[i].PhysicalOffset, e.physical)
			}
			if m := w.view(e.physical); !bytes.Equal(m.Body, e.body) || m.QueueOffset != e.offset {
				t.Fatalf("view of queue %d at %d gives another message", queue, i)
			}
		}
		last := entries[len(entries)-1]
		eventually(t, "the index", func() bool { return len(w.query(l.topic, last.key, 4)) > 0 })
		for _, e := range entries {
			if found := w.query(l.topic, e.key, 4); len(found) != 1 || found[0].PhysicalOffset != e.physical {
				t.Fatalf("query for %s gives %d messages", e.key, len(found))
			}
		}
	}
}

func (l *ledger) add(e entry) {
	l.queues[e.queue] = append(l.queues[e.queue], e)
}

// Small files, so that there are very many of them: messages of random sizes lie at every place of a file and of its
// end, and are found again, also after the process was killed and after it was stopped.
func TestManySmallFiles(t *testing.T) {
	t.Parallel()
	const (
		count, queues = 3000, 4
		logFile       = 64 << 10
		queueFile     = 200 // ten units
	)
	s := start(t, setup{set: []string{
		fmt.Sprint("mappedFileSizeCommitLog=", logFile), fmt.Sprint("mappedFileSizeConsumeQueue=", queueFile),
		"maxHashSlotNum=1000", "maxIndexNum=2000", // several files of the index, too
		"flushDiskType=ASYNC_FLUSH",
	}})
	w := dial(t, s.broker)
	w.createTopic("small", queues)
	random := rand.New(rand.NewPCG(1, 2))
	l := &ledger{topic: "small", queues: map[int32][]entry{}}
	more := func(n int) {
		t.Helper()
		var out []outgoing
		var keys []string
		for range n {
			size := random.IntN(2000)
			if random.IntN(20) == 0 {
				size = random.IntN(logFile - 2000)
			}
			body := make([]byte, 1+size)
			for i := range body {
				body[i] = byte(random.Uint32())
			}
			keys = append(keys, fmt.Sprintf("key-%d", random.Uint64()))
			out = append(out, outgoing{topic: "small", queue: random.Int32N(queues), body: body, props: properties(true, "KEYS", keys[len(keys)-1])})
		}
		for i, place := range dial(t, s.broker).sendAll(out) {
			l.add(entry{place, out[i].body, keys[i]})
		}
	}
	more(count)
	l.check(t, s)
	for _, position := range numberedFiles(t, s.logDir()) {
		if position%logFile != 0 {
			t.Errorf("a log file begins at %d", position)
		}
	}

	s.crash()
	l.check(t, s)
	more(200)
	s.restart()
	more(200)
	l.check(t, s)
	s.restart()
	for queue := range int32(queues) {
		for i, position := range numberedFiles(t, filepath.Join(s.data, "store", "consumequeue", "small", fmt.Sprint(queue))) {
			if position != int64(i)*queueFile {
				t.Errorf("file %d of queue %d begins at %d", i, queue, position)
			}
		}
	}
}

// Every number of bytes from 0 to 200 is left once at the end of a log file before a message comes that does not fit.
func TestEveryRestAtTheEndOfAFile(t *testing.T) {
	t.Parallel()
	const logFile = 8 << 10
	s := start(t, setup{set: []string{fmt.Sprint("mappedFileSizeCommitLog=", logFile), "flushDiskType=ASYNC_FLUSH"}})
	w := dial(t, s.broker)
	w.createTopic("rests", 1)

	l := &ledger{topic: "rests", queues: map[int32][]entry{}}
	end := int64(0) // of the log
	overhead := 0   // bytes of a record beside its body
	send := func(size int) int64 {
		t.Helper()
		key := fmt.Sprintf("k%09d", len(l.queues[0]))
		body := []byte(strings.Repeat(string(rune('a'+len(l.queues[0])%26)), size))
		place := w.send(outgoing{topic: "rests", body: body, props: properties(true, "KEYS", key, "UNIQ_KEY", fmt.Sprintf("U%015d", len(l.queues[0])))})
		if gap := place.physical - end; gap != 0 && place.physical%logFile != 0 {
			t.Fatalf("a message of %d bytes came to %d, the log ended at %d", size, place.physical, end)
		}
		l.add(entry{place, body, key})
		end = place.physical + int64(overhead+size)
		return place.physical
	}
	send(100)
	overhead = message.RecordSize(&w.read("rests", 0)[0]) - 100
	end = int64(overhead + 100)

	for rest := range 201 {
		fill := int(logFile-end%logFile) - rest - overhead
		fits := rest >= message.BlankSize // a file keeps room for the mark at its end
		before := end
		if at := send(fill); (at == before) != fits {
			t.Fatalf("leaving %d bytes: the message came to %d, the log ended at %d", rest, at, before)
		}
		if fits && logFile-end%logFile != int64(rest) {
			t.Fatalf("%d bytes left, want %d", logFile-end%logFile, rest)
		}
		if at := send(300); fits && at%logFile != 0 {
			t.Fatalf("with %d bytes left a message of 300 bytes came to %d", rest, at)
		}
		if rest%40 == 0 { // also as the very end of the log
			s.crash()
			w = dial(t, s.broker)
		}
	}
	l.check(t, s)
	s.crash()
	l.check(t, s)
}
