// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/broker"
	"github.com/goddard-mq/goddard/internal/testcluster"
)

// lines is a log that tests read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The handler panics on one message of ten: the process lives, the message comes again with one attempt behind it, the others come
// once, and a line in the log has the stack.
func TestHandlerPanics(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		t.Run(fmt.Sprint(concurrency, " at a time"), func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Config{Broker: func(b *broker.Config) { b.Send.DelayLevels = "1s 1s 1s 1s" }})
			p := producer(t, c)
			for i := range 10 {
				send(t, p, &client.Message{Topic: "Panics", Body: fmt.Append(nil, i)})
			}
			var log lines
			s := newSeen()
			s.fail = func(m *client.Received) error {
				if string(m.Body) == "3" && m.Attempts == 0 {
					panicOnPurpose()
				}
				if want := map[string]int{"3": 1}[string(m.Body)]; m.Attempts != want {
					t.Errorf("message %s has %d attempts behind it, want %d", m.Body, m.Attempts, want)
				}
				return nil
			}
			consumer(t, c, "PanicGroup", "Panics", s.handler(""), client.Concurrency(concurrency), client.Logger(slog.New(slog.NewTextHandler(&log, nil))))
			want := map[string]int{}
			for i := range 10 {
				want[fmt.Sprint(i)] = 1
			}
			want["3"] = 2
			await(t, "ten messages, one of them twice", func() bool { return maps.Equal(s.counts(), want) })
			if text := log.String(); !strings.Contains(text, "handler panicked") || !strings.Contains(text, "panicOnPurpose") {
				t.Errorf("the log has no stack of the panic: %s", text)
			}
		})
	}
}

func panicOnPurpose() { panic("on purpose") }

// A consumer stops while a hundred messages are in handlers, five times over. When it waits for them nothing comes twice; when it
// does not, what was in handlers does, and no more; never is a message sent back because of the stop.
func TestStopWhileHandlersRun(t *testing.T) {
	for _, waits := range []bool{true, false} {
		t.Run(fmt.Sprintf("it waits for them: %t", waits), func(t *testing.T) {
			t.Parallel()
			const inHandlers, stops = 100, 5
			c := testcluster.Start(t, testcluster.Config{})
			p := producer(t, c)
			var sent []string
			for i := range inHandlers * (stops + 2) {
				body := fmt.Sprint("m", i)
				send(t, p, &client.Message{Topic: "Stops", Body: []byte(body)})
				sent = append(sent, body)
			}
			s := newSeen()
			for range stops {
				var running atomic.Int64
				full, release := make(chan struct{}), make(chan struct{})
				m := consumer(t, c, "StopGroup", "Stops", func(ctx context.Context, r *client.Received) error {
					if r.Attempts > 0 {
						t.Errorf("%s came back from the retry topic", r.Body)
					}
					if running.Add(1) == inHandlers {
						close(full)
					}
					select {
					case <-release:
					case <-ctx.Done():
						return ctx.Err()
					}
					return s.handler("")(ctx, r)
				}, client.Concurrency(inHandlers), client.DrainTimeout(map[bool]time.Duration{true: 20 * time.Second, false: time.Millisecond}[waits]))
				<-full
				if waits {
					time.AfterFunc(20*time.Millisecond, func() { close(release) }) // Close has begun by then, or begins with fewer to wait for
				}
				if err := m.Close(); (err == nil) != waits {
					t.Errorf("Close: %v", err)
				}
				if !waits {
					close(release)
				}
			}
			consumer(t, c, "StopGroup", "Stops", s.handler(""))
			missing := func() []string {
				got := s.counts()
				return slices.DeleteFunc(slices.Clone(sent), func(b string) bool { return got[b] > 0 })
			}
			await(t, "all messages", func() bool { return len(missing()) == 0 })
			repeats := 0
			for _, n := range s.counts() {
				repeats += n - 1
			}
			if most := map[bool]int{true: 0, false: inHandlers * stops}[waits]; repeats > most {
				t.Errorf("%d messages came again, %d at most may", repeats, most)
			}
			if got := readAll(t, c, "%RETRY%StopGroup"); len(got) > 0 {
				t.Errorf("%d messages were sent back", len(got))
			}
		})
	}
}

// Tags whose hashes collide, or are the smallest integer, are told apart.
func TestConsumerFiltersByExactTags(t *testing.T) {
	const smallest = "polygenelubricants" // its hash is -2147483648
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	for _, tag := range []string{"Aa", "BB", smallest, "Aa", "BB", "other"} {
		send(t, p, &client.Message{Topic: "Hashes", Tag: tag, Body: []byte(tag)})
	}
	for tag, want := range map[string]map[string]int{
		"Aa": {"Aa": 2}, "BB": {"BB": 2}, smallest: {smallest: 1}, "Aa || " + smallest: {"Aa": 2, smallest: 1},
	} {
		s := newSeen()
		consumer(t, c, "G"+strings.NewReplacer(" ", "", "|", "_").Replace(tag), "Hashes", s.handler(""), client.Subscribe("Hashes", client.Tags(tag)))
		await(t, "messages with "+tag, func() bool { return maps.Equal(s.counts(), want) })
	}
}
