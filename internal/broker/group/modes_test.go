// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "messageRequestMode.json")
	logger := slog.New(slog.DiscardHandler)
	m, err := OpenModes(path, logger)
	must(t, err)
	if m.Get("T", "G") != nil || len(m.All()) != 0 {
		t.Fatal("a mode from the start")
	}
	pop := protocol.MessageRequestMode{ConsumerGroup: "G", Mode: protocol.ModePop, PopShareQueueNum: 2, Topic: "T"}
	must(t, m.Set(pop))
	before := m.All()
	must(t, m.Set(protocol.MessageRequestMode{ConsumerGroup: "H", Mode: protocol.ModePull, Topic: "T"}))
	if len(before["T"]) != 1 {
		t.Fatal("a table changed under its reader")
	}
	b, err := os.ReadFile(path)
	must(t, err)
	want := `{"messageRequestModeMap":{"T":{"G":{"consumerGroup":"G","mode":"POP","popShareQueueNum":2,"topic":"T"},` +
		`"H":{"consumerGroup":"H","mode":"PULL","popShareQueueNum":0,"topic":"T"}}}}`
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Fatal(d)
	}
	m, err = OpenModes(path, logger)
	must(t, err)
	if d := cmp.Diff(&pop, m.Get("T", "G")); d != "" {
		t.Fatal(d)
	}
	write(t, path, string(b[:40]))
	m, err = OpenModes(path, logger)
	must(t, err)
	if d := cmp.Diff(&pop, m.Get("T", "G")); d != "" { // of the generation before
		t.Fatal(d)
	}
	write(t, path, "{}")
	write(t, path+".bak", "")
	if _, err = OpenModes(path, logger); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v", err)
	}
}
