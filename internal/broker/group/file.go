// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// file is subscriptionGroup.json. A table that is not there is a damaged file: every
// server writes it, and an empty file must not pass for "no groups".
type file struct {
	DataVersion            protocol.DataVersion        `json:"dataVersion"`
	ForbiddenTable         map[string]map[string]int32 `json:"forbiddenTable"`
	SubscriptionGroupTable map[string]*Config          `json:"subscriptionGroupTable"`
}

// change is one record of the journal: a group as it is now, or the name of one that
// is gone, or what a group is kept from, and the version that this made.
type change struct {
	Deleted        string               `json:"deleted,omitempty"`
	Forbidden      map[string]int32     `json:"forbidden"`
	ForbiddenGroup string               `json:"forbiddenGroup,omitempty"`
	Group          *Config              `json:"group"`
	Version        protocol.DataVersion `json:"version"`
}

func encodeChange(c change) []byte { return javajson.Marshal(c, javajson.Bare) }

// load reads the file for Open; found tells whether there was one.
func (t *Table) load() (found bool, err error) {
	var content file
	from, err := statefile.Load(t.o.Path, func(b []byte) error {
		content = file{}
		if err := javajson.Unmarshal(b, &content); err != nil {
			return err
		}
		if content.SubscriptionGroupTable == nil {
			return errors.New("it has no subscriptionGroupTable")
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read consumer groups: %w", err)
	case from != t.o.Path:
		t.o.Logger.Warn("consumer groups were read from the generation before, because the file is missing or damaged", "file", t.o.Path, "from", from)
	}
	t.version = content.DataVersion
	for name, c := range content.SubscriptionGroupTable {
		if c == nil {
			continue
		}
		c.GroupName = name // the key counts, as in RocketMQ
		t.names.Put(name, c)
	}
	for group, topics := range content.ForbiddenTable {
		t.setForbiddenLocked(group, topics)
	}
	return true, nil
}

// openJournal adds what the journal holds beyond the file.
func (t *Table) openJournal() (j *statefile.Journal, replayed bool, err error) {
	j, err = statefile.OpenJournal(t.o.Path, func(record []byte) error {
		var c change
		if err := javajson.Unmarshal(record, &c); err != nil {
			return err
		}
		// A file with a larger counter or a later time holds the change, or was
		// written by another server since.
		if c.Version.Counter <= t.version.Counter || c.Version.Timestamp < t.version.Timestamp {
			return nil
		}
		switch {
		case c.Group != nil && c.Group.GroupName != "":
			t.names.Put(c.Group.GroupName, c.Group)
		case c.Deleted != "":
			t.names.Delete(c.Deleted)
			t.setForbiddenLocked(c.Deleted, nil)
		case c.ForbiddenGroup != "":
			t.setForbiddenLocked(c.ForbiddenGroup, c.Forbidden)
		default:
			return errors.New("a change of no group")
		}
		t.version, replayed = c.Version, true
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the journal of consumer groups: %w", err)
	}
	if damaged := j.Damaged(); damaged != nil {
		t.o.Logger.Error("the journal of consumer groups is damaged: changes are lost", "err", damaged)
	}
	return j, replayed, nil
}

// encode gives the file, one group a line.
func (t *Table) encode() []byte {
	t.mu.Lock()
	version, forbidden, all := t.version, t.Forbidden(), t.allLocked()
	t.mu.Unlock()
	b := append([]byte(nil), `{"dataVersion":`...)
	b = javajson.Append(b, version, javajson.Bare)
	b = append(b, ",\n\"forbiddenTable\":"...)
	b = javajson.Append(b, forbidden, javajson.Bare)
	b = append(b, ",\n\"subscriptionGroupTable\":{"...)
	for i, c := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '\n')
		b = javajson.Append(b, c.GroupName, javajson.Bare)
		b = append(b, ':')
		b = javajson.Append(b, c, javajson.Bare)
	}
	return append(b, "\n}}\n"...)
}
