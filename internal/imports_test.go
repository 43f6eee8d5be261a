// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package internal_test keeps the arrows between the rooms of the house pointing one way.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/goddard-mq/goddard/"

// arrow is an import that may not be. from and to are rooms below internal/ (or client, cmd), with what lies in them
// when they end in /...; other import paths stand as they are. A comma separates several.
type arrow struct {
	from, to string
	except   string // importers that from covers and that may
	why      string
}

const roles = "nameserver/...,broker/...,controller/...,proxy/...,console/..."

var forbidden = []arrow{
	{from: "...", to: "cli/...", except: "cmd/goddard", why: "the command line sits on everything and carries nothing"},
	{from: "...", to: "node/...", except: "cli", why: "a process is put together in one place and started from the command line"},
	{from: "...", to: roles, except: "node/...," + roles + ",testcluster/...", why: "only a node knows which roles there are; others talk to them over the wire"},

	{from: "nameserver/...", to: "broker/...,controller/...,proxy/...,console/...", why: "roles meet over the wire"},
	{from: "broker/...", to: "nameserver/...,controller/...,proxy/...,console/...", why: "roles meet over the wire"},
	{from: "controller/...", to: "nameserver/...,broker/...,proxy/...,console/...", why: "roles meet over the wire"},
	{from: "proxy/...", to: "nameserver/...,broker/...,controller/...,console/...", why: "roles meet over the wire"},
	{from: "console/...", to: "nameserver/...,broker/...,controller/...,proxy/...", why: "roles meet over the wire"},

	{from: "broker/topic/...,broker/group/...,broker/offset/...,broker/longpoll/...,broker/delay/...,broker/trouble/...,broker/pop/...,broker/transaction/...,broker/replication/...", to: "broker", why: "the broker puts its rooms together; a room that needs the broker is given an interface"},
	{from: "...", to: "store/...", except: "node/...,broker/...,store/...,cli/...,inspect/...,testcluster/...", why: "messages on disk belong to the broker"},
	{from: "...", to: "store/commitlog/...,store/consumequeue/...,store/keyindex/...", except: "store/...,inspect/...", why: "store is the only door to the files; inspect reads their bytes when no store is open, with the same decoders"},
	{from: "inspect/...", to: "remoting/...,router/...,route/...,nameserver/...,broker/...,client/...,admin/...,node/...", why: "it looks at a folder, not at a server"},
	{from: "...", to: "inspect/...", except: "cli/...", why: "servers do not look at their files from outside"},
	{from: "store/commitlog/...", to: "store,store/consumequeue/...,store/keyindex/...", why: "the log is the truth and knows nothing of what is derived from it"},
	{from: "store/consumequeue/...", to: "store,store/commitlog/...,store/keyindex/...", why: "queues and index are put together with the log in store"},
	{from: "store/keyindex/...", to: "store,store/commitlog/...,store/consumequeue/...", why: "queues and index are put together with the log in store"},
	{from: "store/...", to: "remoting/...,protocol/...,router/...,route/...", why: "the disk knows no connection"},

	{from: "remoting/...", to: "protocol/...,router/...,message/...,javajson/...", why: "a connection knows no request code"},
	{from: "protocol/...", to: "remoting/...,router/...", why: "what commands mean does not depend on how they travel"},
	{from: "header/...,javajson/...,statefile/...,segment/...,faultfs/...", to: "remoting/...,router/...,protocol/...,message/...,store/...,broker/...", why: "the floor stands on the ground"},
	{from: "message/...,filter/...", to: "remoting/...,router/...,protocol/...,store/...", why: "a message does not know who carries or keeps it"},
	{from: "trace/...", to: "remoting/...,router/...,protocol/...,message/...,store/...,route/...,client/...", why: "what clients tell of messages is text in a message's body"},
	{from: "assign/...", to: "remoting/...,router/...,store/...,route/...", why: "assignment is a pure function that clients and brokers compute alike"},

	{from: "config/...", to: "remoting/...,router/...,protocol/...,message/...,store/...,route/...", why: "config fills what it is given and knows no room"},
	{from: "metrics/...", to: "remoting/...,router/...,protocol/...,message/...,store/...,route/...", why: "rooms declare their metrics; what serves them knows no room"},
	{from: "remoting/...,router/...,protocol/...,message/...,store/...,nameserver/...,route/...,admin/...,client/...", to: "metrics/...", why: "a room declares its metrics on the registerer it is given"},

	{from: "client/...", to: "store/...,config/...,metrics/...,router/...,statefile/...,admin/...,bench/...", why: "whoever imports the client gets the client"},
	{from: "client/...", to: "github.com/spf13/...,github.com/prometheus/...", why: "whoever imports the client gets few dependencies"},
	{from: "route/...,admin/...", to: "store/...", why: "they see a cluster from outside"},

	{from: "protocol/...,broker/...,nameserver/...,route/...,remoting/...,router/...,client/...", to: "encoding/json", why: "what travels is written and read as Java does it, by javajson"},
	{from: "...", to: "testing", except: "testcluster/...", why: "the binary carries no test code"},
	{from: "...", to: "log", why: "logs go through the slog.Logger that a room is given"},
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImportDirections(t *testing.T) {
	for _, fault := range check(listPackages(t), forbidden) {
		t.Error(fault)
	}
}

// listPackages lists the module's packages, without their tests.
func listPackages(t *testing.T) []pkg {
	t.Helper()
	list := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", "./...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v: %s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read the output of go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 10 {
		t.Fatalf("go list names only %d packages", len(pkgs))
	}
	return pkgs
}

// check gives a line per forbidden import.
func check(pkgs []pkg, arrows []arrow) []string {
	var faults []string
	for _, p := range pkgs {
		from := room(p.ImportPath)
		for _, a := range arrows {
			if !covers(a.from, from) || a.except != "" && covers(a.except, from) {
				continue
			}
			for _, imported := range p.Imports {
				if to := room(imported); to != from && covers(a.to, to) {
					faults = append(faults, fmt.Sprintf("%s imports %s: %s", from, to, a.why))
				}
			}
		}
	}
	return faults
}

// room shortens the import path of one of our packages; others stay as they are.
func room(importPath string) string {
	ours, found := strings.CutPrefix(importPath, module)
	if !found {
		return importPath
	}
	return strings.TrimPrefix(ours, "internal/")
}

func covers(patterns, room string) bool {
	for pattern := range strings.SplitSeq(patterns, ",") {
		if pattern == "..." {
			return true
		}
		if dir, all := strings.CutSuffix(pattern, "/..."); all {
			if room == dir || strings.HasPrefix(room, dir+"/") {
				return true
			}
		} else if room == path.Clean(pattern) {
			return true
		}
	}
	return false
}

// The check itself: what it must see and what it must let pass.
func TestCheck(t *testing.T) {
	arrows := []arrow{
		{from: "...", to: "cli/...", except: "cmd/goddard", why: "W1"},
		{from: "store/commitlog/...", to: "store", why: "W2"},
		{from: "client/...", to: "github.com/spf13/...", why: "W3"},
	}
	pkgs := []pkg{
		{ImportPath: module + "cmd/goddard", Imports: []string{module + "internal/cli", "os"}},
		{ImportPath: module + "internal/store/commitlog", Imports: []string{module + "internal/segment"}},
		{ImportPath: module + "internal/store", Imports: []string{module + "internal/store/commitlog", "github.com/spf13/cobra"}},
		{ImportPath: module + "internal/store/commitlog/sync", Imports: []string{module + "internal/store"}},
		{ImportPath: module + "internal/storekeeper", Imports: []string{module + "internal/climate"}},
		{ImportPath: module + "internal/node", Imports: []string{module + "internal/cli/sub"}},
		{ImportPath: module + "client", Imports: []string{"github.com/spf13/cobra"}},
	}
	want := []string{
		"store/commitlog/sync imports store: W2",
		"node imports cli/sub: W1",
		"client imports github.com/spf13/cobra: W3",
	}
	if diff := cmp.Diff(want, check(pkgs, arrows)); diff != "" {
		t.Error(diff)
	}
}
