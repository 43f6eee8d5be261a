// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/goddard-mq/goddard/internal/segment"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// Queue is the files of one consume queue.
type Queue struct {
	Topic    string
	ID       int32
	Layout   consumequeue.Layout
	Dir      string
	Files    []RunFile // Start and Size in bytes
	FileSize int64     // that the files have, or should have

	beside *extras // nil: not looked for yet
}

// FindQueues lists the queues at path: a store's folder, that of all queues, of a topic, of one queue, or one file. They
// come sorted by topic and id, batch queues last.
func FindQueues(path string) ([]*Queue, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return queueOfFile(path, info.Size())
	}
	dirs := []string{path}
	if s, err := FindStore(path); err == nil {
		dirs = []string{s.path(queuesName), s.path(batchQueuesName)}
	}
	var queues []*Queue
	for _, dir := range dirs {
		found, err := findQueues(dir)
		if err != nil {
			return nil, err
		}
		queues = append(queues, found...)
	}
	if len(queues) == 0 {
		return nil, fmt.Errorf("no consume queues in %s", path)
	}
	slices.SortFunc(queues, func(a, b *Queue) int {
		return cmp.Or(cmp.Compare(a.Layout, b.Layout), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
	return queues, nil
}

func queueOfFile(path string, size int64) ([]*Queue, error) {
	start, ok := segment.ParseName(filepath.Base(path))
	if !ok {
		return nil, fmt.Errorf("%s is no file of a consume queue: its name is the offset of its first byte, 20 digits", path)
	}
	q, ok := queueOf(filepath.Dir(path))
	if !ok {
		return nil, fmt.Errorf("%s does not lie in a folder <topic>/<queue id>", path)
	}
	q.Files, q.FileSize = []RunFile{{path, start, size}}, size
	return []*Queue{q}, nil
}

// findQueues goes through dir, which is a queue's folder, a topic's or that of all topics.
func findQueues(dir string) ([]*Queue, error) {
	if q, err := listQueue(dir); err != nil || q != nil && len(q.Files) > 0 {
		return []*Queue{q}, err
	}
	below, err := folders(dir)
	if err != nil {
		return nil, err
	}
	var queues []*Queue
	for _, d := range below {
		if q, err := listQueue(d); err != nil {
			return nil, err
		} else if q != nil && len(q.Files) > 0 {
			queues = append(queues, q)
			continue
		}
		inTopic, err := folders(d)
		if err != nil {
			return nil, err
		}
		for _, d := range inTopic {
			q, err := listQueue(d)
			if err != nil {
				return nil, err
			}
			if q != nil {
				queues = append(queues, q)
			}
		}
	}
	return queues, nil
}

func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs, nil
}

// queueOf gives the queue whose folder is dir, by its name.
func queueOf(dir string) (q *Queue, ok bool) {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	id, err := strconv.ParseInt(filepath.Base(dir), 10, 32)
	if err != nil || id < 0 {
		return nil, false
	}
	topic := filepath.Dir(dir)
	q = &Queue{Topic: filepath.Base(topic), ID: int32(id), Dir: dir}
	if filepath.Base(filepath.Dir(topic)) == batchQueuesName {
		q.Layout = consumequeue.Batch
	}
	return q, true
}

// listQueue lists the files of the queue in dir; nil when it is not the folder of one.
func listQueue(dir string) (*Queue, error) {
	q, ok := queueOf(dir)
	if !ok {
		return nil, nil
	}
	files, err := runFiles(dir)
	if err != nil {
		return nil, err
	}
	q.Files = files
	sizes := make(map[int64]int)
	for i := range files {
		sizes[files[i].Size]++
	}
	q.FileSize = commonSize(sizes)
	return q, nil
}

// UnitBytes is the size of a unit of the queue.
func (q *Queue) UnitBytes() int64 { return int64(q.Layout.UnitSize()) }

// Batch tells whether the units stand for records that may hold many messages.
func (q *Queue) Batch() bool { return q.Layout == consumequeue.Batch }

// valid tells whether a unit can be one: the end of a queue is where this ends.
func (q *Queue) valid(u consumequeue.Unit) bool {
	return u.Size > 0 && u.PhysicalOffset >= 0 && (!q.Batch() || u.Count > 0 && u.Base >= 0)
}

// First is the number of the first unit that the files have room for; 0 when there are none.
func (q *Queue) First() int64 {
	if len(q.Files) == 0 {
		return 0
	}
	return q.Files[0].Start / q.UnitBytes()
}

// room is the number behind the last unit that the files have room for.
func (q *Queue) room() int64 {
	if n := len(q.Files); n > 0 {
		return q.Files[n-1].end() / q.UnitBytes()
	}
	return 0
}

// fileOf gives the file that holds the byte at off of the queue, or would; nil when there is none.
func (q *Queue) fileOf(off int64) *RunFile {
	i, found := slices.BinarySearchFunc(q.Files, off, func(f RunFile, off int64) int { return cmp.Compare(f.Start, off) })
	if !found {
		i--
	}
	if i < 0 || off >= q.Files[i].end() {
		return nil
	}
	return &q.Files[i]
}

// place gives the file and the place in it of unit n; without such a file the last one and the place behind.
func (q *Queue) place(n int64) (path string, at int64) {
	off := n * q.UnitBytes()
	if f := q.fileOf(off); f != nil {
		return f.Path, off - f.Start
	}
	if len(q.Files) == 0 {
		return q.Dir, 0
	}
	if q.FileSize <= 0 {
		return q.Dir, off
	}
	start := off - off%q.FileSize
	return filepath.Join(q.Dir, segment.Name(start)), off - start
}
