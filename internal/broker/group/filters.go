// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/filter"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// Filter is which messages of a topic a group wants where it says so by an SQL92
// expression. It never changes.
type Filter struct {
	Topic, Group string
	Expression   string
	Version      int64 // of the subscription that brought it
	Compiled     *filter.Expr

	born int64 // ms, when it was registered
	dead int64 // ms, since when nobody subscribes to it; 0: somebody does

	positions []int32 // its bits in the bit maps beside queues,
	mapSize   int     // which have so many bytes
	from      int64   // physical offset: the bit maps of messages from here on have them, if born is no later
}

// never is the physical offset from which on bit maps have bits of a filter that is just being registered.
const never = math.MaxInt64

// MatchBits tells whether the group may want a message, as far as the bit map beside its queue tells. One that was
// stored before the filter was registered has no bits of it.
func (x *Filter) MatchBits(physicalOffset, storeTime int64, bits []byte) bool {
	if len(bits) != x.mapSize || storeTime <= x.born || physicalOffset < x.from {
		return true
	}
	return filter.Has(bits, x.positions)
}

// FiltersOptions of a Filters. Functions are asked at each use.
type FiltersOptions struct {
	Path      string // of consumerFilter.json; its folder exists
	Logger    *slog.Logger
	Compile   func(expression string) (*filter.Expr, error)
	Consumers func(group string) *Consumers // the members now, nil: none
	Keep      func() time.Duration          // how long what nobody subscribes to is kept (filterDataCleanTimeSpan)
	Bloom     filter.Bloom
	LogEnd    func() int64     // end of what was written to the log
	Now       func() time.Time // nil: time.Now
}

// Filters are the SQL92 expressions that groups subscribe with, compiled once for all
// pulls. They follow the subscriptions of the members; what nobody subscribes to any
// more is kept for a while, on disk too, where RocketMQ's broker finds it
// (ConsumerFilterManager, config/consumerFilter.json).
//
// Locks nest in this order: changing, mu.
type Filters struct {
	o       FiltersOptions
	dirty   atomic.Bool // something is not in the file
	writing sync.Mutex  // one write of the file at a time

	changing sync.Mutex                // one change at a time, with its compiling; guards refused
	refused  map[filterName]refusedSub // expressions that do not compile, of which this was said

	mu      sync.RWMutex
	byName  map[filterName]*Filter
	byTopic map[string][]*Filter // the same
}

type filterName struct{ topic, group string }

// refusedSub is what was refused of a subscription.
type refusedSub struct{ kind, expression string }

// Get gives a group's filter on a topic, nil when it has none: it subscribes by tags,
// or by an expression that does not compile.
func (f *Filters) Get(topic, group string) *Filter {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.byName[filterName{topic, group}]
}

// Bits gives the bit map of a message with these properties: which groups' filters on the topic match it, those of
// groups without members included. It is made in dst; nil when the topic has no filters.
func (f *Filters) Bits(dst []byte, topic string, properties []byte) []byte {
	f.mu.RLock()
	list := f.byTopic[topic]
	f.mu.RUnlock()
	if len(list) == 0 {
		return nil
	}
	size := f.o.Bloom.Bits / 8
	dst = slices.Grow(dst[:0], size)[:size]
	clear(dst)
	for _, x := range list {
		if x.Compiled.Test(properties) == filter.True {
			filter.Set(dst, x.positions)
		}
	}
	return dst
}

func (f *Filters) all() map[filterName]*Filter {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return maps.Clone(f.byName)
}

