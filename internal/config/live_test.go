// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"errors"
	"strconv"
	"sync"
	"testing"
)

func TestLiveSet(t *testing.T) {
	l := NewLive(defaultTestBroker())
	before := l.Load()
	tests := []struct {
		name, key, value      string
		known, changed, fault bool
	}{
		{name: "another value", key: "defaultTopicQueueNums", value: "4", known: true, changed: true},
		{name: "the value it has", key: "defaultTopicQueueNums", value: " 4 ", known: true},
		{name: "a value that the field cannot take", key: "defaultTopicQueueNums", value: "many", known: true, fault: true},
		{name: "a value that Validate refuses", key: "brokerName", value: "", known: true, fault: true},
		{name: "a key that is none", key: "brokerTitle", value: "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			was := *l.Load()
			known, changed, err := l.Set(tt.key, tt.value)
			if known != tt.known || changed != tt.changed || (err != nil) != tt.fault {
				t.Errorf("Set = %v, %v, %v", known, changed, err)
			}
			if err != nil && was.Name != l.Load().Name {
				t.Error("a refused change was made")
			}
		})
	}
	if before.Queues != 8 || l.Load().Queues != 4 {
		t.Errorf("old snapshot has %d queues, new one %d; want 8 and 4", before.Queues, l.Load().Queues)
	}
}

// What is read at start only must not change under those who have read it: a broker whose listenPort follows a request
// registers an address at which nobody listens.
func TestLiveSetOfWhatIsReadAtStart(t *testing.T) {
	type room struct {
		Port   int32  `rmq:"listenPort,min=0,max=65535,restart"`
		Root   string `rmq:"storePathRootDir,restart"`
		Queues int32  `rmq:"defaultTopicQueueNums"`
	}
	l := NewLive(room{Port: 10911, Root: "store", Queues: 8})
	for _, step := range []struct {
		key, value          string
		changed, fault      bool
		running, configured room
		pending             bool
	}{
		{"listenPort", "12345", true, false, room{10911, "store", 8}, room{12345, "store", 8}, true},
		{"listenPort", " 12345", false, false, room{10911, "store", 8}, room{12345, "store", 8}, true},
		{"listenPort", "70000", false, true, room{10911, "store", 8}, room{12345, "store", 8}, true},
		{"defaultTopicQueueNums", "4", true, false, room{10911, "store", 4}, room{12345, "store", 4}, false},
		{"storePathRootDir", "elsewhere", true, false, room{10911, "store", 4}, room{12345, "elsewhere", 4}, true},
		{"listenPort", "10911", true, false, room{10911, "store", 4}, room{10911, "elsewhere", 4}, false},
	} {
		known, changed, err := l.Set(step.key, step.value)
		if !known || changed != step.changed || (err != nil) != step.fault {
			t.Errorf("%s=%s: %v, %v, %v", step.key, step.value, known, changed, err)
		}
		if *l.Load() != step.running || *l.Configured() != step.configured || l.Pending(step.key) != step.pending {
			t.Errorf("%s=%s: runs with %+v, configured are %+v, pending %v", step.key, step.value, *l.Load(), *l.Configured(), l.Pending(step.key))
		}
	}
	if l.Pending("brokerTitle") {
		t.Error("an unknown key waits for a restart")
	}
}

func TestLiveUpdateIsAllOrNothing(t *testing.T) {
	l := NewLive(defaultTestBroker())
	stop := errors.New("stop")
	err := l.Update(func(next *testBroker) error {
		next.Queues = 1
		return stop
	})
	if !errors.Is(err, stop) || l.Load().Queues != 8 {
		t.Errorf("err %v, queues %d", err, l.Load().Queues)
	}
}

// Two fields that only ever change together are never seen apart, and no change is lost.
func TestLiveConcurrently(t *testing.T) {
	l := NewLive(defaultTestBroker())
	if err := l.Update(func(next *testBroker) error { next.Queues, next.ID = 0, 0; return nil }); err != nil {
		t.Fatal(err)
	}
	const writers, changes = 4, 200
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range changes {
				_ = l.Update(func(next *testBroker) error { next.Queues++; next.ID++; return nil })
			}
		})
		wg.Go(func() {
			for i := range changes {
				if s := l.Load(); int64(s.Queues) != s.ID {
					t.Errorf("saw %d and %d", s.Queues, s.ID)
				}
				_, _, _ = l.Set("listenPort", strconv.Itoa(i))
			}
		})
	}
	wg.Wait()
	if got := l.Load().ID; got != writers*changes {
		t.Errorf("%d changes survived, want %d", got, writers*changes)
	}
}
