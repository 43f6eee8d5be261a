// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// A life is a store from its start to the moment the power goes. What the world knows of it:
type world struct {
	mu    sync.Mutex
	acked map[string]place_ // by body
	sent  map[string]bool
	rng   *rand.Rand
	next  int
}

// place_ is where a message was acknowledged to be.
type place_ struct {
	queue    int32
	offset   int64
	physical int64
}

func newWorld(seed uint64) *world {
	return &world{acked: map[string]place_{}, sent: map[string]bool{}, rng: rand.New(rand.NewPCG(seed, 1))}
}

// ack remembers what a waiter was told.
type ack struct {
	w      *world
	queue  int32
	bodies []string
	done   *sync.WaitGroup
}

func (a *ack) Appended(x *Appended) {
	defer a.done.Done()
	if x.Status != OK {
		return
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	for i, body := range a.bodies {
		p := place_{queue: a.queue, offset: x.QueueOffset + int64(i), physical: x.PhysicalOffset}
		if x.Count > 1 {
			p.physical = x.PhysicalOffsets[i]
		}
		a.w.acked[body] = p
	}
}

func (a *ack) Flush() {}

const crashTopic = "CT"

func (w *world) body() string {
	w.next++
	body := fmt.Sprintf("%d-%s", w.next, strings.Repeat("b", w.rng.IntN(900)))
	w.sent[body] = true
	return body
}

// live appends messages in rounds, until the power is gone.
func (w *world) live(s *Store, rounds int) {
	for range rounds {
		var done sync.WaitGroup
		for range 1 + w.rng.IntN(6) {
			queue := int32(w.rng.IntN(3))
			m := msg(crashTopic, queue, "", message.PropKeys, "k"+strconv.Itoa(w.next%7), message.PropTags, "A")
			var bodies []string
			if w.rng.IntN(4) == 0 {
				m.Batch, m.Properties = true, nil
				for range 1 + w.rng.IntN(4) {
					bodies = append(bodies, w.body())
					m.Body = message.AppendBatchItem(m.Body, message.BatchItem{Body: []byte(bodies[len(bodies)-1]), Properties: []byte("KEYS\x01k" + strconv.Itoa(w.next%7) + "\x02")})
				}
			} else {
				bodies = append(bodies, w.body())
				m.Body = []byte(bodies[0])
			}
			done.Add(1)
			s.Append(m, &ack{w, queue, bodies, &done})
		}
		s.Commit()
		done.Wait()
		if s.log.Err() != nil {
			return
		}
		if w.rng.IntN(10) == 0 {
			s.checkpoint(false)
		}
	}
}

// check compares a store that was just opened with what was acknowledged. all: every acknowledged message must be
// there; otherwise some of the last ones may be missing, as long as nothing is out of order.
func (w *world) check(t *testing.T, s *Store, all bool) {
	t.Helper()
	found := map[string]place_{}
	for queue := range int32(3) {
		low, end := s.QueueRange(crashTopic, queue)
		if low != 0 {
			t.Errorf("queue %d begins at %d", queue, low)
		}
		records := readAll(t, s, crashTopic, queue, 0)
		if int64(len(records)) != end {
			t.Errorf("queue %d: %d messages readable, its end is %d", queue, len(records), end)
		}
		for i, r := range records {
			body := string(r.Body)
			if r.QueueOffset != int64(i) || r.QueueID != queue || message.BodyCRC(r.Body) != r.BodyCRC {
				t.Fatalf("queue %d: at %d is the message of %d/%d, at %d, checksum right: %v", queue, i, r.QueueID, r.QueueOffset, r.PhysicalOffset,
					message.BodyCRC(r.Body) == r.BodyCRC)
			}
			if _, double := found[body]; double || !w.sent[body] {
				t.Fatalf("queue %d: message %.10q at %d was sent %v, found twice %v", queue, body, i, w.sent[body], double)
			}
			found[body] = place_{queue, r.QueueOffset, r.PhysicalOffset}
		}
	}
	missing := 0
	for body, want := range w.acked {
		got, ok := found[body]
		if !ok {
			missing++
			if !all {
				delete(w.acked, body)
			}
			continue
		}
		if got != want {
			t.Errorf("message %.10q was acknowledged at %+v, is at %+v", body, want, got)
		}
	}
	if missing > 0 && all {
		t.Errorf("%d of %d acknowledged messages are missing", missing, len(w.acked))
	}
	for i := range 7 {
		key := "k" + strconv.Itoa(i)
		res, err := s.Query(crashTopic, key, 1000, 0, 1<<62)
		if err != nil {
			t.Fatal(err)
		}
		want := map[int64]bool{}
		for body := range found {
			if strings.Contains(string(mustView(t, s, found[body].physical)), "KEYS\x01"+key+"\x02") {
				want[found[body].physical] = true
			}
		}
		if res.Count != min(len(want), 64) {
			records, _ := message.DecodeAll(res.Records)
			for _, r := range records {
				delete(want, r.PhysicalOffset)
			}
			t.Errorf("key %s: %d messages found, these have it, too: %v", key, res.Count, slices.Sorted(maps.Keys(want)))
		}
	}
	for body := range w.sent { // what did not survive is gone for good
		if _, ok := found[body]; !ok {
			delete(w.sent, body)
		}
	}
}

func mustView(t *testing.T, s *Store, physical int64) []byte {
	t.Helper()
	b, err := s.View(physical)
	if err != nil {
		t.Fatalf("view %d: %v", physical, err)
	}
	return b
}

func crashConfig(flush FlushDiskType) Config {
	cfg := small("/store")
	cfg.Flush = flush
	cfg.LogFileBytes = 16 << 10
	cfg.QueueFileBytes = 16 * 20
	cfg.MaxMessageBytes = 4096
	cfg.Index.Slots, cfg.Index.Entries = 10, 64
	cfg.Files.TailBytes = 64 << 10
	cfg.Files.AheadBytes = 8 << 10
	cfg.Flushing.CheckpointBytes = 64 << 10
	cfg.Flushing.Interval, cfg.Flushing.LeastPages = 1, 0
	return cfg
}

// seeds gives the seeds to try: n, or as many as GODDARD_SEEDS says, or the one in GODDARD_SEED.
func seeds(t *testing.T, n int) []uint64 {
	if many, err := strconv.Atoi(os.Getenv("GODDARD_SEEDS")); err == nil {
		n = many
	}
	if text := os.Getenv("GODDARD_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{seed}
	}
	if testing.Short() {
		n /= 10
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i)
	}
	return all
}

