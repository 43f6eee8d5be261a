// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/test/interop/rig"
)

// TestTrace has a Java client tell of a message, and compares what mqadmin makes of it with what goddard does.
func TestTrace(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			s := rig.Start(t, "traceTopicEnable=true")
			client := startJVM(t, generation, s.NameServer(), "traced", "Traced", "TracedGroup")
			id := strings.TrimPrefix(client.expect(t, "told "), "told ")
			admin := &mqadmin{t: t, s: s, jvm: startJVM(t, generation, s.NameServer(), "admin")}
			var told []string
			eventually(t, 30*time.Second, func() string { return fmt.Sprintf("a send and two attempts in mqadmin's %q", told) }, func() bool {
				told = traceOfMqadmin(admin.raw("queryMsgTraceById -n " + s.NameServer() + " -i " + id))
				return len(told) == 3
			})
			out := rig.Goddard(t, "message", "trace", id, "-n", s.NameServer(), "-o", "json")
			if got := traceOfGoddard(t, out); !slices.Equal(got, told) {
				t.Errorf("goddard tells %q, mqadmin %q", got, told)
			}
			byKey := rig.Goddard(t, "message", "trace", "--key", "key2", "-n", s.NameServer(), "-o", "json")
			if byKey != out {
				t.Errorf("by key %s\nby id %s", byKey, out)
			}
			for _, part := range []string{
				`"topic":"Traced"`, `"tags":"TagA","keys":"key1 key2","bytes":6,"region":"DefaultRegion"`, `"type":"normal"`,
				`"retries":0,"status":"failed"`, `"retries":1,"status":"success"`, `"broker":"` + s.Broker() + `"`,
			} {
				if !strings.Contains(out, part) {
					t.Errorf("goddard tells %s, want %s in it", out, part)
				}
			}
		})
	}
}

var traceRow = regexp.MustCompile(`(?m)^(Pub|Sub) +(\S+) +(\S+) +\S+ \S+ +(\d+)ms +(\S+)`)

// traceOfMqadmin gives the rows as "Pub group host cost status".
func traceOfMqadmin(out string) []string {
	var rows []string
	for _, m := range traceRow.FindAllStringSubmatch(out, -1) {
		rows = append(rows, strings.Join(m[1:], " "))
	}
	slices.Sort(rows)
	return rows
}

func traceOfGoddard(t *testing.T, out string) []string {
	t.Helper()
	var rows []string
	for line := range strings.Lines(out) {
		var e struct {
			Event, Group, Client, Status string
			CostMS                       int64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kind := map[string]string{"sent": "Pub", "consumed": "Sub"}[e.Event]
		rows = append(rows, fmt.Sprintf("%s %s %s %d %s", kind, e.Group, e.Client, e.CostMS, e.Status))
	}
	slices.Sort(rows)
	return rows
}
