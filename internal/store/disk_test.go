// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
)

// soon waits for something that another goroutine brings about.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatalf("it does not happen: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// try appends one message and gives the outcome.
func try(t *testing.T, s *Store, m *Message) Appended {
	t.Helper()
	o := newOutcome()
	s.Append(m, o)
	s.Commit()
	return o.wait(t)
}

// A disk without space refuses messages, says so, serves what it has, and takes messages again when there is space.
// What was refused leaves no trace in the queues.
func TestDiskFullAndFreed(t *testing.T) {
	flushTypes(t, func(t *testing.T, flush FlushDiskType) {
		cfg := small("/store")
		cfg.Flush = flush
		cfg.Retention.MaxUsedPercent, cfg.Retention.CleanForcibly = 95, false
		disk := faultfs.NewDisk()
		s := open(t, cfg, on(disk))
		put(t, s, msg("T", 0, "first"))
		disk.SetRoom(disk.Taken())

		stored, refused := int64(1), 0
		for i := 0; refused < 30; i++ {
			switch a := try(t, s, msg("T", 0, strings.Repeat("b", 2000))); a.Status {
			case OK:
				if stored++; a.QueueOffset != stored-1 {
					t.Fatalf("message %d got offset %d", stored-1, a.QueueOffset)
				}
			case ServiceNotAvailable:
				if refused++; a.Err == nil || !strings.Contains(a.Err.Error(), "disk") && !errors.Is(a.Err, commitlog.ErrNoSpace) {
					t.Fatalf("refused for no reason: %v", a.Err)
				}
			default:
				t.Fatalf("%v: %v", a.Status, a.Err)
			}
			if i > 1000 {
				t.Fatal("the disk never gets full")
			}
		}
		if s.Writable() == nil || s.Info().Writable == nil {
			t.Error("it says it is writable")
		}
		if got := readAll(t, s, "T", 0, 0); int64(len(got)) != stored {
			t.Errorf("%d messages on a full disk, want %d", len(got), stored)
		}
		disk.SetRoom(disk.Taken() * 10)
		soon(t, "messages are accepted again", func() bool { return s.Writable() == nil })
		if a := put(t, s, msg("T", 0, "again"))[0]; a.QueueOffset != stored {
			t.Errorf("the first message after that got offset %d, want %d", a.QueueOffset, stored)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, cfg, on(disk))
		if got := readAll(t, s, "T", 0, 0); int64(len(got)) != stored+1 {
			t.Errorf("%d messages after a restart, want %d", len(got), stored+1)
		}
	})
}

