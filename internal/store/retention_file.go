// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// retentionState is what must not be forgotten of removed messages, the file retention.json:
//
//	{"day":1767225600000,"floors":{"orders":1048576}}
//
// A Java broker does not know the file: it shows the messages below a floor as long as the log has them.
type retentionState struct {
	Day    int64            `json:"day"`    // by which messages grew old when this was written, ms
	Floors map[string]int64 `json:"floors"` // by topic: see queue.floor
}

func (c *Config) retentionPath() string { return filepath.Join(c.Root, "retention.json") }

// decodeRetention reads the file.
func decodeRetention(b []byte) (retentionState, error) {
	var state retentionState
	if err := json.Unmarshal(b, &state); err != nil {
		return retentionState{}, err
	}
	if state.Floors == nil {
		return retentionState{}, errors.New("it has no floors")
	}
	for topic, floor := range state.Floors {
		if floor < 0 {
			return retentionState{}, fmt.Errorf("the floor of topic %s is %d", topic, floor)
		}
	}
	return state, nil
}

// loadFloors reads retention.json before recovery makes the queues. A file that cannot be read costs nothing but that
// messages that were too old for their topics can be read again, until the next round.
func (s *Store) loadFloors() {
	s.ages = retention{
		times: make(map[int64]int64), cuts: make(map[time.Duration]cut), told: make(map[string]time.Duration),
		state: retentionState{Floors: make(map[string]int64)},
	}
	path := s.config().retentionPath()
	b, err := s.readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var state retentionState
	if err == nil {
		state, err = decodeRetention(b)
	}
	if err != nil {
		s.logger.Error("it is not known which messages were too old for their topics: those that the log has can be read again", "file", path, "err", err)
		return
	}
	s.ages.state = state
	for topic, floor := range state.Floors {
		s.floors[topic] = new(atomic.Int64)
		s.floors[topic].Store(floor)
	}
}

// beginRetention makes retention ready for a log that ends at end. A floor above the end, of messages that a crash took
// back, would hide those that come now.
func (s *Store) beginRetention(end int64) error {
	lowered := false
	for topic, floor := range s.ages.state.Floors {
		if floor > end {
			s.ages.state.Floors[topic] = end
			s.floors[topic].Store(end)
			lowered = true
		}
	}
	a := &s.ages
	a.clock.day, a.clock.steady = s.deps.Clock()
	f := &s.keeper.file.foreign
	known := int64(0) // of the times that can be true the latest
	for _, ms := range []int64{a.state.Day, s.dispatched.time, f.LogTime, f.QueueTime} {
		if ms <= a.clock.day.UnixMilli() {
			known = max(known, ms)
		}
	}
	if known > 0 {
		a.clock.day = time.UnixMilli(known)
	}
	if !lowered {
		return nil
	}
	return s.saveFloors(nil)
}

// saveFloors writes retention.json, with floors that are raised, durably. Floors that the log has passed are left out.
func (s *Store) saveFloors(raised map[string]int64) error {
	a := &s.ages
	state := retentionState{Day: a.clock.day.UnixMilli(), Floors: maps.Clone(a.state.Floors)}
	maps.Copy(state.Floors, raised)
	logMin := s.log.Min()
	maps.DeleteFunc(state.Floors, func(_ string, floor int64) bool { return floor <= logMin })
	b, err := json.Marshal(state)
	if err == nil {
		err = s.replaceFile(s.config().retentionPath(), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.config().retentionPath(), err)
	}
	a.state = state
	return nil
}

// endRetention writes down what day it is, so that the next start does not wonder about the time without messages.
func (s *Store) endRetention() {
	s.ages.clock.look(s.deps.Clock())
	if err := s.saveFloors(nil); err != nil {
		s.logger.Warn("cannot write down the time of day", "err", err)
	}
}

// replaceFile makes a small file anew, durably; after a crash it is whole, the old one or the new one.
func (s *Store) replaceFile(path string, b []byte) error {
	temp := path + ".tmp"
	f, err := s.fs.Open(temp, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(b, 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := s.fs.Rename(temp, path); err != nil {
		return err
	}
	return s.fs.SyncDir(filepath.Dir(path))
}

func (s *Store) readFile(path string) ([]byte, error) {
	f, err := s.fs.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	b := make([]byte, size)
	if err == nil {
		if _, err = f.ReadAt(b, 0); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	return b, errors.Join(err, f.Close())
}
