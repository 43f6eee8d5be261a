// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goddard-mq/goddard/internal/segment"
)

// Names of what lies in a store folder.
const (
	logName         = "commitlog"
	queuesName      = "consumequeue"
	batchQueuesName = "batchconsumequeue"
	extendedName    = "consumequeue_ext"
	indexName       = "index"
	checkpointName  = "checkpoint"
	configName      = "config"
	abortName       = "abort"
	lockName        = "lock"
)

// Store names a store folder and its parts.
type Store struct {
	Root    string
	LogDirs []string // Root/commitlog, or several
}

// FindStore finds the store at path, which is its folder, or the data folder of a server. A folder is a store if it has
// a log or queues.
func FindStore(path string) (Store, error) {
	if info, err := os.Stat(path); err != nil {
		return Store{}, err
	} else if !info.IsDir() {
		return Store{}, fmt.Errorf("%s is a file; the store's folder is wanted", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Store{}, err
	}
	for _, root := range []string{path, filepath.Join(path, "store")} {
		if isDir(filepath.Join(root, logName)) || isDir(filepath.Join(root, queuesName)) {
			return Store{Root: root, LogDirs: []string{filepath.Join(root, logName)}}, nil
		}
	}
	return Store{}, fmt.Errorf("%s is no store: it has neither %s nor %s", path, logName, queuesName)
}

func (s *Store) path(name string) string { return filepath.Join(s.Root, name) }

// Running tells whether a broker has the store that path belongs to open: somebody holds its lock. pid is 0 when the
// holder cannot be told. path may be the folder, or anything in it.
func Running(path string) (pid int32, running bool) {
	root, ok := rootOf(path)
	if !ok {
		return 0, false
	}
	f, err := os.Open(filepath.Join(root, lockName))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	return lockHolder(f)
}

// rootOf finds the store folder that path is or lies in: the nearest with a lock or a checkpoint.
func rootOf(path string) (string, bool) {
	if s, err := FindStore(path); err == nil {
		return s.Root, true
	}
	dir, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	for range 5 { // consumequeue/topic/queue/file is the deepest
		if exists(filepath.Join(dir, lockName)) || exists(filepath.Join(dir, checkpointName)) {
			return dir, true
		}
		dir = filepath.Dir(dir)
	}
	return "", false
}

// part finds a part of a store: path is the store's folder or a data folder, else it is the part itself.
func part(path, name string) string {
	if s, err := FindStore(path); err == nil {
		if p := s.path(name); exists(p) {
			return p
		}
	}
	for _, p := range []string{filepath.Join(path, name), filepath.Join(path, "store", name)} {
		if exists(p) {
			return p
		}
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// RunFile is one file of a run: see package segment.
type RunFile struct {
	Path  string
	Start int64 // offset of its first byte in the run
	Size  int64
}

func (f *RunFile) end() int64 { return f.Start + f.Size }

// runFiles lists the files of a run in a folder, in order. A folder that does not exist has none.
func runFiles(dir string) ([]RunFile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []RunFile
	for _, e := range entries {
		start, ok := segment.ParseName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		files = append(files, RunFile{filepath.Join(dir, e.Name()), start, info.Size()})
	}
	return files, nil
}

// commonSize gives the size that most files have; 0 when there are none.
func commonSize(sizes map[int64]int) int64 {
	common := int64(0)
	for size, n := range sizes {
		if size > 0 && (n > sizes[common] || n == sizes[common] && size > common) {
			common = size
		}
	}
	return common
}
