// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/testcluster"
)

// deadLetters makes n dead letters of group billing in topic orders, with bodies m0, m1, ..., and gives their ids. They
// come from a consumer that tells why it fails.
func deadLetters(t *testing.T, c *testcluster.Cluster, n int) []string {
	t.Helper()
	must(t, c, "", "topic", "create", "orders", "--queues", "1")
	p, err := client.NewProducer(client.NameServers(c.NameServerText()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	var ids []string
	for i := range n {
		r, err := p.Send(t.Context(), &client.Message{Topic: "orders", Body: fmt.Appendf(nil, "m%d", i), Tag: "A", Keys: []string{"k", fmt.Sprint(i)}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	consumed := make(chan struct{}, n)
	m, err := client.NewConsumer("billing", func(context.Context, *client.Received) error {
		consumed <- struct{}{}
		return &client.RetryError{DelayLevel: -1, Err: errors.New("no such\ncustomer")}
	}, client.NameServers(c.NameServerText()), client.Subscribe("orders", client.Filter{}), client.StartAt(client.Beginning()), client.Concurrency(1))
	if err == nil {
		err = m.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		select {
		case <-consumed:
		case <-time.After(30 * time.Second):
			t.Fatal("not consumed in 30 s")
		}
	}
	if err := m.Close(); err != nil { // waits for the last send-back
		t.Fatal(err)
	}
	awaitTopic(t, c, "%DLQ%billing")
	return ids
}

// awaitTopic waits until the name server was told of a topic that came to be by use.
func awaitTopic(t *testing.T, c *testcluster.Cluster, topic string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(must(t, c, "", "topic", "list", "--all"), topic+"\n"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no topic %s after 20 s", topic)
		}
	}
}

func TestDLQCommands(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	ids := deadLetters(t, c, 3)
	for _, step := range []struct {
		situation string
		args      []string
		code      int
		out       []string
		err       string
	}{
		{"list", []string{"list"}, exitOK, []string{"GROUP    QUEUE       COUNT  FROM  OLDEST", "billing  broker-a:0  3      0     ", "3 dead letters\n"}, ""},
		{"list as JSON", []string{"list", "-o", "json"}, exitOK, []string{`{"group":"billing","count":3,"queues":[{"broker":"broker-a","queue":0,"count":3,"first":0,"next":3,"oldest":"`}, ""},
		{"list of one group", []string{"list", "billing"}, exitOK, []string{"3 dead letters"}, ""},
		{"list of a group that is not there", []string{"list", "nope"}, exitFailed, nil, "group nope: the consumer group does not exist: see 'goddard group list --all'"},
		{"show", []string{"show", "billing", "--limit", "1"}, exitOK, []string{"broker-a:0@0  %DLQ%billing\n", "  id        " + ids[0] + "\n", "  origin    topic orders, id ",
			"  attempts  1 failed\n", "  reason    no such customer\n", "  tag       A\n", "  keys      k 0\n", "  body      2 bytes\nm0\n"}, ""},
		{"show as JSON", []string{"show", "billing", "--id", ids[1], "-o", "json"}, exitOK, []string{`"originalTopic":"orders"`, `"reason":"no such customer"`, `"body":"m1"`, `"attempts":1`, `"keys":["k","1"]`}, ""},
		{"show bodies from a place", []string{"show", "billing", "--from", "broker-a:0@1", "-o", "body"}, exitOK, []string{"m1\nm2\n"}, ""},
		{"show a single one", []string{"show", "billing", "--offset", "0@2", "-o", "body"}, exitOK, []string{"m2\n"}, ""},
		{"show from an hour ago", []string{"show", "billing", "--from", "1h", "-o", "body"}, exitOK, []string{"m0\nm1\nm2\n"}, ""},
		{"show until an hour ago", []string{"show", "billing", "--until", "1h"}, exitOK, []string{"group billing has no such dead letters, of 3\n"}, ""},
		{"show from nowhere", []string{"show", "billing", "--from", "soon"}, exitFailed, nil, "--from soon: want a time such as 2026-01-31T08:00:00"},
		{"show a place that is not there", []string{"show", "billing", "--offset", "0@7"}, exitFailed, nil, "there is no dead letter 0@7: queue broker-a:0 has 0 to 2"},
		{"show a place that is none", []string{"show", "billing", "--offset", "7"}, exitFailed, nil, "--offset 7: want BROKER:QUEUE@OFFSET"},
		{"resend nothing", []string{"resend", "billing", "--to-group"}, exitFailed, nil, "which dead letters? Give --id"},
		{"resend nowhere", []string{"resend", "billing", "--all"}, exitFailed, nil, "where to? Give either --to-group"},
		{"resend everywhere", []string{"resend", "billing", "--all", "--to-group", "--to-topic"}, exitFailed, nil, "where to?"},
		{"resend all and some", []string{"resend", "billing", "--all", "--from", "1h", "--to-group"}, exitFailed, nil, "--all does not go with"},
		{"resend at no rate", []string{"resend", "billing", "--all", "--to-group", "--rate=-1"}, exitFailed, nil, "--rate=-1: want more than 0"},
		{"resend an id that is not there", []string{"resend", "billing", "--id", "nope", "--to-group"}, exitFailed, nil, "group billing has no such dead letter with the id nope"},
		{"resend by trial", []string{"resend", "billing", "--all", "--to-topic", "--dry-run"}, exitOK,
			[]string{"broker-a:0@0  " + ids[0] + "  would be resent to orders\n", "3 dead letters would be resent; they stay where they are"}, ""},
		{"resend one to the topic", []string{"resend", "billing", "--id", ids[1], "--to-topic"}, exitOK,
			[]string{"broker-a:0@1  " + ids[1] + "  resent to orders  broker-a:0@3\n", "1 dead letter resent; they stay"}, ""},
		{"resend two to the group", []string{"resend", "billing", "--offset", "0@0", "--offset", "broker-a:0@2", "--to-group", "--rate", "1000", "-o", "json"}, exitOK,
			[]string{`"offset":0,"id":"` + ids[0] + `","topic":"orders","done":"resent","toBroker":"broker-a","toQueue":0,"toOffset":0}`, `"offset":2`}, ""},
		{"they are still there", []string{"list"}, exitOK, []string{"3 dead letters\n"}, ""},
	} {
		got := run(t, c, "", append([]string{"dlq"}, step.args...)...)
		if got.code != step.code {
			t.Errorf("%s: exit %d, want %d; said %q", step.situation, got.code, step.code, got.err)
		}
		for _, part := range step.out {
			if !strings.Contains(got.out, part) {
				t.Errorf("%s: printed %q, want %q in it", step.situation, got.out, part)
			}
		}
		if len(step.out) == 0 && got.out != "" || step.err == "" && got.err != "" || !strings.Contains(got.err, step.err) {
			t.Errorf("%s: printed %q, complained %q, want %q", step.situation, got.out, got.err, step.err)
		}
	}
	if got := bodies(t, c, "orders"); strings.Join(got, " ") != "m0 m1 m1 m2" {
		t.Errorf("the topic has %q", got)
	}
	if got := must(t, c, "", "consume", "%RETRY%billing", "-o", "body"); got != "m0\nm2\n" {
		t.Errorf("the retry topic has %q", got)
	}
}

// Ctrl-C ends a resend between two messages, and says where to go on.
func TestResendIsInterrupted(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	deadLetters(t, c, 3)
	t.Setenv("NAMESRV_ADDR", c.NameServerText())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &watched{found: cancel, text: "resent to orders"}
	var errOut bytes.Buffer
	code := Run(ctx, []string{"dlq", "resend", "billing", "--all", "--to-topic", "--rate", "0.001"}, strings.NewReader(""), out, &errOut)
	want := "goddard: interrupted; to go on: goddard dlq resend billing --from broker-a:0@1 --to-topic --rate 0.001\n"
	if code != exitFailed || errOut.String() != want || !strings.Contains(out.String(), "1 dead letter resent") {
		t.Errorf("exit %d, printed %q, complained %q, want %q", code, out.String(), errOut.String(), want)
	}
	if out := must(t, c, "", "dlq", "resend", "billing", "--from", "broker-a:0@1", "--to-topic"); !strings.HasSuffix(out, "those that come later: --from broker-a:0@3\n") {
		t.Errorf("printed %q", out)
	}
	if got := bodies(t, c, "orders"); strings.Join(got, " ") != "m0 m0 m1 m1 m2 m2" {
		t.Errorf("the topic has %q, want each twice", got)
	}
}

// watched calls found when text is written.
type watched struct {
	bytes.Buffer
	text  string
	found func()
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.found()
	}
	return n, err
}

func TestMessageGetAndBrowse(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	must(t, c, "", "topic", "create", "orders", "--queues", "1")
	var sent []sentLine
	for i, tag := range []string{"A", "B", "A"} {
		out := must(t, c, "", "produce", "orders", fmt.Sprintf("m%d", i), "--tag", tag, "--keys", fmt.Sprintf("k%d,all", i), "-p", "own=1", "-o", "json")
		var line sentLine
		if err := json.Unmarshal([]byte(out), &line); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, line)
	}
	for _, step := range []struct {
		situation string
		args      []string
		code      int
		out       []string
		err       string
	}{
		{"by offset id", []string{"get", sent[1].OffsetID}, exitOK, []string{"broker-a:0@1  orders\n", "  id        " + sent[1].ID, "  offset id " + sent[1].OffsetID, "  tag       B\n",
			"  keys      k1 all\n", "  property  own=1\n", "  body      2 bytes\nm1\n"}, ""},
		{"by id", []string{"get", sent[1].ID, "--topic", "orders", "-o", "body"}, exitOK, []string{"m1\n"}, ""},
		{"by unique key", []string{"get", "--unique-key", sent[2].ID, "--topic", "orders", "-o", "json"}, exitOK, []string{`"body":"m2"`, `"properties":{"own":"1"}`, `"UNIQ_KEY":"` + sent[2].ID}, ""},
		{"by key", []string{"get", "--key", "all", "--topic", "orders", "-o", "body"}, exitOK, []string{"m0\nm1\nm2\n"}, ""},
		{"by key, since an hour", []string{"get", "--key", "k0", "--topic", "orders", "-o", "body", "--from", "1h"}, exitOK, []string{"m0\n"}, ""},
		{"by key, until an hour ago", []string{"get", "--key", "k0", "--topic", "orders", "--until", "1h"}, exitFailed, nil, "k0 in topic orders: there is no such message"},
		{"by a key that nothing has", []string{"get", "--key", "nope", "--topic", "orders"}, exitFailed, nil, "nope in topic orders: there is no such message"},
		{"by id, without a topic", []string{"get", sent[1].ID}, exitFailed, nil, "say in which topic to look: --topic"},
		{"by an id that is none", []string{"get", "x"}, exitFailed, nil, "has 1 characters, not 32 or 56"},
		{"by a place that is not there", []string{"get", sent[1].OffsetID[:16] + "00000000FFFFFFFF"}, exitFailed, nil, "has no message at offset 4294967295 of its log: there is no such message"},
		{"by a place in a message", []string{"get", sent[1].OffsetID[:16] + "0000000000000003"}, exitFailed, nil, "there is no such message"},
		{"by nothing", []string{"get"}, exitFailed, nil, "which message?"},
		{"by key without a topic", []string{"get", "--key", "k"}, exitFailed, nil, "give --topic"},
		{"in a topic that is not there", []string{"get", "--key", "k", "--topic", "nope"}, exitFailed, nil, "the topic does not exist: create it"},
		{"browse", []string{"browse", "orders", "-o", "body"}, exitOK, []string{"m0\nm1\nm2\n"}, ""},
		{"browse from an offset", []string{"browse", "orders", "--from", "1", "--limit", "1", "-o", "body"}, exitOK, []string{"m1\n"}, ""},
		{"browse by tag", []string{"browse", "orders", "--filter", "B || C", "--queue", "broker-a:0", "-o", "body"}, exitOK, []string{"m1\n"}, ""},
		{"browse from a time", []string{"browse", "orders", "--from", "1h", "-o", "body"}, exitOK, []string{"m0\nm1\nm2\n"}, ""},
		{"browse less than nothing", []string{"browse", "orders", "--limit=-1"}, exitFailed, nil, "--limit=-1"},
	} {
		got := run(t, c, "", append([]string{"message"}, step.args...)...)
		if got.code != step.code || !strings.Contains(got.err, step.err) || step.err == "" && got.err != "" {
			t.Errorf("%s: exit %d, want %d; said %q, want %q", step.situation, got.code, step.code, got.err, step.err)
		}
		for _, part := range step.out {
			if !strings.Contains(got.out, part) {
				t.Errorf("%s: printed %q, want %q in it", step.situation, got.out, part)
			}
		}
	}
	if groups := must(t, c, "", "group", "list"); groups != "" {
		t.Errorf("there are groups %q now", groups)
	}
}

func TestMessageTrace(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	if got := run(t, c, "", "message", "trace", "ID"); got.code != exitFailed || !strings.Contains(got.err, "there is no trace topic RMQ_SYS_TRACE_TOPIC: give brokers traceTopicEnable=true") {
		t.Errorf("exit %d, complained %q", got.code, got.err)
	}
	told := func(keys string, records ...string) {
		body := strings.NewReplacer("|", "\x01", ";", "\x02").Replace(strings.Join(records, ";") + ";")
		must(t, c, body, "produce", "RMQ_SYS_TRACE_TOPIC", "--whole", "--keys", keys)
	}
	told("ID,k,OTHER", "Pub|1700000000000|R|PG|orders|ID|A|k|h:10911|7|3|0|OID|true", "Pub|1700000000000|R|PG|orders|OTHER|A|k|h:10911|7|3|0|OID|false")
	told("ID,k", "SubBefore|1700000001000|R|CG|RQ1|ID|0|k", "SubAfter|RQ1|ID|4|false|k|2|1700000001004|CG",
		"SubBefore|1700000011000|R|CG|RQ2|ID|1|k", "SubBefore|1700000011000|R|CG|RQ2|ELSE|1|k", "Pub|x")
	told("ID,k", "SubAfter|RQ2|ID|5|true|k|0|1700000011005|CG", "SubBefore|1700000012000|R|DG|RQ3|ID|0|k")
	awaitTopic(t, c, "RMQ_SYS_TRACE_TOPIC")
	got := run(t, c, "", "message", "trace", "ID")
	for _, part := range []string{
		"ID  topic=orders  tag=A  keys=k\n",
		"EVENT     AT                       GROUP  CLIENT     TOOK  ATTEMPT  STATUS       BROKER\n",
		"PG     127.0.0.1  3 ms  -        success      h:10911\n",
		"CG     127.0.0.1  4 ms  1        exception    -\n",
		"CG     127.0.0.1  5 ms  2        success      -\n",
		"DG     127.0.0.1  -     1        no end told  -\n",
	} {
		if !strings.Contains(got.out, part) {
			t.Errorf("printed %q, want %q in it", got.out, part)
		}
	}
	if got.code != exitOK || !strings.Contains(got.err, `goddard: left out: trace message broker-a:`) || strings.Contains(got.out, "OTHER") {
		t.Errorf("exit %d, printed %q, complained %q", got.code, got.out, got.err)
	}
	got = run(t, c, "", "message", "trace", "--key", "k", "-o", "json")
	for _, part := range []string{
		`{"id":"OTHER","event":"sent","at":"2023-11-14T22:13:20.000Z","topic":"orders","group":"PG","client":"127.0.0.1","broker":"h:10911","costMs":3,"status":"failed"`,
		`{"id":"ID","event":"consumed","at":"2023-11-14T22:13:21.000Z","topic":"orders","group":"CG","client":"127.0.0.1","costMs":4,"retries":0,"status":"exception"}`,
	} {
		if !strings.Contains(got.out, part) {
			t.Errorf("printed %q, want %q in it", got.out, part)
		}
	}
	if got := run(t, c, "", "message", "trace", "nope"); got.code != exitFailed || !strings.Contains(got.err, "nothing was told of nope: do its clients trace?") {
		t.Errorf("exit %d, complained %q", got.code, got.err)
	}
	if got := run(t, c, "", "message", "trace"); got.code != exitFailed || !strings.Contains(got.err, "which message?") {
		t.Errorf("exit %d, complained %q", got.code, got.err)
	}
}
