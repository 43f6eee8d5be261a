// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/testcluster"
)

// said is what a command line gave.
type said struct {
	code     int
	out, err string
}

// run runs a command line against the cluster.
func run(t *testing.T, c *testcluster.Cluster, in string, args ...string) said {
	t.Helper()
	t.Setenv("NAMESRV_ADDR", c.NameServerText())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out, errOut bytes.Buffer
	code := Run(ctx, args, strings.NewReader(in), &out, &errOut)
	return said{code, out.String(), errOut.String()}
}

// must runs a command line that must do, and gives what it printed.
func must(t *testing.T, c *testcluster.Cluster, in string, args ...string) string {
	t.Helper()
	got := run(t, c, in, args...)
	if got.code != exitOK || got.err != "" {
		t.Fatalf("goddard %s: exit %d, said %q", strings.Join(args, " "), got.code, got.err)
	}
	return got.out
}

// bodies consumes what is there and gives the bodies, sorted.
func bodies(t *testing.T, c *testcluster.Cluster, topic string, args ...string) []string {
	t.Helper()
	out := must(t, c, "", append([]string{"consume", topic, "--output", "body"}, args...)...)
	var lines []string
	lines = append(lines, strings.Fields(out)...)
	slices.Sort(lines)
	return lines
}

func TestTopicCommands(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Brokers: 2})
	a, b := c.Brokers[0], c.Brokers[1]
	for _, step := range []struct {
		situation string
		args      []string
		code      int
		out       []string // parts of what is printed
		err       string   // part of what is complained about
	}{
		{"no topics yet", []string{"topic", "list"}, exitOK, nil, ""},
		{"create", []string{"topic", "create", "orders", "--queues", "3"}, exitOK,
			[]string{"orders created at broker-a (" + a.Addr + "): 3 queues, rw\n", "orders created at broker-b (" + b.Addr + "): 3 queues, rw\n"}, ""},
		{"create again", []string{"topic", "create", "orders"}, exitFailed, nil, "orders exists already at broker-a, broker-b: change it with 'goddard topic update'"},
		{"create again if need be", []string{"topic", "create", "orders", "--if-not-exists"}, exitOK, nil, ""},
		{"create at one broker, for reading only", []string{"topic", "create", "archive", "-b", "broker-b", "--perm", "r", "--read-queues", "2", "--write-queues", "1"}, exitOK,
			[]string{"archive created at broker-b (" + b.Addr + "): 2 queues to read, 1 to write, r\n"}, ""},
		{"create with an attribute, by the broker's address", []string{"topic", "create", "jobs", "-b", a.Addr, "-a", "message.type=FIFO", "-o", "json"}, exitOK,
			[]string{`"broker":"broker-a","cluster":"DefaultCluster","done":"created","name":"jobs"`}, ""},
		{"a bad name", []string{"topic", "create", "a.b"}, exitFailed, nil, "illegal characters"},
		{"no queues", []string{"topic", "create", "x", "-q", "0"}, exitFailed, nil, "a topic needs one of each at least"},
		{"a bad permission", []string{"topic", "create", "x", "--perm", "x"}, exitUsage, nil, "want rw, r or w"},
		{"a bad attribute", []string{"topic", "create", "x", "-a", "y"}, exitFailed, nil, "--attribute y: want NAME=VALUE"},
		{"a cluster that is not there", []string{"topic", "create", "x", "-c", "Nope"}, exitFailed, nil, `no cluster is called "Nope": there is DefaultCluster`},
		{"a broker that is not there", []string{"topic", "create", "x", "-b", "nope"}, exitFailed, nil, `no broker has the name or address "nope": there are broker-a, broker-b`},
		{"list", []string{"topic", "list"}, exitOK, []string{"archive\njobs\norders\n"}, ""},
		{"list of a cluster", []string{"topic", "list", "-c", "DefaultCluster"}, exitOK, []string{"archive\njobs\norders\n"}, ""},
		{"list of no cluster", []string{"topic", "list", "-c", "Nope"}, exitFailed, nil, "no cluster is called"},
		{"list all", []string{"topic", "list", "--all"}, exitOK, []string{"TBW102\n", "SELF_TEST_TOPIC\n", "orders\n"}, ""},
		{"list with details", []string{"topic", "list", "-l"}, exitOK, []string{"archive  broker-b  2     1      r--\n", "orders   broker-a  3     3      rw-\n"}, ""},
		{"describe", []string{"topic", "describe", "jobs"}, exitOK, []string{"Topic jobs: 0 messages in 8 queues", "message.type=FIFO", "Consumer groups: none"}, ""},
		{"describe what is not there", []string{"topic", "describe", "nope"}, exitFailed, nil, "the topic does not exist: create it with 'goddard topic create'"},
		{"update", []string{"topic", "update", "orders", "--queues", "5"}, exitOK,
			[]string{"orders updated at broker-a (" + a.Addr + "): 5 queues, rw\n", "broker-b"}, ""},
		{"update one broker, the rest stays", []string{"topic", "update", "orders", "--perm", "w", "-b", "broker-a"}, exitOK, []string{"broker-a (" + a.Addr + "): 5 queues, w\n"}, ""},
		{"remove an attribute", []string{"topic", "update", "jobs", "--attribute=-message.type"}, exitOK, []string{"jobs updated"}, ""},
		{"update nothing", []string{"topic", "update", "orders"}, exitFailed, nil, "nothing to change: give --queues"},
		{"update what is not there", []string{"topic", "update", "nope", "-q", "1"}, exitFailed, nil, "the topic does not exist"},
		{"update where it is not", []string{"topic", "update", "archive", "-q", "1", "-b", "broker-a"}, exitFailed, nil, "at none of the brokers chosen"},
		{"describe as JSON", []string{"topic", "describe", "orders", "-o", "json"}, exitOK, []string{`"broker":"broker-a","cluster":"DefaultCluster","readQueues":5,"writeQueues":5,"perm":"-w-"`, `"perm":"rw-"`}, ""},
		{"delete one that is there and one that is not", []string{"topic", "delete", "archive", "nope"}, exitFailed,
			[]string{"archive deleted at broker-a", "archive deleted at broker-b"}, "topic nope: the topic does not exist"},
		{"delete", []string{"topic", "delete", "orders", "jobs"}, exitOK, []string{"orders deleted at broker-a", "jobs deleted at broker-a"}, ""},
		{"none is left", []string{"topic", "list"}, exitOK, nil, ""},
		{"no command of that name", []string{"topic", "make", "x"}, exitUsage, nil, `unknown command "make" for "goddard topic"`},
		{"no name server there", []string{"topic", "list", "-n", "127.0.0.1:1"}, exitFailed, nil, "no name server answers at 127.0.0.1:1 (connection refused): is it running"},
		{"no address at all", []string{"topic", "list", "-n", "h:x"}, exitFailed, nil, `--nameserver: name server "h:x" has no valid port`},
	} {
		got := run(t, c, "", step.args...)
		if got.code != step.code {
			t.Errorf("%s: exit %d, want %d; said %q", step.situation, got.code, step.code, got.err)
		}
		if len(step.out) == 0 && got.out != "" {
			t.Errorf("%s: printed %q, want nothing", step.situation, got.out)
		}
		for _, part := range step.out {
			if !strings.Contains(got.out, part) {
				t.Errorf("%s: printed %q, want %q in it", step.situation, got.out, part)
			}
		}
		if step.err == "" && got.err != "" || !strings.Contains(got.err, step.err) {
			t.Errorf("%s: complained %q, want %q", step.situation, got.err, step.err)
		}
	}
}

