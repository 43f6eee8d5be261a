// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package trouble

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// look is one look at all groups.
type look struct {
	*Watch
	limits Limits
	now    time.Time
	online int
	found  map[key]*protocol.GroupFault
}

func (l *look) group(g *Group) {
	l.online++
	s := l.groups[g.Name]
	if s == nil {
		s = &groupState{}
		l.groups[g.Name] = s
	}
	s.round = l.round
	// A group that is being changed member by member differs for a moment.
	if len(g.Differences) > 0 && s.apart {
		for _, d := range g.Differences {
			l.add(l.differ(g.Name, &d), "")
		}
	}
	s.apart = len(g.Differences) > 0
	for _, shared := range g.Shared {
		l.add(protocol.GroupFault{
			Kind: protocol.FaultSharedClientID, Group: g.Name, Clients: []string{shared.Client}, Addrs: shared.Addrs,
			Text: fmt.Sprintf("client id %s is alive on %s at the same time: queues are divided as if they were one, and each gets only part of its messages; give each process an id of its own",
				shared.Client, strings.Join(shared.Addrs, " and ")),
		}, shared.Client)
	}
	if g.Judged {
		for i := range g.Topics {
			l.topic(g, s, &g.Topics[i])
		}
	}
	for name, t := range s.topics {
		if t.round != l.round {
			delete(s.topics, name)
		}
	}
}

// add takes in a fault; one that is known keeps its begin.
func (l *look) add(f protocol.GroupFault, client string) {
	k := key{f.Kind, f.Group, f.Topic, client}
	if f.Since == 0 {
		f.Since = l.now.UnixMilli()
	}
	if before := l.faults[k]; before != nil {
		f.Since = before.Since
	}
	l.found[k] = &f
}

// maxNamed bounds the clients named for one want.
const maxNamed = 5

func (l *look) differ(group string, d *Difference) protocol.GroupFault {
	f := protocol.GroupFault{Kind: protocol.FaultUnequalSubscriptions, Group: group, Topic: d.Topic}
	var parts []string
	for _, w := range d.Wants {
		named := w.Clients[:min(len(w.Clients), maxNamed)]
		f.Clients = append(f.Clients, named...)
		text := strings.Join(named, ", ")
		if more := len(w.Clients) - len(named); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		want := "nothing"
		if w.Expression != "" {
			want = strconv.Quote(w.Expression)
		}
		parts = append(parts, text+" want "+want)
	}
	f.Text = fmt.Sprintf("members subscribe to topic %s differently: %s; all must subscribe to the same, or messages are missed",
		d.Topic, strings.Join(parts, "; "))
	return f
}

// topic judges the queues of a topic.
func (l *look) topic(g *Group, s *groupState, t *Topic) {
	if !slices.ContainsFunc(t.Queues, func(q Queue) bool { return q.waiting() > 0 }) {
		return // what was remembered of it goes
	}
	state := s.topics[t.Name]
	if state == nil {
		state = &topicState{}
		if s.topics == nil {
			s.topics = map[string]*topicState{}
		}
		s.topics[t.Name] = state
	}
	state.round = l.round
	for len(state.queues) < len(t.Queues) {
		state.queues = append(state.queues, queueState{since: l.now.UnixNano(), committed: -1})
	}
	state.queues = state.queues[:len(t.Queues)]
	var troubles troubles
	for i := range t.Queues {
		q, at := &t.Queues[i], &state.queues[i]
		committed := int64(-1)
		if q.Known {
			committed = q.Committed
		}
		if q.waiting() == 0 || committed != at.committed {
			at.committed, at.since = committed, l.now.UnixNano()
			continue
		}
		l.queue(g, t, int32(i), time.Unix(0, at.since), &troubles)
	}
	for _, tr := range troubles {
		l.add(tr.fault(g.Name, t.Name, l.now), tr.client)
	}
}

