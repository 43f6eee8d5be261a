// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// A disk that is full: sends are refused at once and with the code for it, what was acknowledged stays readable, a
// restart removes nothing, and when there is space again sends are taken without one.
func TestDiskFullAndSpaceAgain(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	set := []string{
		"mappedFileSizeCommitLog=1048576", "preallocateBytes=262144", "mappedFileSizeConsumeQueue=20000",
		"maxHashSlotNum=1000", "maxIndexNum=20000", "cleanResourceInterval=200",
	}
	s := start(t, setup{data: filepath.Join(disk, "data"), set: set})
	const queues = 3
	w := dial(t, s.broker)
	w.createTopic("load", queues)
	w.must(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(protocol.NewSubscriptionGroupConfig("e2e_full")))
	l := newLoadLedger(queues)

	filler := filepath.Join(disk, "filler")
	var made []string // topics whose making was acknowledged
	for round := range 3 {
		// Fill it while messages are sent, so that every write of the store may be the one that does not fit.
		d := &fullDisk{ledger: l}
		var wait sync.WaitGroup
		stop := make(chan struct{})
		for i := range 3 {
			w := dial(t, s.broker)
			wait.Go(func() { d.send(t, w, fmt.Sprintf("%d-%d", round, i), queues, stop) })
		}
		eventually(t, "some sends", func() bool { return d.taken.Load() > 100 })
		fill(t, filler)
		eventually(t, "sends refused", func() bool { return d.refused.Load() > 20 })
		close(stop)
		wait.Wait()

		l.check(t, dial(t, s.broker))
		// Settings and progress go on in memory where they may; what is acknowledged is kept.
		w = dial(t, s.broker)
		if topics := w.topics(); topics["load"] == nil {
			t.Error("the topic is gone")
		}
		if topic := fmt.Sprint("made_on_a_full_disk_", round); w.call(protocol.UpdateAndCreateTopic, topicHeader(topic, 1), nil).Code == 0 {
			made = append(made, topic)
		}
		w.commit("e2e_full", "load", 0, int64(round+1))
		if round == 1 {
			s.crash() // a start on a full disk
			l.checkAll(t, dial(t, s.broker))
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		w = dial(t, s.broker)
		began := time.Now()
		eventually(t, "sends taken again", func() bool {
			body := fmt.Sprintf("again-%d-%d", round, time.Now().UnixNano())
			l.attempt(body)
			place, err := w.trySend(outgoing{topic: "load", body: []byte(body)})
			if err == nil {
				l.acknowledge(place, body)
			}
			return err == nil
		})
		topic := fmt.Sprint("made_later_", round)
		eventually(t, "a topic is made again", func() bool { return w.call(protocol.UpdateAndCreateTopic, topicHeader(topic, 1), nil).Code == 0 })
		made = append(made, topic)
		t.Logf("round %d: %d taken, %d refused, taken again after %v", round, d.taken.Load(), d.refused.Load(), time.Since(began))
	}
	s.crash()
	l.checkAll(t, dial(t, s.broker))
	w = dial(t, s.broker)
	for _, topic := range made {
		if w.topics()[topic] == nil {
			t.Errorf("topic %s was acknowledged and is gone", topic)
		}
	}
	s.restart()
	w = dial(t, s.broker)
	l.checkAll(t, w)
	w.commit("e2e_full", "load", 0, 3)
	s.restart()
	if n := dial(t, s.broker).committed("e2e_full", "load", 0); n != 3 {
		t.Errorf("the group stands at %d, it committed 3", n)
	}
	s.stop()
	s.verify(set)
}

// fullDisk counts what becomes of sends.
type fullDisk struct {
	ledger         *loadLedger
	taken, refused atomic.Int64
}

// send sends one message after another until stop. Each is taken, or refused soon with the code for a store that takes
// nothing now.
func (d *fullDisk) send(t *testing.T, w *wire, name string, queues int32, stop <-chan struct{}) {
	padding := make([]byte, 3000)
	for i := range padding {
		padding[i] = 'x'
	}
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		body := fmt.Sprintf("%s-%d-%s", name, n, padding)
		d.ledger.attempt(body)
		began := time.Now()
		place, err := w.trySend(outgoing{topic: "load", queue: int32(n) % queues, body: []byte(body)})
		took := time.Since(began)
		switch {
		case err == nil:
			d.ledger.acknowledge(place, body)
			d.taken.Add(1)
		case protocol.CodeOf(err) == protocol.ServiceNotAvailable:
			d.refused.Add(1)
		default:
			t.Errorf("on a full disk a send was answered: %v", err)
			return
		}
		if took > 3*time.Second {
			t.Errorf("on a full disk an answer took %v", took)
			return
		}
	}
}

// fill writes a file until nothing more fits.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 64 << 10, 4 << 10} {
		b := make([]byte, size)
		for err = nil; err == nil; {
			_, err = f.Write(b)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}
