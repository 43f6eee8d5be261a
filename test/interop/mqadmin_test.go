// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/test/interop/rig"
)

var update = flag.Bool("update", false, "write testdata/mqadmin-*.txt from what this rig.Server answers (with INTEROP_SERVER=oracle)")

// mqadmin runs mqadmin commands in one JVM.
type mqadmin struct {
	t   *testing.T
	jvm *jvm
	s   rig.Server
	log strings.Builder // commands and their normalized output
}

func (a *mqadmin) raw(command string) string {
	a.t.Helper()
	fmt.Fprintln(a.jvm.in, command)
	var lines []string
	for a.jvm.out.Scan() {
		if a.jvm.out.Text() == "@end" {
			return strings.Join(lines, "\n")
		}
		lines = append(lines, a.jvm.out.Text())
	}
	a.t.Fatalf("%s: the JVM ended: %v", command, a.jvm.out.Err())
	return ""
}

// do runs "name args" with -n and records what it printed, made comparable by shape.
func (a *mqadmin) do(shape func(string) string, command string) string {
	a.t.Helper()
	name, args, _ := strings.Cut(command, " ")
	out := a.raw(name + " -n " + a.s.NameServer() + " " + args)
	fmt.Fprintf(&a.log, "$ mqadmin %s\n%s\n", normalize(command), shape(normalize(out)))
	return out
}

var replacements = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?m)^OpenJDK.*\n|^WARNING: .*\n|^RocketMQLog:WARN.*\n`), ""},
	{regexp.MustCompile(`\b\d{13}@(\S+)@([A-Z]+)@(\S+)@[0-9A-F]{32,56}@\d+`), "<index of $1 $2 $3>"},
	{regexp.MustCompile(`(?m)^\s*(at |\.\.\. ).*\n`), ""}, // stack frames name lines of the tool
	{regexp.MustCompile(`\b[0-9A-F]{56}\b`), "<unique id>"},
	{regexp.MustCompile(`\b[0-9A-F]{32}\b`), "<id>"},
	{regexp.MustCompile(`/?127\.0\.0\.1:\d+`), "<addr>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d+)?`), "<time>"},
	{regexp.MustCompile(`Message Body Path: .*`), "Message Body Path: <path>"},
	{regexp.MustCompile(`CommitLog Offset: +\d+`), "CommitLog Offset: <n>"},
	{regexp.MustCompile(`(?m)(TPS:) [\d.]+`), "$1 <n>"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
	{regexp.MustCompile(`\n{2,}`), "\n"},
}

func normalize(s string) string {
	for _, r := range replacements {
		s = r.pattern.ReplaceAllString(s, r.with)
	}
	return strings.TrimSpace(s)
}

func asPrinted(s string) string { return s }

// sorted is for output whose order is that of a hash map; lines with a word in without are what only one server has.
func sorted(without ...string) func(string) string {
	return func(s string) string {
		lines := strings.Split(s, "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool {
			return slices.ContainsFunc(without, func(w string) bool { return strings.Contains(l, w) })
		})
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
}

// properties sorts the map in "Properties: {a=b, c=d}".
func properties(s string) string {
	return regexp.MustCompile(`Properties: \{(.*)\}`).ReplaceAllStringFunc(s, func(m string) string {
		p := strings.Split(strings.TrimSuffix(strings.TrimPrefix(m, "Properties: {"), "}"), ", ")
		slices.Sort(p)
		return "Properties: {" + strings.Join(p, ", ") + "}"
	})
}

// bodies keeps the bodies of printed messages.
func bodies(s string) string {
	return strings.Join(regexp.MustCompile(`BODY: .*|Consume ok`).FindAllString(s, -1), "\n")
}

