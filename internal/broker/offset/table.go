// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package offset

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/nametable"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// separator stands between topic and group in the file's keys. Neither name may
// contain it.
const separator = '@'

// Options of a Table.
type Options struct {
	Path   string // of consumerOffset.json, or lmqConsumerOffset.json; its folder exists
	Before string // where the offsets were kept before, read when there is nothing at Path; "": nowhere
	Light  bool   // the file is that of a broker with light topics: see file
	Logger *slog.Logger

	FlushInterval func() time.Duration // between writes of the file (flushConsumerOffsetInterval)
	VersionStep   func() int64         // commits that make a new data version (consumerOffsetUpdateVersionStep)
	Now           func() time.Time     // nil: time.Now
}

// Table is the progress of all groups of a broker. All methods may be called at the
// same time. Those of a topic and a group that are known take no memory.
//
// Locks nest in this order: Table.writing, Table.mu, entry.mu.
type Table struct {
	o       Options
	entries *nametable.Table[entry]

	mu      sync.Mutex                   // guards names and version, and adding and removing entries
	groups  map[string]map[string]*entry // group: topic
	topics  map[string]map[string]*entry // topic: group
	version protocol.DataVersion

	commits atomic.Int64 // since start
	pending atomic.Int64 // resets not yet seen by their groups
	dirty   atomic.Bool  // something is not in the file
	writing sync.Mutex   // one write of the file at a time
}

// entry is one group's progress in one topic, by queue id.
type entry struct {
	topic, group string

	mu        sync.Mutex
	gone      bool // removed from the table: look it up again
	committed map[int32]int64
	pulled    map[int32]*pull
	reset     map[int32]int64
}

// Commit sets the next offset of a queue, whatever it was, pending reset or not.
func (t *Table) Commit(topic, group string, queue int32, offset int64) {
	for !t.entryFor(topic, group).commit(t, queue, offset) {
	}
}

// CommitBytes is Commit for names in a request.
func (t *Table) CommitBytes(topic, group []byte, queue int32, offset int64) {
	for !t.entryForBytes(topic, group).commit(t, queue, offset) {
	}
}

// MaxStray bounds the queue ids beyond a topic's queues in which progress of a group is kept. RocketMQ keeps any: a client
// gone wrong fills its memory and its file with them.
const MaxStray = 64

// CommitStray is CommitBytes for a queue id that is not one of the topic's, which has those below queues. It is false, and
// nothing changes, when progress in MaxStray such ids is kept already.
func (t *Table) CommitStray(topic, group []byte, queue, queues int32, offset int64) (kept bool) {
	for {
		e := t.entryForBytes(topic, group)
		if kept, gone := e.commitStray(t, queue, queues, offset); !gone {
			return kept
		}
	}
}

func (e *entry) commitStray(t *Table, queue, queues int32, offset int64) (kept, gone bool) {
	e.mu.Lock()
	_, known := e.committed[queue]
	gone, kept = e.gone, known || e.strayLocked(queues) < MaxStray
	if !gone && kept {
		e.setLocked(t, queue, offset)
	}
	e.mu.Unlock()
	if !gone && kept {
		t.count()
	}
	return kept, gone
}

// strayLocked counts the queue ids that a topic with so many queues does not have.
func (e *entry) strayLocked(queues int32) (n int) {
	if len(e.committed) < MaxStray {
		return 0 // at least room for one more
	}
	for queue := range e.committed {
		if queue < 0 || queue >= queues {
			n++
		}
	}
	return n
}

// commit is false for an entry that was removed meanwhile.
func (e *entry) commit(t *Table, queue int32, offset int64) bool {
	e.mu.Lock()
	if e.gone {
		e.mu.Unlock()
		return false
	}
	e.setLocked(t, queue, offset)
	e.mu.Unlock()
	t.count()
	return true
}

func (e *entry) setLocked(t *Table, queue int32, offset int64) {
	if before, known := e.committed[queue]; !known || before != offset {
		e.committed[queue] = offset
		t.touch()
	}
}

// count counts a commit; every so many make a new version.
func (t *Table) count() {
	if t.commits.Add(1)%max(t.o.VersionStep(), 1) == 0 {
		t.advance()
	}
}

// Query gives the offset that a group takes next from a queue: that of a pending
// reset, else the committed one. false: it never committed one (or a negative one).
func (t *Table) Query(topic, group string, queue int32) (int64, bool) {
	return t.entries.Get(topic + string(separator) + group).query(queue)
}

// QueryBytes is Query for names in a request.
func (t *Table) QueryBytes(topic, group []byte, queue int32) (int64, bool) {
	var key [keySize]byte
	return t.entries.GetBytes(appendKey(key[:0], topic, group)).query(queue)
}

