// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package offset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/nametable"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// firstFlush is when the file is written for the first time after a start.
const firstFlush = 10 * time.Second

// file is consumerOffset.json. groupTopicMap, which 5.x writes too, follows from the
// rest and is not read. A table of offsets that is not there is a damaged file: every
// server writes it, and an empty file must not set all groups back. Of light groups the
// file of a broker that has them (lmqConsumerOffset.json) has one number per topic, as
// light topics have one queue.
type file struct {
	DataVersion     protocol.DataVersion       `json:"dataVersion"`
	OffsetTable     map[string]map[int32]int64 `json:"offsetTable"`
	LightTable      map[string]int64           `json:"lmqOffsetTable"`
	PullOffsetTable map[string]map[int32]int64 `json:"pullOffsetTable"`
}

// Open reads the offsets at o.Path, or the generation before with a warning.
func Open(o Options) (*Table, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	t := &Table{
		o: o, entries: nametable.New[entry](), version: protocol.NewDataVersion(o.Now()),
		groups: map[string]map[string]*entry{}, topics: map[string]map[string]*entry{},
	}
	var content file
	decode := func(b []byte) error {
		content = file{}
		if err := javajson.Unmarshal(b, &content); err != nil {
			return err
		}
		if content.OffsetTable == nil {
			return errors.New("it has no offsetTable")
		}
		return nil
	}
	path := o.Path
	from, err := statefile.Load(path, decode)
	if errors.Is(err, fs.ErrNotExist) && o.Before != "" {
		path = o.Before
		if from, err = statefile.Load(path, decode); err == nil {
			o.Logger.Info("consumer offsets go on in another file from now on", "file", o.Path, "before", path)
			t.touch()
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.missing()
		return t, nil
	case err != nil:
		return nil, fmt.Errorf("read consumer offsets: %w", err)
	case from != path:
		o.Logger.Warn("consumer offsets were read from the generation before, because the file is missing or damaged: groups may get again what they took since",
			"file", path, "from", from)
	}
	t.version = content.DataVersion
	for key, offsets := range content.OffsetTable {
		if e := t.addKey(key); e != nil && offsets != nil {
			e.committed = offsets
		}
	}
	for key, offset := range content.LightTable {
		if e := t.addKey(key); e != nil {
			e.committed[0] = offset
		}
	}
	for key, offsets := range content.PullOffsetTable {
		if e := t.addKey(key); e != nil {
			e.pulled = make(map[int32]*pull, len(offsets))
			for queue, offset := range offsets {
				e.pulled[queue] = &pull{offset: offset}
			}
		}
	}
	return t, nil
}

// missing says so when the folder holds other state: then this is not a new broker,
// and all groups begin anew.
func (t *Table) missing() {
	t.dirty.Store(true)
	others, err := filepath.Glob(filepath.Join(filepath.Dir(t.o.Path), "*.json"))
	if err == nil && len(others) > 0 {
		t.o.Logger.Warn("there is no file of consumer offsets although there are others: every group begins anew", "file", t.o.Path)
	}
}

// addKey gives the entry of a key of the file, nil when it is none.
func (t *Table) addKey(key string) *entry {
	topic, group, ok := strings.Cut(key, string(separator))
	if !ok || topic == "" {
		return nil
	}
	return t.add(topic, group)
}

// Run writes the file every FlushInterval, when something has changed, until ctx ends;
// then it writes once more and gives the error of that.
func (t *Table) Run(ctx context.Context) error {
	timer := time.NewTimer(firstFlush)
	defer timer.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return t.Flush()
		case <-timer.C:
		}
		switch err := t.Flush(); {
		case err != nil && !failed:
			t.o.Logger.Error("cannot write consumer offsets; after a crash groups get again what they took since", "err", err)
			failed = true
		case err == nil && failed:
			t.o.Logger.Info("consumer offsets are written again", "file", t.o.Path)
			failed = false
		}
		timer.Reset(t.o.FlushInterval())
	}
}

// Flush writes the file if something has changed since it was written. Run does so all
// the time; what an administrator changed should not wait for it.
func (t *Table) Flush() error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if !t.dirty.Swap(false) {
		return nil
	}
	if err := statefile.Write(t.o.Path, t.Encode()); err != nil {
		t.dirty.Store(true)
		return err
	}
	return nil
}

// Encode gives all offsets as the file and GET_ALL_CONSUMER_OFFSET (43) have them:
// sorted, a key a line, queue ids as bare numbers.
func (t *Table) Encode() []byte {
	var entries []*entry
	t.entries.Each(func(_ string, e *entry) bool {
		entries = append(entries, e)
		return true
	})
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), strings.Compare(a.group, b.group))
	})
	b := append([]byte(nil), `{"dataVersion":`...)
	b = javajson.Append(b, t.Version(), javajson.Bare)
	b = append(b, ",\n\"groupTopicMap\":"...)
	b = javajson.Append(b, t.groupTopics(), javajson.Bare)
	b = append(b, ",\n\"offsetTable\":"...)
	b = appendOffsets(b, entries, func(e *entry) map[int32]int64 {
		if t.light(e) {
			return nil
		}
		return e.committed
	}, func(offset int64) int64 { return offset })
	if t.o.Light {
		b = append(b, ",\n\"lmqOffsetTable\":"...)
		b = t.appendLight(b, entries)
	}
	b = append(b, ",\n\"pullOffsetTable\":"...)
	b = appendOffsets(b, entries, func(e *entry) map[int32]*pull { return e.pulled }, func(p *pull) int64 { return p.offset })
	return append(b, "}\n"...)
}

func (t *Table) groupTopics() map[string][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := make(map[string][]string, len(t.groups))
	for group, topics := range t.groups {
		for topic, e := range topics {
			if e.used() && !t.light(e) {
				m[group] = append(m[group], topic)
			}
		}
		slices.Sort(m[group])
	}
	return m
}

func appendOffsets[V any](b []byte, entries []*entry, of func(*entry) map[int32]V, offset func(V) int64) []byte {
	b = append(b, '{')
	var queues []int32
	first := true
	for _, e := range entries {
		e.mu.Lock()
		offsets := of(e)
		if len(offsets) == 0 || e.gone {
			e.mu.Unlock()
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '\n')
		b = javajson.Append(b, e.topic+string(separator)+e.group, javajson.Bare)
		b = append(b, ":{"...)
		queues = slices.AppendSeq(queues[:0], maps.Keys(offsets))
		slices.Sort(queues)
		for i, q := range queues {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(q), 10)
			b = append(b, ':')
			b = strconv.AppendInt(b, offset(offsets[q]), 10)
		}
		e.mu.Unlock()
		b = append(b, '}')
	}
	return append(b, '}')
}

// light tells whether the file has the entry in its table of light groups.
func (t *Table) light(e *entry) bool {
	return t.o.Light && protocol.IsLMQ(e.group) && protocol.IsLMQ(e.topic)
}

// appendLight appends the table of light groups: an offset per topic and group.
func (t *Table) appendLight(b []byte, entries []*entry) []byte {
	b = append(b, '{')
	first := true
	for _, e := range entries {
		if !t.light(e) {
			continue
		}
		e.mu.Lock()
		offset, ok := e.committed[0]
		ok = ok && !e.gone
		e.mu.Unlock()
		if !ok {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '\n')
		b = javajson.Append(b, e.topic+string(separator)+e.group, javajson.Bare)
		b = append(b, ':')
		b = strconv.AppendInt(b, offset, 10)
	}
	return append(b, '}')
}
