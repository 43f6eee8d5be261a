// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// StateFile is a small table of a server with what lies beside it on the disk.
type StateFile struct {
	Path        string
	Generations []Generation // those that exist: the file, the one before, journals, leftovers
	Used        string       // the one that a server would take; "": none
	Err         error        // why none; fs.ErrNotExist when there is nothing
	Changes     []Change     // what the journals say
	Table       Table        // of the generation that counts, with the changes that count; nil: none
}

// Generation is one file.
type Generation struct {
	Path     string
	Role     string // see the Role constants
	Size     int64
	Modified time.Time
	Version  string // its data version, "" when it has none
	Fault    string
	Records  int // of a journal
}

// What a file beside a table is.
const (
	RoleFile     = "file"
	RoleBackup   = "generation before"
	RoleJournal  = "journal"
	RoleOlder    = "journal before"
	RoleDamaged  = "put aside as damaged"
	RoleLeftover = "leftover of a write"
)

// Change is one record of a journal.
type Change struct {
	Path   string
	At     int64 // in the file, bytes
	Counts bool  // the generation that counts does not hold it yet
	Value  Table
	Fault  string
}

// Table is JSON, or settings: text, int64, float64, bool, []any or Table's kind of map.
type Table = map[string]any

// endings of what lies beside a state file, the longer first.
var endings = []struct{ suffix, role string }{
	{".journal.old.tmp", RoleLeftover}, {".journal.old", RoleOlder}, {".journal.tmp", RoleLeftover}, {".journal", RoleJournal},
	{".bak.tmp", RoleLeftover}, {".bak", RoleBackup}, {".damaged", RoleDamaged}, {".tmp", RoleLeftover}, {"", RoleFile},
}

// tables are the state files whose table must be there for the file to count, and its name.
var tables = map[string]string{
	"topics.json":             "topicConfigTable",
	"subscriptionGroup.json":  "subscriptionGroupTable",
	"consumerOffset.json":     "offsetTable",
	"lmqConsumerOffset.json":  "offsetTable",
	"delayOffset.json":        "offsetTable",
	"messageRequestMode.json": "messageRequestModeMap",
	"consumerFilter.json":     "filterDataByTopic",
}

// FindStates reads the state files at path: a store's folder, one with state files, or one file.
func FindStates(path string) ([]*StateFile, error) {
	dir, only := part(path, configName), ""
	if !isDir(path) { // a file, or one of which only journals or the generation before are there
		dir, only = filepath.Dir(path), stem(filepath.Base(path))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]bool)
	for _, e := range entries {
		if name := stem(e.Name()); !e.IsDir() && (name == only || only == "" && isState(name)) {
			byName[name] = true
		}
	}
	var files []*StateFile
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s, err := ReadState(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, s)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no state files at %s", path)
	}
	return files, nil
}

// stem is the name of the state file that a file belongs to.
func stem(name string) string {
	for _, e := range endings {
		if base, ok := strings.CutSuffix(name, e.suffix); ok && base != "" {
			return base
		}
	}
	return name
}

func isState(name string) bool {
	return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".properties") || name == "timermetrics" || name == "transactionMetrics"
}

// ReadState reads one state file as a server would, and what lies beside it. An error is the disk's; what is wrong with
// the files is told in the result.
func ReadState(path string) (*StateFile, error) {
	s := &StateFile{Path: path}
	for _, e := range endings {
		g := Generation{Path: path + e.suffix, Role: e.role}
		info, err := os.Stat(g.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		g.Size, g.Modified = info.Size(), info.ModTime()
		if e.role == RoleFile || e.role == RoleBackup {
			g.look(path)
		}
		s.Generations = append(s.Generations, g)
	}
	slices.SortStableFunc(s.Generations, func(a, b Generation) int { return cmp.Compare(len(a.Path), len(b.Path)) })
	s.Used, s.Err = statefile.Look(path, func(b []byte) (err error) {
		s.Table, err = decodeState(path, b)
		return err
	})
	if s.Err != nil {
		s.Table = nil
	}
	return s, s.readJournals()
}

// look tells what is wrong with a generation, and its version.
func (g *Generation) look(path string) {
	b, err := os.ReadFile(g.Path)
	if err != nil {
		g.Fault = err.Error()
		return
	}
	if allZero(b) {
		g.Fault = "empty, or nothing but zero bytes"
		return
	}
	t, err := decodeState(path, b)
	if err != nil {
		g.Fault = err.Error()
		return
	}
	if v, ok := t["dataVersion"].(Table); ok {
		g.Version = versionText(v)
	}
}

func versionText(v Table) string {
	counter, _ := v["counter"].(int64)
	state, _ := v["stateVersion"].(int64)
	ms, _ := v["timestamp"].(int64)
	return fmt.Sprintf("%d/%d at %s", state, counter, time.UnixMilli(ms).Format("2006-01-02 15:04:05.000"))
}

// decodeState decodes a generation of the state file at path.
func decodeState(path string, b []byte) (Table, error) {
	name := filepath.Base(path)
	t := Table{}
	if strings.HasSuffix(name, ".properties") {
		properties, err := config.ParseProperties(b)
		for _, p := range properties {
			t[p.Key] = p.Value
		}
		return t, err
	}
	if err := javajson.Unmarshal(b, &t); err != nil {
		return nil, err
	}
	if table := tables[name]; table != "" {
		if _, ok := t[table].(Table); !ok {
			return nil, fmt.Errorf("it has no %s", table)
		}
	}
	return t, nil
}