func (e *entry) query(queue int32) (int64, bool) {
	if e == nil {
		return 0, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	offset, ok := e.reset[queue]
	if !ok {
		offset, ok = e.committed[queue]
	}
	return offset, ok && offset >= 0
}

// Reset sets the next offset of a queue from outside: the group learns it with its
// next pull, and commits until then count for nothing.
func (t *Table) Reset(topic, group string, queue int32, offset int64) {
	for {
		e := t.entryFor(topic, group)
		e.mu.Lock()
		if e.gone {
			e.mu.Unlock()
			continue
		}
		if _, known := e.reset[queue]; !known {
			t.pending.Add(1)
		}
		if e.reset == nil {
			e.reset = map[int32]int64{}
		}
		e.reset[queue] = offset
		e.committed[queue] = offset
		t.touch()
		e.mu.Unlock()
		t.advance()
		return
	}
}

// PendingReset tells whether a reset of the queue waits for the group's next pull.
func (t *Table) PendingReset(topic, group []byte, queue int32) bool {
	_, ok := t.lookReset(topic, group, queue, false)
	return ok
}

// TakeReset gives a pending reset of the queue and ends it. For pulls: without any
// pending reset it costs next to nothing.
func (t *Table) TakeReset(topic, group []byte, queue int32) (int64, bool) {
	return t.lookReset(topic, group, queue, true)
}

func (t *Table) lookReset(topic, group []byte, queue int32, take bool) (int64, bool) {
	if t.pending.Load() == 0 {
		return 0, false
	}
	var key [keySize]byte
	e := t.entries.GetBytes(appendKey(key[:0], topic, group))
	if e == nil {
		return 0, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	offset, ok := e.reset[queue]
	if ok && take {
		delete(e.reset, queue)
		t.pending.Add(-1)
	}
	return offset, ok
}

// Offsets gives the committed offsets of a group in a topic by queue; nil for none.
func (t *Table) Offsets(topic, group string) map[int32]int64 {
	e := t.entries.Get(topic + string(separator) + group)
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.committed) == 0 {
		return nil
	}
	return maps.Clone(e.committed)
}

// Clone gives group to the committed offsets of group from in a topic. It does
// nothing when there are none.
func (t *Table) Clone(topic, from, to string) {
	offsets := t.Offsets(topic, from)
	if offsets == nil {
		return
	}
	for {
		e := t.entryFor(topic, to)
		e.mu.Lock()
		if e.gone {
			e.mu.Unlock()
			continue
		}
		e.committed = offsets
		t.touch()
		e.mu.Unlock()
		t.advance()
		return
	}
}

// TopicsOf gives the topics in which a group has offsets, sorted.
func (t *Table) TopicsOf(group string) []string { return t.withOffsets(t.groups, group) }

// GroupsOf gives the groups that have offsets in a topic, sorted.
func (t *Table) GroupsOf(topic string) []string { return t.withOffsets(t.topics, topic) }

func (t *Table) withOffsets(index map[string]map[string]*entry, name string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for other, e := range index[name] {
		if e.used() && strings.IndexByte(other, separator) < 0 { // see BroadcastGroup
			names = append(names, other)
		}
	}
	slices.Sort(names)
	return names
}

// used tells whether the group committed; one that only pulls has not.
func (e *entry) used() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.committed) > 0
}

// RemoveTopic forgets all progress in a topic: committed, pulled and pending. It tells
// whether there was any; see Flush.
func (t *Table) RemoveTopic(topic string) bool { return t.remove(t.topics, t.groups, topic, false) }

// RemoveGroup forgets all progress of a group and tells whether there was any; see
// Flush.
func (t *Table) RemoveGroup(group string) bool { return t.remove(t.groups, t.topics, group, true) }

func (t *Table) remove(index, other map[string]map[string]*entry, name string, byGroup bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(index[name]) == 0 {
		return false
	}
	for _, e := range index[name] {
		e.mu.Lock()
		e.gone = true
		t.pending.Add(-int64(len(e.reset)))
		e.mu.Unlock()
		t.entries.Delete(e.topic + string(separator) + e.group)
		key := e.group
		if byGroup {
			key = e.topic
		}
		delete(other[key], name)
		if len(other[key]) == 0 {
			delete(other, key)
		}
	}
	delete(index, name)
	t.version.Advance(t.o.Now(), 0)
	t.touch()
	return true
}

// Version tells the states of the table apart. It moves with every so many commits.
func (t *Table) Version() protocol.DataVersion {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

func (t *Table) advance() {
	t.mu.Lock()
	t.version.Advance(t.o.Now(), 0)
	t.mu.Unlock()
	t.touch()
}

func (t *Table) touch() {
	if !t.dirty.Load() {
		t.dirty.Store(true)
	}
}

// keySize holds the longest legal pair of names; longer ones cost memory.
const keySize = protocol.MaxRetryTopicLength + 1 + protocol.MaxRetryTopicLength

func appendKey[T string | []byte](dst []byte, topic, group T) []byte {
	return append(append(append(dst, topic...), separator), group...)
}

func (t *Table) entryForBytes(topic, group []byte) *entry {
	var key [keySize]byte
	if e := t.entries.GetBytes(appendKey(key[:0], topic, group)); e != nil {
		return e
	}
	return t.add(string(topic), string(group))
}

func (t *Table) entryFor(topic, group string) *entry {
	if e := t.entries.Get(topic + string(separator) + group); e != nil {
		return e
	}
	return t.add(topic, group)
}

func (t *Table) add(topic, group string) *entry {
	topic, group = strings.Clone(topic), strings.Clone(group)
	t.mu.Lock()
	defer t.mu.Unlock()
	e, made := t.entries.GetOrPut(topic+string(separator)+group, func() *entry {
		return &entry{topic: topic, group: group, committed: map[int32]int64{}}
	})
	if made {
		index(t.groups, group, topic, e)
		index(t.topics, topic, group, e)
	}
	return e
}

func index(m map[string]map[string]*entry, a, b string, e *entry) {
	if m[a] == nil {
		m[a] = map[string]*entry{}
	}
	m[a][b] = e
}
