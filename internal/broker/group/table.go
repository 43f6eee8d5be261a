// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/nametable"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// Config is one group's settings. It is shared by everybody: nobody may change it or
// what hangs below it.
type Config = protocol.SubscriptionGroupConfig

// maxAutoCreated is the longest name of a group that comes to be without an
// administrator: clients of other releases allow up to 255 characters, and the group's
// retry and dead-letter topics must not be longer than that.
const maxAutoCreated = protocol.MaxRetryTopicLength - len(protocol.RetryPrefix)

// Options of a Table. Functions are asked at each use.
type Options struct {
	Path         string // of subscriptionGroup.json; its folder exists
	Logger       *slog.Logger
	AutoCreate   func() bool      // groups come to be by use (autoCreateSubscriptionGroup)
	CreateSystem func() bool      // those of the system do even without it (enableCreateSysGroup)
	Light        bool             // groups whose names begin like those of light topics exist, without being created (enableLmq)
	Now          func() time.Time // nil: time.Now
}

// Table is the settings of a broker's groups. All methods may be called at the same
// time; the look-ups take no lock and no memory unless they create.
type Table struct {
	o      Options
	names  *nametable.Table[Config]
	keeper *statefile.Keeper

	mu        sync.Mutex // one change at a time
	version   protocol.DataVersion
	forbidden atomic.Pointer[forbiddenTable] // copied for each change, with mu held
}

// Open reads the groups at o.Path, or the generation before with a warning, and adds
// the predefined ones that are missing. The caller closes the table.
func Open(o Options) (*Table, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	t := &Table{o: o, names: nametable.New[Config]()}
	t.forbidden.Store(&forbiddenTable{})
	found, err := t.load()
	if err != nil {
		return nil, err
	}
	journal, replayed, err := t.openJournal()
	if err != nil {
		return nil, err
	}
	added := t.addPredefined()
	if !found && !replayed {
		t.version = protocol.NewDataVersion(o.Now())
	}
	t.keeper = statefile.Keep(journal, t.encode, !found || replayed || added, o.Logger)
	return t, nil
}

// Close writes the file if a change is missing in it.
func (t *Table) Close() error {
	if err := t.keeper.Close(); err != nil {
		return fmt.Errorf("write consumer groups at the end: %w", err)
	}
	return nil
}

// predefined groups of every broker.
var predefined = []string{
	protocol.GroupTools, protocol.GroupFilterServer, protocol.GroupSelfTestConsumer, protocol.GroupONSProxy,
	protocol.GroupONSPull, protocol.GroupONSPermission, protocol.GroupONSOwner, protocol.GroupSysTrans,
}

func (t *Table) addPredefined() (added bool) {
	for _, name := range predefined {
		if _, made := t.names.GetOrPut(name, func() *Config { return protocol.NewSubscriptionGroupConfig(name) }); made {
			added = true
		}
	}
	return added
}

// Get gives a group's settings, nil when there is no such group. It never creates.
func (t *Table) Get(name string) *Config {
	if t.isLight(name) {
		return protocol.NewSubscriptionGroupConfig(name)
	}
	return t.names.Get(name)
}

// GetBytes is Get for a name in a request.
func (t *Table) GetBytes(name []byte) *Config {
	if t.o.Light && bytes.HasPrefix(name, []byte(protocol.LMQPrefix)) {
		return protocol.NewSubscriptionGroupConfig(string(name))
	}
	return t.names.GetBytes(name)
}

// isLight tells whether it is the name of a light group. They all have the default settings, are in no list, and cannot
// be changed (RocketMQ: LmqSubscriptionGroupManager).
func (t *Table) isLight(name string) bool { return t.o.Light && protocol.IsLMQ(name) }

// Find gives a group's settings and creates the group with defaults if it is missing
// and groups come to be by use, or it is one of the system's and those do. nil: there is no such
// group. It does not wait for the disk, see Flush (RocketMQ:
// findSubscriptionGroupConfig).
func (t *Table) Find(name string) *Config {
	if c := t.Get(name); c != nil {
		return c
	}
	return t.create(name)
}

