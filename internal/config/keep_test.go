// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "broker.properties")
	if layer, err := Kept(path); err != nil || len(layer.Settings) != 0 {
		t.Fatalf("no file: %v, %v", layer, err)
	}
	for _, changes := range [][]KV{
		{{"listenPort", "1"}, {"brokerName", "中"}},
		{{"listenPort", "2"}, {"deleteWhen", "04;16"}},
	} {
		if err := Keep(path, changes); err != nil {
			t.Fatal(err)
		}
	}
	layer, err := Kept(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Setting{
		{KV{"brokerName", "中"}, path + ":3"}, {KV{"deleteWhen", "04;16"}, path + ":4"}, {KV{"listenPort", "2"}, path + ":5"},
	}
	if diff := cmp.Diff(want, layer.Settings); diff != "" || layer.Source != FromRequest {
		t.Errorf("source %s: %s", layer.Source, diff)
	}
}

// A crash while the file was written leaves the generation before.
func TestKeptFallsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broker.properties")
	for _, port := range []string{"1", "2"} {
		if err := Keep(path, []KV{{"listenPort", port}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, make([]byte, 40), 0o600); err != nil {
		t.Fatal(err)
	}
	layer, err := Kept(path)
	if err != nil || len(layer.Settings) != 1 || layer.Settings[0].Value != "1" || !strings.Contains(layer.Settings[0].Where, ".bak") {
		t.Errorf("got %+v, %v", layer, err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 40 {
		t.Errorf("reading moved the file, which may be another process's: %v", err)
	}
	// The good generation outlives the next change.
	if err := Keep(path, []KV{{"brokerName", "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if layer, err := Kept(path); err != nil || len(layer.Settings) != 1 || layer.Settings[0].Value != "1" {
		t.Errorf("generation before: %+v, %v", layer, err)
	}
}

func TestKeepWhereNobodyMayWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Keep(filepath.Join(file, "broker.properties"), []KV{{"a", "1"}}); err == nil {
		t.Error("no error")
	}
}
