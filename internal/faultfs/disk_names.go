// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package faultfs

import (
	"io/fs"
	"path/filepath"
	"sort"
	"time"
)

// tree is a set of names.
type tree struct {
	files map[string]*node
	dirs  map[string]bool
}

func newTree() *tree { return &tree{files: map[string]*node{}, dirs: map[string]bool{}} }

// nameOp is a change of names that was not synced yet.
type nameOp struct {
	kind     OpKind
	path, to string
	node     *node
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func (t *tree) clone() *tree {
	c := newTree()
	for k, v := range t.files {
		c.files[k] = v
	}
	for k := range t.dirs {
		c.dirs[k] = true
	}
	return c
}

func (t *tree) apply(op nameOp) {
	switch op.kind {
	case OpCreate:
		t.files[op.path] = op.node
	case OpMkdir:
		t.dirs[op.path] = true
	case OpRemove:
		delete(t.files, op.path)
		delete(t.dirs, op.path)
	case OpRename:
		if n := t.files[op.path]; n != nil {
			delete(t.files, op.path)
			t.files[op.to] = n
		}
	}
}

// info is a FileInfo and a DirEntry in one.
type info struct {
	name string
	size int64
	at   time.Time
	dir  bool
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) IsDir() bool                { return i.dir }
func (i info) ModTime() time.Time         { return i.at }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }
func (i info) Type() fs.FileMode          { return i.Mode().Type() }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

// reachable tells whether a folder and all above it are there.
func (t *tree) reachable(dir string) bool {
	for t.dirs[dir] {
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
	return false
}
