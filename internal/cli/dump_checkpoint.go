// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/inspect"
)

func newDumpCheckpoint() *cobra.Command {
	var f dumpFlags
	cmd := &cobra.Command{
		Use:   "checkpoint PATH",
		Short: "Print the checkpoint of a store",
		Long:  "Print the checkpoint of a store: what a start may rely on. Both copies of Goddard's mark are shown, and which counts.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDump(cmd, &f, args[0], func(d *dump) error {
				c, err := inspect.ReadCheckpoint(args[0])
				if err != nil {
					return err
				}
				if d.json {
					return d.object(newCheckpointLine(c))
				}
				return d.checkpoint(c)
			})
		},
	}
	f.addTo(cmd)
	return cmd
}

// checkpointLine is the checkpoint as JSON.
type checkpointLine struct {
	File          string     `json:"file"`
	Bytes         int64      `json:"bytes"`
	LogAt         string     `json:"logAt"`
	QueuesAt      string     `json:"queuesAt"`
	IndexAt       string     `json:"indexAt"`
	MasterFlushed int64      `json:"masterFlushed"`
	Confirm       int64      `json:"confirm"`
	QueuePhysical int64      `json:"queuePhysicalOffset"`
	Counts        int        `json:"counts"` // number of the mark that counts; 0: none
	Why           string     `json:"why,omitempty"`
	Marks         []markLine `json:"marks"`
}

type markLine struct {
	At         int64  `json:"at"` // in the file
	Fault      string `json:"fault,omitempty"`
	Number     int64  `json:"number,omitempty"`
	Clean      bool   `json:"clean"`
	Dispatched int64  `json:"dispatched"`
	ScanFrom   int64  `json:"scanFrom"`
	Flushed    int64  `json:"flushed"`
	Queues     int64  `json:"queues"`
	Units      int64  `json:"units"`
	IndexPos   int64  `json:"indexPosition"`
	IndexFile  int64  `json:"indexFile"`
	Entries    int32  `json:"indexEntries"`
}

func newCheckpointLine(c *inspect.Checkpoint) checkpointLine {
	p := &c.Plain
	line := checkpointLine{
		File: c.Path, Bytes: c.Size, LogAt: msJSON(p.LogTime), QueuesAt: msJSON(p.QueueTime), IndexAt: msJSON(p.IndexTime),
		MasterFlushed: p.MasterFlushed, Confirm: p.Confirm, QueuePhysical: p.QueuePhysical, Why: c.Why,
	}
	if m := c.Mark(); m != nil {
		line.Counts = int(m.Number)
	}
	for _, m := range c.Marks {
		l := markLine{At: m.Offset, Fault: m.Fault}
		if m.Fault == "" {
			l = markLine{m.Offset, "", m.Number, m.Clean, m.Dispatched, m.ScanFrom, m.Flushed, m.Queues, m.Units, m.IndexPos, m.IndexFile, m.IndexHeader.Count - 1}
		}
		line.Marks = append(line.Marks, l)
	}
	return line
}

func (d *dump) checkpoint(c *inspect.Checkpoint) error {
	field := func(name, format string, args ...any) {
		fmt.Fprintf(d.out, "  %-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(d.out, "%s (%d bytes)\n", c.Path, c.Size)
	p := &c.Plain
	field("log durable to", "%s", msText(p.LogTime))
	field("queues durable to", "%s", msText(p.QueueTime))
	field("index durable to", "%s", msText(p.IndexTime))
	field("master flushed", "%d", p.MasterFlushed)
	field("last record at start", "%d", p.Confirm)
	field("last record in queues", "%d", p.QueuePhysical)
	if c.Why != "" {
		fmt.Fprintf(d.out, "No mark of Goddard counts: %s\n", c.Why)
	}
	for i := range c.Marks {
		m := &c.Marks[i]
		state := "older"
		if c.Used == i {
			state = "counts"
		} else if c.Used < 0 {
			state = "does not count"
		}
		if m.Fault != "" {
			fmt.Fprintf(d.out, "Mark at byte %d: %s\n", m.Offset, m.Fault)
			continue
		}
		fmt.Fprintf(d.out, "Mark %d at byte %d (%s)\n", m.Number, m.Offset, state)
		field("closed properly", "%t", m.Clean)
		field("queues hold log below", "%d", m.Dispatched)
		field("recovery scans from", "%d", m.ScanFrom)
		field("log durable below", "%d", m.Flushed)
		field("queues, units", "%d, %d", m.Queues, m.Units)
		field("index holds log below", "%d", m.IndexPos)
		field("index file, entries", "%d, %d", m.IndexFile, m.IndexHeader.Count-1)
	}
	return nil
}
