// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// flip turns one bit of a file over.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	writeAt(t, f, []byte{b[0] ^ 0x40}, at)
}

var httpAddress = regexp.MustCompile(`(?m)^ +http +(\S+)$`)

// metric is the value of one of the server's metrics.
func (s *server) metric(name string) float64 {
	s.t.Helper()
	all := httpAddress.FindAllStringSubmatch(s.log.String(), -1)
	if all == nil {
		s.t.Fatal("the server does not say where metrics are")
	}
	resp, err := http.Get("http://" + all[len(all)-1][1] + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok && strings.ContainsAny(rest[:1], " {") {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(strings.TrimSpace(rest), ' ')+1:]), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return v
		}
	}
	s.t.Fatalf("no metric %s", name)
	return 0
}

// consume pulls a queue from its start to its end as a consumer does, and gives the offsets of what came. What comes is
// undamaged, and each pull leads on.
func (w *wire) consume(topic, tags string) (offsets []int64) {
	w.t.Helper()
	end := w.maxOffset(topic, 0)
	for offset := int64(0); offset < end; {
		got := w.pull(pull{topic: topic, offset: offset, tags: tags}) // which fails when a record cannot be decoded
		if got.code != protocol.Success && got.code != protocol.PullRetryImmediately || got.NextBeginOffset <= offset {
			w.t.Fatalf("pull at %d: answered %d %s, next %d", offset, got.code, got.remark, got.NextBeginOffset)
		}
		for i := range got.messages {
			m := &got.messages[i]
			if message.BodyCRC(m.Body) != m.BodyCRC || !strings.HasPrefix(string(m.Body), fmt.Sprintf("message %d ", m.QueueOffset)) {
				w.t.Fatalf("pull at %d: message %d is damaged", offset, m.QueueOffset)
			}
			offsets = append(offsets, m.QueueOffset)
		}
		offset = got.NextBeginOffset
	}
	return offsets
}

// Bits that flip in old files while the broker runs, or stands still: consumers get everything else, nothing that is
// damaged, and do not hang; log and metrics tell, and so does goddard verify.
func TestBitFlipsInOldFiles(t *testing.T) {
	t.Parallel()
	const count, unit = 600, 20
	for name, running := range map[string]bool{"running": true, "stopped": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := []string{"mappedFileSizeCommitLog=131072", "mappedFileSizeConsumeQueue=4000", "tailCacheBytes=131072", "maxIndexNum=2000", "maxHashSlotNum=500"}
			s := start(t, setup{set: set})
			w := dial(t, s.broker)
			w.createTopic("old", 1)
			var out []outgoing
			for i := range count {
				out = append(out, outgoing{topic: "old", body: append(fmt.Appendf(nil, "message %d ", i), noise(900)...), props: properties(true, "TAGS", "t", "KEYS", "k")})
			}
			places := w.sendAll(out)
			for i, place := range places { // requests of one connection are served in their order
				if place.offset != int64(i) {
					t.Fatalf("message %d came to %d", i, place.offset)
				}
			}
			s.restart() // so that the queue is in its files, and nothing in memory
			if !running {
				s.stop()
			}

			inLog := func(n, at int64) (string, int64) {
				physical := places[n].physical
				return s.logFile(physical / 131072 * 131072), physical%131072 + at
			}
			var lost []int64
			var told []string                                                                    // what the log is to say
			for n, at := range map[int64]int64{20: 0, 23: 5, 60: 33, 63: 87, 100: 300, 103: 9} { // size, magic, place, length of the body, body, checksum
				path, offset := inLog(n, at)
				flip(t, path, offset)
				lost = append(lost, n)
				told = append(told, "file="+path+" offset="+fmt.Sprint(places[n].physical)+" ")
			}
			for _, n := range []int64{200, 250} { // of the queue: the place of one, the size of the other
				path := s.path("consumequeue", "old", "0", fmt.Sprintf("%020d", n*unit/4000*4000))
				at := n*unit%4000 + map[int64]int64{200: 1, 250: 8}[n]
				flip(t, path, at)
				lost = append(lost, n)
			}
			told = append(told, "file="+s.path("consumequeue", "old", "0", fmt.Sprintf("%020d", 4000)))
			flip(t, s.last("index"), 40+50*4+3)
			flip(t, s.last("index"), 40+500*4+20*30+6)

			if !running {
				s.begin()
			}
			check := func() {
				t.Helper()
				w := dial(t, s.broker)
				for _, tags := range []string{"*", "t"} {
					got := w.consume("old", tags)
					for n := range int64(count) {
						if slices.Contains(got, n) == slices.Contains(lost, n) {
							t.Errorf("tags %s: message %d came: %v", tags, n, slices.Contains(got, n))
						}
					}
					if len(got) != count-len(lost) {
						t.Errorf("tags %s: %d messages came", tags, len(got))
					}
				}
				if n := s.metric("goddard_store_damaged_reads_total"); n < float64(len(lost)) {
					t.Errorf("%v damaged reads are counted, %d messages are damaged", n, len(lost))
				}
			}
			check()
			for _, text := range told {
				if !strings.Contains(s.log.String(), text) {
					t.Errorf("the log does not say %q", text)
				}
			}
			if found := dial(t, s.broker).query("old", "k", 64); len(found) > 64 {
				t.Errorf("%d messages by key", len(found))
			}
			s.crash()
			check() // neither a recovery nor a stop makes it worse
			s.restart()
			check()
			s.stop()
			cmd := exec.Command(goddard(t), "verify", s.path(), "-o", "json")
			cmd.Env = environ()
			out2, err := cmd.CombinedOutput()
			if err == nil {
				t.Errorf("goddard verify finds nothing: %s", tail(string(out2), 1000))
			}
			for _, n := range lost[:6] {
				if !strings.Contains(string(out2), fmt.Sprint(places[n].physical)) {
					t.Errorf("goddard verify does not name the message at %d", places[n].physical)
				}
			}
		})
	}
}
