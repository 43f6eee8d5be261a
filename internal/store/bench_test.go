// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
)

// counting is a waiter that only counts.
type counting struct{ done, failed atomic.Int64 }

func (c *counting) Appended(a *Appended) {
	if a.Status != OK {
		c.failed.Add(1)
	}
	c.done.Add(1)
}

func (c *counting) Flush() {}

func (c *counting) await(n int64) {
	for c.done.Load() < n {
		pauseBriefly()
	}
}

func benchConfig(b *testing.B, flush FlushDiskType) Config {
	cfg := DefaultConfig()
	cfg.Root = b.TempDir()
	cfg.Flush = flush
	cfg.LogFileBytes = 256 << 20
	return cfg
}

// benchMessages are messages of 1 KiB as a client sends them, to as many queues.
func benchMessages(queues int) []*Message {
	body := strings.Repeat("x", 1024)
	var all []*Message
	for q := range queues {
		all = append(all, msg("BenchmarkTopic", int32(q), body, message.PropUniqueKey, fmt.Sprintf("7F00000100002A9F0000000%09d", q),
			"WAIT", "true", message.PropTags, "TagA", message.PropKeys, fmt.Sprintf("key%d", q), "CLUSTER", "DefaultCluster", "MSG_REGION", "DefaultRegion", "TRACE_ON", "true"))
	}
	return all
}

// BenchmarkAppend measures an append with its share of the write, dispatch and index; the raw pwrite of as many bytes
// is measured beside it.
func BenchmarkAppend(b *testing.B) {
	for _, flush := range []FlushDiskType{AsyncFlush, SyncFlush} {
		for _, batch := range []int{1, 32} {
			for _, index := range []bool{false, true} {
				if flush == SyncFlush && batch == 1 {
					continue
				}
				b.Run(fmt.Sprintf("%s/batch=%d/index=%t", flush, batch, index), func(b *testing.B) {
					cfg := benchConfig(b, flush)
					cfg.Index.Enable = index
					s := open(b, cfg)
					messages := benchMessages(8)
					var c counting
					b.ReportAllocs()
					b.SetBytes(1024)
					b.ResetTimer()
					for i := range b.N {
						s.Append(messages[i%len(messages)], &c)
						if i%batch == batch-1 {
							s.Commit()
							c.await(int64(i) - 4096)
						}
					}
					s.Commit()
					c.await(int64(b.N))
					b.StopTimer()
					if c.failed.Load() > 0 {
						b.Fatalf("%d appends failed", c.failed.Load())
					}
				})
			}
		}
	}
}

func BenchmarkAppendParallel(b *testing.B) {
	for _, flush := range []FlushDiskType{AsyncFlush, SyncFlush} {
		b.Run(string(flush), func(b *testing.B) {
			s := open(b, benchConfig(b, flush))
			b.ReportAllocs()
			b.SetBytes(1024)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				messages := benchMessages(8)
				var c counting
				n := 0
				for pb.Next() {
					s.Append(messages[n%len(messages)], &c)
					if n++; n%32 == 0 {
						s.Commit()
						c.await(int64(n) - 1024)
					}
				}
				s.Commit()
				c.await(int64(n))
			})
		})
	}
}

