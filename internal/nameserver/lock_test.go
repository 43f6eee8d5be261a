// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"path/filepath"
	"strings"
	"testing"
)

// Two name servers with one folder would overwrite each other's settings: the second one does not start, and says why.
func TestFolderInUse(t *testing.T) {
	dir := t.TempDir()
	cfg := DefaultConfig()
	cfg.Files.KV, cfg.Files.Settings = filepath.Join(dir, "namesrv", "kvConfig.json"), filepath.Join(dir, "settings", "namesrv.properties")
	first, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range []FileConfig{
		cfg.Files,
		{KV: cfg.Files.KV},
		{Settings: cfg.Files.Settings},
	} {
		other := cfg
		other.Files = files
		if _, err := New(other, Deps{}); err == nil || !strings.Contains(err.Error(), "in use by another name server") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%+v: %v", files, err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := New(cfg, Deps{})
	if err != nil {
		t.Fatalf("after the first one ended: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}
