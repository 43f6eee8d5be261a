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

func layer(source Source, where string, pairs ...string) Layer {
	l := Layer{Source: source}
	for i := 0; i < len(pairs); i += 2 {
		l.Settings = append(l.Settings, Setting{KV{pairs[i], pairs[i+1]}, where})
	}
	return l
}

func TestLoadPrecedence(t *testing.T) {
	file := layer(FromFile, "f", "listenPort", "1", "brokerName", "file", "defaultTopicQueueNums", "1", "brokerId", "1")
	env := layer(FromEnvironment, "e", "listenPort", "2", "brokerName", "env", "defaultTopicQueueNums", "2")
	set := layer(FromFlag, "--set", "listenPort", "3", "brokerName", "set")
	named := layer(FromFlag, "--broker-listen", "listenPort", "4")
	b := defaultTestBroker()
	l, err := Load([]Target{{Config: &b}}, file, env, set, named)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]struct {
		value  string
		source Source
		where  string
	}{
		"listenPort":            {"4", FromFlag, "--broker-listen"},
		"brokerName":            {"set", FromFlag, "--set"},
		"defaultTopicQueueNums": {"2", FromEnvironment, "e"},
		"brokerId":              {"1", FromFile, "f"},
		"autoCreateTopicEnable": {"true", FromDefault, ""},
	} {
		value, _ := Get(&b, key)
		source, where := l.Source(Target{Config: &b}, key)
		if value != want.value || source != want.source || where != want.where {
			t.Errorf("%s is %s from %s %s, want %+v", key, value, source, where, want)
		}
	}
}

func TestLoadFaultsAndWarnings(t *testing.T) {
	tests := []struct {
		name     string
		settings []string
		fault    string
		warnings []string
	}{
		{name: "a key of ours"},
		{
			name: "a key that RocketMQ knows and nobody here takes", settings: []string{"sendMessageThreadPoolNums", "4"},
			warnings: []string{"f:1: sendMessageThreadPoolNums has no effect: RocketMQ knows it, Goddard does not act on it"},
		},
		{
			name: "the same twice", settings: []string{"sendMessageThreadPoolNums", "4", "sendMessageThreadPoolNums", "5"},
			warnings: []string{"f:1: sendMessageThreadPoolNums has no effect: RocketMQ knows it, Goddard does not act on it"},
		},
		{
			name: "a key of 4.9 that 5.5 has dropped", settings: []string{"accessMessageInMemoryMaxRatio", "40", "fetchNamesrvAddrByAddressServer", "false"},
			warnings: []string{
				"f:1: accessMessageInMemoryMaxRatio has no effect: RocketMQ knows it, Goddard does not act on it",
				"f:1: fetchNamesrvAddrByAddressServer has no effect: RocketMQ knows it, Goddard does not act on it",
			},
		},
		{
			name: "a key of another role", settings: []string{"grpcServerPort", "8081"},
			warnings: []string{"f:1: grpcServerPort has no effect: it is a key of RocketMQ's proxy"},
		},
		{
			name: "protection that is not there", settings: []string{"authenticationEnabled", "true"},
			warnings: []string{"f:1: authenticationEnabled has no effect: nobody is asked who they are"},
		},
		{name: "a letter missing", settings: []string{"brokerNam", "x"}, fault: "f:1: unknown key brokerNam, did you mean brokerName?"},
		{name: "wrong capitals", settings: []string{"brokername", "x"}, fault: "f:1: unknown key brokername, did you mean brokerName?"},
		{name: "two letters swapped in a key that we ignore", settings: []string{"sendMessageThraedPoolNums", "4"}, fault: "f:1: unknown key sendMessageThraedPoolNums, did you mean sendMessageThreadPoolNums?"},
		{name: "like nothing", settings: []string{"zzzzzzzz", "x"}, fault: "f:1: unknown key zzzzzzzz"},
		{name: "a bad value", settings: []string{"listenPort", "many"}, fault: "f:1: listenPort=many: want a whole number from 0 to 65535"},
		{name: "a value that Validate refuses", settings: []string{"brokerName", ""}, fault: "brokerName=: want a name"},
		{
			name: "several faults are told at once", settings: []string{"listenPort", "many", "brokerId", "-7", "brokerNam", "x"},
			fault: "f:1: listenPort=many: want a whole number from 0 to 65535\nf:1: brokerId=-7: want a whole number, at least 0\nf:1: unknown key brokerNam, did you mean brokerName?",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := defaultTestBroker()
			l, err := Load([]Target{{Config: &b}}, layer(FromFile, "f:1", tt.settings...))
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if fault != tt.fault {
				t.Errorf("error %q, want %q", fault, tt.fault)
			}
			if diff := cmp.Diff(tt.warnings, l.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// In a process of two roles a key goes to all that take it, except where it is said to mean another's.
func TestLoadTwoTargets(t *testing.T) {
	type names struct {
		Port int32  `rmq:"listenPort"`
		Bind string `rmq:"bindAddress"`
		Name string `rmq:"brokerName"`
	}
	n, b := names{Port: 9876}, defaultTestBroker()
	targets := []Target{{Config: &n, Except: []string{"listenPort"}}, {Config: &b}}
	if _, err := Load(targets, layer(FromFile, "f", "listenPort", "1", "brokerName", "x", "bindAddress", "::")); err != nil {
		t.Fatal(err)
	}
	if n.Port != 9876 || b.Port != 1 || n.Name != "x" || b.Name != "x" || n.Bind != "::" {
		t.Errorf("got %+v and %+v", n, b)
	}

	only := layer(FromFlag, "--nameserver-listen", "listenPort", "2")
	only.Only = &n
	l, err := Load(targets, only)
	if err != nil || n.Port != 2 || b.Port != 1 {
		t.Errorf("a layer for one target: %v, %+v and %+v", err, n, b)
	}
	if source, _ := l.Source(targets[0], "listenPort"); source != FromFlag {
		t.Errorf("the target's port is from %s", source)
	}
	if source, _ := l.Source(targets[1], "listenPort"); source != FromDefault {
		t.Errorf("the other target's port is from %s", source)
	}
}

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "broker.conf")
	if err := os.WriteFile(name, []byte("# mine\nbrokerName = broker-x\n\nlistenPort=10921 \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := File(name)
	if err != nil {
		t.Fatal(err)
	}
	want := Layer{Source: FromFile, Settings: []Setting{{KV{"brokerName", "broker-x"}, name + ":2"}, {KV{"listenPort", "10921 "}, name + ":4"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := File(name + ".gone"); err == nil || !strings.Contains(err.Error(), name+".gone") {
		t.Errorf("a missing file gives %v", err)
	}
}

// What is printed can be given back with -c.
func TestPrint(t *testing.T) {
	type settings struct {
		Name string `rmq:"brokerName"`
		Root string `rmq:"storePathRootDir"`
		Port int32  `rmq:"listenPort"`
	}
	s := settings{Name: "broker-a", Root: `C:\store`, Port: 10911}
	l, err := Load([]Target{{Config: &s}}, layer(FromFile, "broker.conf:2", "brokerName", "中"), layer(FromFlag, "--set", "listenPort", "0"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := l.Print(&out, Target{Config: &s}); err != nil {
		t.Fatal(err)
	}
	want := "# file: broker.conf:2\nbrokerName=\\u4E2D\n# flag: --set\nlistenPort=0\nstorePathRootDir=C:\\\\store\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	again, err := ParseProperties([]byte(out.String()))
	if err != nil || len(again) != 3 || again[0].Value != "中" {
		t.Errorf("read back: %v, %v", again, err)
	}
}
