// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// DeadLetters are what a group did not manage, as they lie in the queues of its dead-letter topic.
type DeadLetters struct {
	Group string
	Spans []QueueSpan // empty ones included
}

// Count gives how many there are.
func (d *DeadLetters) Count() int64 {
	n := int64(0)
	for i := range d.Spans {
		n += d.Spans[i].Count()
	}
	return n
}

// topicName is a topic, as one of each.
type topicName string

func (t topicName) String() string { return string(t) }

// AllDeadLetters gives those of every group that has some, sorted by group. Beside an error are those that were told.
func (a *Admin) AllDeadLetters(ctx context.Context, t Target) ([]DeadLetters, error) {
	topics, err := a.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var names []topicName
	for _, topic := range topics {
		if protocol.IsDeadLetterTopic(topic) {
			names = append(names, topicName(topic))
		}
	}
	results, err := each("ask for dead letters", names, func(n topicName) ([]QueueSpan, error) {
		spans, err := a.Spans(ctx, t, string(n))
		if errors.Is(err, ErrNoTopic) {
			err = nil // deleted since
		}
		return spans, err
	})
	var all []DeadLetters
	for i, spans := range results {
		d := DeadLetters{Group: strings.TrimPrefix(string(names[i]), protocol.DeadLetterPrefix), Spans: spans}
		if d.Count() > 0 {
			all = append(all, d)
		}
	}
	return all, err
}

// DeadLetters gives those of one group. A group that never had any has no queues; ErrNoGroup when there is neither such
// a group nor such a topic.
func (a *Admin) DeadLetters(ctx context.Context, t Target, group string) (*DeadLetters, error) {
	spans, err := a.Spans(ctx, t, protocol.DeadLetterTopic(group))
	if errors.Is(err, ErrNoTopic) {
		_, err = a.Group(ctx, t, group)
	}
	if err != nil {
		return nil, err
	}
	return &DeadLetters{Group: group, Spans: spans}, nil
}

// Selection chooses among dead letters. The zero Selection is all that are there.
type Selection struct {
	// Only are single messages; the rest of the Selection chooses among them.
	Only []Place
	// From are places to begin at, one for each queue that is wanted.
	From []Place
	// Since and Until bound when they became dead letters. Zero times do not.
	Since, Until time.Time
	// ID is the id of a message: the one that its client made, the one of its place among the dead letters, or the
	// one of its place before its first retry.
	ID string
}

// Narrow gives the stretches in which the chosen ones lie. A Broker in a place may be "" when only one has dead letters.
func (a *Admin) Narrow(ctx context.Context, d *DeadLetters, sel *Selection) ([]QueueSpan, error) {
	var spans []QueueSpan
	switch {
	case len(sel.Only) > 0:
		for _, p := range sel.Only {
			s, err := d.spanOf(p)
			if err != nil {
				return nil, err
			}
			if p.Offset < s.First || p.Offset >= s.End {
				return nil, fmt.Errorf("there is no dead letter %s: queue %s:%d has %d to %d", p, s.Broker.Name, s.QueueID, s.First, s.End-1)
			}
			s.First, s.End = p.Offset, p.Offset+1
			spans = append(spans, s)
		}
	case len(sel.From) > 0:
		for _, p := range sel.From {
			s, err := d.spanOf(p)
			if err != nil {
				return nil, err
			}
			s.First = max(s.First, p.Offset)
			spans = append(spans, s)
		}
	default:
		spans = slices.Clone(d.Spans)
	}
	for i := range spans {
		s := &spans[i]
		if sel.Since.IsZero() || s.Count() == 0 {
			continue
		}
		first, err := a.offsetAt(ctx, s, sel.Since)
		if err != nil {
			return nil, err
		}
		s.First = max(s.First, first)
	}
	return spans, nil
}

func (d *DeadLetters) spanOf(p Place) (QueueSpan, error) {
	var found []QueueSpan
	var names []string
	for _, s := range d.Spans {
		names = append(names, fmt.Sprintf("%s:%d", s.Broker.Name, s.QueueID))
		if s.QueueID == p.QueueID && (p.Broker == "" || p.Broker == s.Broker.Name) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return QueueSpan{}, fmt.Errorf("%s: group %s has no such queue of dead letters: there %s", p, d.Group, list("is", "are", names))
	}
	return QueueSpan{}, fmt.Errorf("%s: several brokers have dead letters of group %s: say which one, there %s", p, d.Group, list("is", "are", names))
}

// Chosen gives the messages of a span that the Selection chooses; see Messages.
func (a *Admin) Chosen(ctx context.Context, s QueueSpan, sel *Selection) iter.Seq2[*Stored, error] {
	return func(yield func(*Stored, error) bool) {
		for m, err := range a.Messages(ctx, s) {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case !sel.Until.IsZero() && m.StoredAt().After(sel.Until):
				return
			case !sel.Since.IsZero() && m.StoredAt().Before(sel.Since), sel.ID != "" && !m.hasID(sel.ID):
				continue
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (m *Stored) hasID(id string) bool {
	return m.ID() == id || m.OffsetID() == id || m.OriginID() == id
}
