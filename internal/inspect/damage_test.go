// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// finding is what a test looks for: its place to the byte, and words of what it says.
type finding struct {
	severity Severity
	part     string
	file     string
	offset   int64
	words    string
}

func wantFinding(t *testing.T, r *Report, want finding) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Severity == want.severity && f.Part == want.part && f.File == want.file && f.Offset == want.offset && strings.Contains(f.What, want.words) {
			if f.Remedy == "" {
				t.Errorf("no remedy: %s", jsonOf(t, f))
			}
			return
		}
	}
	t.Errorf("not found: %+v, but", want)
	for _, f := range r.Findings {
		t.Log(jsonOf(t, f))
	}
}

func be64(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
func be32(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

// Each damage is found with its place, and nothing else is called wrong.
func TestDamageIsFound(t *testing.T) {
	pristine := writeStore(t)
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string) []finding
		counts Counts
	}{
		"a byte of a body differs": {func(t *testing.T, dir string) []finding {
			rec := recordOf(t, dir, "Orders", 1, 7)
			flip(t, rec.path, rec.at+88)
			return []finding{{Damaged, PartLog, rec.path, rec.at, "the checksum of the body differs: message 7 of topic Orders, queue 1"}}
		}, Counts{Damaged: 1}},
		"a record's size is wrong": {func(t *testing.T, dir string) []finding {
			rec := recordOf(t, dir, "Orders", 1, 7)
			overwrite(t, rec.path, rec.at, be32(rec.size+1))
			u := unitOf(t, dir, "Orders", 1, 7)
			return []finding{
				{Damaged, PartLog, rec.path, rec.at, "no record in"},
				{Note, PartQueue, u.path, u.at, "damaged part of the log"},
			}
		}, Counts{Damaged: 1, Notes: 1}},
		"a record says it lies elsewhere": {func(t *testing.T, dir string) []finding {
			rec := recordOf(t, dir, "Orders", 1, 7)
			overwrite(t, rec.path, rec.at+28, be64(rec.physical+1))
			return []finding{{Damaged, PartLog, rec.path, rec.at, "it says it lies at"}}
		}, Counts{Damaged: 1, Notes: 1}},
		"a page of the log is zero": {func(t *testing.T, dir string) []finding {
			rec := recordOf(t, dir, "Orders", 1, 40)
			overwrite(t, rec.path, rec.at, make([]byte, 600))
			return []finding{{Damaged, PartLog, rec.path, rec.at, "bytes are zero, others follow"}}
		}, Counts{Damaged: 1, Notes: -1}},
		"a record names another topic": {func(t *testing.T, dir string) []finding {
			rec := recordOf(t, dir, "Logs", 0, 9)
			b := onDisk(t, rec.path, rec.at, int(rec.size))
			at := rec.at + int64(strings.Index(string(b), "\x04Logs")) + 1
			overwrite(t, rec.path, at, []byte("Dogs"))
			u := unitOf(t, dir, "Logs", 0, 9)
			return []finding{{Derived, PartQueue, u.path, u.at, "where message 9 of topic Dogs, queue 0 lies"}}
		}, Counts{Derived: 3}}, // its keys are those of another topic, too
		"a file of the log is missing": {func(t *testing.T, dir string) []finding {
			gone := filepath.Join(dir, "commitlog", "00000000000000032768")
			if err := os.Remove(gone); err != nil {
				t.Fatal(err)
			}
			return []finding{{Damaged, PartLog, filepath.Join(dir, "commitlog"), 0, "a broker does not start like this"}}
		}, Counts{Damaged: 1, Notes: -1}},
		"the log's tail is cut": {func(t *testing.T, dir string) []finding {
			last := recordOf(t, dir, "Logs", 0, 119)
			if err := os.Truncate(last.path, last.at+20); err != nil {
				t.Fatal(err)
			}
			u := unitOf(t, dir, "Logs", 0, 119)
			return []finding{
				{Damaged, PartLog, last.path, last.at, "no record in"},
				{Note, PartLog, last.path, last.at + 20, "others have 32768"},
				{Note, PartQueue, u.path, u.at, "damaged part of the log"},
			}
		}, Counts{Damaged: 1, Notes: 2}},
		"the log's end is gone, nobody knows how far it was durable": {func(t *testing.T, dir string) []finding {
			remove(t, filepath.Join(dir, "checkpoint"))
			last := recordOf(t, dir, "Orders", 1, 119)
			overwrite(t, last.path, last.at, make([]byte, 1000))
			return []finding{
				{Damaged, PartLog, last.path, last.at, "the log ends here (nothing is written here), but 2 units in 2 queues point at messages behind"},
			}
		}, Counts{Damaged: 1, Derived: 1, Notes: 1}}, // the index leads there, too
		"a unit is zero": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 60)
			overwrite(t, u.path, u.at, make([]byte, 20))
			return []finding{{Derived, PartQueue, u.path, 10 * 20, "nothing is written here, but the log has this message"}}
		}, Counts{Derived: 1}},
		"a unit has a wrong size": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 61)
			overwrite(t, u.path, u.at+8, be32(u.size-1))
			return []finding{{Derived, PartQueue, u.path, u.at, "the record has"}}
		}, Counts{Derived: 1}},
		"a unit points elsewhere": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 3)
			overwrite(t, u.path, u.at, be64(u.physical+5))
			return []finding{{Derived, PartQueue, u.path, u.at, "the message lies at"}}
		}, Counts{Derived: 1}},
		"a unit has another tags code": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 3)
			flip(t, u.path, u.at+19)
			return []finding{{Derived, PartQueue, u.path, u.at, "tags code"}}
		}, Counts{Derived: 1}},
		"a delayed message is due at another time": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "SCHEDULE_TOPIC_XXXX", 2, 4)
			flip(t, u.path, u.at+17)
			return []finding{{Derived, PartQueue, u.path, u.at, "it is due at"}}
		}, Counts{Derived: 1}},
		"two units changed places": {func(t *testing.T, dir string) []finding {
			a, b := unitOf(t, dir, "Orders", 0, 10), unitOf(t, dir, "Orders", 0, 11)
			first, second := onDisk(t, a.path, a.at, 20), onDisk(t, b.path, b.at, 20)
			overwrite(t, a.path, a.at, second)
			overwrite(t, b.path, b.at, first)
			return []finding{{Derived, PartQueue, a.path, a.at, "it points at"}}
		}, Counts{Derived: 1}}, // a row of two
		"a unit too many": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 119)
			overwrite(t, u.path, u.at+20, append(be64(1<<40), append(be32(100), be64(0)...)...))
			return []finding{{Derived, PartQueue, u.path, u.at + 20, "behind the end of the log"}}
		}, Counts{Derived: 1, Notes: 1}},
		"a batch unit is zero": {func(t *testing.T, dir string) []finding {
			u := batchUnitOf(t, dir, 7)
			overwrite(t, u.path, u.at, make([]byte, 46))
			return []finding{{Derived, PartQueue, u.path, u.at, "the message lies at"}}
		}, Counts{Derived: 1}},
		"a batch unit has another number of messages": {func(t *testing.T, dir string) []finding {
			u := batchUnitOf(t, dir, 27)
			overwrite(t, u.path, u.at+37, []byte{4})
			return []finding{{Derived, PartQueue, u.path, u.at, "4 messages from"}}
		}, Counts{Derived: 1}},
		"a batch unit points behind all others": {func(t *testing.T, dir string) []finding {
			u := batchUnitOf(t, dir, 7)
			overwrite(t, u.path, u.at, be64(1<<40))
			return []finding{{Derived, PartQueue, u.path, u.at, "the message lies at"}}
		}, Counts{Derived: 1}},
		"the last file of a batch queue is missing": {func(t *testing.T, dir string) []finding {
			u := batchUnitOf(t, dir, 20)
			remove(t, u.path)
			return []finding{{Derived, PartQueue, u.path, 0, "the queue ends before, but the log has these messages"}}
		}, Counts{Derived: 1, Notes: 1}},
		"settings deny a topic's batch queues": {func(t *testing.T, dir string) []finding {
			writeConfig(t, dir, "topics.json", `{"topicConfigTable":{"Orders":{},"Logs":{},"SCHEDULE_TOPIC_XXXX":{},"Batches":{}}}`)
			return []finding{{Damaged, PartQueue, filepath.Join(dir, "batchconsumequeue", "Batches", "0"), 0, "denies queues of this kind"}}
		}, Counts{Damaged: 1}},
		"the first file of a queue is missing": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 0)
			remove(t, u.path)
			return []finding{{Derived, PartQueue, u.path, 0, "the queue begins later, but the log has these messages"}}
		}, Counts{Derived: 1, Notes: 1}},
		"a file in the middle of a queue is missing": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 50)
			remove(t, u.path)
			return []finding{{Derived, PartQueue, u.path, 0, "nothing is written here, but the log has these messages"}}
		}, Counts{Derived: 2}},
		"the last file of a queue is missing": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 119)
			remove(t, u.path)
			return []finding{{Derived, PartQueue, u.path, 0, "the queue ends before, but the log has these messages"}}
		}, Counts{Derived: 1, Notes: 1}},
		"a queue is missing": {func(t *testing.T, dir string) []finding {
			if err := os.RemoveAll(filepath.Join(dir, "consumequeue", "Orders", "0")); err != nil {
				t.Fatal(err)
			}
			return []finding{{Derived, PartQueue, filepath.Join(dir, "consumequeue", "Orders", "0"), 0, "the queue has no folder"}}
		}, Counts{Derived: 1, Notes: 1}},
		"a file of a queue is cut": {func(t *testing.T, dir string) []finding {
			u := unitOf(t, dir, "Orders", 0, 10)
			if err := os.Truncate(u.path, 110); err != nil {
				t.Fatal(err)
			}
			return []finding{
				{Derived, PartQueue, u.path, 110, "it has 110 bytes"},
				{Derived, PartQueue, u.path, 5 * 20, "nothing is written here, but the log has these messages"},
			}
		}, Counts{Derived: 2}},
		"an index entry leads nowhere": {func(t *testing.T, dir string) []finding {
			file := firstIndexFile(t, dir)
			at := int64(40 + 4*indexSlots + 20*7)
			overwrite(t, file, at+4, be64(1<<40))
			return []finding{{Derived, PartIndex, file, at, "entry 7: it leads to"}}
		}, Counts{Derived: 2}}, // and a message lacks a key
		"an index entry has another hash": {func(t *testing.T, dir string) []finding {
			file := firstIndexFile(t, dir)
			at := int64(40 + 4*indexSlots + 20*7)
			flip(t, file, at+3)
			return []finding{{Derived, PartIndex, file, at, "which has no key of this hash"}}
		}, Counts{Derived: -1}},
		"an index entry has another time": {func(t *testing.T, dir string) []finding {
			file := firstIndexFile(t, dir)
			at := int64(40 + 4*indexSlots + 20*7)
			overwrite(t, file, at+12, be32(77777))
			return []finding{{Derived, PartIndex, file, at, "77777 s behind the begin"}}
		}, Counts{Derived: 1}},
		"a link between index entries is broken": {func(t *testing.T, dir string) []finding {
			file := firstIndexFile(t, dir)
			at := int64(40 + 4*indexSlots + 20*150)
			overwrite(t, file, at+16, be32(149))
			return []finding{{Derived, PartIndex, file, at, "it names 149"}}
		}, Counts{Derived: 1}},
		"a slot of the index is zero": {func(t *testing.T, dir string) []finding {
			file := firstIndexFile(t, dir)
			slot := int64(0)
			for binary.BigEndian.Uint32(onDisk(t, file, 40+4*slot, 4)) == 0 {
				slot++
			}
			overwrite(t, file, 40+4*slot, be32(0))
			return []finding{{Derived, PartIndex, file, 40 + 4*slot, "it names entry 0"}}
		}, Counts{Derived: 1}},
		"the index is missing": {func(t *testing.T, dir string) []finding {
			if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
				t.Fatal(err)
			}
			return []finding{{Derived, PartIndex, filepath.Join(dir, "index"), 0, "messages with keys are not in it"}}
		}, Counts{Derived: 1}},
		"an index file in the middle is missing": {func(t *testing.T, dir string) []finding {
			remove(t, firstIndexFile(t, dir))
			return []finding{{Derived, PartIndex, filepath.Join(dir, "index"), 0, "messages with keys are not in it"}}
		}, Counts{Derived: 1}},
		"an index file is cut": {func(t *testing.T, dir string) []finding {
			file := firstIndexFile(t, dir)
			if err := os.Truncate(file, 2000); err != nil {
				t.Fatal(err)
			}
			return []finding{{Derived, PartIndex, file, 0, "the file has room for"}}
		}, Counts{Derived: -1}},
		"a copy of the mark is damaged": {func(t *testing.T, dir string) []finding {
			path := filepath.Join(dir, "checkpoint")
			flip(t, path, 1024+30)
			return []finding{{Note, PartCheckpoint, path, 1024, "the checksum differs"}}
		}, Counts{Notes: -1}},
		"the checkpoint is missing": {func(t *testing.T, dir string) []finding {
			remove(t, filepath.Join(dir, "checkpoint"))
			return []finding{{Note, PartCheckpoint, filepath.Join(dir, "checkpoint"), 0, "there is no checkpoint"}}
		}, Counts{Notes: 1}},
		"topics are damaged": {func(t *testing.T, dir string) []finding {
			path := filepath.Join(dir, "config", "topics.json")
			overwrite(t, path, 0, []byte("\x00\x00"))
			return []finding{{Damaged, PartState, path, 0, "is damaged"}}
		}, Counts{Damaged: 1}},
		"offsets are damaged, the generation before is good": {func(t *testing.T, dir string) []finding {
			path := filepath.Join(dir, "config", "consumerOffset.json")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			writeConfig(t, dir, "consumerOffset.json.bak", string(b))
			writeConfig(t, dir, "consumerOffset.json", string(b[:len(b)/2]))
			return []finding{{Damaged, PartState, path, 0, "JSON at byte"}}
		}, Counts{Damaged: 1}},
		"progress lies behind a queue's end": {func(t *testing.T, dir string) []finding {
			writeConfig(t, dir, "consumerOffset.json", `{"offsetTable":{"Orders@G":{0:121,1:120}}}`)
			return []finding{{Damaged, PartState, filepath.Join(dir, "config", "consumerOffset.json"), 0, "group G is at offset 121 of queue 0 of topic Orders, which ends at 120"}}
		}, Counts{Damaged: 1}},
		"a journal cannot be read": {func(t *testing.T, dir string) []finding {
			// A whole record with a right checksum that is no JSON.
			b := append(append(be32(3), 0x35, 0x24, 0x41, 0xC2), "abc"...)
			writeConfig(t, dir, "topics.json.journal", string(b))
			return []finding{{Damaged, PartState, filepath.Join(dir, "config", "topics.json.journal"), 0, "a change cannot be read"}}
		}, Counts{Damaged: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyTree(t, pristine)
			wanted := test.damage(t, dir)
			r := verifyDir(t, dir)
			for _, want := range wanted {
				wantFinding(t, r, want)
			}
			for _, c := range []struct {
				name      string
				got, want int64
			}{{"damage", r.Counts.Damaged, test.counts.Damaged}, {"derived", r.Counts.Derived, test.counts.Derived}, {"notes", r.Counts.Notes, test.counts.Notes}} {
				if c.want >= 0 && c.got != c.want {
					t.Errorf("%s: %d findings, want %d", c.name, c.got, c.want)
					for _, f := range r.Findings {
						t.Log(jsonOf(t, f))
					}
				}
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
