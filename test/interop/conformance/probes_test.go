// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build shared

package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/test/interop/rig"
)

// answer is a line of the probe runner's output.
type answer struct {
	ID       string          `json:"id"`
	Claim    string          `json:"claim"`
	Expected json.RawMessage `json:"expected"`
	Got      json.RawMessage `json:"got"`
	OK       *bool           `json:"ok"`
	Quirk    bool            `json:"quirk"`
}

// TestProbes: every probe of the default profile agrees with the Java server, but those that probes-later.txt names,
// which must fail: one that agrees is to be taken out of the list.
func TestProbes(t *testing.T) {
	shared := os.Getenv("SHARED")
	if shared == "" {
		t.Fatal("SHARED must name the folder that holds oracle/probes")
	}
	later := readList(t, "probes-later.txt")
	s := rig.Start(t)
	cmd := exec.Command("python3", filepath.Join(shared, "oracle", "probes", "run"), "--namesrv", s.NameServer(), "--broker", s.Broker())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output() // exit status 1 when something differs: the lines tell
	answers := parse(t, out)
	if len(answers) < 290 {
		t.Fatalf("only %d probes answered: %v\n%s", len(answers), err, rig.Tail(errs.Bytes(), 2000))
	}
	agreed := 0
	for _, a := range answers {
		ok := a.OK == nil || *a.OK
		switch {
		case ok && later[a.ID]:
			t.Errorf("%s agrees: take it out of probes-later.txt", a.ID)
		case ok:
			agreed++
		case !later[a.ID] && !a.Quirk:
			t.Errorf("%s (%s):\n  Java %s\n  ours %s", a.ID, a.Claim, a.Expected, a.Got)
		}
		delete(later, a.ID)
	}
	for id := range later {
		t.Errorf("probes-later.txt names %s, which is no probe", id)
	}
	t.Logf("%d of %d probes agree", agreed, len(answers))
}

func parse(t *testing.T, out []byte) []answer {
	t.Helper()
	var answers []answer
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), []byte(`{"id"`)) {
			continue // the last line sums up
		}
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		answers = append(answers, a)
	}
	return answers
}

// readList reads one id per line; # begins a comment.
func readList(t *testing.T, name string) map[string]bool {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, line := range strings.Split(string(b), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if id := strings.TrimSpace(line); id != "" {
			ids[id] = true
		}
	}
	return ids
}