// FindBytes is Find for a name in a request.
func (t *Table) FindBytes(name []byte) *Config {
	if c := t.GetBytes(name); c != nil {
		return c
	}
	return t.create(string(name))
}

func (t *Table) create(name string) *Config {
	byUse := t.o.AutoCreate() || protocol.IsSystemGroup(name) && t.o.CreateSystem()
	if !byUse || !creatable(name) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.names.Get(name); c != nil {
		return c
	}
	c := protocol.NewSubscriptionGroupConfig(name)
	t.putLocked(c)
	t.o.Logger.Info("consumer group created by its first use", "group", name)
	return c
}

// Flush waits until all groups made so far are on disk; those who wait at the same time
// share one sync.
func (t *Table) Flush() error {
	if err := t.keeper.Flush(); err != nil {
		return fmt.Errorf("keep consumer groups: %w", err)
	}
	return nil
}

// creatable tells whether a group of that name may come to be by use.
func creatable(name string) bool {
	if len(name) <= protocol.MaxGroupLength {
		return protocol.CheckGroup(name) == nil
	}
	return len(name) <= maxAutoCreated && protocol.CheckTopic(protocol.RetryTopic(name)) == nil
}

// Len tells how many groups there are.
func (t *Table) Len() int { return t.names.Len() }

// Version tells the states of the table apart.
func (t *Table) Version() protocol.DataVersion {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// All gives all groups, sorted by name, and the version that they make.
func (t *Table) All() (protocol.DataVersion, []*Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version, t.allLocked()
}

func (t *Table) allLocked() []*Config {
	all := make([]*Config, 0, t.names.Len())
	t.names.Each(func(_ string, c *Config) bool {
		all = append(all, c)
		return true
	})
	slices.SortFunc(all, func(a, b *Config) int { return strings.Compare(a.GroupName, b.GroupName) })
	return all
}

// Page gives at most max groups from number first on, counted by name. A reader that
// was given part of another version, or none, begins at 0 whatever it asks for. total
// counts all groups.
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

// Update creates groups or replaces their settings, all or none. The caller has
// checked the names. An error that is not a *protocol.Error says that the change is in
// force but not safe on disk.
func (t *Table) Update(list ...*Config) error {
	list = slices.DeleteFunc(slices.Clone(list), func(c *Config) bool { return t.isLight(c.GroupName) })
	if len(list) == 0 {
		return nil
	}
	next := make([]*Config, len(list))
	t.mu.Lock()
	for i, c := range list {
		next[i] = c.Clone()
		var err error
		if next[i].Attributes, err = applyAttributes(t.names.Get(c.GroupName), c.Attributes); err != nil {
			t.mu.Unlock()
			return &protocol.Error{Code: protocol.SystemError, Remark: err.Error()}
		}
	}
	var last uint64
	for _, c := range next {
		last = t.putLocked(c)
	}
	t.mu.Unlock()
	for _, c := range next {
		t.o.Logger.Info("consumer group changed by an administrator", "group", c.GroupName)
	}
	return t.settle(last, "settings")
}

// Delete removes a group's settings; false when there is no such group. Members that
// are still connected bring it back with their next heartbeat where groups come to be
// by use.
func (t *Table) Delete(name string) (bool, error) {
	t.mu.Lock()
	if t.names.Delete(name) == nil {
		t.mu.Unlock()
		return false, nil
	}
	t.setForbiddenLocked(name, nil)
	t.version.Advance(t.o.Now(), 0)
	n := t.keeper.Append(encodeChange(change{Version: t.version, Deleted: name}))
	t.mu.Unlock()
	t.o.Logger.Info("consumer group deleted", "group", name)
	return true, t.settle(n, "deletion")
}

// putLocked publishes a group, moves the version on and gives the number of the change
// in the journal.
func (t *Table) putLocked(c *Config) uint64 {
	t.names.Put(c.GroupName, c)
	t.version.Advance(t.o.Now(), 0)
	return t.keeper.Append(encodeChange(change{Version: t.version, Group: c}))
}

func (t *Table) settle(n uint64, what string) error {
	if err := t.keeper.Wait(n); err != nil {
		return fmt.Errorf("keep the %s of a consumer group: %w", what, err)
	}
	return nil
}
