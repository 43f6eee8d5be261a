// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/trace"
)

// TraceQuery asks for what clients told of messages.
type TraceQuery struct {
	Topic string // the trace topic; "": RMQ_SYS_TRACE_TOPIC
	// ID of a message, or a Key that messages have.
	ID, Key string
	// Since and Until bound when it was told. Zero times do not.
	Since, Until time.Time
	Max          int // trace messages of each broker at most, see KeyQuery
}

// Traces are the lives of messages, the one first told of first.
type Traces struct {
	Lives []*Life
	// Faults tell of records that could not be read.
	Faults []error
}

// Life is what was told of one message. Each list is sorted by time.
type Life struct {
	ID, Topic, Tags, Keys string
	Sent                  []Told     // sends, also those of the same message that were tried again
	Ends                  []Told     // of its transaction
	Recalls               []Told     // of its delivery
	Handled               []Handling // by consumers
}

// Told is an event and who told it.
type Told struct {
	trace.Event
	Client string // its address, without a port
}

// Handling is a message in the hands of a consumer.
type Handling struct {
	Group, Client string
	Began         int64 // ms, by the consumer's clock; 0: not told
	Retries       int32 // how often the group had failed on it
	// Ended tells that the fields below are known; otherwise the handler still runs, its client has died or has not
	// told yet.
	Ended      bool
	Cost       int64 // ms
	Success    bool
	ReturnCode trace.ReturnCode
	HasCode    bool // old clients do not tell it
}

// Trace asks the brokers for the events of a message, or of all messages with a key. That none was told is no error;
// ErrNoTopic when there is no trace topic.
func (a *Admin) Trace(ctx context.Context, t Target, q TraceQuery) (*Traces, error) {
	found, err := a.ByKey(ctx, t, KeyQuery{
		Topic: cmp.Or(q.Topic, protocol.TopicTrace), Key: cmp.Or(q.ID, q.Key), Since: q.Since, Until: q.Until, Max: q.Max,
	})
	traces := &Traces{}
	var told []Told
	seen := map[string]bool{}
	for _, m := range found {
		if seen[m.OffsetID()] {
			continue // brokers may find a message twice
		}
		seen[m.OffsetID()] = true
		events, err := tracesIn(m)
		if err != nil {
			traces.Faults = append(traces.Faults, fmt.Errorf("trace message %s: %w", m.Place(), err))
		}
		told = append(told, events...)
	}
	traces.Lives = livesOf(told, q)
	return traces, err
}

func tracesIn(m *Stored) ([]Told, error) {
	body, err := m.Content()
	if err != nil {
		return nil, err
	}
	events, err := trace.Decode(string(body))
	told := make([]Told, len(events))
	for i, e := range events {
		told[i] = Told{Event: e, Client: cmp.Or(hostOf(e.ClientHost), m.BornHost.Addr().String())}
	}
	return told, err
}

// hostOf takes the port off, where there is one.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// livesOf puts events of the wanted messages together.
func livesOf(told []Told, q TraceQuery) []*Life {
	slices.SortStableFunc(told, func(a, b Told) int { return cmp.Compare(a.Time, b.Time) })
	lives := map[string]*Life{}
	var order []*Life
	for _, e := range told {
		if lives[e.MessageID] == nil && (e.MessageID == q.ID || q.ID == "" && slices.Contains(strings.Fields(e.Keys), q.Key)) {
			l := &Life{ID: e.MessageID}
			lives[e.MessageID] = l
			order = append(order, l)
		}
	}
	type request struct{ id, message string }
	began := map[request]Told{}
	for _, e := range told {
		l := lives[e.MessageID]
		if l == nil {
			continue
		}
		l.Topic, l.Tags, l.Keys = cmp.Or(l.Topic, e.Topic), cmp.Or(l.Tags, e.Tags), cmp.Or(l.Keys, e.Keys)
		switch e.Kind {
		case trace.Pub:
			l.Sent = append(l.Sent, e)
		case trace.EndTransaction:
			l.Ends = append(l.Ends, e)
		case trace.Recall:
			l.Recalls = append(l.Recalls, e)
		case trace.SubBefore:
			began[request{e.RequestID, e.MessageID}] = e
		}
	}
	for _, e := range told { // ends may have been told, or be dated, before beginnings
		l := lives[e.MessageID]
		if l == nil || e.Kind != trace.SubAfter {
			continue
		}
		key := request{e.RequestID, e.MessageID}
		before := began[key]
		delete(began, key)
		l.Handled = append(l.Handled, handling(before, e))
	}
	for key, before := range began {
		l := lives[key.message]
		l.Handled = append(l.Handled, Handling{Group: before.Group, Client: before.Client, Began: before.Time, Retries: before.Retries})
	}
	for _, l := range order {
		slices.SortStableFunc(l.Handled, func(a, b Handling) int { return cmp.Compare(a.Began, b.Began) })
	}
	return order
}

// handling makes one of its end and its beginning, which may be missing.
func handling(before, after Told) Handling {
	h := Handling{
		Group: cmp.Or(before.Group, after.Group), Client: cmp.Or(before.Client, after.Client), Began: before.Time, Retries: before.Retries,
		Ended: true, Cost: after.Cost, Success: after.Success, ReturnCode: after.ReturnCode, HasCode: after.HasCode,
	}
	if h.Began == 0 && after.Time > 0 {
		h.Began = after.Time - after.Cost
	}
	return h
}