// BenchmarkRawWrite writes records of the same size to new blocks of a file: what the disk's page cache takes by itself.
func BenchmarkRawWrite(b *testing.B) {
	for _, batch := range []int{1, 32} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			const room = 256 << 20
			f, err := faultfs.OS.Open(filepath.Join(b.TempDir(), "raw"), os.O_RDWR|os.O_CREATE)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			chunk := make([]byte, 1300*batch)
			b.SetBytes(1024)
			at := int64(room)
			for i := 0; i < b.N; i += batch {
				if at+int64(len(chunk)) > room {
					b.StopTimer()
					f.Truncate(0)
					f.Truncate(room)
					f.Allocate(0, room)
					at = 0
					b.StartTimer()
				}
				f.WriteAt(chunk, at)
				at += int64(len(chunk))
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, queues := range []int{1, 8} {
		b.Run(fmt.Sprintf("hot/queues=%d", queues), func(b *testing.B) { benchRead(b, queues, 32<<20) })
		if queues > 1 {
			continue // records of one queue lie too far apart for one read of a file to bring 32
		}
		b.Run(fmt.Sprintf("page-cache/queues=%d", queues), func(b *testing.B) { benchRead(b, queues, 0) })
	}
}

// benchRead reads 32 messages at a time; an operation is one message.
func benchRead(b *testing.B, queues int, tail int64) {
	cfg := benchConfig(b, AsyncFlush)
	cfg.Files.TailBytes = tail
	s := open(b, cfg)
	messages := benchMessages(queues)
	const each = 1600
	var c counting
	for range each {
		for _, m := range messages {
			s.Append(m, &c)
		}
		s.Commit()
	}
	dst := make([]byte, 0, 256<<10)
	b.ReportAllocs()
	b.ResetTimer()
	offset, queue := int64(0), int32(0)
	for i := 0; i < b.N; i += 32 {
		_, res := s.Read(dst[:0], &ReadRequest{Topic: "BenchmarkTopic", QueueID: queue, Offset: offset, MaxCount: 32})
		if res.Status != Found || res.Count != 32 {
			b.Fatalf("%+v", res)
		}
		if offset = res.Next; offset == each {
			offset, queue = 0, (queue+1)%int32(queues)
		}
	}
}

// waitingOne lets a goroutine wait for its own append.
type waitingOne chan Status

func (w waitingOne) Appended(a *Appended) { w <- a.Status }
func (w waitingOne) Flush()               {}

// BenchmarkSyncOneByOne measures senders that each wait for their message to be on disk before they send the next, and
// beside it as many that write to a plain file and wait for a group fdatasync.
func BenchmarkSyncOneByOne(b *testing.B) {
	for _, senders := range []int{1, 20, 150} {
		b.Run(fmt.Sprintf("store/senders=%d", senders), func(b *testing.B) {
			s := open(b, benchConfig(b, SyncFlush))
			messages := benchMessages(8)
			eachSender(b, senders, func(i int) func() {
				w := make(waitingOne, 1)
				return func() {
					s.Append(messages[i%len(messages)], w)
					s.Commit()
					if status := <-w; status != OK {
						b.Error(status)
					}
				}
			})
		})
		b.Run(fmt.Sprintf("plain/senders=%d", senders), func(b *testing.B) {
			f, err := faultfs.OS.Open(filepath.Join(b.TempDir(), "raw"), os.O_RDWR|os.O_CREATE)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var mu sync.Mutex
			var waiting []chan struct{}
			pos := int64(0)
			kick := make(chan struct{}, 1)
			go func() {
				for range kick {
					mu.Lock()
					group := waiting
					waiting = nil
					mu.Unlock()
					if len(group) == 0 {
						continue
					}
					f.Datasync()
					for _, w := range group {
						w <- struct{}{}
					}
				}
			}()
			defer close(kick)
			record := make([]byte, 1300)
			eachSender(b, senders, func(int) func() {
				w := make(chan struct{}, 1)
				return func() {
					mu.Lock()
					f.WriteAt(record, pos)
					pos += int64(len(record))
					waiting = append(waiting, w)
					mu.Unlock()
					select {
					case kick <- struct{}{}:
					default:
					}
					<-w
				}
			})
		})
	}
}

// eachSender runs b.N sends on some goroutines.
func eachSender(b *testing.B, senders int, sender func(i int) func()) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range senders {
		send := sender(i)
		all.Go(func() {
			for left.Add(-1) >= 0 {
				send()
			}
		})
	}
	all.Wait()
	b.StopTimer()
}

// BenchmarkRetainQueues is a round of cleaning with 20,000 queues that have messages: of topics that keep them as long
// as the log, of some that keep them for an hour and lost nothing since the round before, and of some whose messages
// went: a minute's worth of each.
func BenchmarkRetainQueues(b *testing.B) {
	const topics, queues = 200, 100
	for _, c := range []struct {
		name string
		own  int           // topics with a time of their own
		step time.Duration // between rounds
	}{{"none", 0, 10 * time.Second}, {"still", topics, 0}, {"moving", topics, time.Minute}} {
		b.Run(c.name, func(b *testing.B) {
			cfg := DefaultConfig()
			cfg.Root, cfg.Flush = "/store", AsyncFlush
			cfg.LogFileBytes, cfg.QueueFileBytes = 64<<20, 100*20
			cfg.Index.Enable = false
			cfg.Retention.Interval = time.Hour
			clock := newHandClock()
			own := map[string]time.Duration{}
			for t := range c.own {
				own["T"+strconv.Itoa(t)] = time.Hour
			}
			s := open(b, cfg, on(faultfs.NewDisk()), by(clock), func(d *Deps) { d.Reserved = func() map[string]time.Duration { return own } })
			for minute := range 10 {
				for t := range topics {
					for q := range queues {
						m := msg("T"+strconv.Itoa(t), int32(q), "x")
						m.NoWait = true
						s.Append(m, newOutcome())
					}
					s.Commit()
				}
				if minute < 9 {
					clock.pass(time.Minute)
				}
			}
			s.log.Drain()
			clock.pass(50 * time.Minute)
			s.retain(b.Context())
			for b.Loop() {
				clock.pass(c.step)
				s.retain(b.Context())
			}
		})
	}
}
