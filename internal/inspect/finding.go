// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

// Severity says what a finding means.
type Severity string

// Severities.
const (
	Damaged Severity = "damage"  // messages or state are lost, or a broker will not start
	Derived Severity = "derived" // of a queue or the index: it can be built again from the log
	Note    Severity = "note"    // the next start mends it, or it is only worth knowing
)

// Parts of a store, in Finding.Part.
const (
	PartLog        = "commitlog"
	PartQueue      = "consumequeue"
	PartIndex      = "index"
	PartCheckpoint = "checkpoint"
	PartState      = "config"
)

// Finding is a fault with its place and its remedy.
type Finding struct {
	Severity Severity `json:"severity"`
	Part     string   `json:"part"`
	File     string   `json:"file"`
	Offset   int64    `json:"offset"` // in the file, bytes
	What     string   `json:"what"`
	Remedy   string   `json:"remedy,omitempty"`
	Count    int64    `json:"count,omitempty"` // places alike, one behind the other, of which this is the first; 0 is 1

	Physical    *int64 `json:"physicalOffset,omitempty"` // in the log
	Topic       string `json:"topic,omitempty"`
	Queue       *int32 `json:"queue,omitempty"`
	QueueOffset *int64 `json:"queueOffset,omitempty"`
}

// Report is what Verify found.
type Report struct {
	Store    string `json:"store"`
	Clean    bool   `json:"clean"`    // the last broker stopped properly
	ByJava   bool   `json:"byJava"`   // there is no mark of Goddard's: a Java broker wrote last
	LogBegin int64  `json:"logBegin"` // physical offsets
	LogEnd   int64  `json:"logEnd"`
	LogFiles int    `json:"logFiles"`

	Messages   int64 `json:"messages"`   // records of the log
	Queued     int64 `json:"queued"`     // units that are those of their messages
	Extended   int64 `json:"extended"`   // of these, with an entry beside the queue
	Unqueued   int64 `json:"unqueued"`   // belong into no queue: prepared and rolled back ones
	Deleted    int64 `json:"deleted"`    // of queues that were deleted
	Queues     int   `json:"queues"`     // that have a folder
	Units      int64 `json:"units"`      // in them
	IndexFiles int   `json:"indexFiles"` // and
	Entries    int64 `json:"entries"`    // in them
	Matched    int64 `json:"matched"`    // of these, with the message that they lead to; older ones cannot be compared

	Findings   []Finding `json:"-"`
	Left       int64     `json:"left,omitempty"` // findings that were more than wanted
	Counts     Counts    `json:"counts"`
	NotChecked []string  `json:"notChecked,omitempty"` // what lies in the folder and was not looked at

	// CutAt is where the next start would cut the log though records follow; -1: nowhere.
	CutAt int64 `json:"cutAt"`

	rebuild rebuildNeeds
}

// Counts are numbers of findings.
type Counts struct {
	Damaged int64 `json:"damage"`
	Derived int64 `json:"derived"`
	Notes   int64 `json:"notes"`
}

// Wrong is the number of findings that are more than notes.
func (c Counts) Wrong() int64 { return c.Damaged + c.Derived }

// rebuildNeeds is what Rebuild has to know of a verified store.
type rebuildNeeds struct {
	queues     []queueNeed // that have a folder, or should
	any        bool        // one of them has derived faults
	index      bool        // it has derived faults
	logFile    int64       // sizes, as the files have them; 0: unknown
	logFiles   int
	queueFile  int64
	extraFile  int64
	lights     bool // there are light queues
	batchFile  int64
	batch      map[string]bool // topics with batch queues
	slots      int32           // of an index file
	entries    int32
	mark       bool // there is one that counts
	topics     map[string]bool
	topicFault error // why topics is nil
}

// queueNeed is a queue that could be built again.
type queueNeed struct {
	*Queue
	broken  bool // has derived faults
	records bool // the log has messages of it
}

// add takes a finding.
func (v *verifier) add(f Finding) {
	switch f.Severity {
	case Damaged:
		v.r.Counts.Damaged++
	case Derived:
		v.r.Counts.Derived++
	default:
		v.r.Counts.Notes++
	}
	if len(v.r.Findings) >= v.o.MaxFindings {
		v.r.Left++
		return
	}
	v.r.Findings = append(v.r.Findings, f)
}

func ptr[T any](v T) *T { return &v }
