// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// queueCheck compares one queue with the records of the log as they come.
//
// In a simple queue a record says which unit is its own. Units that no record asks for are looked at when a later one
// was asked for, and at the end. In a batch queue units have no place of their own: they come in the order of the log.
//
// A topic that was deleted and made anew has older records in the log that ask for the same units again: what was wrong
// for them does not count any more when a record with the same or a smaller queue offset comes.
type queueCheck struct {
	q       *Queue
	present bool // it has a folder

	asked   int64 // units below were compared, or looked at
	end     int64 // number behind the last unit that was ever written
	solid   int64 // number behind the last unit that a checkpoint made durable
	any     bool  // the log has records of it
	last    int64 // queue offset of the last one's last message
	records int64
	matched int64
	runs    []run
	more    int64 // runs that were too many
	broken  bool  // it has a derived fault

	block []byte
	base  int64 // number of the first unit in block
	looks int   // records looked up because a unit points at them
}

// mostLooks bounds what is read for one queue that is wrong throughout.
const mostLooks = 1000

// Memory for blocks of units, all queues together, and for each.
const (
	blocksBytes = 16 << 20
	leastUnits  = 32
	mostUnits   = 2048
)

// findQueues lists the queues and how far they know the log.
func (v *verifier) findQueues() error {
	v.queues = make(map[string]map[int32]*queueCheck)
	needs := &v.r.rebuild
	for dir, size := range map[string]*int64{queuesName: &needs.queueFile, batchQueuesName: &needs.batchFile} {
		found, err := findQueues(v.o.Store.path(dir))
		if err != nil {
			return fmt.Errorf("list the queues in %s: %w", dir, err)
		}
		sizes := make(map[int64]int)
		for _, q := range found {
			v.put(&queueCheck{q: q, present: true, asked: q.First(), end: q.First()})
			for i := range q.Files {
				sizes[q.Files[i].Size]++
			}
		}
		v.r.Queues += len(found)
		*size = commonSize(sizes)
		for _, q := range found {
			q.FileSize = *size
			needs.lights = needs.lights || protocol.IsLMQ(q.Topic)
		}
	}
	if err := v.extraSize(); err != nil {
		return err
	}
	for _, c := range v.all {
		if v.topics == nil && c.q.Batch() {
			v.batch[c.q.Topic] = true
		}
		if err := v.queueFiles(c); err != nil {
			return err
		}
		v.extraFiles(c)
	}
	return nil
}

// put enters a queue. One that is there as a simple and as a batch queue is entered once.
func (v *verifier) put(c *queueCheck) {
	topic := v.queues[c.q.Topic]
	if topic == nil {
		topic = make(map[int32]*queueCheck)
		v.queues[c.q.Topic] = topic
	}
	v.all = append(v.all, c)
	if topic[c.q.ID] == nil || c.q.Batch() == v.batch[c.q.Topic] {
		topic[c.q.ID] = c
	}
}

// queueFiles looks at the files of a queue, and finds the last message that it knows.
func (v *verifier) queueFiles(c *queueCheck) error {
	q := c.q
	if v.topics[q.Topic] && q.Batch() != v.batch[q.Topic] {
		f := v.queueFinding(c, Damaged, q.Dir, 0, q.First(), "the topic's attribute queue.type denies queues of this kind: a broker does not start like this")
		f.Remedy = "restore the settings, or move the folder away"
		v.add(f)
	}
	for i := range q.Files {
		f := &q.Files[i]
		what := ""
		switch {
		case q.FileSize == 0: // all are empty: a crash left them
			continue
		case f.Start%q.UnitBytes() != 0 || f.Start%q.FileSize != 0:
			what = fmt.Sprintf("its name is no multiple of %d, the size of the files", q.FileSize)
		case f.Size != q.FileSize && f.Size != 0:
			what = fmt.Sprintf("it has %d bytes, others have %d", f.Size, q.FileSize)
		case i > 0 && q.Files[i-1].Start+q.FileSize < f.Start:
			what = fmt.Sprintf("files before it are missing, from %d on", q.Files[i-1].Start+q.FileSize)
		default:
			continue
		}
		v.addQueue(c, Derived, f.Path, min(f.Size, q.FileSize), f.Start/q.UnitBytes(), what)
	}
	for i := len(q.Files) - 1; i >= 0; i-- {
		end, err := lastMessage(q, &q.Files[i])
		if err != nil {
			return err
		}
		if end > 0 {
			if end <= v.log.End() { // or it cannot be
				v.reached = max(v.reached, end)
			}
			break
		}
	}
	return nil
}

