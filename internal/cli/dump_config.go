// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/inspect"
)

func newDumpConfig() *cobra.Command {
	var f dumpFlags
	cmd := &cobra.Command{
		Use:   "config PATH",
		Short: "Print the state files of a server: topics, groups, offsets, settings",
		Long: "Print the state files of a server: topics, groups, progress of groups and delays, settings changed while\n" +
			"running. For each file the generations and journals beside it are shown, which of them counts, and the\n" +
			"entries as a server would have them after reading all that counts.",
		Example: "  goddard dump config goddard-data\n" +
			"  goddard dump config store/config/consumerOffset.json --key orders@\n" +
			"  goddard dump config goddard-data/namesrv",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDump(cmd, &f, args[0], func(d *dump) error { return d.config(args[0]) })
		},
	}
	f.addTo(cmd)
	f.keyFlag(cmd, "only entries whose name has this `text` in it")
	f.maxFlag(cmd, "entries")
	return cmd
}

func (d *dump) config(path string) error {
	files, err := inspect.FindStates(path)
	if err != nil {
		return err
	}
	for _, s := range files {
		if s.Err != nil && !errors.Is(s.Err, fs.ErrNotExist) {
			d.damage++
		}
		if err := d.generations(s); err != nil {
			return err
		}
		if err := d.changes(s); err != nil {
			return err
		}
		if err := d.entries(s); err != nil {
			return err
		}
	}
	return nil
}

// generationLine is a file as JSON.
type generationLine struct {
	Kind       string `json:"kind"`
	File       string `json:"file"`
	Role       string `json:"role"`
	Bytes      int64  `json:"bytes"`
	ModifiedAt string `json:"modifiedAt"`
	Version    string `json:"version,omitempty"`
	Records    int    `json:"records,omitempty"`
	Counts     bool   `json:"counts"`
	Fault      string `json:"fault,omitempty"`
}

func (d *dump) generations(s *inspect.StateFile) error {
	if !d.json {
		state := ""
		if s.Err != nil {
			state = "  DAMAGED: " + s.Err.Error()
		}
		if err := d.line("%s%s", s.Path, state); err != nil {
			return err
		}
	}
	for i := range s.Generations {
		g := &s.Generations[i]
		counts := g.Path == s.Used || g.Role == inspect.RoleJournal || g.Role == inspect.RoleOlder
		if d.json {
			if err := d.object(generationLine{"generation", g.Path, g.Role, g.Size, jsonTime(g.Modified), g.Version, g.Records, counts, g.Fault}); err != nil {
				return err
			}
			continue
		}
		text := fmt.Sprintf("  %-20s %9d bytes  written %s", g.Role, g.Size, g.Modified.Format("2006-01-02 15:04:05"))
		if g.Version != "" {
			text += "  version " + g.Version
		}
		if g.Records > 0 {
			text += fmt.Sprintf("  %d changes", g.Records)
		}
		if g.Path == s.Used {
			text += "  counts"
		}
		if g.Fault != "" {
			text += "  DAMAGED: " + g.Fault
		}
		if err := d.line("%s", text); err != nil {
			return err
		}
	}
	return nil
}

// changeLine is a record of a journal as JSON.
type changeLine struct {
	Kind   string        `json:"kind"`
	File   string        `json:"file"`
	At     int64         `json:"at"`
	Counts bool          `json:"counts"`
	Fault  string        `json:"fault,omitempty"`
	Value  inspect.Table `json:"value"`
}

func (d *dump) changes(s *inspect.StateFile) error {
	for _, c := range s.Changes {
		if c.Fault != "" {
			d.damage++
		}
		if d.json {
			if err := d.object(changeLine{"change", c.Path, c.At, c.Counts, c.Fault, c.Value}); err != nil {
				return err
			}
			continue
		}
		state := "is in the file"
		switch {
		case c.Fault != "":
			state = "DAMAGED: " + c.Fault
		case c.Counts:
			state = "counts"
		}
		if err := d.line("  change at byte %d of %s, %s: %s", c.At, filepath.Base(c.Path), state, compact(c.Value)); err != nil {
			return err
		}
	}
	return nil
}

// entryLine is an entry of a table as JSON.
type entryLine struct {
	Kind  string `json:"kind"`
	File  string `json:"file"`
	Table string `json:"table"`
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// entries prints what is in the tables of a file, an entry a line.
func (d *dump) entries(s *inspect.StateFile) error {
	for _, name := range slices.Sorted(maps.Keys(s.Table)) {
		inner, ok := s.Table[name].(inspect.Table)
		if name == "dataVersion" && !d.json {
			continue // each generation has its own, shown above
		}
		if !ok || name == "dataVersion" {
			if err := d.entry(s, "", name, s.Table[name]); err != nil {
				return err
			}
			continue
		}
		if !d.json {
			if err := d.line("  %s: %d", name, len(inner)); err != nil {
				return err
			}
		}
		for _, key := range slices.Sorted(maps.Keys(inner)) {
			if err := d.entry(s, name, key, inner[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *dump) entry(s *inspect.StateFile, table, key string, value any) error {
	if d.key != "" && !strings.Contains(key, d.key) {
		return nil
	}
	if d.json {
		if err := d.object(entryLine{"entry", s.Path, table, key, value}); err != nil {
			return err
		}
		return d.show()
	}
	indent := "  "
	if table != "" {
		indent = "    "
	}
	if err := d.line("%s%-40s %s", indent, readable(key), compact(value)); err != nil {
		return err
	}
	return d.show()
}

// compact is a value on one line: name=value for what tables hold, JSON below.
func compact(value any) string {
	t, ok := value.(inspect.Table)
	if !ok {
		return plain(value)
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(t), byNumber) {
		parts = append(parts, readable(name)+"="+plain(t[name]))
	}
	return strings.Join(parts, "  ")
}

func plain(value any) string {
	if text, ok := value.(string); ok {
		return readable(text)
	}
	b, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// byNumber sorts names that are numbers by what they count, before all others.
func byNumber(a, b string) int {
	if len(a) != len(b) && isNumber(a) && isNumber(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
