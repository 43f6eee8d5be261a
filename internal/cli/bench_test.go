// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/bench"
)

// benchResult runs a command line with JSON output in this process.
func benchResult(t *testing.T, args ...string) bench.Result {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := Run(t.Context(), append([]string{"bench"}, append(args, "--output", "json")...), nil, &out, &errOut); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var r bench.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return r
}

func TestBenchAgainstAServer(t *testing.T) {
	server := start(t, quiet(t, "server")...)
	ns := server.says["name server"]
	produced := int64(0)
	for _, more := range [][]string{{}, {"--binary", "--batch", "4"}, {"--rate", "2000", "--tags", "3"}} {
		r := benchResult(t, append([]string{"produce", "load", "-n", ns, "--size", "100", "--duration", "200ms", "--warm-up", "0s", "--queues", "3", "--progress", "0"}, more...)...)
		if r.Messages == 0 || r.Failed != nil || r.Lost != 0 || r.Latency == nil {
			t.Errorf("produce %v: %+v", more, r)
		}
		produced += r.Messages
	}
	r := benchResult(t, "consume", "load", "-n", ns, "--until-end", "--progress", "0")
	if r.Messages < produced || r.Connections != 3 {
		t.Errorf("%d messages were produced in the measured time, consumed %+v", produced, r)
	}
	direct := benchResult(t, "consume", "load", "--broker", server.says["broker"], "--until-end", "--progress", "0")
	if direct.Messages != r.Messages {
		t.Errorf("%d messages through the name server, %d directly", r.Messages, direct.Messages)
	}
}

func TestBenchSaysWhatIsWrong(t *testing.T) {
	for _, row := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"produce", "-n", "127.0.0.1:1"}, exitFailed, "no name server answers at 127.0.0.1:1"},
		{[]string{"produce", "--broker", "127.0.0.1:1"}, exitFailed, "127.0.0.1:1"},
		{[]string{"produce", "--depth", "0"}, exitFailed, "depth 0"},
		{[]string{"produce", "a", "b"}, exitUsage, "at most 1"},
		{[]string{"consume", "--follow", "--until-end"}, exitFailed, "exclude each other"},
	} {
		var out, errOut bytes.Buffer
		code := Run(t.Context(), append([]string{"bench"}, row.args...), nil, &out, &errOut)
		if code != row.code || !strings.Contains(errOut.String(), row.says) || out.Len() > 0 {
			t.Errorf("%v: exit code %d, %q; want %d and %q", row.args, code, errOut.String(), row.code, row.says)
		}
	}
}
