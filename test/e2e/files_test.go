// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

// logDir is where a broker's log lies.
func (s *server) logDir() string { return filepath.Join(s.data, "store", "commitlog") }

// configFile is one of its state files.
func (s *server) configFile(name string) string {
	return filepath.Join(s.data, "store", "config", name)
}

// numberedFiles are the files of a folder whose names are positions, in order.
func numberedFiles(t testing.TB, dir string) (positions []int64) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		position, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || len(e.Name()) != 20 {
			t.Fatalf("%s has a file %s", dir, e.Name())
		}
		positions = append(positions, position)
	}
	slices.Sort(positions)
	return positions
}

// logRecords reads the records of a log from its files, up to the first bytes that are none.
func (s *server) logRecords() []message.Record {
	s.t.Helper()
	var all []message.Record
	for _, start := range numberedFiles(s.t, s.logDir()) {
		b, err := os.ReadFile(s.logFile(start))
		if err != nil {
			s.t.Fatal(err)
		}
		for at := 0; ; {
			var r message.Record
			n, err := message.DecodeRecord(b[at:], &r, true)
			if errors.Is(err, message.ErrBlank) {
				break
			}
			if err != nil {
				return all
			}
			if r.PhysicalOffset != start+int64(at) {
				s.t.Fatalf("the record at %d says that it is at %d", start+int64(at), r.PhysicalOffset)
			}
			all = append(all, r)
			at += n
		}
	}
	return all
}

func (s *server) logFile(start int64) string {
	return filepath.Join(s.logDir(), fmt.Sprintf("%020d", start))
}
