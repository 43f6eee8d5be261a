// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/filter"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// registeredFilters is what pulling needs of the expressions that groups subscribe with.
type registeredFilters interface {
	Get(topic, group string) *group.Filter
}

// pullFilter is which messages a pull wants. A held pull has a copy.
type pullFilter struct {
	filter.Filter
	group, topic string            // of an expression
	origins      registeredFilters // set: wanted is what the group wants of the topic that a retried message comes from
	faults       *filterFaults     // told of messages that the expression fails on; nil: nobody is
	registered   *group.Filter     // the one the expression is of, if the group's heartbeats brought it
}

var _ store.ExtraFilter = (*pullFilter)(nil)

// MatchExtra tells whether a message may match, as far as its extra beside the queue tells (store.ExtraFilter).
func (f *pullFilter) MatchExtra(physicalOffset int64, x *store.Extra) bool {
	return f.registered == nil || f.origins != nil || f.registered.MatchBits(physicalOffset, x.StoreTimestamp, x.Bits)
}

// MatchProperties tells whether a message matches the expression (store.Filter, longpoll.Filter).
func (f *pullFilter) MatchProperties(properties []byte) bool {
	expr := f.Expr()
	if f.origins != nil {
		topic, _ := message.FindProperty(properties, message.PropRetryTopic)
		origin := f.origins.Get(string(topic), protocol.GroupOfRetryTopic(f.topic))
		if origin == nil {
			return true
		}
		expr = origin.Compiled
	}
	if expr == nil {
		return true
	}
	result := expr.Test(properties)
	if result == filter.Failed && f.faults != nil {
		f.faults.note(f, expr, properties)
	}
	return result == filter.True
}

// tagFilter takes the filter of a subscription by tags.
func tagFilter(sub *protocol.SubscriptionData) pullFilter {
	if sub.SubString == protocol.SubscribeAll || sub.ClassFilterMode {
		return pullFilter{Filter: filter.All()}
	}
	return pullFilter{Filter: filter.Tags(sub.CodeSet)}
}

// sqlFilter makes the filter of an expression.
func (h *pullHandler) sqlFilter(p *pulling, cfg *Config, expr *filter.Expr) pullFilter {
	f := pullFilter{Filter: filter.SQL(expr), group: p.group.GroupName, topic: p.topic.TopicName, faults: h.faults}
	if cfg.Filter.Retry && protocol.IsRetryTopic(f.topic) {
		f.origins = h.filters
	}
	return f
}

// silent gives a copy that tells nobody of failures: arrivals ask it while they hold a lock, and the read that follows
// asks again.
func (f pullFilter) silent() pullFilter {
	f.faults = nil
	return f
}

// tellFaults is how often messages that an expression fails on are worth a line.
const tellFaults = time.Minute

// filterFaults counts the messages that expressions fail on, and says now and then why: they reach no consumer, and
// nobody else would know.
type filterFaults struct {
	log   *slog.Logger
	count prometheus.Counter
	told  atomic.Int64 // ns
}

func (t *filterFaults) note(f *pullFilter, expr *filter.Expr, properties []byte) {
	t.count.Inc()
	now, told := time.Now().UnixNano(), t.told.Load()
	if now-told < int64(tellFaults) || !t.told.CompareAndSwap(told, now) {
		return
	}
	if _, err := expr.Explain(properties); err != nil {
		t.log.Warn("a message is not delivered, because the group's filter cannot be evaluated on its properties",
			"group", f.group, "topic", f.topic, "expression", expr.String(), "err", err)
	}
}
