// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// javaStore unpacks a store that a Java broker wrote; see package store.
func javaStore(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("../store/testdata/golden", name, "store.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(h.Name, "store/")))
		if h.Typeflag == tar.TypeDir {
			continue
		}
		b, err := io.ReadAll(r)
		if err == nil { // the large files are zeros but for their beginning
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, bytes.TrimRight(b, "\x00"), 0o644), os.Truncate(path, h.Size))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// printed runs a command line in this process.
func printed(t *testing.T, args ...string) said {
	t.Helper()
	var out, errOut bytes.Buffer
	code := Run(t.Context(), args, nil, &out, &errOut)
	return said{code, out.String(), errOut.String()}
}

// printedLines runs a command line that prints JSON and must do.
func printedLines[T any](t *testing.T, args ...string) []T {
	t.Helper()
	got := printed(t, append(args, "--output", "json")...)
	if got.code != exitOK || got.err != "" {
		t.Fatalf("goddard %s: exit %d, %s", strings.Join(args, " "), got.code, got.err)
	}
	var lines []T
	for d := json.NewDecoder(strings.NewReader(got.out)); ; {
		var line T
		err := d.Decode(&line)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, got.out)
		}
		lines = append(lines, line)
	}
}

// javaMessage is a message as the Java broker returned it.
type javaMessage struct {
	QueueOffset, CommitLogOffset, PreparedTransactionOffset int64
	Size, SysFlag, Flag, ReconsumeTimes                     int32
	StoredBodyCRC                                           uint32
	BornHost, StoreHost                                     string
	Properties                                              map[string]string
}

// What is printed of a Java broker's log and queues is what the broker itself says of them.
func TestDumpAsJavaTellsIt(t *testing.T) {
	for _, name := range []string{"5.5.0-clean", "4.9.7-killed"} {
		t.Run(name, func(t *testing.T) {
			dir := javaStore(t, name)
			records := map[int64]recordLine{}
			for _, line := range printedLines[recordLine](t, "dump", "commitlog", dir) {
				if line.Kind == "record" {
					records[line.Offset] = line
				}
			}
			units := map[string]unitLine{}
			for _, line := range printedLines[unitLine](t, "dump", "consumequeue", dir) {
				if line.Kind == "unit" {
					units[fmt.Sprintf("%s/%d/%d", line.Topic, line.Queue, line.Offset)] = line
				}
			}
			compared := 0
			for _, q := range readJavaManifest(t, name) {
				for _, m := range q.Messages {
					r, ok := records[m.CommitLogOffset]
					if !ok {
						t.Fatalf("no record at %d", m.CommitLogOffset)
					}
					if q.Topic == "S_BCQ" { // batches are stored as one
						continue
					}
					compared++
					same := r.Topic == q.Topic && r.Queue == q.QueueID && r.QueueOffset == m.QueueOffset && r.Bytes == int64(m.Size) && r.SysFlag&^1 == m.SysFlag&^1 && // its client takes off that the body is packed

						r.Flag == m.Flag && r.ReconsumeTimes == m.ReconsumeTimes && r.PreparedOffset == m.PreparedTransactionOffset && r.BodyCRC == m.StoredBodyCRC &&
						strings.TrimPrefix(m.BornHost, "/") == r.BornHost && strings.TrimPrefix(m.StoreHost, "/") == r.StoreHost && maps.Equal(r.Properties, m.Properties)
					if !same || len(r.Faults) > 0 {
						t.Errorf("printed %+v\nwant %s/%d %+v", r, q.Topic, q.QueueID, m)
					}
					u := units[fmt.Sprintf("%s/%d/%d", q.Topic, q.QueueID, m.QueueOffset)]
					if u.Physical == nil || *u.Physical != m.CommitLogOffset || u.Bytes != m.Size {
						t.Errorf("unit %+v, want %+v", u, m)
					}
				}
			}
			if compared < 700 {
				t.Errorf("only %d messages compared", compared)
			}
		})
	}
}

type javaQueue struct {
	Topic    string
	QueueID  int32 `json:"queueId"`
	Messages []javaMessage
}

