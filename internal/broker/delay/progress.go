// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package delay

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// table is delayOffset.json: the next offset to deliver of each level; levels that never delivered anything are absent
// (RocketMQ: DelayOffsetSerializeWrapper).
type table struct {
	DataVersion protocol.DataVersion `json:"dataVersion"`
	OffsetTable map[int32]int64      `json:"offsetTable"`
}

// progress keeps the table, in memory and on disk.
type progress struct {
	path    string
	step    func() int64  // advances per data version
	changed chan struct{} // tells the writer, at most one note

	mu      sync.Mutex
	table   table
	updates int64
	dirty   bool

	writing sync.Mutex // one write of the file at a time
}

// openProgress reads the file at path. from is what was read: path, or the generation before it; "" when there is none.
func openProgress(path string, step func() int64) (p *progress, from string, err error) {
	p = &progress{path: path, step: step, changed: make(chan struct{}, 1)}
	from, err = statefile.Load(path, func(b []byte) error {
		p.table = table{}
		if err := javajson.Unmarshal(b, &p.table); err != nil {
			return err
		}
		if p.table.OffsetTable == nil { // every server writes it; without it all levels would begin anew
			return errors.New("it has no offsetTable")
		}
		for level, offset := range p.table.OffsetTable {
			if level < 1 || offset < 0 {
				return fmt.Errorf("level %d has offset %d", level, offset)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.table = table{DataVersion: protocol.NewDataVersion(time.Now())}
	case err != nil:
		return nil, "", fmt.Errorf("read progress of delayed messages: %w", err)
	}
	if p.table.OffsetTable == nil {
		p.table.OffsetTable = map[int32]int64{}
	}
	return p, from, nil
}

func (p *progress) offset(level int) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.OffsetTable[int32(level)]
}

// levels gives those from 1 to highest and all others that the table has.
func (p *progress) levels(highest int) []int {
	var list []int
	for n := 1; n <= highest; n++ {
		list = append(list, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range p.table.OffsetTable {
		if int(n) > highest {
			list = append(list, int(n))
		}
	}
	return list
}

// set stores that offset is the next of the level; it may go back when the queue did.
func (p *progress) set(level int, offset int64) {
	p.mu.Lock()
	p.table.OffsetTable[int32(level)] = offset
	p.dirty = true
	if p.updates++; p.updates >= p.step() {
		p.updates = 0
		p.table.DataVersion.Advance(time.Now(), 0)
	}
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// encode gives the table as JSON, as the file has it and slaves are sent it.
func (p *progress) encode() []byte {
	p.mu.Lock()
	t := table{p.table.DataVersion, maps.Clone(p.table.OffsetTable)}
	p.mu.Unlock()
	return javajson.Marshal(&t, javajson.Bare)
}

// persist writes the file if anything changed since it was written.
func (p *progress) persist() error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	dirty := p.dirty
	p.dirty = false
	p.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := statefile.Write(p.path, p.encode()); err != nil {
		p.mu.Lock()
		p.dirty = true
		p.mu.Unlock()
		return fmt.Errorf("persist progress of delayed messages: %w", err)
	}
	return nil
}
