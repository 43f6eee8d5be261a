// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// file is topics.json. A table that is not there is a damaged file: every server
// writes it, and an empty file must not pass for "no topics".
type file struct {
	DataVersion      protocol.DataVersion             `json:"dataVersion"`
	TopicConfigTable map[string]*protocol.TopicConfig `json:"topicConfigTable"`
}

// change is one record of the journal: a topic as it is now, or the name of one that
// is gone, and the version that this made.
type change struct {
	Deleted string                `json:"deleted,omitempty"`
	Topic   *protocol.TopicConfig `json:"topic"`
	Version protocol.DataVersion  `json:"version"`
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
		if content.TopicConfigTable == nil {
			return errors.New("it has no topicConfigTable")
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read topics: %w", err)
	case from != t.o.Path:
		t.o.Logger.Warn("topics were read from the generation before, because the file is missing or damaged", "file", t.o.Path, "from", from)
	}
	t.version = content.DataVersion
	for name, c := range content.TopicConfigTable {
		if c == nil {
			continue
		}
		c.TopicName = name // the key counts, as in RocketMQ
		t.names.Put(name, newConfig(c))
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
		case c.Topic != nil && c.Topic.TopicName != "":
			t.names.Put(c.Topic.TopicName, newConfig(c.Topic))
		case c.Deleted != "":
			t.names.Delete(c.Deleted)
		default:
			return errNoTopic
		}
		t.version, replayed = c.Version, true
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the journal of topics: %w", err)
	}
	if damaged := j.Damaged(); damaged != nil {
		t.o.Logger.Error("the journal of topics is damaged: changes are lost", "err", damaged)
	}
	return j, replayed, nil
}

// encode gives the file, one topic a line.
func (t *Table) encode() []byte {
	version, all := t.All()
	b := append([]byte(nil), `{"dataVersion":`...)
	b = javajson.Append(b, version, javajson.Bare)
	b = append(b, ",\n\"topicConfigTable\":{"...)
	for i, c := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '\n')
		b = javajson.Append(b, c.TopicName, javajson.Bare)
		b = append(b, ':')
		b = javajson.Append(b, &c.TopicConfig, javajson.Bare)
	}
	return append(b, "\n}}\n"...)
}