func readJavaManifest(t *testing.T, name string) []javaQueue {
	t.Helper()
	f, err := os.Open(filepath.Join("../store/testdata/golden", name, "manifest.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Topics []javaQueue }
	if err := json.NewDecoder(z).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m.Topics
}

// snapshot is all files of a folder with size and time.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files[path] = fmt.Sprint(info.Size(), info.Mode(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestDumpFilters(t *testing.T) {
	dir := javaStore(t, "5.5.0-clean")
	log := filepath.Join(dir, "commitlog")
	for name, text := range map[string]string{
		"delayOffset.json":        "{\n\t\"dataVersion\":{\"counter\":3,\"stateVersion\":0,\"timestamp\":1796037191808},\n\t\"offsetTable\":{\n\t\t1:6,\n\t\t18:0\n\t}\n}",
		"consumerOffset.json":     `{"offsetTable":{"S_Order@S_CG":{0:20,1:20},"Other@S_CG":{0:5}}}`,
		"consumerOffset.json.bak": `{"offsetTable":{"S_Order@S_CG":{0:19,1:20}}}`,
		"broker.properties":       "# comment\ntraceOn=false\n",
	} {
		path := filepath.Join(dir, "config", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, dir)
	defer func() {
		if after := snapshot(t, dir); !maps.Equal(before, after) {
			t.Errorf("a dump changed the store: %v, before %v", after, before)
		}
	}()
	for _, row := range []struct {
		args  []string
		lines int // of text, heads of files and queues included
		says  string
	}{
		{[]string{"commitlog", dir, "--max", "3"}, 5, "S_Normal/0@0"},
		{[]string{"commitlog", dir, "-t", "S_Normal", "-k", "NK3"}, 3, "KEYS=NK3"},
		{[]string{"commitlog", dir, "-k", "FD000000000000000000000000000002637B5FFD2B2797BFAC850001"}, 3, "S_Normal/0@0"},
		{[]string{"commitlog", dir, "-t", "S_Order", "-q", "1"}, 22, "S_Order/1@19"},
		{[]string{"commitlog", dir, "--from", "3317", "--to", "4138"}, 5, "S_Normal/2@0"},
		{[]string{"commitlog", filepath.Join(log, "00000000000000262144"), "--from", "413000"}, 3, "never written: zeros up to the end of the file"},
		{[]string{"commitlog", filepath.Join(log, "00000000000000000000"), "--from", "237342"}, 3, "blank: filler up to the end of the file"},
		{[]string{"commitlog", dir, "-t", "S_Tx", "--max", "1"}, 3, "[committed]"},
		{[]string{"commitlog", dir, "-k", "NK3", "--long"}, 17, "  offset id   7F0000010000533E0000000000000F13"},
		{[]string{"consumequeue", dir, "-t", "S_Order", "-q", "0", "--from", "5", "--to", "8"}, 5, ""},
		{[]string{"consumequeue", dir, "-t", "SCHEDULE_TOPIC_XXXX", "-q", "17"}, 5, "never written: room for 98 entries"},
		{[]string{"consumequeue", filepath.Join(dir, "consumequeue", "S_Order"), "--summary"}, 3, "S_Order"},
		{[]string{"index", dir, "-t", "S_Normal", "-k", "NK3", "--max", "1"}, 3, "346433530"},
		{[]string{"index", dir, "--summary"}, 10, "199 entries, 65 of 100 slots"},
		{[]string{"checkpoint", dir}, 10, "No mark of Goddard counts: there is none"},
		{[]string{"config", dir, "-k", "S_"}, 11, "    S_Order@S_CG                             0=20  1=20"},
		{[]string{"config", filepath.Join(dir, "config", "delayOffset.json")}, 5, "version 0/3 at "},
		{[]string{"config", filepath.Join(dir, "config", "broker.properties")}, 3, "traceOn                                  false"},
	} {
		got := printed(t, append([]string{"dump"}, row.args...)...)
		if lines := strings.Count(got.out, "\n"); got.code != exitOK || got.err != "" || lines != row.lines || !strings.Contains(got.out, row.says) {
			t.Errorf("%v: exit %d, %s, %d lines, want %d and %q:\n%s", row.args, got.code, got.err, lines, row.lines, row.says, got.out)
		}
	}
}

func TestDumpSaysWhatIsWrong(t *testing.T) {
	dir := javaStore(t, "5.5.0-clean")
	log := filepath.Join(dir, "commitlog", "00000000000000000000")
	f, err := os.OpenFile(log, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{3317, 10062} { // a record's size, and something in a body
		if _, err := f.WriteAt([]byte{1, 2, 3, 4}, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		args []string
		code int
		out  string
		says string
	}{
		{[]string{"commitlog", dir}, exitFailed, "3317      270  DAMAGED: no record: size of 16909060 bytes", "2 damaged places"},
		{[]string{"commitlog", dir}, exitFailed, "S_Normal/1@0  MSG_REGION", "2 damaged places"}, // it goes on behind
		{[]string{"commitlog", dir, "-o", "json"}, exitFailed, `"faults":["the checksum of the body differs"]`, "2 damaged places"},
		{[]string{"commitlog", filepath.Join(dir, "nothing")}, exitFailed, "", "no such file"},
		{[]string{"commitlog", filepath.Join(dir, "checkpoint")}, exitFailed, "", "is no file of a commit log"},
		{[]string{"consumequeue", filepath.Join(dir, "index")}, exitFailed, "", "no consume queues"},
		{[]string{"index", dir, "--key", "K"}, exitFailed, "", "go together"},
		{[]string{"index", filepath.Join(dir, "checkpoint")}, exitFailed, "", "is no index file"},
		{[]string{"config", filepath.Join(dir, "index")}, exitFailed, "", "no state files at"},
		{[]string{"commitlog"}, exitUsage, "", "at least 1"},
		{[]string{"commitlog", dir, "-o", "xml"}, exitUsage, "", "want text or json"},
	} {
		got := printed(t, append([]string{"dump"}, row.args...)...)
		if got.code != row.code || !strings.Contains(got.out, row.out) || !strings.Contains(got.err, row.says) {
			t.Errorf("%v: exit %d, %q, %.2000s", row.args, got.code, got.err, got.out)
		}
	}
}

// A journal beside a state file, its generations, and which counts.
func TestDumpConfigWithJournal(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	p := start(t, quiet(t, "server", "--data", data)...)
	if code, _, errOut := command(t, nil, "topic", "create", "Fresh", "-n", p.says["name server"]); code != exitOK {
		t.Fatal(errOut)
	}
	p.signal(t, syscall.SIGKILL)
	topics := filepath.Join(data, "store", "config", "topics.json")
	found := 0
	for _, line := range printedLines[entryLine](t, "dump", "config", topics, "-k", "Fresh") {
		if line.Kind == "entry" && line.Table == "topicConfigTable" && line.Key == "Fresh" {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the topic is printed %d times", found)
	}
	if err := os.WriteFile(topics, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got := printed(t, "dump", "config", topics)
	if !strings.Contains(got.out, "DAMAGED: empty, or nothing but zero bytes") {
		t.Errorf("exit %d, %s%s", got.code, got.err, got.out)
	}
}