func TestChangeThatOneBrokerMisses(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Brokers: 2})
	// The name server goes on telling of broker-b for a while: it did not say goodbye to this one.
	must(t, c, "", "topic", "create", "before")
	kill(t, c, 1)
	got := run(t, c, "", "topic", "create", "half", "--timeout", "1s")
	if got.code != exitFailed || !strings.Contains(got.out, "half created at broker-a") ||
		!strings.Contains(got.err, "done at broker-a") || !strings.Contains(got.err, "broker-b") {
		t.Errorf("exit %d, printed %q, complained %q; want to be told what was done and what was not", got.code, got.out, got.err)
	}
}

// kill makes the name server tell of a broker that does not answer.
func kill(t *testing.T, c *testcluster.Cluster, broker int) {
	t.Helper()
	c.Brokers[broker].Stop()
	registerGhost(t, c.NameServers[0].Addr, c.Brokers[broker].Name, c.Brokers[broker].Addr)
}

func TestGroupCommands(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	at := "broker-a (" + c.Brokers[0].Addr + ")"
	for _, step := range []struct {
		situation string
		args      []string
		code      int
		out       []string
		err       string
	}{
		{"no groups yet", []string{"group", "list"}, exitOK, nil, ""},
		{"create", []string{"group", "create", "billing", "--retry-max", "5"}, exitOK, []string{"billing created at " + at + ": at most 5 retries\n"}, ""},
		{"create again", []string{"group", "create", "billing"}, exitFailed, nil, "group billing exists already at broker-a"},
		{"create again if need be", []string{"group", "create", "billing", "--if-not-exists"}, exitOK, nil, ""},
		{"a bad name", []string{"group", "create", "a b"}, exitFailed, nil, "illegal characters"},
		{"bad retries", []string{"group", "create", "x", "--retry-max=-1"}, exitFailed, nil, "neither can be below zero"},
		{"list", []string{"group", "list"}, exitOK, []string{"billing\n"}, ""},
		{"list all as JSON", []string{"group", "list", "--all", "-o", "json"}, exitOK, []string{`{"group":"TOOLS_CONSUMER","brokers":["broker-a"]}`}, ""},
		{"describe", []string{"group", "describe", "billing"}, exitOK, []string{"Group billing: 0 members, nobody connected, 0 messages behind", "broker-a  true     true       false    5        1"}, ""},
		{"describe what is not there", []string{"group", "describe", "nope"}, exitFailed, nil, "the consumer group does not exist: see 'goddard group list --all'"},
		{"and it was not created by asking", []string{"group", "list"}, exitOK, []string{"billing\n"}, ""},
		{"update", []string{"group", "update", "billing", "--enable=false", "--orderly"}, exitOK, []string{"billing updated at " + at + ": at most 5 retries, may not consume, orderly\n"}, ""},
		{"update nothing", []string{"group", "update", "billing"}, exitFailed, nil, "nothing to change: give --enable"},
		{"describe as JSON", []string{"group", "describe", "billing", "-o", "json"}, exitOK, []string{`"enabled":false,"broadcast":true,"orderly":true,"retryMax":5,"retryQueues":1`}, ""},
		{"delete", []string{"group", "delete", "billing", "nope"}, exitFailed, []string{"billing deleted at " + at}, "group nope: the consumer group does not exist"},
		{"none is left", []string{"group", "list"}, exitOK, nil, ""},
	} {
		got := run(t, c, "", step.args...)
		if got.code != step.code {
			t.Errorf("%s: exit %d, want %d; said %q", step.situation, got.code, step.code, got.err)
		}
		if len(step.out) == 0 && got.out != "" {
			t.Errorf("%s: printed %q, want nothing", step.situation, got.out)
		}
		for _, part := range step.out {
			if !strings.Contains(got.out, part) {
				t.Errorf("%s: printed %q, want %q in it", step.situation, got.out, part)
			}
		}
		if step.err == "" && got.err != "" || !strings.Contains(got.err, step.err) {
			t.Errorf("%s: complained %q, want %q", step.situation, got.err, step.err)
		}
	}
}

