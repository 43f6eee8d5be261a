// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"os"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

func openedCheckpoint(t testing.TB, disk *faultfs.Disk) *checkpoint {
	t.Helper()
	c, err := openCheckpoint(disk, "/store/checkpoint", "/store")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checkpointDisk() *faultfs.Disk {
	disk := faultfs.NewDisk()
	disk.MkdirAll("/store")
	disk.SyncAll("/")
	return disk
}

func TestCheckpointFile(t *testing.T) {
	disk := checkpointDisk()
	c := openedCheckpoint(t, disk)
	if c.mark != (mark{}) || c.foreign != (foreign{}) {
		t.Errorf("a new one holds %+v %+v", c.mark, c.foreign)
	}
	f := foreign{1, 2, 3, 4, 5, 6}
	m := mark{Clean: true, Dispatched: 7, ScanFrom: 8, Flushed: 9, Queues: 10, Units: 11, IndexPos: 12,
		Index: keyindex.Position{File: 13, Header: keyindex.Header{BeginTime: 14, EndTime: 15, BeginPhysical: 16, EndPhysical: 17, Slots: 18, Count: 19}}}
	if err := c.write(f, m); err != nil {
		t.Fatal(err)
	}
	m.Number = 1
	if c = openedCheckpoint(t, disk); c.mark != m || c.foreign != f {
		t.Errorf("read back %+v %+v", c.mark, c.foreign)
	}
	// What a Java broker writes makes the marks worthless, until there are new ones.
	if _, err := c.file.WriteAt([]byte{0xFF}, 7); err != nil {
		t.Fatal(err)
	}
	if c = openedCheckpoint(t, disk); c.mark.Number != 0 || c.foreign.LogTime != 0xFF {
		t.Errorf("after a Java broker %+v %+v", c.mark, c.foreign)
	}
	if err := c.writeBoth(c.foreign, mark{Dispatched: 20}); err != nil {
		t.Fatal(err)
	}
	if c = openedCheckpoint(t, disk); c.mark.Dispatched != 20 || c.foreign.LogTime != 0xFF {
		t.Errorf("then %+v %+v", c.mark, c.foreign)
	}
}

// Whenever the power goes, one of the marks counts: the last durable one, or one written after it.
func TestCheckpointSurvives(t *testing.T) {
	for seed := range uint64(300) {
		disk := checkpointDisk()
		c := openedCheckpoint(t, disk)
		if err := c.writeBoth(foreign{LogTime: 1}, mark{Dispatched: 1}); err != nil {
			t.Fatal(err)
		}
		disk.CutAt(disk.Ops() + 1 + int(seed%25))
		durable, last := int64(1), int64(1)
		for i := int64(2); i < 20; i++ {
			var err error
			last = i
			if i%3 == 0 {
				if err = c.write(foreign{LogTime: i}, mark{Dispatched: i}); err == nil {
					durable = i
				}
			} else {
				err = c.note(mark{Dispatched: i})
			}
			if err != nil {
				break
			}
		}
		c = openedCheckpoint(t, disk.Survive(seed))
		if c.mark.Dispatched < durable || c.mark.Dispatched > last {
			t.Fatalf("seed %d: mark %d, durable was %d, the last one written %d", seed, c.mark.Dispatched, durable, last)
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	m := mark{Number: 3, Dispatched: 7}
	good := m.append(nil, &foreign{})
	f.Add(good, int64(1024))
	f.Add([]byte{1}, int64(0))
	f.Fuzz(func(t *testing.T, content []byte, at int64) {
		disk := checkpointDisk()
		file, err := disk.Open("/store/checkpoint", os.O_RDWR|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		file.WriteAt(content, max(at%checkpointSize, 0))
		c := openedCheckpoint(t, disk)
		if err := c.write(c.foreign, mark{Dispatched: 5}); err != nil {
			t.Fatal(err)
		}
		if again := openedCheckpoint(t, disk); again.mark.Dispatched != 5 && again.mark.Number <= c.mark.Number {
			t.Fatalf("wrote %+v, read %+v", c.mark, again.mark)
		}
	})
}

// With enabledAppendPropCRC each record ends in a seal, whatever it was sent with, and forceVerifyPropCRC finds it right.
func TestSealedStore(t *testing.T) {
	cfg := small("/store")
	cfg.Recovery.AppendSeal, cfg.Recovery.CheckSeal = true, true
	disk := faultfs.NewDisk()
	s := open(t, cfg, on(disk))
	unfinished := msg("T", 0, "unfinished")
	unfinished.Properties = []byte("KEYS\x01k")
	put(t, s, msg("T", 0, "plain", message.PropKeys, "k"), unfinished, msg("T", 0, "none"), batchOf("T", 0, 3, "batch", message.PropTags, "A"))
	again := msg("T", 0, "sealed before")
	again.Properties = append([]byte(nil), readAll(t, s, "T", 0, 0)[0].Properties...)
	put(t, s, again)
	disk = disk.Kill()
	s.Close()
	s = open(t, cfg, on(disk))
	got := readAll(t, s, "T", 0, 0)
	if len(got) != 7 {
		t.Fatalf("%d messages", len(got))
	}
	for _, r := range got {
		p := message.ParseProperties(r.Properties)
		if len(p["__CRC32#"]) != 10 || string(r.Body) != "none" && string(r.Body) != "batch" && p[message.PropKeys] != "k" {
			t.Errorf("%s: %v", r.Body, fmt.Sprint(p))
		}
	}
}
