// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// saveFilters is how often the file is written when something has changed.
const saveFilters = 10 * time.Second

// restartGrace is how long before the start the members of all filters are taken to
// have left, as RocketMQ does.
const restartGrace = 30 * time.Second

// filterFile is consumerFilter.json as it is read. A table that is not there is a damaged
// file.
type filterFile struct {
	FilterDataByTopic map[string]*topicFilters `json:"filterDataByTopic"`
}

type topicFilters struct {
	GroupFilterData map[string]*filterData `json:"groupFilterData"`
	Topic           string                 `json:"topic"`
}

// filterData is one filter (RocketMQ: ConsumerFilterData).
type filterData struct {
	BloomFilterData *bloomData `json:"bloomFilterData"`
	BornTime        int64      `json:"bornTime"`
	ClientVersion   int64      `json:"clientVersion"`
	ConsumerGroup   string     `json:"consumerGroup"`
	Dead            bool       `json:"dead"`
	DeadTime        int64      `json:"deadTime"`
	Expression      string     `json:"expression"`
	ExpressionType  string     `json:"expressionType"`
	Topic           string     `json:"topic"`
}

// bloomData are the bits of a filter in the bit maps of RocketMQ's queues.
type bloomData struct {
	BitNum int32   `json:"bitNum"`
	BitPos []int32 `json:"bitPos"`
}

// OpenFilters reads the file at o.Path, or the generation before. Heartbeats bring all
// of it again, so a file that cannot be used is worth a warning only. Run keeps it
// written.
func OpenFilters(o FiltersOptions) *Filters {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LogEnd == nil {
		o.LogEnd = func() int64 { return 0 }
	}
	f := &Filters{o: o, refused: map[filterName]refusedSub{}, byName: map[filterName]*Filter{}, byTopic: map[string][]*Filter{}}
	var content filterFile
	from, err := statefile.Load(o.Path, func(b []byte) error {
		content = filterFile{}
		if err := javajson.Unmarshal(b, &content); err != nil {
			return err
		}
		if content.FilterDataByTopic == nil {
			return errors.New("it has no filterDataByTopic")
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f
	case err != nil:
		o.Logger.Warn("filters of groups cannot be read; members register them again", "err", err)
		return f
	case from != o.Path:
		o.Logger.Warn("filters of groups were read from the generation before, because the file is missing or damaged", "file", o.Path, "from", from)
	}
	for _, t := range content.FilterDataByTopic {
		if t != nil {
			f.load(t)
		}
	}
	return f
}

// load takes over what still compiles.
func (f *Filters) load(t *topicFilters) {
	left := f.o.Now().Add(-restartGrace).UnixMilli()
	for _, d := range t.GroupFilterData {
		if d == nil || d.Topic == "" || d.ConsumerGroup == "" {
			continue
		}
		expr, err := f.o.Compile(d.Expression)
		if err != nil {
			f.o.Logger.Warn("a stored filter does not compile", "group", d.ConsumerGroup, "topic", d.Topic, "expression", d.Expression, "err", err)
			continue
		}
		x := f.filter(d.Topic, d.ConsumerGroup, d.Expression, d.ClientVersion, expr)
		x.born = d.BornTime
		if b := d.BloomFilterData; b == nil || int(b.BitNum) != f.o.Bloom.Bits || !slices.Equal(b.BitPos, x.positions) {
			x.born = f.o.Now().UnixMilli() // the bit maps that there are have other bits of it
			f.dirty.Store(true)
		}
		died := left
		if d.DeadTime > 0 {
			died = d.DeadTime
		}
		f.putLocked(filterName{x.Topic, x.Group}, x.diedAt(died))
	}
}

// Run writes the file every 10 s when something has changed, until ctx ends; then it
// writes once more and gives the error of that.
func (f *Filters) Run(ctx context.Context) error {
	tick := time.NewTicker(saveFilters)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return f.Flush()
		case <-tick.C:
		}
		f.sweep()
		switch err := f.Flush(); {
		case err != nil && !failed:
			f.o.Logger.Error("cannot write filters of groups; after a crash members register them again", "err", err)
			failed = true
		case err == nil && failed:
			f.o.Logger.Info("filters of groups are written again", "file", f.o.Path)
			failed = false
		}
	}
}

// Flush writes the file if something has changed since it was written.
func (f *Filters) Flush() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if !f.dirty.Swap(false) {
		return nil
	}
	if err := statefile.Write(f.o.Path, f.encode()); err != nil {
		f.dirty.Store(true)
		return fmt.Errorf("write filters of groups: %w", err)
	}
	return nil
}

// encode gives the file, a topic a line.
func (f *Filters) encode() []byte {
	topics := map[string]*topicFilters{}
	for name, x := range f.all() {
		t := topics[name.topic]
		if t == nil {
			t = &topicFilters{GroupFilterData: map[string]*filterData{}, Topic: name.topic}
			topics[name.topic] = t
		}
		t.GroupFilterData[name.group] = f.data(x)
	}
	b := []byte(`{"filterDataByTopic":{`)
	for i, topic := range slices.Sorted(maps.Keys(topics)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '\n')
		b = javajson.Append(b, topic, javajson.Bare)
		b = append(b, ':')
		b = javajson.Append(b, topics[topic], javajson.Bare)
	}
	return append(b, "}}\n"...)
}

func (f *Filters) data(x *Filter) *filterData {
	return &filterData{
		BloomFilterData: &bloomData{BitNum: int32(f.o.Bloom.Bits), BitPos: x.positions},
		BornTime:        x.born, ClientVersion: x.Version, ConsumerGroup: x.Group, Dead: x.dead != 0, DeadTime: x.dead,
		Expression: x.Expression, ExpressionType: protocol.ExpressionSQL92, Topic: x.Topic,
	}
}

// Describe gives a filter as the file and QUERY_CONSUME_QUEUE (321) have it, "null" for
// none.
func (f *Filters) Describe(topic, group string) string {
	x := f.Get(topic, group)
	if x == nil {
		return "null"
	}
	return string(javajson.Marshal(f.data(x), javajson.Bare))
}