// queue judges a queue in which messages wait and nothing has moved for a while.
func (l *look) queue(g *Group, t *Topic, id int32, since time.Time, all *troubles) {
	q := &t.Queues[id]
	still, quiet := l.now.Sub(since), l.now.Sub(time.Unix(0, q.PulledAt))
	if still < min(l.limits.Unconsumed, l.limits.Stuck) {
		return
	}
	holder := g.Holder(g.Name, t.Name, id)
	owner := memberOf(g, q, holder)
	switch {
	case g.Pulls && !q.Known: // its progress may be kept elsewhere
	case owner == "" && still >= l.limits.Unconsumed && quiet >= l.limits.Unconsumed:
		all.add(protocol.FaultUnconsumedQueue, "", holder, id, q, since)
	case owner != "" && still >= l.limits.Stuck:
		all.add(protocol.FaultStuckMember, owner, "", id, q, since)
	}
}

// memberOf gives the member whose a queue is: that has locked it, or that pulled it
// last. "": none.
func memberOf(g *Group, q *Queue, holder string) string {
	for _, m := range g.Members {
		if holder != "" && m.Client == holder || holder == "" && q.PulledAt != 0 && m.Conn == q.PulledBy {
			return m.Client
		}
	}
	return ""
}

// troubles are the faults of a topic's queues, those of one member together.
type troubles []*trouble

type trouble struct {
	kind, client string
	locker       string // is no member and holds a lock
	queues       []int32
	waiting      int64
	since        time.Time // the earliest
	pulled       int64     // the latest pull, ns; 0: none
}

func (all *troubles) add(kind, client, locker string, id int32, q *Queue, since time.Time) {
	i := slices.IndexFunc(*all, func(t *trouble) bool { return t.kind == kind && t.client == client })
	if i < 0 {
		i = len(*all)
		*all = append(*all, &trouble{kind: kind, client: client, since: since})
	}
	t := (*all)[i]
	t.queues = append(t.queues, id)
	t.waiting += q.waiting()
	t.pulled = max(t.pulled, q.PulledAt)
	if since.Before(t.since) {
		t.since = since
	}
	if locker != "" {
		t.locker = locker
	}
}

func (t *trouble) fault(group, topic string, now time.Time) protocol.GroupFault {
	f := protocol.GroupFault{
		Kind: t.kind, Group: group, Topic: topic, Queues: t.queues, Waiting: t.waiting, Since: t.since.UnixMilli(),
	}
	pull := "it was never pulled since the broker started"
	if t.pulled != 0 {
		f.LastPull = t.pulled / int64(time.Millisecond)
		pull = "the last pull was " + span(now, time.Unix(0, t.pulled)) + " ago"
	}
	where := fmt.Sprintf("%s of topic %s, where %d messages have waited for %s; %s", numbers(t.queues), topic, t.waiting, span(now, t.since), pull)
	switch {
	case t.client != "":
		f.Clients = []string{t.client}
		f.Text = "client " + t.client + " commits no progress in " + where
		if now.Sub(time.Unix(0, t.pulled)) > stillPulling {
			f.Text += ": it is paused, or does not finish the messages that it has"
		}
	case t.locker != "":
		f.Clients = []string{t.locker}
		f.Text = "no member consumes " + where + "; client " + t.locker + ", which is no member any more, has locked it"
	default:
		f.Text = "no member consumes " + where
	}
	return f
}

// stillPulling is how long ago a member may have pulled that is said to go on pulling:
// clients have pulls held for 30 s at most.
const stillPulling = time.Minute

// span is how long ago something was, to the second.
func span(now, then time.Time) string { return now.Sub(then).Round(time.Second).String() }

// maxListed bounds the queues that a text names.
const maxListed = 16

func numbers(queues []int32) string {
	word := "queue "
	if len(queues) > 1 {
		word = "queues "
	}
	var parts []string
	for _, q := range queues[:min(len(queues), maxListed)] {
		parts = append(parts, strconv.Itoa(int(q)))
	}
	text := word + strings.Join(parts, ", ")
	if more := len(queues) - len(parts); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
