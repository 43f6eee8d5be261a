// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"fmt"
	"math"
)

// run is a row of units with the same fault.
type run struct {
	kind     runKind
	from, to int64 // numbers of the units: queue offsets, but in batch queues
	physical int64 // of the first one's record, or where its unit points; math.MaxInt64 when unknown
	what     string
}

type runKind uint8

const (
	runWrong   runKind = iota // the unit is not that of its record
	runEmpty                  // the unit was never written, the log has its record
	runMissing                // the queue does not reach so far, or begins later, or passes over the record
	runStray                  // the unit points at something that is not its message
	runVoid                   // never written, and the log has no message of this number either
	runHurt                   // the unit points into a damaged part of the log
)

// mostRuns bounds what is kept of a queue that is wrong throughout.
const mostRuns = 64

// note keeps a fault, as part of the run before if it goes on there.
func (c *queueCheck) note(r run) {
	if n := len(c.runs); n > 0 {
		if before := &c.runs[n-1]; before.kind == r.kind && before.to == r.from {
			before.to = r.to
			return
		}
	}
	if len(c.runs) >= mostRuns {
		c.more++
		return
	}
	c.runs = append(c.runs, r)
}

// forget takes back faults of units from n on.
func (c *queueCheck) forget(n int64) {
	kept := c.runs[:0]
	for _, r := range c.runs {
		if r.from >= n {
			continue
		}
		r.to = min(r.to, n)
		kept = append(kept, r)
	}
	c.runs = kept
	if n == 0 {
		c.more = 0
	}
}

// Remedies of what is derived.
const (
	remedyRebuild = "goddard verify --rebuild"
	remedyStart   = "the next start mends it"
)

// heals tells whether the next start mends a run. After a crash, with a mark, it throws away all units above and puts
// them again; without one it takes the first unit in the last files that is none for the end, cuts what is behind the
// end of the log, and adds what the queue then lacks.
func (v *verifier) heals(c *queueCheck, r *run, from int64) bool {
	none := r.kind == runEmpty || r.kind == runVoid || r.kind == runStray && r.physical == math.MaxInt64
	switch {
	case r.kind == runHurt:
		return true // there is nothing to mend
	case !v.crashed:
		return false
	case v.mark != nil && r.physical == math.MaxInt64:
		return r.from >= c.solid
	case v.mark != nil:
		return r.physical >= from
	case none:
		return r.from >= c.walked()
	}
	return r.from >= c.end && r.physical >= from || v.isBehind(r)
}

// walked is the number of the first unit that a start without a mark looks at: the first of the last three files.
func (c *queueCheck) walked() int64 {
	if n := len(c.q.Files); n > 3 {
		return c.q.Files[n-3].Start / c.q.UnitBytes()
	}
	return 0
}

// isBehind tells whether units point behind the end of the log.
func (v *verifier) isBehind(r *run) bool {
	return r.kind == runStray && r.physical != math.MaxInt64 && r.physical >= v.r.LogEnd
}

// tell adds the findings of a queue.
func (v *verifier) tell(c *queueCheck, from int64) {
	told := int64(0)
	for i := range c.runs {
		r := &c.runs[i]
		severity := Derived
		switch {
		case v.heals(c, r, from) && r.kind != runHurt:
			v.healed[r.kind].add(v, c, r)
			continue
		case r.kind == runHurt:
			severity = Note
		case v.isBehind(r) && r.physical < v.log.End():
			v.lost.add(v, c, r) // the fault is the log's
			continue
		}
		v.addRun(c, severity, r)
	}
	for i := range c.runs {
		if r := &c.runs[i]; r.kind <= runMissing {
			told += r.to - r.from
		}
	}
	if c.more > 0 {
		path, at := c.q.place(c.q.First())
		v.addQueue(c, Derived, path, at, c.q.First(), fmt.Sprintf("%d more faults", c.more))
		return
	}
	v.r.Deleted += c.records - c.matched - told // of the topic as it was before it was made anew
}

// healedRuns is what the next start mends, all queues together: after a crash under load nearly every queue lacks its
// newest messages.
type healedRuns struct {
	first  Finding
	queues int
	units  int64
	last   *queueCheck
}

func (h *healedRuns) add(v *verifier, c *queueCheck, r *run) {
	if h.queues == 0 {
		path, at := c.q.place(r.from)
		h.first = v.queueFinding(c, Note, path, at, r.from, v.what(c, r))
		h.first.Remedy, h.first.Physical = remedyStart, ptr(r.physical)
	}
	if h.last != c {
		h.last = c
		h.queues++
	}
	h.units += r.to - r.from
}

// tellHealed adds one note for all runs of a kind that the next start mends.
func (v *verifier) tellHealed() {
	for i := range v.healed {
		h := &v.healed[i]
		if h.queues == 0 {
			continue
		}
		if h.first.Count = h.units; h.queues > 1 {
			h.first.Count = 0
			h.first.What += fmt.Sprintf("; so it is in %d queues, %d units in all", h.queues, h.units)
		}
		v.add(h.first)
	}
}

// what tells a run in words.
func (v *verifier) what(c *queueCheck, r *run) string {
	const has = "but the log has "
	these := "these messages"
	if r.to-r.from == 1 {
		these = "this message"
	}
	switch {
	case !c.present:
		return "the queue has no folder, " + has + these
	case r.kind == runMissing && r.from < c.q.First():
		return "the queue begins later, " + has + these
	case r.kind == runMissing && r.from < c.end:
		return "the queue passes over them, " + has + these
	case r.kind == runMissing, r.kind == runEmpty && r.from >= c.end:
		return "the queue ends before, " + has + these
	case r.kind == runEmpty:
		return "nothing is written here, " + has + these
	case r.kind == runVoid && r.what == "":
		return "nothing is written here, though others follow; the log has no such messages either"
	case r.kind == runVoid:
		return "no units: " + r.what
	case r.kind == runHurt:
		return "it points into a damaged part of the log"
	case v.isBehind(r):
		return fmt.Sprintf("behind the end of the log, %d: %s", v.r.LogEnd, r.what)
	case r.kind == runStray:
		return "not its message: " + r.what
	}
	return r.what
}

func (v *verifier) addRun(c *queueCheck, s Severity, r *run) {
	path, at := c.q.place(r.from)
	f := v.queueFinding(c, s, path, at, r.from, v.what(c, r))
	f.Count = r.to - r.from
	if r.physical != math.MaxInt64 {
		f.Physical = ptr(r.physical)
	}
	switch {
	case r.kind == runHurt:
		f.Remedy = "none; consumers pass over it"
	case r.kind == runVoid:
		f.Remedy += "; consumers then pass over it"
	}
	v.add(f)
}

// queueFinding makes a finding about unit n; a derived one makes the queue one to rebuild.
func (v *verifier) queueFinding(c *queueCheck, s Severity, path string, at, n int64, what string) Finding {
	f := Finding{Severity: s, Part: PartQueue, File: path, Offset: at, What: what, Topic: c.q.Topic, Queue: ptr(c.q.ID)}
	if !c.q.Batch() {
		f.QueueOffset = ptr(n)
	}
	if s == Derived {
		f.Remedy = remedyRebuild
		c.broken, v.r.rebuild.any = true, true
	}
	return f
}

func (v *verifier) addQueue(c *queueCheck, s Severity, path string, at, n int64, what string) {
	v.add(v.queueFinding(c, s, path, at, n, what))
}
