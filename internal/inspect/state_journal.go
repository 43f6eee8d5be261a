// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// readJournals reads the journals and makes the changes that count in the table.
func (s *StateFile) readJournals() error {
	for _, path := range statefile.Journals(s.Path) {
		var records int
		whole, size, err := statefile.ReadJournal(path, func(at int64, record []byte) {
			records++
			c := Change{Path: path, At: at, Value: Table{}}
			if err := javajson.Unmarshal(record, &c.Value); err != nil {
				c.Fault = err.Error()
			} else {
				c.Counts, c.Fault = s.apply(c.Value)
			}
			s.Changes = append(s.Changes, c)
		})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range s.Generations {
			if g := &s.Generations[i]; g.Path == path {
				if g.Records = records; whole < size {
					g.Fault = fmt.Sprintf("%d bytes from byte %d on are no whole record", size-whole, whole)
				}
			}
		}
	}
	return nil
}

// apply makes a change in the table, unless the file holds it, or another server has written the file since.
func (s *StateFile) apply(c Table) (counts bool, fault string) {
	version, ok := c["version"].(Table)
	if !ok {
		return false, "a change without a version"
	}
	if s.Err != nil && !errors.Is(s.Err, fs.ErrNotExist) {
		return false, "" // there is nothing to make it in
	}
	if s.Table == nil {
		s.Table = Table{}
	}
	before, _ := s.Table["dataVersion"].(Table)
	if before != nil && (number(version, "counter") <= number(before, "counter") || number(version, "timestamp") < number(before, "timestamp")) {
		return false, ""
	}
	switch filepath.Base(s.Path) {
	case "topics.json":
		fault = change(s.Table, c, "topicConfigTable", "topic", "topicName")
	case "subscriptionGroup.json":
		fault = s.changeGroup(c)
	default:
		fault = "a journal of an unknown kind"
	}
	if fault == "" {
		s.Table["dataVersion"] = version
	}
	return fault == "", fault
}

// change puts the entry that a change has into a table, or takes the one out that it names.
func change(t, c Table, table, field, name string) (fault string) {
	if entry, ok := c[field].(Table); ok && textOf(entry, name) != "" {
		below(t, table)[textOf(entry, name)] = entry
		return ""
	}
	if gone := textOf(c, "deleted"); gone != "" {
		delete(below(t, table), gone)
		return ""
	}
	return "a change of nothing"
}

func (s *StateFile) changeGroup(c Table) (fault string) {
	group := textOf(c, "forbiddenGroup")
	if group == "" {
		delete(below(s.Table, "forbiddenTable"), textOf(c, "deleted"))
		return change(s.Table, c, "subscriptionGroupTable", "group", "groupName")
	}
	if topics, ok := c["forbidden"].(Table); ok && len(topics) > 0 {
		below(s.Table, "forbiddenTable")[group] = topics
	} else {
		delete(below(s.Table, "forbiddenTable"), group)
	}
	return ""
}

// below gives the table of a name in a table, made if need be.
func below(t Table, name string) Table {
	inner, ok := t[name].(Table)
	if !ok {
		inner = Table{}
		t[name] = inner
	}
	return inner
}

func number(t Table, name string) int64 {
	n, _ := t[name].(int64)
	return n
}

func textOf(t Table, name string) string {
	text, _ := t[name].(string)
	return text
}
