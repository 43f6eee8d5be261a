// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goddard-mq/goddard/internal/segment"
)

// Set is what the queues of a store share: where they are, their open files, their memory.
type Set struct {
	handles  *segment.Handles
	dir      string
	layout   Layout
	unitSize int64
	fileSize int64
	unsaved  atomic.Int64
	memory   memory

	extraDir      string // "": units have no extras
	extraSize     int64  // of the files
	extraWrite    bool
	lookForExtras sync.Once
	extrasThere   bool // by a look at the folder
}

// NewSet describes the queues below dir, all of one layout. fileSize is rounded up to whole units.
func NewSet(handles *segment.Handles, layout Layout, dir string, fileSize int64) *Set {
	unitSize := int64(layout.UnitSize())
	fileSize = max((fileSize+unitSize-1)/unitSize, 1) * unitSize
	return &Set{handles: handles, dir: dir, layout: layout, unitSize: unitSize, fileSize: fileSize}
}

// Layout of the queues.
func (s *Set) Layout() Layout { return s.layout }

// Name of a queue.
type Name struct {
	Topic string
	ID    int32
}

// List names the queues that have a folder. Folders of other names are left alone.
func (s *Set) List() ([]Name, error) {
	topics, err := s.handles.FS().ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the consume queues: %w", err)
	}
	var names []Name
	for _, topic := range topics {
		if !topic.IsDir() {
			continue
		}
		queues, err := s.handles.FS().ReadDir(filepath.Join(s.dir, topic.Name()))
		if errors.Is(err, fs.ErrPermission) && strings.ContainsFunc(topic.Name(), noTopic) {
			continue // lost+found, for one
		}
		if err != nil {
			return nil, fmt.Errorf("list the consume queues of topic %s: %w", topic.Name(), err)
		}
		for _, q := range queues {
			if id, err := strconv.ParseInt(q.Name(), 10, 32); err == nil && q.IsDir() && id >= 0 {
				names = append(names, Name{topic.Name(), int32(id)})
			}
		}
	}
	return names, nil
}

// noTopic tells whether a character is in no topic's name.
func noTopic(c rune) bool {
	return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("%|-_", c))
}

// Dir is the folder of all queues.
func (s *Set) Dir() string { return s.dir }

// ExtraDir is the folder of what is kept beside the queues; "" when nothing is written there.
func (s *Set) ExtraDir() string {
	if !s.extraWrite {
		return ""
	}
	return s.extraDir
}

// UnitsPerFile is the number of units in a file.
func (s *Set) UnitsPerFile() int64 { return s.fileSize / s.unitSize }

// Unsaved is the number of bytes of units that are in memory only.
func (s *Set) Unsaved() int64 { return s.unsaved.Load() }

// RemoveTopic removes the folder of a topic with all that is in it, durably.
func (s *Set) RemoveTopic(topic string) error {
	for _, dir := range []string{s.dir, s.extraDir} {
		if dir == "" {
			continue
		}
		if err := s.handles.FS().RemoveAll(filepath.Join(dir, topic)); err != nil {
			return fmt.Errorf("remove the consume queues of topic %s: %w", topic, err)
		}
		if err := s.handles.FS().SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the consume queues of topic %s: %w", topic, err)
		}
	}
	return nil
}

// memory lends the buffers that units wait in. They come in sizes of 8 units, 16, 32 and so on, so that a queue with
// little to say takes little, and one that grows leaves nothing for the garbage collector.
type memory struct {
	mu   sync.Mutex
	free [memoryClasses][][]byte
}

const (
	smallestBuffer = 8 * UnitSize
	memoryClasses  = 14      // up to 64 Ki units
	keepBytes      = 1 << 20 // kept for later of each class
)

func class(bytes int) int {
	return bits.Len(uint(max(bytes-1, 0) / smallestBuffer))
}

// take gives an empty buffer with room for at least n bytes.
func (m *memory) take(n int) []byte {
	c := class(n)
	if c >= memoryClasses {
		return make([]byte, 0, n*2)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := len(m.free[c]) - 1; last >= 0 {
		b := m.free[c][last]
		m.free[c] = m.free[c][:last]
		return b[:0]
	}
	return make([]byte, 0, smallestBuffer<<c)
}

// give takes a buffer back.
func (m *memory) give(b []byte) {
	c := class(cap(b))
	if c >= memoryClasses || cap(b) != smallestBuffer<<c {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.free[c])*cap(b) < keepBytes {
		m.free[c] = append(m.free[c], b)
	}
}
