// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package delay

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a scheduler over a store in memory, in a bubble of its own time.
type bench struct {
	t    *testing.T
	s    *memoryStore
	path string
	log  strings.Builder

	scheduler *Scheduler
	stop      func()
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, s: newMemoryStore(), path: filepath.Join(t.TempDir(), "delayOffset.json")}
	b.start()
	synctest.Wait() // it runs, and found nothing
	return b
}

// start opens and runs a scheduler; stopNow ends it.
func (b *bench) start() {
	b.t.Helper()
	levels, err := ParseLevels(DefaultLevels)
	if err != nil {
		b.t.Fatal(err)
	}
	b.scheduler, err = Open(Config{
		Path: b.path, Levels: func() Levels { return levels }, Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
		FlushInterval: func() time.Duration { return 10 * time.Second }, VersionStep: func() int64 { return 200 },
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.s.delayOf, b.s.arrived = b.scheduler.Delay, b.scheduler.Arrived
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- b.scheduler.Run(ctx, b.s) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	}
}

func (b *bench) bodies(topic string, queueID int32) string {
	var out []string
	for _, r := range b.s.delivered(topic, queueID) {
		out = append(out, string(r.Body))
	}
	return strings.Join(out, " ")
}

func (b *bench) want(topic string, queueID int32, bodies string) {
	b.t.Helper()
	if got := b.bodies(topic, queueID); got != bodies {
		b.t.Errorf("%s queue %d holds %q, want %q", topic, queueID, got, bodies)
	}
}

func TestDeliveryAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer func() { b.stop() }()
		b.s.stage(1, "T", 3, "one")
		b.s.stage(2, "T", 3, "five")
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		b.want("T", 3, "")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		b.want("T", 3, "one")
		b.s.stage(1, "T", 3, "two")
		time.Sleep(1001 * time.Millisecond)
		synctest.Wait()
		b.want("T", 3, "one two")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		b.want("T", 3, "one two five")

		r := b.s.delivered("T", 3)[0]
		if r.Flag != 7 || r.ReconsumeTimes != 2 {
			t.Errorf("flag %d, reconsumed %d times: not those of the message", r.Flag, r.ReconsumeTimes)
		}
		if v, _ := message.FindProperty(r.Properties, message.PropRealTopic); string(v) != "T" {
			t.Errorf("properties %q are not those of the message", r.Properties)
		}
	})
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.s.stage(1, "T", 0, "before")
		time.Sleep(1500 * time.Millisecond)
		b.s.stage(1, "T", 0, "due while down")
		b.s.stage(3, "T", 0, "due later")
		b.stop()
		b.want("T", 0, "before")

		time.Sleep(2 * time.Second)
		b.start()
		defer func() { b.stop() }()
		time.Sleep(firstDelivery - time.Millisecond)
		synctest.Wait()
		b.want("T", 0, "before")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		b.want("T", 0, "before due while down")
		time.Sleep(7 * time.Second)
		synctest.Wait()
		b.want("T", 0, "before due while down due later")
		if got := string(b.scheduler.Encode()); !strings.Contains(got, `"offsetTable":{1:2,3:1}`) {
			t.Errorf("progress is %s", got)
		}
	})
}

// The file of RocketMQ 5.5.0, which writes integer keys bare, and of 4.9.7, which knows no version.
func TestProgressFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		file, backup string
		offset       int64 // of level 3; -1: refused
	}{
		"5.5.0":              {`{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1796034823574},"offsetTable":{1:4,2:2,3:2,18:2}}`, "", 2},
		"4.9.7":              {"{\n\t\"offsetTable\":{1:4,2:2,3:7\n\t}\n}", "", 7},
		"quoted keys":        {`{"offsetTable":{"3":9}}`, "", 9},
		"none":               {"", "", 0},
		"cut off, backup":    {`{"offsetTable":{3:9`, `{"offsetTable":{3:8}}`, 8},
		"cut off, no backup": {`{"offsetTable":{3:9`, "", -1},
		"negative offset":    {`{"offsetTable":{3:-9}}`, "", -1},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "delayOffset.json")
			for file, text := range map[string]string{path: tt.file, path + ".bak": tt.backup} {
				if text != "" {
					if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			p, _, err := openProgress(path, func() int64 { return 1 })
			if (err != nil) != (tt.offset < 0) {
				t.Fatalf("error %v, want offset %d", err, tt.offset)
			}
			if err == nil && p.offset(3) != tt.offset {
				t.Errorf("offset of level 3 is %d, want %d", p.offset(3), tt.offset)
			}
		})
	}
}

func TestPutFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer func() { b.stop() }()
		tries := 0
		b.s.outcome = func(m *store.Message) store.Status {
			if string(m.Body) == "b" {
				if tries++; tries <= 3 {
					return store.ServiceNotAvailable
				}
			}
			if string(m.Body) == "c" {
				return store.FlushDiskTimeout // stored
			}
			return store.OK
		}
		for _, body := range []string{"a", "b", "c", "d"} {
			b.s.stage(1, "T", 0, body)
		}
		time.Sleep(1200 * time.Millisecond)
		synctest.Wait()
		b.want("T", 0, "a c d")
		if at := b.scheduler.Offset(1); at > 1 {
			t.Errorf("progress %d went past a message that is not stored", at)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		b.want("T", 0, "a c d b")
		if at := b.scheduler.Offset(1); at != 4 {
			t.Errorf("progress %d, want 4", at)
		}
	})
}

func TestEntriesThatCannotBeDelivered(t *testing.T) {
	real := func(topic, queue string) []byte {
		p := message.AppendProperty(nil, message.PropRealTopic, topic)
		return message.AppendProperty(p, message.PropRealQueueID, queue)
	}
	for name, props := range map[string][]byte{
		"no target":           message.AppendProperty(nil, "a", "b"),
		"queue is no number":  real("T", "x"),
		"negative queue":      real("T", "-1"),
		"half message":        real(protocol.TopicTransHalf, "0"),
		"back to the staging": real(protocol.TopicSchedule, "0"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer func() { b.stop() }()
				b.s.stageRaw(1, "bad", props)
				b.s.stage(1, "T", 0, "good")
				time.Sleep(1100 * time.Millisecond)
				synctest.Wait()
				b.want("T", 0, "good")
				if !strings.Contains(b.log.String(), "given up") {
					t.Error("nobody was told")
				}
			})
		})
	}
}

// Entries that say "in an hour" in a level of one second: written before the clock was set back.
func TestAnotherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer func() { b.stop() }()
		b.s.delayOf, b.s.arrived = func(int) time.Duration { return time.Hour }, nil
		for i := range 5 {
			b.s.stage(1, "T", 0, fmt.Sprint(i))
		}
		b.scheduler.Arrived(0)
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		b.want("T", 0, "")
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		b.want("T", 0, "0 1 2 3 4")
	})
}

func TestProgressOutsideTheQueue(t *testing.T) {
	for name, tt := range map[string]struct {
		offset, begin int64
		want          string
	}{
		"beyond the end: the log lost its tail": {9, 0, "new"},
		"below the beginning: old files went":   {0, 2, "2 new"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.scheduler.progress.set(1, tt.offset)
				b.stop()
				b.s.arrived = nil
				for i := range 3 {
					b.s.stage(1, "T", 0, fmt.Sprint(i))
				}
				b.s.begin[store.QueueName{Topic: protocol.TopicSchedule, QueueID: 0}] = tt.begin
				b.start()
				defer func() { b.stop() }()
				synctest.Wait()
				b.s.stage(1, "T", 0, "new")
				time.Sleep(1100 * time.Millisecond)
				synctest.Wait()
				b.want("T", 0, tt.want)
			})
		})
	}
}

// Many messages of one level, due together, are delivered together and in order.
func TestManyDueTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer func() { b.stop() }()
		const n = 3000
		for i := range n {
			b.s.stage(1, "T", 0, fmt.Sprint(i))
		}
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		got := b.s.delivered("T", 0)
		if len(got) != n {
			t.Fatalf("%d delivered, want %d", len(got), n)
		}
		for i, r := range got {
			if string(r.Body) != fmt.Sprint(i) {
				t.Fatalf("message %d is %s", i, r.Body)
			}
		}
	})
}
