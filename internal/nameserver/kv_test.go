// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func checkKept(t *testing.T, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !contains(string(b), want) {
		t.Errorf("%s holds %q, want %q in it", path, b, want)
	}
}

// The answers are those of RocketMQ 5.5.0.
func TestKVRequests(t *testing.T) {
	s := start(t, nil)
	p := s.dial()
	ask := func(code int32, fields ...string) string {
		answer := p.call(code, nil, fields...)
		out := fmt.Sprint(answer.Code)
		if v, ok := answer.Fields.Get("value"); ok {
			out += " value=" + string(v)
		}
		if answer.Remark != "" {
			out += " " + answer.Remark
		}
		if len(answer.Body) > 0 {
			out += " " + string(answer.Body)
		}
		return out
	}
	for i, row := range []struct{ got, want string }{
		{ask(101, "namespace", "N", "key", "k"), "22 No config item, Namespace: N Key: k"},
		{ask(219, "namespace", "N"), "22 No config item, Namespace: N"},
		{ask(100, "namespace", "N", "key", "k", "value", "v"), "0"},
		{ask(101, "namespace", "N", "key", "k"), "0 value=v"},
		{ask(100, "namespace", "N", "key", "k", "value", ""), "0"},
		{ask(101, "namespace", "N", "key", "k"), "0 value="},
		{ask(219, "namespace", "N"), `0 {"table":{"k":""}}`},
		{ask(102, "namespace", "N", "key", "k"), "0"},
		{ask(101, "namespace", "N", "key", "k"), "22 No config item, Namespace: N Key: k"},
		{ask(219, "namespace", "N"), `0 {"table":{}}`},
		{ask(102, "namespace", "N", "key", "k"), "0"},
		{ask(102, "namespace", "O", "key", "k"), "0"},
		{ask(219, "namespace", "O"), "22 No config item, Namespace: O"},
		{ask(100, "namespace", "P", "key", "k"), "0"},
		{ask(219, "namespace", "P"), `0 {"table":{}}`},
		{ask(100, "namespace", "P", "value", "v"), "1 namespace or key is null"},
		{ask(100, "key", "k", "value", "v"), "1 namespace or key is null"},
		{ask(100, "namespace", "", "key", "", "value", "v"), "0"},
		{ask(101, "namespace", "", "key", ""), "0 value=v"},
	} {
		if row.got != row.want {
			t.Errorf("step %d: %q, want %q", i, row.got, row.want)
		}
	}
}

func TestRegistrationAnswersWithOrderSettings(t *testing.T) {
	s := start(t, nil)
	p := s.dial()
	if answer := p.register(protocol.RegisterBrokerRequest{}, 1, "T", "U"); len(answer.Body) != 0 {
		t.Errorf("body %s without settings", answer.Body)
	}
	p.must(protocol.PutKVConfig, nil, "namespace", "ORDER_TOPIC_CONFIG", "key", "T", "value", "a:4")
	if answer := p.register(protocol.RegisterBrokerRequest{}, 1, "T", "U"); string(answer.Body) != `{"table":{"T":"a:4"}}` {
		t.Errorf("body %s", answer.Body)
	}
	p.must(protocol.UpdateNameServerConfig, []byte("returnOrderTopicConfigToBroker=false"))
	if answer := p.register(protocol.RegisterBrokerRequest{}, 1, "T", "U"); len(answer.Body) != 0 {
		t.Errorf("body %s although switched off", answer.Body)
	}
}

func TestKVFile(t *testing.T) {
	const written = `{"configTable":{"N":{"k":"v"},"O":{}}}`
	for _, row := range []struct {
		situation string
		prepare   func(path string)
		want      string // value of N k after the start; "-": none
		fails     bool
	}{
		{"no file", func(string) {}, "-", false},
		{"a file", func(path string) { write(path, written) }, "v", false},
		{"RocketMQ's file of other settings", func(path string) { write(path, `{"configTable":{"X":{"y":"z"}}}`) }, "-", false},
		{"an empty table", func(path string) { write(path, `{"configTable":{}}`) }, "-", false},
		{"no table", func(path string) { write(path, `{}`) }, "", true},
		{"no table, the generation before is whole", func(path string) {
			write(path, `{}`)
			write(path+".bak", written)
		}, "v", false},
		{"a damaged file, the generation before is whole", func(path string) {
			write(path, `{"configTable":{"N":{"k":`)
			write(path+".bak", written)
		}, "v", false},
		{"a file of zeros, the generation before is whole", func(path string) {
			write(path, strings.Repeat("\x00", 100))
			write(path+".bak", written)
		}, "v", false},
		{"no file, the generation before is there", func(path string) { write(path+".bak", written) }, "v", false},
		{"a damaged file and no generation before", func(path string) { write(path, `{"configTable`) }, "", true},
	} {
		t.Run(row.situation, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kvConfig.json")
			row.prepare(path)
			var said strings.Builder
			k, err := openKV(path, slog.New(slog.NewTextHandler(&said, nil)))
			if (err != nil) != row.fails {
				t.Fatalf("error %v", err)
			}
			if row.fails {
				return
			}
			got, ok := k.get("N", "k")
			if !ok {
				got = "-"
			}
			if got != row.want {
				t.Errorf("N k = %q, want %q", got, row.want)
			}
			if _, before := os.Stat(path + ".bak"); before == nil && !contains(said.String(), "generation before") {
				t.Error("nothing in the log")
			}
			if err := k.put("N", "new", new("1")); err != nil {
				t.Fatal(err)
			}
			again, err := openKV(path, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if !maps.EqualFunc(*again.now.Load(), *k.now.Load(), maps.Equal) {
				t.Errorf("read back %v, written %v", *again.now.Load(), *k.now.Load())
			}
		})
	}
}

func write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		panic(err)
	}
}

func TestKVSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "namesrv", "kvConfig.json")
	s := start(t, func(c *Config) { c.Files.KV = path })
	s.dial().must(protocol.PutKVConfig, nil, "namespace", "N", "key", "k", "value", "ä/\"")
	s.stop()
	checkKept(t, path, `{"configTable":{"N":{"k":"ä/\""}}}`)
	s = start(t, func(c *Config) { c.Files.KV = path })
	answer := s.dial().must(protocol.GetKVConfig, nil, "namespace", "N", "key", "k")
	if got := answer.Fields.Text("value"); got != "ä/\"" {
		t.Errorf("value %q", got)
	}
}

func TestKVThatCannotBeWrittenIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	write(filepath.Join(dir, "file"), "")
	k, err := openKV(filepath.Join(dir, "kv", "kvConfig.json"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	k.path = filepath.Join(dir, "file", "kvConfig.json") // its folder is a file
	if err := k.put("N", "k", new("v")); err == nil {
		t.Fatal("no error")
	}
	if _, ok := k.get("N", "k"); ok {
		t.Error("a value that is not on disk is served")
	}
}

func TestKVWritersDoNotLoseEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kvConfig.json")
	k, err := openKV(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for n := range 5 {
				if err := k.put("N", fmt.Sprintf("%d-%d", w, n), new("v")); err != nil {
					t.Error(err)
				}
				k.list("N")
			}
		})
	}
	writers.Wait()
	var f kvFile
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := javajson.Unmarshal(b, &f); err != nil || len(f.ConfigTable["N"]) != 20 {
		t.Errorf("%v, %d keys in %s", err, len(f.ConfigTable["N"]), b)
	}
}
