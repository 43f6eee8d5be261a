// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
)

// Log is the files of a commit log. It is used by one goroutine, and closed.
type Log struct {
	Files    []RunFile
	FileSize int64 // that the files have, or should have

	open []*source // kept for Record, the one used last at the end
}

// OpenLog lists a log. Each path is a store's folder, a folder of the log, or one file of it.
func OpenLog(paths ...string) (*Log, error) {
	l := &Log{}
	for _, path := range paths {
		files, err := logFiles(path)
		if err != nil {
			return nil, err
		}
		l.Files = append(l.Files, files...)
	}
	slices.SortFunc(l.Files, func(a, b RunFile) int { return cmp.Compare(a.Start, b.Start) })
	sizes := make(map[int64]int)
	for i := range l.Files {
		sizes[l.Files[i].Size]++
	}
	l.FileSize = commonSize(sizes)
	return l, nil
}

func logFiles(path string) ([]RunFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		files, err := runFiles(part(path, logName))
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("no files of a commit log in %s", part(path, logName))
		}
		return files, err
	}
	start, ok := segment.ParseName(filepath.Base(path))
	if !ok {
		return nil, fmt.Errorf("%s is no file of a commit log: its name is the offset of its first byte, 20 digits", path)
	}
	return []RunFile{{path, start, info.Size()}}, nil
}

// Close closes files.
func (l *Log) Close() {
	for _, s := range l.open {
		s.close()
	}
	l.open = nil
}

// Min is where the log begins.
func (l *Log) Min() int64 {
	if len(l.Files) == 0 {
		return 0
	}
	return l.Files[0].Start
}

// End is where its last file ends.
func (l *Log) End() int64 {
	if n := len(l.Files); n > 0 {
		return l.Files[n-1].Start + max(l.Files[n-1].Size, l.FileSize)
	}
	return 0
}

// fileOf gives the file that holds an offset; nil when there is none.
func (l *Log) fileOf(off int64) *RunFile {
	i, found := slices.BinarySearchFunc(l.Files, off, func(f RunFile, off int64) int { return cmp.Compare(f.Start, off) })
	if !found {
		i--
	}
	if i < 0 || off >= l.Files[i].end() {
		return nil
	}
	return &l.Files[i]
}

// keptOpen is how many files stay open for Record.
const keptOpen = 8

func (l *Log) sourceOf(f *RunFile) (*source, error) {
	if i := slices.IndexFunc(l.open, func(s *source) bool { return s.path == f.Path }); i >= 0 {
		s := l.open[i]
		l.open = append(slices.Delete(l.open, i, i+1), s)
		return s, nil
	}
	s, err := openSource(f.Path)
	if err != nil {
		return nil, err
	}
	if len(l.open) >= keptOpen {
		l.open[0].close()
		l.open = slices.Delete(l.open, 0, 1)
	}
	l.open = append(l.open, s)
	return s, nil
}

// errNoRecord: there is no record at this place.
var errNoRecord = errors.New("no record there")

// Record reads the record at a physical offset into r, whose slices then alias buf or what replaced it. The error is
// errNoRecord, wrapped with the reason, when there is none.
func (l *Log) Record(off int64, r *message.Record, buf []byte) ([]byte, error) {
	f := l.fileOf(off)
	if f == nil {
		return buf, fmt.Errorf("%w: no file of the log holds it", errNoRecord)
	}
	s, err := l.sourceOf(f)
	if err != nil {
		return buf, err
	}
	var head [message.PosPhysicalOffset + 8]byte
	n, err := s.read(head[:], off-f.Start)
	if err != nil {
		return buf, err
	}
	size, reason := sizeOf(head[:n], s.size-(off-f.Start))
	if at := int64(binary.BigEndian.Uint64(head[message.PosPhysicalOffset:])); reason == "" && at != off {
		reason = fmt.Sprintf("the one there says it lies at %d", at)
	}
	if reason == "" {
		size, reason, err = recordSize(s, off-f.Start, head[:n])
	}
	if err != nil {
		return buf, err
	}
	if reason != "" {
		return buf, fmt.Errorf("%w: %s", errNoRecord, reason)
	}
	buf = slices.Grow(buf[:0], size)[:size]
	if n, err = s.read(buf, off-f.Start); err != nil {
		return buf, err
	}
	if _, err := message.DecodeRecord(buf[:n], r, true); err != nil {
		return buf, fmt.Errorf("%w: %v", errNoRecord, err)
	}
	return buf, nil
}

func isNoRecord(err error) bool { return errors.Is(err, errNoRecord) }
