// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ran is how a command line ended.
type ran struct {
	code     int
	out, err string
}

// run runs goddard with the given standard input to its end.
func run(t testing.TB, in string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, goddard(t), args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ(), strings.NewReader(in), &stdout, &stderr
	cmd.SysProcAttr = dieWithParent()
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("goddard %s: %v", strings.Join(args, " "), err)
	}
	if ctx.Err() != nil {
		t.Fatalf("goddard %s does not end: %s%s", strings.Join(args, " "), stdout.String(), stderr.String())
	}
	if crashed.MatchString(stderr.String()) {
		t.Errorf("goddard %s crashed: %s", strings.Join(args, " "), stderr.String())
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// good is run where the command must succeed.
func good(t testing.TB, in string, args ...string) string {
	t.Helper()
	r := run(t, in, args...)
	if r.code != 0 {
		t.Fatalf("goddard %s: exit code %d: %s", strings.Join(args, " "), r.code, r.err)
	}
	return r.out
}

// consumed is a line that consume --output json prints.
type consumed struct {
	Topic      string
	Broker     string
	Queue      int32
	Offset     int64
	ID         string
	Tag        string
	Keys       []string
	Properties map[string]string
	Body       string
	BodyBase64 []byte
}

func parseConsumed(t testing.TB, out string) []consumed {
	t.Helper()
	var all []consumed
	for line := range strings.Lines(out) {
		var m consumed
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

func bodiesOf(messages []consumed) []string {
	var texts []string
	for _, m := range messages {
		texts = append(texts, m.Body)
	}
	slices.Sort(texts)
	return texts
}

// Topics come and go, messages go in from arguments, standard input and files, and come out as JSON lines.
func TestCommandsAgainstAServer(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	at := []string{"-n", s.nameServer}
	with := func(args ...string) []string { return append(args, at...) }

	good(t, "", with("topic", "create", "orders", "--queues", "3")...)
	good(t, "", with("topic", "create", "invoices", "logs")...)
	if got := strings.Fields(good(t, "", with("topic", "list")...)); !slices.Equal(got, []string{"invoices", "logs", "orders"}) {
		t.Errorf("topic list gives %q", got)
	}
	if code, route := dial(t, s.nameServer).route("orders"); code != 0 || route.QueueDatas[0].WriteQueueNums != 3 {
		t.Errorf("the route of the topic is %d %+v", code, route)
	}

	file := filepath.Join(t.TempDir(), "lines.txt")
	if err := os.WriteFile(file, []byte("file 1\nfile 2\r\n\nlast line without an end"), 0o600); err != nil {
		t.Fatal(err)
	}
	good(t, "", with("produce", "orders", "argument 1", "argument two", "--tag", "arg", "--keys", "k1,k2", "--property", "region=eu", "--property", "note=a=b")...)
	good(t, "in 1\nin 2 鍵 \U0001F511\n", with("produce", "orders", "--tag", "in")...)
	good(t, "", with("produce", "orders", "--tag", "file", "--file", file)...)
	good(t, "line 1\nline 2\n", with("produce", "invoices", "--whole")...)
	good(t, "k:v\n", with("produce", "invoices", "--key-separator", ":", "--queue", brokerName+":0")...)

	all := parseConsumed(t, good(t, "", with("consume", "orders", "--from", "beginning", "--max", "100", "--output", "json")...))
	want := []string{"argument 1", "argument two", "file 1", "file 2", "in 1", "in 2 鍵 \U0001F511", "last line without an end"}
	if got := bodiesOf(all); !slices.Equal(got, want) {
		t.Errorf("consumed %q, want %q", got, want)
	}
	places := map[string]bool{}
	for _, m := range all {
		places[fmt.Sprint(m.Queue, m.Offset)] = true
		if m.Topic != "orders" || m.Broker != brokerName || m.ID == "" {
			t.Errorf("a message says %+v", m)
		}
		if m.Tag == "arg" && (!slices.Equal(m.Keys, []string{"k1", "k2"}) || m.Properties["region"] != "eu" || m.Properties["note"] != "a=b") {
			t.Errorf("keys and properties came back as %+v", m)
		}
	}
	if len(places) != len(all) {
		t.Errorf("%d messages in %d places", len(all), len(places))
	}
	if got := parseConsumed(t, good(t, "", with("consume", "orders", "--from", "beginning", "--max", "2", "--output", "json")...)); len(got) != 2 {
		t.Errorf("--max 2 gives %d messages", len(got))
	}
	got := bodiesOf(parseConsumed(t, good(t, "", with("consume", "orders", "--from", "beginning", "--filter", "in || arg", "--output", "json")...)))
	if want := []string{"argument 1", "argument two", "in 1", "in 2 鍵 \U0001F511"}; !slices.Equal(got, want) {
		t.Errorf("filtered: %q, want %q", got, want)
	}
	if got := bodiesOf(parseConsumed(t, good(t, "", with("consume", "invoices", "--from", "beginning", "-o", "json")...))); !slices.Equal(got, []string{"line 1\nline 2\n", "v"}) {
		t.Errorf("consumed %q", got)
	}
	w := dial(t, s.broker)
	eventually(t, "the message by a key of its", func() bool { return len(w.query("invoices", "k", 9)) == 1 && len(w.query("orders", "k2", 9)) == 2 })

	good(t, "", with("topic", "delete", "logs")...)
	if got := strings.Fields(good(t, "", with("topic", "list")...)); !slices.Equal(got, []string{"invoices", "orders"}) {
		t.Errorf("after deleting one topic list gives %q", got)
	}
	if _, there := w.topics()["logs"]; there {
		t.Error("the broker has the topic still")
	}

	good(t, "", with("group", "create", "billing")...)
	if out := good(t, "", with("group", "list")...); !strings.Contains(out, "billing") {
		t.Errorf("group list gives %q", out)
	}
	good(t, "", with("group", "delete", "billing")...)
	if out := good(t, "", with("group", "list")...); strings.Contains(out, "billing") {
		t.Errorf("after deleting it group list gives %q", out)
	}
}

// consume as a member of a group goes on where the group left off, also after a restart of the server.
func TestConsumeInAGroupGoesOn(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	good(t, "", "topic", "create", "work", "-q", "1", "-n", s.nameServer)
	good(t, "1\n2\n3\n4\n5\n", "produce", "work", "-n", s.nameServer)
	consume := func(n string) []string {
		t.Helper()
		return bodiesOf(parseConsumed(t, good(t, "", "consume", "work", "--group", "workers", "--from", "beginning", "--max", n, "-o", "json", "-n", s.nameServer)))
	}
	if got := consume("2"); !slices.Equal(got, []string{"1", "2"}) {
		t.Fatalf("first %q", got)
	}
	s.restart()
	if got := consume("2"); !slices.Equal(got, []string{"3", "4"}) {
		t.Fatalf("then %q", got)
	}
	if got := consume("1"); !slices.Equal(got, []string{"5"}) {
		t.Fatalf("at last %q", got)
	}
}

// consume --follow prints what comes, as it comes, and ends well when it is interrupted.
func TestConsumeFollows(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	good(t, "", "topic", "create", "followed", "-n", s.nameServer)
	good(t, "", "produce", "followed", "before", "-n", s.nameServer)
	cmd := exec.Command(goddard(t), "consume", "followed", "--follow", "--from", "beginning", "-o", "body", "-n", s.nameServer)
	cmd.Env, cmd.SysProcAttr = environ(), dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	next := func(want string) {
		t.Helper()
		if line, ok := <-lines; !ok || line != want {
			t.Fatalf("printed %q, want %q", line, want)
		}
	}
	next("before")
	for i := range 10 {
		body := fmt.Sprint("message ", i)
		good(t, "", "produce", "followed", body, "-n", s.nameServer)
		next(body)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for line := range lines {
		t.Errorf("printed %q at the end", line)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted it ends with %v", err)
	}
}

// What cannot be done ends with an exit code that says so and one line that says why, in words that help.
func TestCommandsThatCannotWork(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	good(t, "", "topic", "create", "there", "-n", s.nameServer)
	nobody := address(freePort(t))
	const failed, usage = 1, 2
	for _, row := range []struct {
		args []string
		code int
		says []string // all of it, on standard error
	}{
		{[]string{"topic", "create", "there", "-n", s.nameServer}, failed, []string{"there"}},
		{[]string{"topic", "create", "bad name", "-n", s.nameServer}, failed, []string{"bad name"}},
		{[]string{"topic", "create", strings.Repeat("x", 128), "-n", s.nameServer}, failed, []string{"127"}},
		{[]string{"topic", "create", "new", "--queues", "-1", "-n", s.nameServer}, failed, []string{"queues"}},
		{[]string{"topic", "create", "new", "--cluster", "nowhere", "-n", s.nameServer}, failed, []string{"nowhere", "DefaultCluster"}},
		{[]string{"topic", "delete", "nowhere", "-n", s.nameServer}, failed, []string{"nowhere"}},
		{[]string{"topic", "list", "-n", nobody}, failed, []string{nobody}},
		{[]string{"topic", "list", "-n", "no-port"}, failed, []string{"no-port"}},
		{[]string{"produce", "there", "m", "-n", nobody}, failed, []string{nobody}},
		{[]string{"produce", "bad topic", "m", "-n", s.nameServer}, failed, []string{"bad topic"}},
		{[]string{"produce", "there", "m", "--property", "novalue", "-n", s.nameServer}, failed, []string{"novalue", "NAME=VALUE"}},
		{[]string{"produce", "there", "m", "--queue", brokerName + ":99", "-n", s.nameServer}, failed, []string{"99"}},
		{[]string{"produce", "there", "--file", "/no/such/file", "-n", s.nameServer}, failed, []string{"/no/such/file"}},
		{[]string{"consume", "nowhere", "-n", s.nameServer}, failed, []string{"nowhere"}},
		{[]string{"consume", "there", "-n", nobody}, failed, []string{nobody}},
		{[]string{"consume", "there", "--from", "yesterday-ish", "-n", s.nameServer}, failed, []string{"yesterday-ish"}},
		{[]string{"topic", "create"}, usage, []string{"topic"}},
		{[]string{"consume", "there", "--output", "xml"}, usage, []string{"xml", "json"}},
		{[]string{"produce", "there", "--no-such-flag"}, usage, []string{"--no-such-flag"}},
		{[]string{"no-such-command"}, usage, []string{"no-such-command"}},
	} {
		t.Run(strings.Join(row.args[:min(4, len(row.args))], " "), func(t *testing.T) {
			began := time.Now()
			r := run(t, "", row.args...)
			if r.code == 0 || row.code == usage && r.code != usage {
				t.Errorf("exit code %d, want %d; it said %s", r.code, row.code, r.err)
			}
			for _, word := range row.says {
				if !strings.Contains(r.err, word) {
					t.Errorf("it does not speak of %s: %s", word, r.err)
				}
			}
			if n := strings.Count(strings.TrimSpace(r.err), "\n"); n > 2 {
				t.Errorf("%d lines to say it: %s", n+1, r.err)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	if _, there := dial(t, s.broker).topics()["new"]; there {
		t.Error("a refused command made a topic")
	}
}

// A server that cannot start says in one sentence why, ends with a code that is not 0, and leaves alone what belongs to
// the one that runs.
func TestServersThatCannotStart(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	dial(t, s.broker).send(outgoing{topic: "undisturbed", body: []byte("m")})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "a-file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "broker.conf")
	if err := os.WriteFile(settings, []byte("brokerName=broker-a\nflushDiskTyp=ASYNC_FLUSH\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	any := func(args ...string) []string {
		return append(args, "--http-listen", "127.0.0.1:0", "--ha-listen", "127.0.0.1:0")
	}
	broker := func(args ...string) []string {
		return any(append([]string{"broker", "--broker-listen", "127.0.0.1:0"}, args...)...)
	}
	for _, row := range []struct {
		name string
		args []string
		says []string
	}{
		{"broker port in use", any("broker", "--data", filepath.Join(dir, "1"), "--broker-listen", s.broker), []string{s.broker, "in use", "--broker-listen"}},
		{"name server port in use", []string{"nameserver", "--data", filepath.Join(dir, "2"), "--http-listen", "127.0.0.1:0", "--nameserver-listen", s.nameServer}, []string{s.nameServer, "in use", "--nameserver-listen"}},
		{"HTTP port in use", []string{"broker", "--data", filepath.Join(dir, "3"), "--broker-listen", "127.0.0.1:0", "--http-listen", taken.Addr().String()}, []string{taken.Addr().String(), "in use", "--http-listen"}},
		{"data folder in use", broker("--data", s.data), []string{s.data}},
		{"data folder of a name server in use", []string{"nameserver", "--data", s.data, "--http-listen", "127.0.0.1:0", "--nameserver-listen", "127.0.0.1:0"}, []string{filepath.Join(s.data, "namesrv"), "another name server", "--data"}},
		{"data folder is a file", broker("--data", file), []string{file}},
		{"data folder below a file", broker("--data", filepath.Join(file, "below")), []string{file}},
		{"no port", any("broker", "--data", dir, "--broker-listen", "127.0.0.1"), []string{"127.0.0.1", "HOST:PORT"}},
		{"port out of range", any("broker", "--data", dir, "--broker-listen", "127.0.0.1:70000"), []string{"70000"}},
		{"no such key", broker("--data", dir, "--set", "flushDiskTyp=ASYNC_FLUSH"), []string{"flushDiskTyp", "flushDiskType"}},
		{"no such value", broker("--data", dir, "--set", "flushDiskType=SOMETIMES"), []string{"flushDiskType", "SOMETIMES", "ASYNC_FLUSH"}},
		{"not a number", broker("--data", dir, "--set", "mappedFileSizeCommitLog=big"), []string{"mappedFileSizeCommitLog", "big"}},
		{"too small", broker("--data", dir, "--set", "mappedFileSizeCommitLog=1"), []string{"mappedFileSizeCommitLog"}},
		{"no such key in a file", broker("--data", dir, "-c", settings), []string{"broker.conf", "flushDiskTyp", "flushDiskType"}},
		{"no such file", broker("--data", dir, "-c", filepath.Join(dir, "none.conf")), []string{"none.conf"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := run(t, "", row.args...)
			if r.code == 0 {
				t.Errorf("exit code 0; it said %s", r.err)
			}
			last := lastLine(r.err)
			if strings.HasPrefix(last, "See ") {
				last = lastLine(strings.TrimSuffix(strings.TrimSpace(r.err), last))
			}
			for _, word := range row.says {
				if !strings.Contains(last, word) {
					t.Errorf("the last line does not speak of %s: %s", word, r.err)
				}
			}
		})
	}
	w := dial(t, s.broker)
	w.send(outgoing{topic: "undisturbed", body: []byte("m")})
	s.crash()
	if n := dial(t, s.broker).maxOffset("undisturbed", 0); n != 2 {
		t.Errorf("the server that ran has %d messages, want 2", n)
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// An idle server needs little: start to first answer, memory, and the end.
func TestIdleServerNeedsLittle(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	if memory := s.rss(); memory > 40<<20 {
		t.Errorf("%d MiB of memory", memory>>20)
	}
	s.stop()
	began := time.Now()
	s.begin()
	if took := time.Since(began); took > 2*time.Second { // a tenth of a second on a machine that is not busy
		t.Errorf("the first answer came after %v", took)
	}
}