// Whatever the moment the power goes, at work, while opening or while closing: what was acknowledged with sync flush is
// there afterwards, where it was, in order, once.
func TestPowerCuts(t *testing.T) {
	flushTypes(t, func(t *testing.T, flush FlushDiskType) {
		for _, seed := range seeds(t, 60) {
			func() {
				defer func() {
					if t.Failed() {
						t.Logf("seed %d", seed)
					}
				}()
				powerCuts(t, flush, seed)
			}()
			if t.Failed() {
				return
			}
		}
	})
}

func powerCuts(t *testing.T, flush FlushDiskType, seed uint64) {
	w := newWorld(seed)
	cfg := crashConfig(flush)
	disk := faultfs.NewDisk()
	for life := range 4 {
		if w.rng.IntN(8) > 0 {
			disk.CutAt(disk.Ops() + 1 + w.rng.IntN(400))
		}
		s, err := tryOpen(t, cfg, on(disk))
		if err == nil {
			w.live(s, 1+w.rng.IntN(60))
			err = s.Close()
		}
		if err != nil && !errors.Is(err, faultfs.ErrPowerCut) {
			t.Fatalf("life %d: %v", life, err)
		}
		all := flush == SyncFlush || err == nil
		if w.rng.IntN(3) == 0 {
			disk, all = disk.Kill(), true
		} else {
			disk = disk.Survive(w.rng.Uint64())
		}
		s, err = tryOpen(t, cfg, on(disk))
		if err != nil {
			t.Fatalf("life %d: open: %v", life, err)
		}
		w.check(t, s, all)
		if err := s.Close(); err != nil {
			t.Fatalf("life %d: close: %v", life, err)
		}
		if t.Failed() {
			t.Fatalf("life %d", life)
		}
	}
}