// A store on a disk that others filled opens, serves, deletes nothing: it would be for nothing.
func TestOpenOnFullDisk(t *testing.T) {
	cfg := small("/store")
	disk := faultfs.NewDisk()
	s := open(t, cfg, on(disk))
	for i := range 300 {
		put(t, s, msg("T", 0, fmt.Sprint(i)+strings.Repeat("b", 1000)))
	}
	disk = disk.Kill()
	s.Close()
	foreign, err := disk.Open("/film", os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := foreign.Allocate(0, 30<<20); err != nil {
		t.Fatal(err)
	}
	disk.SetRoom(disk.Taken())
	s = open(t, cfg, on(disk))
	soon(t, "it says that it is full", func() bool { return s.Writable() != nil })
	s.retain(t.Context())
	if got := readAll(t, s, "T", 0, 0); len(got) != 300 {
		t.Errorf("%d messages on a full disk", len(got))
	}
}

// A failed sync is final: nothing is acknowledged any more, whatever later syncs say, and the reason is told.
func TestFailedSyncIsFinal(t *testing.T) {
	for _, kind := range []faultfs.OpKind{faultfs.OpSync, faultfs.OpWrite} {
		t.Run(string(kind), func(t *testing.T) {
			cfg := small("/store")
			disk := faultfs.NewDisk()
			s := open(t, cfg, on(disk))
			put(t, s, msg("T", 0, "safe"))
			var once atomic.Bool
			disk.Fault(func(op faultfs.Op) error {
				if op.Kind == kind && strings.Contains(op.Path, "commitlog") && once.CompareAndSwap(false, true) {
					return syscall.EIO
				}
				return nil
			})
			for i := range 3 {
				a := try(t, s, msg("T", 0, "lost"))
				if a.Status != ServiceNotAvailable || !errors.Is(a.Err, syscall.EIO) {
					t.Errorf("message %d after the failure: %v, %v", i, a.Status, a.Err)
				}
			}
			if err := s.Info().Writable; !errors.Is(err, syscall.EIO) {
				t.Errorf("writable: %v", err)
			}
			if got := readAll(t, s, "T", 0, 0); len(got) != 1 || string(got[0].Body) != "safe" {
				t.Errorf("readable: %d messages", len(got))
			}
			if err := s.Close(); !errors.Is(err, syscall.EIO) {
				t.Errorf("close: %v", err)
			}
			disk = disk.Survive(1)
			s = open(t, cfg, on(disk))
			if got := readAll(t, s, "T", 0, 0); len(got) < 1 || string(got[0].Body) != "safe" {
				t.Errorf("after a restart: %d messages", len(got))
			}
		})
	}
}

// Who waits longer for the disk than the configured time is told so; the message is delivered all the same. A message that
// was not even written must not count as stored.
func TestSyncTimeout(t *testing.T) {
	cfg := small("/store")
	cfg.Flushing.SyncTimeout = 20 * time.Millisecond
	disk := faultfs.NewDisk()
	s := open(t, cfg, on(disk))
	put(t, s, msg("T", 0, "first"))
	hang := make(chan struct{})
	hung := newHangingFS(disk, hang)
	s.Close()
	s = open(t, cfg, on(hung))
	hung.hang.Store(true)
	var all []*outcome
	for range 2 { // the second one waits behind the first one's group
		o := newOutcome()
		all = append(all, o)
		s.Append(msg("T", 0, "late"), o)
		s.Commit()
		soon(t, "the first one's group is being synced", func() bool { return hung.hanging.Load() > 0 })
	}
	for i, o := range all {
		want := []Status{FlushDiskTimeout, UnknownError}[i]
		if a := o.wait(t); a.Status != want || (want == FlushDiskTimeout && a.QueueOffset != 1) {
			t.Errorf("message %d: %+v, want %v", i, a, want)
		}
	}
	if s.Info().Writable != nil {
		t.Error("a slow disk makes the store unwritable")
	}
	hung.hang.Store(false)
	close(hang)
	soon(t, "the messages are readable", func() bool { _, end := s.QueueRange("T", 0); return end == 3 })
	if a := try(t, s, msg("T", 0, "next")); a.Status != OK || a.QueueOffset != 3 {
		t.Errorf("afterwards: %+v", a)
	}
}

// hangingFS is a Disk whose log files do not finish a sync while hang is set.
type hangingFS struct {
	*faultfs.Disk
	hang    atomic.Bool
	hanging atomic.Int32 // syncs that hang now
	release chan struct{}
}

func newHangingFS(d *faultfs.Disk, release chan struct{}) *hangingFS {
	return &hangingFS{Disk: d, release: release}
}

func (h *hangingFS) Open(name string, flag int) (faultfs.File, error) {
	f, err := h.Disk.Open(name, flag)
	if err != nil || !strings.Contains(name, "commitlog") {
		return f, err
	}
	return &hangingFile{f, h}, nil
}

type hangingFile struct {
	faultfs.File
	h *hangingFS
}

func (f *hangingFile) Datasync() error {
	if f.h.hang.Load() {
		f.h.hanging.Add(1)
		<-f.h.release
		f.h.hanging.Add(-1)
	}
	return f.File.Datasync()
}

// More than may wait is refused as busy at once.
func TestBusy(t *testing.T) {
	cfg := small("/store")
	cfg.LogFileBytes = 1 << 20
	cfg.Files.PendingBytes = 64 << 10
	hung := newHangingFS(faultfs.NewDisk(), make(chan struct{}))
	s := open(t, cfg, on(hung))
	hung.hang.Store(true)
	var all []*outcome
	busy := 0
	for range 400 {
		o := newOutcome()
		s.Append(msg("T", 0, strings.Repeat("b", 1000)), o)
		s.Commit()
		select {
		case <-o.flushed:
			if o.told.Status != Busy || !errors.Is(o.told.Err, commitlog.ErrBusy) {
				t.Fatalf("%v: %v", o.told.Status, o.told.Err)
			}
			busy++
		default:
			all = append(all, o)
		}
	}
	if busy == 0 || len(all) < 50 {
		t.Errorf("%d of 400 refused, %d accepted", busy, len(all))
	}
	hung.hang.Store(false)
	close(hung.release)
	for i, o := range all {
		if a := o.wait(t); a.Status != OK || a.QueueOffset != int64(i) {
			t.Fatalf("message %d: %+v", i, a)
		}
	}
}