func TestProduce(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	file := filepath.Join(t.TempDir(), "messages")
	if err := os.WriteFile(file, []byte("from\r\n\na\nfile"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, c, "", "topic", "create", "one", "-q", "1")
	for _, step := range []struct {
		situation string
		in        string
		args      []string
		code      int
		bodies    []string // in the order in which they are stored
		err       string
	}{
		{"arguments", "", []string{"hello", "you"}, exitOK, []string{"hello", "you"}, ""},
		{"standard input, with empty lines", "x\n\ny\n", nil, exitOK, []string{"x", "y"}, ""},
		{"standard input by name", "z", []string{"--file", "-"}, exitOK, []string{"z"}, ""},
		{"a file", "", []string{"--file", file}, exitOK, []string{"from", "a", "file"}, ""},
		{"the whole input", "x\ny\n", []string{"--whole"}, exitOK, []string{"x\ny\n"}, ""},
		{"three times", "", []string{"a", "b", "--count", "3"}, exitOK, []string{"a", "b", "a", "b", "a", "b"}, ""},
		{"a given queue", "", []string{"q", "--queue", "broker-a:0"}, exitOK, []string{"q"}, ""},
		{"one of three can not be sent", "", []string{"a", "", "c"}, exitFailed, []string{"a", "c"}, "message 2: send to topic one: MESSAGE_ILLEGAL (13): the body is empty"},
		{"a queue that is not there", "", []string{"q", "--queue", "broker-a:7"}, exitFailed, nil, "INVALID_PARAMETER (29)"},
		{"a queue that is none", "", []string{"q", "--queue", "7"}, exitFailed, nil, "--queue 7: want BROKER:NUMBER, see 'goddard topic describe one'"},
		{"a queue number that is none", "", []string{"q", "--queue", "a:b"}, exitFailed, nil, `"b" is no queue number`},
		{"arguments and a file", "", []string{"q", "--file", file}, exitFailed, nil, "give one of them"},
		{"a file that is not there", "", []string{"--file", file + "x"}, exitFailed, nil, "no such file"},
		{"a bad property", "", []string{"q", "--property", "x"}, exitFailed, nil, "--property x: want NAME=VALUE"},
		{"two delays", "", []string{"q", "--delay", "1s", "--delay-level", "1"}, exitFailed, nil, "give one"},
		{"no times", "", []string{"q", "--count", "0"}, exitFailed, nil, "--count=0: want at least 1"},
		{"queue and sharding key", "", []string{"q", "--queue", "broker-a:0", "--sharding-key", "k"}, exitFailed, nil, "give one"},
		{"no key in a line", "a:1\nb\n", []string{"--key-separator", ":"}, exitFailed, []string{"1"}, `message 2: "b" has no key`},
	} {
		t.Run(step.situation, func(t *testing.T) {
			var end said
			if end = run(t, c, "", "topic", "describe", "one", "-o", "json"); end.code != exitOK {
				t.Fatal(end.err)
			}
			var before struct{ Queues []struct{ Next int64 } }
			if err := json.Unmarshal([]byte(end.out), &before); err != nil {
				t.Fatal(err)
			}
			got := run(t, c, step.in, append([]string{"produce", "one"}, step.args...)...)
			if got.code != step.code || !strings.Contains(got.err, step.err) || step.err == "" && got.err != "" {
				t.Errorf("exit %d, complained %q; want %d, %q", got.code, got.err, step.code, step.err)
			}
			if n := strings.Count(got.out, "\n"); n != len(step.bodies) {
				t.Errorf("%d lines for %d messages: %q", n, len(step.bodies), got.out)
			}
			lines := strings.Split(must(t, c, "", "consume", "one", "-o", "json", "--from", fmt.Sprint(before.Queues[0].Next)), "\n")
			var stored []string
			for _, line := range lines[:len(lines)-1] {
				var m receivedLine
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatal(err)
				}
				stored = append(stored, *m.Body)
			}
			if diff := cmp.Diff(step.bodies, stored); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProduceTellsWhere(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	must(t, c, "", "topic", "create", "two", "-q", "1")
	if out := must(t, c, "", "produce", "two", "a"); !strings.HasSuffix(out, "  queue broker-a:0  offset 0\n") {
		t.Errorf("printed %q", out)
	}
	var line sentLine
	if err := json.Unmarshal([]byte(must(t, c, "", "produce", "two", "b", "-o", "json")), &line); err != nil {
		t.Fatal(err)
	}
	if line.Topic != "two" || line.Broker != "broker-a" || line.Queue != 0 || line.Offset != 1 || len(line.ID) < 32 || line.Status != "SEND_OK" {
		t.Errorf("printed %+v", line)
	}
	if out := must(t, c, "", "produce", "two", "c", "--quiet"); out != "" {
		t.Errorf("printed %q though it was to be quiet", out)
	}
	if got := run(t, c, "", "produce", "two", "d", "-n", "127.0.0.1:1"); got.code != exitFailed || !strings.Contains(got.err, "no name server answers at 127.0.0.1:1") {
		t.Errorf("exit %d, complained %q", got.code, got.err)
	}
	if got := run(t, c, "", "produce"); got.code != exitUsage {
		t.Errorf("without a topic: exit %d, complained %q", got.code, got.err)
	}
}

func TestConsume(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	must(t, c, "", "topic", "create", "news", "-q", "2")
	must(t, c, "", "produce", "news", "one", "--tag", "A", "--keys", "k1,k2", "-p", "x=y", "--queue", "broker-a:0")
	must(t, c, "", "produce", "news", "two", "--tag", "B", "--queue", "broker-a:1")
	must(t, c, "", "produce", "news", "three", "--tag", "A", "--queue", "broker-a:0", "--whole")
	for _, test := range []struct {
		situation string
		args      []string
		want      []string
	}{
		{"all of it", nil, []string{"one", "three", "two"}},
		{"a tag", []string{"--filter", "A"}, []string{"one", "three"}},
		{"two tags", []string{"--filter", "A || B"}, []string{"one", "three", "two"}},
		{"a queue", []string{"--queue", "broker-a:1"}, []string{"two"}},
		{"an offset", []string{"--from", "1"}, []string{"three"}},
		{"the end", []string{"--from", "latest"}, nil},
		{"since an hour ago", []string{"--from", "1h"}, []string{"one", "three", "two"}},
		{"since tomorrow", []string{"--from", time.Now().Add(24 * time.Hour).Format("2006-01-02T15:04:05")}, nil},
		{"since a time in milliseconds", []string{"--from", "@0"}, []string{"one", "three", "two"}},
		{"one message", []string{"--queue", "broker-a:0", "--max", "1"}, []string{"one"}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			if diff := cmp.Diff(test.want, bodies(t, c, "news", test.args...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	text := must(t, c, "", "consume", "news", "--queue", "broker-a:0", "-m", "1")
	if !strings.HasPrefix(text, "broker-a:0@0  20") || !strings.HasSuffix(text, "  tag=A  keys=k1,k2  x=y  | one\n") {
		t.Errorf("as text: %q", text)
	}
	var line receivedLine
	if err := json.Unmarshal([]byte(must(t, c, "", "consume", "news", "-m", "1", "--queue", "broker-a:0", "-o", "json")), &line); err != nil {
		t.Fatal(err)
	}
	if line.Topic != "news" || *line.Body != "one" || line.Tag != "A" || line.Properties["x"] != "y" || !slices.Equal(line.Keys, []string{"k1", "k2"}) {
		t.Errorf("as JSON: %+v", line)
	}
}

func TestConsumeRefusesWhatItCanNotDo(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	must(t, c, "", "topic", "create", "news")
	for _, test := range []struct {
		situation string
		args      []string
		code      int
		err       string
	}{
		{"no such topic", []string{"nope"}, exitFailed, "the topic does not exist: create it with 'goddard topic create'"},
		{"a bad begin", []string{"news", "--from", "yesterday"}, exitFailed, "--from yesterday: want beginning, latest, an offset"},
		{"an offset below zero", []string{"news", "--from=-1"}, exitFailed, "not below zero"},
		{"a bad time", []string{"news", "--from", "@x"}, exitFailed, "milliseconds"},
		{"a bad limit", []string{"news", "--max=-1"}, exitFailed, "--max=-1"},
		{"a bad queue", []string{"news", "--queue", "x"}, exitFailed, "want BROKER:NUMBER"},
		{"two filters", []string{"news", "--filter", "A", "--sql", "a>1"}, exitFailed, "give one"},
		{"a filter of nothing", []string{"news", "--filter", "||"}, exitFailed, "split"},
		{"queue and group", []string{"news", "--group", "g", "--queue", "broker-a:0"}, exitFailed, "--queue does not go with --group"},
		{"a bad group", []string{"news", "--group", "a b"}, exitFailed, "illegal characters"},
		{"a bad format", []string{"news", "-o", "xml"}, exitUsage, "want text or json or body"},
		{"two topics", []string{"news", "more"}, exitUsage, "accepts 1 arg"},
	} {
		t.Run(test.situation, func(t *testing.T) {
			got := run(t, c, "", append([]string{"consume"}, test.args...)...)
			if got.code != test.code || !strings.Contains(got.err, test.err) {
				t.Errorf("exit %d, complained %q; want %d, %q", got.code, got.err, test.code, test.err)
			}
		})
	}
}

// output is what a running command printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) await(t *testing.T, part string) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !strings.Contains(o.String(), part) {
		if time.Now().After(deadline) {
			t.Fatalf("%q was not printed in 15 s; printed was %q", part, o.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestConsumeFollowsUntilInterrupted(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	must(t, c, "", "topic", "create", "live", "-q", "1")
	must(t, c, "", "produce", "live", "before")
	for _, test := range []struct {
		situation string
		args      []string
	}{
		{"as a reader", []string{"--from", "beginning", "--follow"}},
		{"as a member of a group", []string{"--from", "beginning", "--group", "G"}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			var out, errOut output
			exit := make(chan int, 1)
			args := append([]string{"consume", "live", "-n", c.NameServerText(), "-o", "body"}, test.args...)
			go func() { exit <- Run(ctx, args, strings.NewReader(""), &out, &errOut) }()
			out.await(t, "before\n")
			must(t, c, "", "produce", "live", "now "+test.args[2])
			out.await(t, "now "+test.args[2]+"\n")
			interrupt()
			if code := <-exit; code != exitOK || errOut.String() != "" {
				t.Errorf("exit %d, complained %q", code, errOut.String())
			}
		})
	}
	if got := run(t, c, "", "group", "describe", "G"); !strings.Contains(got.out, " 0 messages behind") {
		t.Errorf("the group's progress: %q %q", got.out, got.err)
	}
}

func TestConsumeAsMemberStopsAfterItsMessages(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	must(t, c, "", "topic", "create", "some", "-q", "1")
	must(t, c, "", "produce", "some", "a", "b", "c", "d")
	first := must(t, c, "", "consume", "some", "--group", "G", "--from", "beginning", "--max", "3", "-o", "body")
	second := must(t, c, "", "consume", "some", "--group", "G", "--from", "beginning", "--max", "1", "-o", "body")
	if first != "a\nb\nc\n" || second != "d\n" {
		t.Errorf("printed %q and then %q", first, second)
	}
}

func TestReadable(t *testing.T) {
	for text, want := range map[string]string{
		"plain 你好\ttab": "plain 你好\ttab", "two\nlines": `"two\nlines"`, "\xff": `"\xff"`, "\x1b[31m": `"\x1b[31m"`,
	} {
		if got := readable(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
	line := messageLine(&client.Received{Message: client.Message{Body: []byte{0xff}}})
	if line.Body != nil || !bytes.Equal(line.BodyBase64, []byte{0xff}) {
		t.Errorf("a body that is no text: %+v", line)
	}
}
