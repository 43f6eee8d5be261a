// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

import (
	"github.com/goddard-mq/goddard/internal/protocol"
)

// FirstSend is what a message to a topic that does not exist says about it.
type FirstSend struct {
	Topic    string
	Template string // defaultTopic of the request, usually TBW102
	Queues   int32  // defaultTopicQueueNums of the request
	SysFlag  int32  // protocol.TopicFlagUnit for a message of a unit
	Addr     string // of the sender, for the log
}

// AutoCreate gives the topic of a first send, after creating it if its template lets
// it. It gives nil when there is no such topic and none may be created. It waits until
// the topic is on disk, whoever created it; an error says that it is not.
//
// Unlike RocketMQ it leaves the template as it is when autoCreateTopicEnable is off,
// so that turning it on again works without a restart.
func (t *Table) AutoCreate(s FirstSend) (*Config, error) {
	t.mu.Lock()
	if c := t.names.Get(s.Topic); c != nil {
		t.mu.Unlock()
		return c, t.Await(c)
	}
	template := t.names.Get(s.Template)
	if template == nil || !protocol.CanInherit(template.Perm) || s.Template == protocol.TopicDefault && !t.o.AutoCreate() {
		t.mu.Unlock()
		t.o.Logger.Warn("topic does not exist and is not created", "topic", s.Topic, "template", s.Template, "templateExists", template != nil, "addr", s.Addr)
		return nil, nil
	}
	c := protocol.NewTopicConfig(s.Topic)
	c.WriteQueueNums = max(min(s.Queues, template.WriteQueueNums), 0)
	c.ReadQueueNums = c.WriteQueueNums
	c.Perm = template.Perm &^ protocol.PermInherit
	c.TopicFilterType = template.TopicFilterType
	c.TopicSysFlag = s.SysFlag
	created := newConfig(c)
	n := t.putLocked(created)
	t.mu.Unlock()
	t.o.Logger.Info("topic created by its first message", "topic", s.Topic, "template", s.Template, "queues", c.WriteQueueNums, "addr", s.Addr)
	return created, t.settle(n, s.Topic)
}

// EnsureRetry gives the retry topic of a group and creates it if it is missing. It
// does not wait for the disk; whoever puts a message into the topic calls Await first.
// A retry topic that is there takes over order, gets the queues that it lacks, or
// messages would come back to queues that nobody reads (as in RocketMQ), and keeps the
// rest.
func (t *Table) EnsureRetry(group string, queues int32, order bool, sysFlag int32) *Config {
	name := protocol.RetryTopic(group)
	fits := func(c *Config) bool {
		return c != nil && c.Order == order && c.ReadQueueNums >= queues && c.WriteQueueNums >= queues
	}
	if have := t.names.Get(name); fits(have) {
		return have // nearly always; no lock
	}
	t.mu.Lock()
	have := t.names.Get(name)
	if fits(have) {
		t.mu.Unlock()
		return have
	}
	c := protocol.NewTopicConfig(name)
	c.ReadQueueNums, c.WriteQueueNums, c.TopicSysFlag = queues, queues, sysFlag
	if have != nil {
		*c = have.TopicConfig
		c.ReadQueueNums, c.WriteQueueNums = max(c.ReadQueueNums, queues), max(c.WriteQueueNums, queues)
	}
	c.Order = order
	created := newConfig(c)
	t.putLocked(created)
	t.mu.Unlock()
	if t.o.Changed != nil {
		t.o.Changed([]string{name})
	}
	return created
}

// Ensure gives the topic of that name and creates it as c says if it is missing. It
// waits until the topic is on disk, whoever created it; an error says that it is not.
func (t *Table) Ensure(c *protocol.TopicConfig) (*Config, error) {
	if have := t.names.Get(c.TopicName); have != nil {
		return have, t.Await(have)
	}
	t.mu.Lock()
	if have := t.names.Get(c.TopicName); have != nil {
		t.mu.Unlock()
		return have, t.Await(have)
	}
	created := newConfig(c.Clone())
	n := t.putLocked(created)
	t.mu.Unlock()
	t.o.Logger.Info("topic created", "topic", c.TopicName, "queues", c.WriteQueueNums)
	return created, t.settle(n, c.TopicName)
}

// EnsureDLQ gives the dead-letter topic of a group, one queue to read and write, and
// creates it if it is missing; see Ensure.
func (t *Table) EnsureDLQ(group string) (*Config, error) {
	c := protocol.NewTopicConfig(protocol.DeadLetterTopic(group))
	c.ReadQueueNums, c.WriteQueueNums = 1, 1
	return t.Ensure(c)
}
