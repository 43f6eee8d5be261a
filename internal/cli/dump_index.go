// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/inspect"
)

func newDumpIndex() *cobra.Command {
	var f dumpFlags
	var summary bool
	var slots int32
	cmd := &cobra.Command{
		Use:   "index PATH",
		Short: "Print the entries of the key index",
		Long: "Print the entries of the key index: the hash of topic#key and where the message lies in the commit log.\n" +
			"Keys themselves are not in the index; --topic and --key show the entries that have the hash of a key.",
		Example: "  goddard dump index goddard-data --summary\n" +
			"  goddard dump index store --topic orders --key A-1001",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (f.key == "") != (f.topic == "") {
				return errors.New("--key and --topic go together: the index has the hash of both")
			}
			return runDump(cmd, &f, args[0], func(d *dump) error {
				return (&indexDump{dump: d, summary: summary}).run(args[0], slots)
			})
		},
	}
	f.addTo(cmd)
	f.topicFlag(cmd)
	f.keyFlag(cmd, "only entries that have the hash of this `key` or unique id of the topic")
	f.rangeFlags(cmd, "physical")
	f.maxFlag(cmd, "entries")
	cmd.Flags().BoolVarP(&summary, "summary", "s", false, "print a line per file, no entries")
	cmd.Flags().Int32Var(&slots, "slots", 0, "maxHashSlotNum of the broker (default: found out from the file)")
	return cmd
}

type indexDump struct {
	*dump
	summary bool
}

func (d *indexDump) run(path string, slots int32) error {
	files, err := inspect.FindIndex(path, slots)
	if err != nil {
		return err
	}
	for _, x := range files {
		if x.Fault != "" {
			d.damage++
		}
		if err := d.head(x); err != nil {
			return err
		}
		if d.summary {
			continue
		}
		if err := d.entries(x); err != nil {
			return err
		}
	}
	return nil
}

// indexFileLine is a file of the index as JSON.
type indexFileLine struct {
	Kind          string `json:"kind"`
	File          string `json:"file"`
	Bytes         int64  `json:"bytes"`
	BeginAt       string `json:"beginAt"` // store times of the first and the last message
	EndAt         string `json:"endAt"`
	BeginPhysical int64  `json:"beginPhysicalOffset"`
	EndPhysical   int64  `json:"endPhysicalOffset"`
	Entries       int32  `json:"entries"`
	Used          int32  `json:"slotsUsed"`
	Slots         int32  `json:"slots"` // 0: not known
	Fault         string `json:"fault,omitempty"`
}

func (d *indexDump) head(x *inspect.IndexFile) error {
	h := &x.Header
	if d.json {
		return d.object(indexFileLine{
			"file", x.Path, x.Size, msJSON(h.BeginTime), msJSON(h.EndTime), h.BeginPhysical, h.EndPhysical, h.Count - 1, h.Slots, x.Slots, x.Fault,
		})
	}
	text := fmt.Sprintf("%s (%d bytes): %d entries, %d of %d slots, stored %s to %s, physical %d to %d",
		x.Path, x.Size, h.Count-1, h.Slots, x.Slots, msText(h.BeginTime), msText(h.EndTime), h.BeginPhysical, h.EndPhysical)
	if x.Fault != "" {
		text += "\n  DAMAGED: " + x.Fault
	}
	if !d.summary && x.Slots > 0 && h.Count > 1 {
		text += fmt.Sprintf("\n%10s %10s %10s %14s  %-23s  %10s", "ENTRY", "HASH", "SLOT", "PHYSICAL", "STORED (ABOUT)", "BEFORE")
	}
	return d.line("%s", text)
}

// indexEntryLine is an entry as JSON.
type indexEntryLine struct {
	Kind     string `json:"kind"`
	File     string `json:"file"`
	Entry    int32  `json:"entry"`
	Hash     int32  `json:"hash"`
	Slot     int32  `json:"slot"`
	Physical int64  `json:"physicalOffset"`
	Seconds  int32  `json:"seconds"` // behind the begin of the file
	Before   int32  `json:"before"`  // number of the entry before it in the slot
}

func (d *indexDump) entries(x *inspect.IndexFile) error {
	hash, byKey := int32(0), d.key != ""
	if byKey {
		hash = inspect.KeyHash([]byte(d.topic), []byte(d.key))
	}
	return x.Walk(d.ctx, func(n int32, e inspect.Entry) error {
		if e.Physical < d.from || e.Physical >= d.until() || byKey && e.Hash != hash {
			return nil
		}
		slot := int32(-1) // a negative hash is damage
		if e.Hash >= 0 {
			slot = e.Hash % x.Slots
		}
		err := error(nil)
		if d.json {
			err = d.object(indexEntryLine{"entry", x.Name, n, e.Hash, slot, e.Physical, e.Seconds, e.Before})
		} else {
			err = d.line("%10d %10d %10d %14d  %-23s  %10d", n, e.Hash, slot, e.Physical, msText(x.Header.BeginTime+int64(e.Seconds)*1000), e.Before)
		}
		if err != nil {
			return err
		}
		return d.show()
	})
}
