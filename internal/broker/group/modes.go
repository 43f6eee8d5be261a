// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"sync"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// Modes says how the members of a group get a topic's messages where an administrator
// has said so: by pulling or by popping (RocketMQ: MessageRequestModeManager,
// config/messageRequestMode.json).
type Modes struct {
	path string

	mu     sync.Mutex // one change at a time, with its writing
	byName modeTable  // replaced, never changed
}

// modeTable is topic, group, mode.
type modeTable = map[string]map[string]*protocol.MessageRequestMode

// OpenModes reads the file at path, or the generation before with a warning.
func OpenModes(path string, logger *slog.Logger) (*Modes, error) {
	var content protocol.MessageRequestModes
	from, err := statefile.Load(path, func(b []byte) error {
		content = protocol.MessageRequestModes{}
		if err := javajson.Unmarshal(b, &content); err != nil {
			return err
		}
		if content.MessageRequestModeMap == nil {
			return errors.New("it has no messageRequestModeMap")
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read request modes: %w", err)
	case from != path:
		logger.Warn("request modes were read from the generation before, because the file is missing or damaged", "file", path, "from", from)
	}
	return &Modes{path: path, byName: content.MessageRequestModeMap}, nil
}

// Get gives the mode of a group in a topic, nil where nothing was said. Not to be
// changed.
func (m *Modes) Get(topic, group string) *protocol.MessageRequestMode {
	return m.All()[topic][group]
}

// All gives all modes: topic, group, mode. Not to be changed.
func (m *Modes) All() map[string]map[string]*protocol.MessageRequestMode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byName
}

// Set sets a mode and waits for the disk. With an error nothing changes.
func (m *Modes) Set(mode protocol.MessageRequestMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := maps.Clone(m.byName)
	if next == nil {
		next = modeTable{}
	}
	groups := maps.Clone(next[mode.Topic])
	if groups == nil {
		groups = map[string]*protocol.MessageRequestMode{}
	}
	groups[mode.ConsumerGroup] = &mode
	next[mode.Topic] = groups
	if err := statefile.Write(m.path, javajson.Marshal(protocol.MessageRequestModes{MessageRequestModeMap: next}, javajson.Bare)); err != nil {
		return fmt.Errorf("keep the request mode of group %s in topic %s: %w", mode.ConsumerGroup, mode.Topic, err)
	}
	m.byName = next
	return nil
}
