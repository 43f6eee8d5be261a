// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// kvConfig is the key-value settings: namespace, key, value. They are all that a
// name server keeps on disk. The file is RocketMQ's kvConfig.json:
// {"configTable":{namespace:{key:value}}}. A table that is not there is a damaged
// file: every server writes it, and an empty file must not pass for "no settings".
type kvConfig struct {
	path string     // "": in memory only
	mu   sync.Mutex // one writer at a time, through the disk; readers do not take it
	now  atomic.Pointer[kvTables]
}

// kvTables is never written to once it is visible.
type kvTables map[string]map[string]string

type kvFile struct {
	ConfigTable kvTables `json:"configTable"`
}

// openKV reads the file, or the generation before it when it is damaged. No file
// is no settings.
func openKV(path string, log *slog.Logger) (*kvConfig, error) {
	k := &kvConfig{path: path}
	k.now.Store(&kvTables{})
	if path == "" {
		return k, nil
	}
	var f kvFile
	from, err := statefile.Load(path, func(b []byte) error {
		f = kvFile{}
		if err := javajson.Unmarshal(b, &f); err != nil {
			return err
		}
		if f.ConfigTable == nil {
			return errors.New("it has no configTable")
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case err != nil:
		return nil, fmt.Errorf("read key-value settings: %w", err)
	case from != path:
		log.Warn("key-value settings are damaged or missing, the generation before is used", "file", path, "used", from)
	}
	k.now.Store(&f.ConfigTable)
	return k, nil
}

// get gives a value.
func (k *kvConfig) get(namespace, key string) (string, bool) {
	v, ok := (*k.now.Load())[namespace][key]
	return v, ok
}

// list gives all of a namespace, not to be written to; ok is false when nothing was ever put there.
func (k *kvConfig) list(namespace string) (map[string]string, bool) {
	m, ok := (*k.now.Load())[namespace]
	return m, ok
}

// put sets a value; nil stands for none, and leaves a namespace behind all the
// same. With an error, which is the disk's, nothing has changed.
func (k *kvConfig) put(namespace, key string, value *string) error {
	return k.change(func(t kvTables) {
		m := maps.Clone(t[namespace])
		if m == nil {
			m = map[string]string{}
		}
		if value == nil {
			delete(m, key)
		} else {
			m[key] = *value
		}
		t[namespace] = m
	})
}

// remove forgets a key; one that is not there is no error. Its namespace stays.
func (k *kvConfig) remove(namespace, key string) error {
	if _, ok := k.get(namespace, key); !ok {
		return nil
	}
	return k.change(func(t kvTables) {
		m := maps.Clone(t[namespace])
		delete(m, key)
		t[namespace] = m
	})
}

// change applies edit to a copy, writes it to disk and makes it visible.
func (k *kvConfig) change(edit func(t kvTables)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := maps.Clone(*k.now.Load())
	edit(next)
	if k.path != "" {
		if err := statefile.MakeDir(filepath.Dir(k.path)); err != nil {
			return fmt.Errorf("keep key-value settings: %w", err)
		}
		if err := statefile.Write(k.path, javajson.Marshal(&kvFile{next}, javajson.Bare)); err != nil {
			return fmt.Errorf("keep key-value settings: %w", err)
		}
	}
	k.now.Store(&next)
	return nil
}