// lastMessage gives the end of the message that the last good unit of a file points at; 0 when there is none.
func lastMessage(q *Queue, f *RunFile) (int64, error) {
	src, err := openSource(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer src.close()
	size := q.UnitBytes()
	var b [consumequeue.BatchUnitSize]byte
	last := consumequeue.Unit{}
	for low, high := int64(0), f.Size/size; low < high; { // all good ones come first
		mid := low + (high-low)/2
		n, err := src.read(b[:size], mid*size)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", f.Path, err)
		}
		if u := q.Layout.Decode(b[:]); int64(n) == size && q.valid(u) {
			last, low = u, mid+1
		} else {
			high = mid
		}
	}
	if last.Filler() {
		return 0, nil
	}
	return last.PhysicalOffset + int64(last.Size), nil
}

// unit reads unit n; one that no file holds is like one that was never written.
func (c *queueCheck) unit(n int64, block int) (consumequeue.Unit, error) {
	b, err := c.unitBytes(n, block)
	if err != nil || b == nil {
		return consumequeue.Unit{}, err
	}
	return c.q.Layout.Decode(b), nil
}

// unitBytes gives the bytes of unit n, valid until the next call; nil when no file holds it. With it so many are read
// that block have room.
func (c *queueCheck) unitBytes(n int64, block int) ([]byte, error) {
	size := c.q.UnitBytes()
	if at := (n - c.base) * size; at >= 0 && at+size <= int64(len(c.block)) {
		return c.block[at : at+size], nil
	}
	f := c.q.fileOf(n * size)
	if f == nil || n < 0 {
		return nil, nil
	}
	src, err := openSource(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer src.close()
	if cap(c.block) < block*int(size) {
		c.block = make([]byte, block*int(size))
	}
	got, err := src.read(c.block[:block*int(size)], n*size-f.Start)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Path, err)
	}
	c.block, c.base = c.block[:got], n
	if int64(got) < size {
		return nil, nil
	}
	return c.block[:size], nil
}

// blockUnits is how many units of a queue are read at once.
func (v *verifier) blockUnits() int {
	return min(max(blocksBytes/consumequeue.UnitSize/max(len(v.all), 1), leastUnits), mostUnits)
}

// queueRecord compares a record with its unit.
func (v *verifier) queueRecord(r *message.Record) error {
	if t := message.Transaction(r.SysFlag); t != 0 && t != message.TransactionCommit {
		v.r.Unqueued++
		return nil
	}
	c := v.queues[string(r.Topic)][r.QueueID]
	if c == nil {
		c = v.absent(string(r.Topic), r.QueueID)
	}
	want := consumequeue.Unit{PhysicalOffset: r.PhysicalOffset, Size: r.Size, TagsCode: message.TagsCode(property(r, message.PropTags))}
	switch {
	case c.q.Batch():
		return v.compareBatch(c, r, want)
	case r.SysFlag&message.FlagInnerBatch != 0: // of a topic that was deleted and made anew
		v.r.Unqueued++
		return nil
	}
	want.StoreTimestamp = r.StoreTimestamp
	due := v.due(r)
	if due != 0 {
		want.TagsCode = due
	}
	if err := v.compare(c, r.QueueOffset, want, due); err != nil {
		return err
	}
	return v.dispatched(r, want)
}

