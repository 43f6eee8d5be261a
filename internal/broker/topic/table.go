// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/nametable"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// Options of a Table. What is a function may change while the broker runs and is
// asked at each use.
type Options struct {
	Path   string // of topics.json; its folder exists
	Logger *slog.Logger

	Cluster, Broker string // names, which are topics too
	System          System // which topics of the system to create

	AutoCreate func() bool // TBW102 may be used as a template (autoCreateTopicEnable)
	AllowMixed func() bool // message.type=MIXED may be set (enableMixedMessageType)
	Light      bool        // light topics exist, without being created (enableLmq)

	// Changed, when set, is told the names of topics that were created, changed or
	// deleted, on the goroutine that did it, so that they can be registered. It must
	// not wait.
	Changed func(names []string)
	Now     func() time.Time // nil: time.Now
}

// Table is a broker's topics. All methods may be called at the same time; Get and
// GetBytes take no lock and no memory.
type Table struct {
	o      Options
	system map[string]struct{} // names of the system, this broker's included
	names  *nametable.Table[Config]
	keeper *statefile.Keeper

	mu      sync.Mutex // one change at a time: names, version and journal in step
	version protocol.DataVersion
}

// Open reads the topics at o.Path, or the generation before with a warning, and adds
// those of the system that are missing. The caller closes the table.
func Open(o Options) (*Table, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	t := &Table{o: o, system: systemNames(&o), names: nametable.New[Config]()}
	found, err := t.load()
	if err != nil {
		return nil, err
	}
	journal, replayed, err := t.openJournal()
	if err != nil {
		return nil, err
	}
	added := t.addSystem()
	switch {
	case !found && !replayed:
		t.version = protocol.NewDataVersion(o.Now())
	case added:
		t.version.Advance(o.Now(), 0) // name servers must not take it for the table they know
	}
	t.keeper = statefile.Keep(journal, t.encode, !found || replayed || added, o.Logger)
	return t, nil
}

// Close writes the file if a change is missing in it.
func (t *Table) Close() error {
	if err := t.keeper.Close(); err != nil {
		return fmt.Errorf("write topics at the end: %w", err)
	}
	return nil
}

// Get gives a topic, nil when there is none of that name.
func (t *Table) Get(name string) *Config {
	if t.isLight(name) {
		return lightConfig(name)
	}
	return t.names.Get(name)
}

// GetBytes is Get for a name in a request.
func (t *Table) GetBytes(name []byte) *Config {
	if t.o.Light && bytes.HasPrefix(name, []byte(protocol.LMQPrefix)) {
		return lightConfig(string(name))
	}
	return t.names.GetBytes(name)
}

func (t *Table) isLight(name string) bool { return t.o.Light && protocol.IsLMQ(name) }

// lightConfig gives the settings that all light topics have. They are in no list and in no route (RocketMQ:
// LmqTopicConfigManager).
func lightConfig(name string) *Config {
	c := protocol.NewTopicConfig(name)
	c.ReadQueueNums, c.WriteQueueNums = 1, 1
	return newConfig(c)
}

// Len tells how many topics there are.
func (t *Table) Len() int { return t.names.Len() }

// Version tells the states of the table apart.
func (t *Table) Version() protocol.DataVersion {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// All gives all topics, sorted by name, and the version that they make.
func (t *Table) All() (protocol.DataVersion, []*Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*Config, 0, t.names.Len())
	t.names.Each(func(_ string, c *Config) bool {
		all = append(all, c)
		return true
	})
	slices.SortFunc(all, func(a, b *Config) int { return strings.Compare(a.TopicName, b.TopicName) })
	return t.version, all
}

// Reserved gives the topics that keep their messages for a time of their own, and that time.
func (t *Table) Reserved() map[string]time.Duration {
	own := make(map[string]time.Duration)
	t.names.Each(func(name string, c *Config) bool {
		if c.Reserved > 0 {
			own[name] = c.Reserved
		}
		return true
	})
	return own
}

// Page gives at most max topics from number first on, counted by name. A reader that
// was given part of another version, or none, begins at 0 whatever it asks for. total
// counts all topics.
func (t *Table) Page(first, max int, known *protocol.DataVersion) (version protocol.DataVersion, part []*Config, total int) {
	version, all := t.All()
	if known == nil || !known.Equal(version) {
		first = 0
	}
	first = min(clampZero(first), len(all))
	last := min(first+clampZero(max), len(all))
	return version, all[first:last], len(all)
}

