// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import "maps"

// forbidRead is the bit that keeps a group from reading a topic (RocketMQ: 1 shifted
// by PermName.INDEX_PERM_READ).
const forbidRead = 1 << 2

// forbiddenTable is what groups are kept from: group, topic, bits.
type forbiddenTable map[string]map[string]int32

// Readable tells whether the group may read the topic. It takes no lock and no memory.
func (t *Table) Readable(group, topic []byte) bool {
	return (*t.forbidden.Load())[string(group)][string(topic)]&forbidRead == 0
}

// SetReadable lets the group read the topic or keeps it from it. That a group has
// everything back is kept on disk too (RocketMQ forgets to).
func (t *Table) SetReadable(group, topic string, readable bool) error {
	t.mu.Lock()
	before := t.Forbidden()[group]
	bits := before[topic] | forbidRead
	if readable {
		bits = before[topic] &^ forbidRead
	}
	if bits == before[topic] {
		t.mu.Unlock()
		return nil
	}
	topics := maps.Clone(before)
	if topics == nil {
		topics = map[string]int32{}
	}
	if topics[topic] = bits; bits == 0 {
		delete(topics, topic)
	}
	t.setForbiddenLocked(group, topics)
	t.version.Advance(t.o.Now(), 0)
	n := t.keeper.Append(encodeChange(change{Version: t.version, ForbiddenGroup: group, Forbidden: topics}))
	t.mu.Unlock()
	return t.settle(n, "permissions")
}

// setForbiddenLocked replaces what a group is kept from; nothing forgets the group.
func (t *Table) setForbiddenLocked(group string, topics map[string]int32) {
	before := *t.forbidden.Load()
	if len(topics) == 0 && before[group] == nil {
		return
	}
	next := maps.Clone(before)
	if next[group] = topics; len(topics) == 0 {
		delete(next, group)
	}
	t.forbidden.Store(&next)
}

// Forbidden gives what each group is kept from: group, topic, bits. Not to be changed.
func (t *Table) Forbidden() map[string]map[string]int32 { return *t.forbidden.Load() }