// absent enters a queue that has no folder.
func (v *verifier) absent(topic string, id int32) *queueCheck {
	q := &Queue{Topic: topic, ID: id}
	dir := queuesName
	if v.batch[topic] {
		q.Layout, dir = consumequeue.Batch, batchQueuesName
	}
	q.Dir = filepath.Join(v.o.Store.path(dir), topic, strconv.Itoa(int(id)))
	c := &queueCheck{q: q}
	v.put(c)
	return c
}

func property(r *message.Record, name string) []byte {
	value, _ := message.FindProperty(r.Properties, name)
	return value
}

// due is when a delayed message is to be delivered, ms; 0 for all others, -1 when it cannot be told.
func (v *verifier) due(r *message.Record) int64 {
	if string(r.Topic) != protocol.TopicSchedule {
		return 0
	}
	level, err := strconv.Atoi(string(property(r, message.PropDelay)))
	if err != nil || level <= 0 {
		return 0
	}
	if v.o.DelayOf == nil {
		return -1
	}
	return r.StoreTimestamp + v.o.DelayOf(level).Milliseconds()
}

// dispatched compares the units that a record has in further queues: light topics, in stores of brokers that have them
// (enableLmq).
func (v *verifier) dispatched(r *message.Record, want consumequeue.Unit) error {
	offsets := property(r, message.PropMultiQueueOffset)
	if len(offsets) == 0 {
		return nil
	}
	names := strings.Split(string(property(r, message.PropMultiDispatch)), ",")
	for i, text := range strings.Split(string(offsets), ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || i >= len(names) || !protocol.IsLMQ(names[i]) {
			continue
		}
		if c := v.queues[names[i]][0]; c != nil && c.present && !c.q.Batch() {
			if err := v.compare(c, n, want, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare compares the unit of queue offset n of a simple queue with what it should be.
func (v *verifier) compare(c *queueCheck, n int64, want consumequeue.Unit, due int64) error {
	switch {
	case c.any && n <= c.last: // the queue began anew there
		c.forget(n)
		c.asked = min(c.asked, n)
	case n > c.asked && c.present:
		if err := v.unasked(c, n); err != nil {
			return err
		}
	}
	c.any, c.last, c.asked = true, n, n+1
	c.records++
	u, err := c.unit(n, v.blockUnits())
	if err != nil {
		return err
	}
	if everWritten(u) {
		c.end = max(c.end, n+1)
	}
	u, what, err := v.extended(c, u, want)
	if err != nil {
		return err
	}
	switch {
	case n < c.q.First() || n >= c.q.room():
		c.note(run{runMissing, n, n + 1, want.PhysicalOffset, ""})
		return nil
	case !everWritten(u):
		c.note(run{runEmpty, n, n + 1, want.PhysicalOffset, ""})
		return nil
	case u.PhysicalOffset != want.PhysicalOffset:
		what = fmt.Sprintf("it points at %d, the message lies at %d", u.PhysicalOffset, want.PhysicalOffset)
	case u.Size != want.Size:
		what = fmt.Sprintf("size of %d bytes, the record has %d", u.Size, want.Size)
	case what != "":
	case u.TagsCode == want.TagsCode || due < 0:
		v.match(c, n, want.PhysicalOffset)
		return nil
	case due > 0:
		what = fmt.Sprintf("it is due at %s, by its level it should be at %s; right if messageDelayLevel was different then", timeOf(u.TagsCode), timeOf(due))
	default:
		what = fmt.Sprintf("tags code %d, the tags of the message make %d", u.TagsCode, want.TagsCode)
	}
	c.note(run{runWrong, n, n + 1, want.PhysicalOffset, what})
	return nil
}

// match is for unit n, which is right.
func (v *verifier) match(c *queueCheck, n, physical int64) {
	c.matched++
	v.r.Queued++
	if v.mark != nil && physical < v.mark.Dispatched {
		c.solid = max(c.solid, n+1)
	}
}

// everWritten tells whether a unit was ever written.
func everWritten(u consumequeue.Unit) bool { return u != consumequeue.Unit{} }