// Follow takes over what the members of a group subscribe to now. Whoever changed that
// calls it afterwards; of several at a time the last one sees what all did. It waits
// for nothing but the compiler.
func (f *Filters) Follow(group string) {
	if c := f.o.Consumers(group); c == nil || !f.lags(c) {
		return
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	if c := f.o.Consumers(group); c != nil {
		for _, s := range c.Subscriptions {
			if !protocol.IsTagExpression(s.ExpressionType) {
				f.follow(group, s)
			}
		}
	}
}

// lags tells whether something that the members subscribe to is not registered.
func (f *Filters) lags(c *Consumers) bool {
	for _, s := range c.Subscriptions {
		if protocol.IsTagExpression(s.ExpressionType) {
			continue
		}
		if x := f.Get(s.Topic, c.Group); !x.is(s) || x.dead != 0 {
			return true
		}
	}
	return false
}

// is tells whether the filter is that of the subscription.
func (f *Filter) is(s *protocol.SubscriptionData) bool {
	return f != nil && f.Version == s.SubVersion && f.Expression == s.SubString
}

// follow is called with changing held, like refuse.
func (f *Filters) follow(group string, s *protocol.SubscriptionData) {
	name := filterName{s.Topic, group}
	old := f.Get(s.Topic, group)
	if old.is(s) {
		if old.dead != 0 {
			f.put(name, old.diedAt(0))
		}
		return
	}
	expr, err := f.compile(s)
	if err != nil {
		f.refuse(name, s, err)
		return
	}
	delete(f.refused, name)
	x := f.filter(s.Topic, group, s.SubString, s.SubVersion, expr)
	if old != nil && old.Expression == s.SubString { // a newer version of the same
		x.born, x.from = old.born, old.from
		f.put(name, x)
		return
	}
	x.born, x.from = f.o.Now().UnixMilli(), never
	f.put(name, x)
	known := *x // what is written from here on finds it
	known.from = f.o.LogEnd()
	f.put(name, &known)
	f.o.Logger.Info("filter registered", "group", group, "topic", s.Topic, "expression", expr.String(), "version", s.SubVersion)
	if rest := expr.Unread(); rest != "" {
		f.o.Logger.Warn("the end of a filter's expression has no effect: it is complete before", "group", group, "topic", s.Topic, "expression", expr.String(), "unread", rest)
	}
}

func (f *Filters) filter(topic, group, expression string, version int64, expr *filter.Expr) *Filter {
	return &Filter{
		Topic: topic, Group: group, Expression: expression, Version: version, Compiled: expr,
		positions: f.o.Bloom.Positions(filter.BloomKey(group, topic)), mapSize: f.o.Bloom.Bits / 8,
	}
}

func (f *Filters) compile(s *protocol.SubscriptionData) (*filter.Expr, error) {
	if s.ExpressionType != protocol.ExpressionSQL92 {
		return nil, fmt.Errorf("unknown type of expression %q", s.ExpressionType)
	}
	return f.o.Compile(s.SubString)
}

// refuse removes what was registered before: pulls must not go on with an
// expression that the group no longer wants.
func (f *Filters) refuse(name filterName, s *protocol.SubscriptionData, err error) {
	if f.Get(name.topic, name.group) != nil {
		f.put(name, nil)
	}
	sub := refusedSub{s.ExpressionType, s.SubString}
	if f.refused[name] == sub {
		return // each heartbeat of each member comes here
	}
	f.refused[name] = sub
	f.o.Logger.Warn("a group's filter does not compile; its members get nothing of the topic",
		"group", name.group, "topic", name.topic, "expression", s.SubString, "err", err)
}

// put replaces a filter, or removes it when it is nil.
func (f *Filters) put(name filterName, next *Filter) {
	f.mu.Lock()
	f.putLocked(name, next)
	f.mu.Unlock()
	f.dirty.Store(true)
}

func (f *Filters) putLocked(name filterName, next *Filter) {
	list := slices.DeleteFunc(slices.Clone(f.byTopic[name.topic]), func(x *Filter) bool { return x.Group == name.group }) // readers have the old one
	if next == nil {
		delete(f.byName, name)
	} else {
		f.byName[name] = next
		list = append(list, next)
	}
	if len(list) == 0 {
		delete(f.byTopic, name.topic)
	} else {
		f.byTopic[name.topic] = list
	}
}

// sweep notes which filters are subscribed to, and forgets those that were not for too
// long.
func (f *Filters) sweep() {
	now := f.o.Now().UnixMilli()
	f.changing.Lock()
	defer f.changing.Unlock()
	for name, old := range f.all() {
		switch inUse := f.inUse(name); {
		case inUse && old.dead != 0:
			f.put(name, old.diedAt(0))
		case !inUse && old.dead == 0:
			f.put(name, old.diedAt(now))
		case !inUse && now-old.dead >= f.o.Keep().Milliseconds():
			f.put(name, nil)
			f.o.Logger.Info("filter forgotten: nobody subscribed to it for long", "group", name.group, "topic", name.topic)
		}
	}
	for name := range f.refused {
		if !f.inUse(name) {
			delete(f.refused, name)
		}
	}
}

func (f *Filters) inUse(name filterName) bool {
	c := f.o.Consumers(name.group)
	if c == nil {
		return false
	}
	s := c.Subscriptions[name.topic]
	return s != nil && !protocol.IsTagExpression(s.ExpressionType)
}

// diedAt gives the filter with another time of death, which is not before its birth.
func (f *Filter) diedAt(ms int64) *Filter {
	d := *f
	d.dead = ms
	if ms != 0 {
		d.dead = max(ms, f.born)
	}
	return &d
}
