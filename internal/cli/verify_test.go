// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goddard-mq/goddard/internal/inspect"
)

// A server's folder while it runs, after kill -9, after a proper stop, and damaged.
func TestVerifyAServersStore(t *testing.T) {
	data := t.TempDir()
	p := start(t, quiet(t, "server", "--data", data)...)
	ns := p.says["name server"]
	send := func(ns string, n int) {
		t.Helper()
		for range n {
			if code, _, errOut := command(t, nil, "produce", "Orders", "--tag", "T", "--keys", "K1", "a message", "-n", ns); code != exitOK {
				t.Fatal(errOut)
			}
		}
	}
	send(ns, 3)
	code, out, errOut := command(t, nil, "verify", data)
	if code != exitFailed || out != "" || !strings.Contains(errOut, filepath.Join(data, "store")+": a broker has it open") || !strings.Contains(errOut, "stop it first") {
		t.Errorf("of a running server: exit %d, %s%s", code, errOut, out)
	}
	code, out, errOut = command(t, nil, "dump", "commitlog", data, "-t", "Orders")
	if code != exitOK || !strings.Contains(errOut, "a broker has this store open") || strings.Count(out, "a message") != 3 {
		t.Errorf("of a running server: exit %d, %s%s", code, errOut, out)
	}
	p.signal(t, syscall.SIGKILL)
	code, out, errOut = command(t, nil, "verify", data)
	if code != exitOK || !strings.Contains(out, "not stopped properly: the next start recovers") || !strings.Contains(out, "nothing is wrong") {
		t.Errorf("after kill -9: exit %d, %s%s", code, errOut, out)
	}
	p = start(t, quiet(t, "server", "--data", data)...)
	send(p.says["name server"], 2)
	p.signal(t, syscall.SIGTERM)
	code, out, errOut = command(t, nil, "verify", data)
	if code != exitOK || errOut != "" || !strings.HasSuffix(out, "\n\nnothing is wrong\n") || !strings.Contains(out, "stopped properly") {
		t.Errorf("after a proper stop: exit %d, %s%s", code, errOut, out)
	}
}

func TestVerifyAndRebuild(t *testing.T) {
	dir := javaStore(t, "5.5.0-clean")
	queue := filepath.Join(dir, "consumequeue", "S_Normal", "1", "00000000000000000000")
	f, err := os.OpenFile(queue, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 20), 7*20); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := printed(t, "verify", dir)
	if got.code != exitFailed || !strings.Contains(got.err, "0 damaged, 1 derived") ||
		!strings.Contains(got.out, "derived  consumequeue/S_Normal/1/00000000000000000000, byte 140 (topic S_Normal, queue 1, offset 7): nothing is written here, but the log has this message\n         -> goddard verify --rebuild") {
		t.Errorf("exit %d, %s%s", got.code, got.err, got.out)
	}

	got = printed(t, "verify", dir, "-o", "json")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	var finding findingLine
	var summary struct {
		Kind     string
		Counts   inspect.Counts
		Messages int64
	}
	if err := json.Unmarshal([]byte(lines[0]), &finding); err != nil || finding.Kind != "finding" || finding.File != queue || finding.Offset != 140 || *finding.QueueOffset != 7 {
		t.Errorf("%+v, %v", finding, err)
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil || summary.Kind != "summary" || summary.Counts.Derived != 1 || summary.Messages != 781 {
		t.Errorf("%+v, %v", summary, err)
	}

	got = printed(t, "verify", dir, "--rebuild")
	if got.code != exitOK || !strings.Contains(got.out, "nothing is wrong") || !strings.Contains(got.err, "put aside: consumequeue/S_Normal/1, now in "+filepath.Join(dir, "aside-")) {
		t.Errorf("rebuild: exit %d, %s%s", got.code, got.err, got.out)
	}
	if got = printed(t, "verify", dir); got.code != exitOK {
		t.Errorf("afterwards: exit %d, %s%s", got.code, got.err, got.out)
	}
}

func TestVerifySaysWhatIsWrong(t *testing.T) {
	for _, row := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{t.TempDir()}, exitFailed, "is no store"},
		{[]string{filepath.Join(t.TempDir(), "nothing")}, exitFailed, "no such file"},
		{[]string{t.TempDir(), "--set", "nonsense=1"}, exitFailed, "unknown key nonsense"},
		{[]string{t.TempDir(), "--set", "messageDelayLevel=1x"}, exitFailed, "messageDelayLevel"},
		{nil, exitUsage, "accepts 1 arg"},
	} {
		got := printed(t, append([]string{"verify"}, row.args...)...)
		if got.code != row.code || !strings.Contains(got.err, row.says) {
			t.Errorf("%v: exit %d, %s; want %d and %q", row.args, got.code, got.err, row.code, row.says)
		}
	}
}
