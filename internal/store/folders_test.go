// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log whose folder became full goes on in others; the old files stay where they are, and are read.
func TestLogGoesOnInOtherFolders(t *testing.T) {
	root, a, b := t.TempDir(), t.TempDir(), t.TempDir()
	cfg := small(root)
	cfg.LogFileBytes = 16 << 10
	fill := func(s *Store, from, to int) {
		for i := from; i < to; i++ {
			put(t, s, msg("T", 0, fmt.Sprint(i, strings.Repeat("x", 500))))
		}
	}
	files := func(dir string) int {
		all, err := filepath.Glob(filepath.Join(dir, "0*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	s := open(t, cfg)
	fill(s, 0, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(root, "commitlog")
	before := files(old)
	cfg.OldLogDirs, cfg.CommitLogDir = old, strings.Join([]string{a, b, old}, ",") // named twice, as RocketMQ allows
	for range 2 {
		s = open(t, cfg)
		_, end := s.QueueRange("T", 0)
		fill(s, int(end), int(end)+100)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if files(old) != before || files(a) < 2 || files(b) < 2 {
		t.Errorf("%d files in the old folder, %d before; %d and %d in the new ones", files(old), before, files(a), files(b))
	}
	s = open(t, cfg)
	for i, r := range readAll(t, s, "T", 0, 0) {
		if !strings.HasPrefix(string(r.Body), fmt.Sprint(i, "x")) {
			t.Fatalf("message %d is %.10s", i, r.Body)
		}
	}
	if _, end := s.QueueRange("T", 0); end != 300 {
		t.Errorf("%d messages", end)
	}
}

func TestOldFoldersThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		situation, dirs, old, why string
	}{
		{"there is none", "", "/nowhere/at/all", "a folder of readOnlyCommitLogStorePaths cannot be looked at: stat /nowhere/at/all"},
		{"all of them", "DIR", "DIR", "readOnlyCommitLogStorePaths names all folders of storePathCommitLog"},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			dir := t.TempDir()
			cfg := small(t.TempDir())
			cfg.CommitLogDir, cfg.OldLogDirs = strings.ReplaceAll(tt.dirs, "DIR", dir), strings.ReplaceAll(tt.old, "DIR", dir)
			_, err := tryOpen(t, cfg)
			if err == nil || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("something was made: %v, %v", left, err)
			}
		})
	}
}