func clampZero(n int) int { return max(n, 0) }

// Update creates a topic or changes it as an administrator wants it: c holds all
// settings but the attributes, for which changes counts. The caller has checked the
// name. changed is false when the topic is just that already. An error that is not a
// *protocol.Error says that the change is in force but not safe on disk.
func (t *Table) Update(c *protocol.TopicConfig, changes Changes) (changed bool, err error) {
	if t.isLight(c.TopicName) {
		return false, nil // they are what they are
	}
	if changes.setsMixed() && !t.o.AllowMixed() {
		return false, &protocol.Error{Code: protocol.InvalidParameter, Remark: "MIXED message type is not supported."}
	}
	t.mu.Lock()
	before := t.names.Get(c.TopicName)
	next := c.Clone()
	next.Attributes, err = changes.apply(attributesOf(before), before == nil)
	if err != nil {
		t.mu.Unlock()
		return false, &protocol.Error{Code: protocol.SystemError, Remark: err.Error()}
	}
	if before != nil && next.Equal(&before.TopicConfig) {
		t.mu.Unlock()
		return false, nil
	}
	n := t.putLocked(newConfig(next))
	t.mu.Unlock()
	t.o.Logger.Info("topic settings changed by an administrator", "topic", c.TopicName, "read", c.ReadQueueNums, "write", c.WriteQueueNums, "perm", c.Perm)
	return true, t.settle(n, c.TopicName)
}

func attributesOf(c *Config) map[string]string {
	if c == nil {
		return nil
	}
	return c.Attributes
}

// Delete removes topics and gives those that were there. Errors are like Update's.
func (t *Table) Delete(names ...string) (deleted []string, err error) {
	var last uint64
	t.mu.Lock()
	for _, name := range names {
		if t.names.Delete(name) == nil {
			continue
		}
		t.version.Advance(t.o.Now(), 0)
		last = t.keeper.Append(encodeChange(change{Version: t.version, Deleted: name}))
		deleted = append(deleted, name)
	}
	t.mu.Unlock()
	if len(deleted) == 0 {
		return nil, nil
	}
	t.o.Logger.Info("topics deleted", "topic", deleted)
	return deleted, t.settle(last, deleted...)
}

// SetOrder marks the given topics as ordered; a name server's ordered-topic
// configuration names them. Topics it does not name keep what they have.
func (t *Table) SetOrder(names []string) error {
	var last uint64
	var changed []string
	t.mu.Lock()
	for _, name := range names {
		c := t.names.Get(name)
		if c == nil || c.Order {
			continue
		}
		next := c.TopicConfig
		next.Order = true
		last = t.putLocked(newConfig(&next))
		changed = append(changed, name)
	}
	t.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	return t.settle(last, changed...)
}

// putLocked publishes a topic, moves the version on and gives the number of the
// change in the journal.
func (t *Table) putLocked(c *Config) uint64 {
	t.version.Advance(t.o.Now(), 0)
	n := t.keeper.Append(encodeChange(change{Version: t.version, Topic: &c.TopicConfig}))
	c.creation = n
	if before := t.names.Get(c.TopicName); before != nil {
		c.creation = before.creation
	}
	t.names.Put(c.TopicName, c)
	return n
}

// Kept tells whether a topic is on disk. Until it is, nobody may be told that a message
// is in it: after a crash recovery finds no such topic and leaves its messages out of
// their queues. It costs next to nothing.
func (t *Table) Kept(c *Config) bool { return t.keeper.Kept(c.creation) }

// Await returns when a topic is on disk; those who wait at the same time share one sync.
// An error says that it is not.
func (t *Table) Await(c *Config) error {
	if t.Kept(c) {
		return nil
	}
	if err := t.keeper.Wait(c.creation); err != nil {
		return fmt.Errorf("keep topic %s: %w", c.TopicName, err)
	}
	return nil
}

// settle waits until change n is on disk and tells of the change. It is told of even
// when the disk refuses: it is in force.
func (t *Table) settle(n uint64, names ...string) error {
	err := t.keeper.Wait(n)
	if t.o.Changed != nil {
		t.o.Changed(names)
	}
	if err != nil {
		return fmt.Errorf("keep the change of topic %s: %w", strings.Join(names, ", "), err)
	}
	return nil
}

var errNoTopic = errors.New("a topic without a name")
