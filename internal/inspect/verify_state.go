// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// states reads the state files, and compares progress in them with the queues.
func (v *verifier) states() error {
	dir := v.o.Store.path(configName)
	if !exists(dir) {
		return nil
	}
	files, err := FindStates(dir)
	if err != nil {
		return nil // none at all: an empty folder
	}
	for _, s := range files {
		v.state(s)
		switch filepath.Base(s.Path) {
		case "consumerOffset.json", "lmqConsumerOffset.json":
			v.progressOf(s)
		case "delayOffset.json":
			v.delays(s)
		}
	}
	return nil
}

// state tells what is wrong with the generations of a state file.
func (v *verifier) state(s *StateFile) {
	found := Finding{Part: PartState, File: s.Path}
	switch backup := s.Path + ".bak"; {
	case errors.Is(s.Err, fs.ErrNotExist):
	case s.Err != nil && filepath.Base(s.Path) == "consumerFilter.json":
		found.Severity, found.What, found.Remedy = Note, s.Err.Error(), "heartbeats bring it again"
		v.add(found)
	case s.Err != nil:
		found.Severity, found.What, found.Remedy = Damaged, s.Err.Error(), "a broker does not start like this"
		v.add(found)
	case s.Used == backup:
		found.Severity, found.What, found.Remedy = Note, "it is missing or damaged", "the generation before counts: "+backup
		for _, g := range s.Generations {
			if g.Role == RoleFile && g.Fault != "" {
				found.Severity, found.What = Damaged, g.Fault
				found.Remedy += "; what changed since is lost unless a journal has it"
			}
		}
		v.add(found)
	}
	for _, g := range s.Generations {
		if g.Role == RoleJournal && g.Fault != "" {
			v.add(Finding{Severity: Note, Part: PartState, File: g.Path, What: g.Fault, Remedy: "a change that was being written when the machine stopped; the next start cuts it off"})
		}
	}
	for _, c := range s.Changes {
		if c.Fault != "" {
			v.add(Finding{Severity: Damaged, Part: PartState, File: c.Path, Offset: c.At, What: "a change cannot be read: " + c.Fault, Remedy: "a broker does not start like this: move the journal away to go on without its changes"})
		}
	}
}

// progressOf compares the progress of groups with the ends of their queues.
func (v *verifier) progressOf(s *StateFile) {
	if s.Table == nil {
		return
	}
	offsets := below(s.Table, tables["consumerOffset.json"])
	for _, key := range slices.Sorted(maps.Keys(offsets)) {
		topic, group, ok := strings.Cut(key, "@")
		queues, isTable := offsets[key].(Table)
		if !ok || !isTable {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(queues)) {
			n, err := strconv.ParseInt(id, 10, 32)
			if err == nil {
				v.beyond(s, fmt.Sprintf("group %s", group), topic, int32(n), number(queues, id))
			}
		}
	}
}

// delays compares the progress of delay levels with the queues that they wait in.
func (v *verifier) delays(s *StateFile) {
	if s.Table == nil {
		return
	}
	offsets := below(s.Table, tables["delayOffset.json"])
	for _, level := range slices.Sorted(maps.Keys(offsets)) {
		n, err := strconv.ParseInt(level, 10, 32)
		if err == nil && n > 0 {
			v.beyond(s, "delay level "+level, protocol.TopicSchedule, int32(n)-1, number(offsets, level))
		}
	}
}

// beyond tells of progress behind the end of a queue: its messages were lost, or will come under offsets that count as
// consumed.
func (v *verifier) beyond(s *StateFile, who, topic string, id int32, offset int64) {
	c := v.queues[topic][id]
	end := int64(0)
	switch {
	case c != nil && c.q.Batch():
		if end = c.last + 1; !c.any {
			return // its units do not tell by their number
		}
	case c != nil && c.any:
		end = max(c.end, c.last+1)
	case c != nil:
		end = c.end
	}
	if offset <= end || c == nil && v.unknown(topic) {
		return
	}
	f := Finding{Severity: Damaged, Part: PartState, File: s.Used, Topic: topic, Queue: ptr(id), QueueOffset: ptr(offset),
		What:   fmt.Sprintf("%s is at offset %d of queue %d of topic %s, which ends at %d", who, offset, id, topic, end),
		Remedy: "messages at the queue's end are lost; reset the group's offset when the broker runs, or it may pass over messages to come"}
	if v.crashed {
		f.Severity = Note
	}
	v.add(f)
}
