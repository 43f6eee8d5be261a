// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/goddard-mq/goddard/internal/inspect"
)

// printReport writes a report for people: what was checked, then each finding with its remedy, what matters first.
func printReport(w io.Writer, r *inspect.Report) error {
	out := bufio.NewWriter(w)
	state := "stopped properly"
	if !r.Clean {
		state = "not stopped properly: the next start recovers"
	}
	if r.ByJava {
		state += "; written by a Java broker last"
	}
	fmt.Fprintf(out, "%s: %s\n", r.Store, state)
	fmt.Fprintf(out, "  log    %d files, physical offsets %d to %d, %d messages", r.LogFiles, r.LogBegin, r.LogEnd, r.Messages)
	if r.Unqueued+r.Deleted > 0 {
		fmt.Fprintf(out, " (%d without a queue, %d of deleted queues)", r.Unqueued, r.Deleted)
	}
	fmt.Fprintf(out, "\n  queues %d with %d entries, %d of them right", r.Queues, r.Units, r.Queued)
	if r.Extended > 0 {
		fmt.Fprintf(out, " (%d with more beside the queue)", r.Extended)
	}
	fmt.Fprintf(out, "\n  index  %d files with %d entries, %d of them right\n", r.IndexFiles, r.Entries, r.Matched)
	if len(r.NotChecked) > 0 {
		fmt.Fprintf(out, "  not looked at: %s\n", strings.Join(r.NotChecked, ", "))
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(out)
	}
	for i := range r.Findings {
		fmt.Fprintln(out, findingText(r.Store, &r.Findings[i]))
	}
	if r.Left > 0 {
		fmt.Fprintf(out, "and %d more\n", r.Left)
	}
	fmt.Fprintf(out, "\n%s\n", countsText(r.Counts))
	return out.Flush()
}

// findingText is a finding on two lines: what and where, then the remedy.
func findingText(root string, f *inspect.Finding) string {
	var text strings.Builder
	file := f.File
	if rel, err := filepath.Rel(root, file); err == nil && !strings.HasPrefix(rel, "..") {
		file = rel
	}
	fmt.Fprintf(&text, "%-8s %s, byte %d", f.Severity, file, f.Offset)
	if f.Topic != "" && f.Part != inspect.PartLog {
		fmt.Fprintf(&text, " (topic %s, queue %d", f.Topic, *f.Queue)
		switch {
		case f.QueueOffset != nil && f.Count > 1:
			fmt.Fprintf(&text, ", offsets %d to %d", *f.QueueOffset, *f.QueueOffset+f.Count-1)
		case f.QueueOffset != nil:
			fmt.Fprintf(&text, ", offset %d", *f.QueueOffset)
		}
		text.WriteString(")")
	}
	if f.Physical != nil && f.Part == inspect.PartLog {
		fmt.Fprintf(&text, " (physical %d)", *f.Physical)
	}
	fmt.Fprintf(&text, ": %s", f.What)
	if f.Count > 1 {
		fmt.Fprintf(&text, " (%d)", f.Count)
	}
	if f.Remedy != "" {
		fmt.Fprintf(&text, "\n         -> %s", f.Remedy)
	}
	return text.String()
}

func countsText(c inspect.Counts) string {
	if c.Wrong() == 0 {
		if c.Notes > 0 {
			return fmt.Sprintf("nothing is wrong, %d notes", c.Notes)
		}
		return "nothing is wrong"
	}
	return fmt.Sprintf("%d damaged, %d derived, %d notes", c.Damaged, c.Derived, c.Notes)
}

// findingLine and summaryLine are what is printed as JSON.
type findingLine struct {
	Kind string `json:"kind"`
	inspect.Finding
}

type summaryLine struct {
	Kind string `json:"kind"`
	*inspect.Report
}

func printReportJSON(w io.Writer, r *inspect.Report) error {
	for _, f := range r.Findings {
		if err := printJSON(w, findingLine{"finding", f}); err != nil {
			return err
		}
	}
	return printJSON(w, summaryLine{"summary", r})
}
