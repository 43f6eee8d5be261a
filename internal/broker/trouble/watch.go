// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package trouble

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Source calls f with each group that has members, one after another. f keeps nothing
// of the group.
type Source func(f func(*Group))

// Config of a Watch.
type Config struct {
	Logger *slog.Logger
	Groups Source
	Limits func() Limits // read at each look
}

// Limits say how often to look and how long something may last.
type Limits struct {
	Every      time.Duration // between looks; 0: never
	Unconsumed time.Duration // that messages wait in a queue that no member pulls
	Stuck      time.Duration // that a member leaves its offset where it is while messages wait
}

// Watch looks at consumer groups. Its methods may be called at the same time.
type Watch struct {
	cfg Config

	mu     sync.Mutex
	at     time.Time // of the last look
	online int
	faults map[key]*protocol.GroupFault
	counts map[string]int // by kind

	looking sync.Mutex // one look at a time; before mu. It guards the rest
	round   uint64
	groups  map[string]*groupState
}

// key tells faults apart: one that changes its queues or its number of messages stays
// the same fault.
type key struct{ kind, group, topic, client string }

// groupState is what has to be remembered of a group from look to look.
type groupState struct {
	round  uint64
	apart  bool                   // members differed at the last look
	topics map[string]*topicState // in which messages wait
}

type topicState struct {
	round  uint64
	queues []queueState
}

// queueState is since when, ns, a queue has been where it is with messages waiting.
type queueState struct {
	committed, since int64
}

// New makes a watch that knows nothing yet.
func New(cfg Config) *Watch {
	return &Watch{cfg: cfg, faults: map[key]*protocol.GroupFault{}, counts: map[string]int{}, groups: map[string]*groupState{}}
}

// asleep is how often a watch that is switched off looks whether it still is.
const asleep = time.Second

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	timer := time.NewTimer(asleep)
	defer timer.Stop()
	for {
		every := w.cfg.Limits().Every
		if every <= 0 {
			every = asleep
		}
		timer.Reset(every)
		select {
		case <-ctx.Done():
			return nil
		case now := <-timer.C:
			w.Look(now)
		}
	}
}

// Look looks at all groups now.
func (w *Watch) Look(now time.Time) {
	w.looking.Lock()
	defer w.looking.Unlock()
	limits := w.cfg.Limits()
	l := &look{Watch: w, limits: limits, now: now, found: map[key]*protocol.GroupFault{}}
	w.round++
	if limits.Every > 0 {
		w.cfg.Groups(l.group)
	} else {
		l.now = time.Time{} // nobody looks
	}
	for name, s := range w.groups {
		if s.round != w.round {
			delete(w.groups, name)
		}
	}
	w.publish(l)
}

// publish replaces what is known by what a look found, and tells the changes.
func (w *Watch) publish(l *look) {
	counts := map[string]int{}
	var begun, over []*protocol.GroupFault
	w.mu.Lock()
	for k, f := range l.found {
		counts[k.kind]++
		if w.faults[k] == nil {
			begun = append(begun, f)
		}
	}
	for k, f := range w.faults {
		if l.found[k] == nil {
			over = append(over, f)
		}
	}
	w.at, w.online, w.faults, w.counts = l.now, l.online, l.found, counts
	w.mu.Unlock()
	w.tell(begun, over)
}

// maxTold bounds the lines of one look: when a store or a network is slow thousands of
// groups may have the same trouble.
const maxTold = 20

func (w *Watch) tell(begun, over []*protocol.GroupFault) {
	log := w.cfg.Logger
	slices.SortFunc(begun, compare)
	slices.SortFunc(over, compare)
	for _, f := range begun[:min(len(begun), maxTold)] {
		log.Warn("consumer group: "+f.Text, "kind", f.Kind, "group", f.Group, "topic", f.Topic, "queues", f.Queues, "client", f.Clients)
	}
	for _, f := range over[:min(len(over), maxTold)] {
		log.Info("consumer group: a fault is over", "kind", f.Kind, "group", f.Group, "topic", f.Topic, "client", f.Clients)
	}
	if n := max(len(begun)-maxTold, 0) + max(len(over)-maxTold, 0); n > 0 {
		log.Warn("consumer groups: more faults began or ended than are told", "more", n)
	}
}

func compare(a, b *protocol.GroupFault) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Topic, b.Topic), slices.Compare(a.Clients, b.Clients))
}

// Count gives the faults of a kind at the last look.
func (w *Watch) Count(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[kind]
}

// MaxShown bounds the faults of one answer.
const MaxShown = 1000

// Faults gives what the last look found, of one group or, with "", of all.
func (w *Watch) Faults(group string) protocol.GroupCheck {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := protocol.GroupCheck{Groups: w.online, Faults: []protocol.GroupFault{}}
	if !w.at.IsZero() {
		c.CheckedAt = w.at.UnixMilli()
	}
	all := slices.SortedFunc(maps.Values(w.faults), compare)
	for _, f := range all {
		switch {
		case group != "" && f.Group != group:
		case len(c.Faults) == MaxShown:
			c.More++
		default:
			c.Faults = append(c.Faults, *f)
		}
	}
	return c
}