// keys keeps the names of "name : value" lines.
func keys(s string) string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		k, _, _ := strings.Cut(l, ":")
		if k = strings.TrimSpace(k); k != "" && !strings.Contains(k, "/") {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// head keeps the first n words of each line: tables whose right half is load and time.
func head(n int) func(string) string {
	return func(s string) string {
		var out []string
		for _, l := range strings.Split(s, "\n") {
			w := strings.Fields(l)
			out = append(out, strings.Join(w[:min(n, len(w))], " "))
		}
		return strings.Join(out, "\n")
	}
}

// TestMqadmin compares what mqadmin prints with what it prints beside the Java server of its own release.
func TestMqadmin(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			s := rig.Start(t)
			a := &mqadmin{t: t, s: s, jvm: startJVM(t, generation, s.NameServer(), "admin")}
			adminSession(a, generation)
			golden := filepath.Join("testdata", "mqadmin-"+generation+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(a.log.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, string(want), a.log.String())
		})
	}
}

func adminSession(a *mqadmin, generation string) {
	a.do(asPrinted, "updateTopic -c DefaultCluster -t AdminTopic -r 2 -w 2")
	eventually(a.t, 20*time.Second, func() string { return "route of AdminTopic" }, func() bool {
		return strings.Contains(a.raw("topicRoute -n "+a.s.NameServer()+" -t AdminTopic"), "queueDatas")
	})
	a.do(asPrinted, "topicRoute -t AdminTopic")
	a.do(sorted("ROCKSDB"), "topicList")
	a.do(head(4), "clusterList")
	a.do(keys, "brokerStatus -b "+a.s.Broker())
	sent := a.do(asPrinted, "sendMessage -t AdminTopic -p body~1 -k key1 -c TagA -b broker-a -i 0")
	unique := regexp.MustCompile(`[0-9A-F]{32,56}`).FindString(sent)
	a.do(asPrinted, "sendMessage -t AdminTopic -p body~2 -k key2 -c TagB -b broker-a -i 0")
	// The index follows the log: ask until it has the second message.
	eventually(a.t, 20*time.Second, func() string { return "key2 in the index" }, func() bool {
		return strings.Contains(a.raw("queryMsgByKey -n "+a.s.NameServer()+" -t AdminTopic -k key2"), "key2") ||
			regexp.MustCompile(`[0-9A-F]{32}`).MatchString(a.raw("queryMsgByKey -n "+a.s.NameServer()+" -t AdminTopic -k key2"))
	})
	a.do(asPrinted, "topicStatus -t AdminTopic")
	a.do(asPrinted, "queryMsgByKey -t AdminTopic -k key1")
	a.do(properties, "queryMsgByUniqueKey -t AdminTopic -i "+unique)
	consumed := a.do(bodies, "consumeMessage -t AdminTopic -g AdminReader -c 2")
	id := regexp.MustCompile(`msgId=([0-9A-F]{32}),`).FindStringSubmatch(consumed)
	if id == nil {
		a.t.Fatalf("no offset id in %s", consumed)
	}
	byID := "queryMsgById -i " + id[1]
	if generation != "v4" {
		byID += " -t AdminTopic"
	}
	a.do(properties, byID)
	a.do(asPrinted, "consumerProgress -g AdminReader") // nobody there
	member := startJVM(a.t, generation, a.s.NameServer(), "member", "AdminTopic", "AdminGroup")
	member.expect(a.t, "ready")
	eventually(a.t, 60*time.Second, func() string { return "the group has read and committed both messages" }, func() bool {
		return regexp.MustCompile(`AdminTopic +broker-a +0 +2 +2 +0`).MatchString(a.raw("consumerProgress -n " + a.s.NameServer() + " -g AdminGroup"))
	})
	a.do(asPrinted, "consumerProgress -g AdminGroup")
	a.do(asPrinted, "topicStatus -t NoSuchTopic")
}

func compare(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "$ mqadmin "), strings.Split(got, "$ mqadmin ")
	for i := range max(len(w), len(g)) {
		switch {
		case i >= len(g):
			t.Errorf("missing: %s", w[i])
		case i >= len(w):
			t.Errorf("beyond what Java was asked: %s", g[i])
		case w[i] != g[i]:
			t.Errorf("Java server:\n%s\nthis server:\n%s", w[i], g[i])
		}
	}
}
