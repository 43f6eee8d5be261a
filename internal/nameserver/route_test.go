// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// The texts are what RocketMQ 5.5.0 answers.
func TestRouteText(t *testing.T) {
	w := newWorld(t)
	w.register(broker{topics: []string{"T", "U"}, addr: "10.9.8.7:1", cluster: "c"})
	const rest = `,"brokerName":"a","cluster":"c","enableActingMaster":false}],"filterServerTable":{},` +
		`"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	const ordered = `,"brokerName":"a","cluster":"c","enableActingMaster":false}],"filterServerTable":{},"orderTopicConf":"x:4",` +
		`"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	for _, row := range []struct {
		dialect javajson.Dialect
		options routeOptions
		want    string
	}{
		{javajson.Bare, routeOptions{}, `{"brokerDatas":[{"brokerAddrs":{0:"10.9.8.7:1"}` + rest},
		{javajson.Standard, routeOptions{}, `{"brokerDatas":[{"brokerAddrs":{"0":"10.9.8.7:1"}` + rest},
		{javajson.Bare, routeOptions{order: "x:4"}, `{"brokerDatas":[{"brokerAddrs":{0:"10.9.8.7:1"}` + ordered},
	} {
		for range 2 { // made, then kept
			if got, _, _ := w.table.route("T", row.dialect, row.options); string(got) != row.want {
				t.Errorf("dialect %d options %+v:\n got %s\nwant %s", row.dialect, row.options, got, row.want)
			}
		}
	}
}

func TestRouteIsEncodedOncePerChange(t *testing.T) {
	w := newWorld(t)
	fresh := func() bool {
		w.t.Helper()
		_, fresh, ok := w.table.route("T", javajson.Standard, routeOptions{})
		if !ok {
			t.Fatal("no route")
		}
		return fresh
	}
	all := broker{topics: []string{"T", "U"}}
	w.register(all)
	if !fresh() || fresh() {
		t.Error("encoded other than once")
	}
	w.register(all)
	w.table.touch("C", "a:0", w.now)
	w.register(broker{topics: []string{"V"}, version: 1})
	w.register(broker{name: "b", topics: []string{"U", "V"}, conn: 2})
	w.hangUp(2)
	if fresh() {
		t.Error("encoded again although nothing of the topic has changed")
	}
	for what, change := range map[string]func(){
		"queue numbers": func() { w.register(broker{topics: []string{"T", "U"}, version: 9, read: 9}) },
		"permission":    func() { w.table.wipeWritePerm("a") },
		"a slave":       func() { w.register(broker{id: 1}) },
		"the address":   func() { w.register(broker{addr: "x", topics: []string{"T", "U"}, version: 9, read: 9}) },
	} {
		change()
		if !fresh() {
			t.Errorf("not encoded again after a change of %s", what)
		}
	}
}

func TestZones(t *testing.T) {
	w := newWorld(t)
	w.register(broker{topics: []string{"T", "U"}, zone: "North", filters: []string{"f"}})
	w.register(broker{name: "b", topics: []string{"T", "U"}, zone: "south", filters: []string{"g"}})
	w.register(broker{name: "c", id: 1, topics: []string{"T", "U"}, zone: "south", acting: no})
	for zone, want := range map[string]string{
		"north": "a 4/4 perm 6 0=a:0, c 4/4 perm 6 1=c:1",
		"SOUTH": "b 4/4 perm 6 0=b:0, c 4/4 perm 6 1=c:1",
		"west":  "c 4/4 perm 6 1=c:1",
	} {
		body, ok := w.table.routeInZone("T", zone, routeOptions{})
		var r protocol.TopicRouteData
		if err := javajson.Unmarshal(body, &r); err != nil || !ok {
			t.Fatal(err, ok)
		}
		if got := show(&r); got != want {
			t.Errorf("zone %s: %s, want %s", zone, got, want)
		}
		if _, there := r.FilterServerTable["a:0"]; there != (zone == "north") {
			t.Errorf("zone %s: filter servers %v", zone, r.FilterServerTable)
		}
	}
	if body, _ := w.table.routeInZone("T", "north", routeOptions{}); !bytes.Contains(body, []byte(`{1:"c:1"}`)) {
		t.Errorf("%s: zone answers have bare keys", body)
	}
	if _, ok := w.table.routeInZone("nothing", "north", routeOptions{}); ok {
		t.Error("a route of an unknown topic")
	}
	w.register(broker{name: "d", topics: []string{"V", "W"}, zone: "z"})
	if body, ok := w.table.routeInZone("V", "y", routeOptions{}); !ok || string(body) != `{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}` {
		t.Errorf("nothing left: %s %v", body, ok)
	}
}

func TestLists(t *testing.T) {
	w := newWorld(t)
	if names, addr := w.table.systemTopics(); len(names) != 0 || names == nil || addr != "" {
		t.Errorf("system topics of an empty table: %v %q", names, addr)
	}
	w.register(broker{topics: []string{"T", "U"}})
	w.register(broker{name: "b", cluster: "D", topics: []string{"U", "V"}, sysFlag: protocol.TopicFlagUnit})
	w.register(broker{name: "c", cluster: "D", topics: []string{"W", "X"}, sysFlag: protocol.TopicFlagUnitSub})
	w.register(broker{name: "d", cluster: "D", topics: []string{"Y", "Z"}, sysFlag: protocol.TopicFlagUnitSub | protocol.TopicFlagUnit})
	system, addr := w.table.systemTopics()
	for what, row := range map[string]struct{ got, want []string }{
		"all":               {w.table.allTopics(), []string{"T", "U", "V", "W", "X", "Y", "Z"}},
		"of C":              {w.table.topicsOf("C"), []string{"T", "U"}},
		"of D":              {w.table.topicsOf("D"), []string{"U", "V", "W", "X", "Y", "Z"}},
		"of no cluster":     {w.table.topicsOf("E"), []string{}},
		"unit":              {w.table.unitTopics(), []string{"V", "Y", "Z"}}, // U has its flags from a
		"unit sub":          {w.table.unitSubTopics(), []string{"W", "X", "Y", "Z"}},
		"unit sub, no unit": {w.table.unitSubOnlyTopics(), []string{"W", "X"}},
		"system":            {system, []string{"C", "D", "a", "b", "c", "d"}},
	} {
		if row.got == nil || !slices.Equal(row.got, row.want) {
			t.Errorf("%s: %v, want %v", what, row.got, row.want)
		}
	}
	if addr != "a:0" {
		t.Errorf("address %q", addr)
	}
	if m := w.table.members("a"); len(m) != 1 || m[0] != "a:0" {
		t.Errorf("members %v", m)
	}
	if m := w.table.members("nobody"); m == nil || len(m) != 0 {
		t.Errorf("members of nobody: %v", m)
	}
}

// Readers while registrations come in; the race detector judges.
func TestConcurrentUse(t *testing.T) {
	table := newRouteTable()
	w := &world{t: t, table: table}
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprintf("T%d", i)
	}
	var users sync.WaitGroup
	for i := range 4 {
		users.Go(func() {
			for n := range 200 {
				switch i {
				case 0:
					_, _ = table.register(&registration{cluster: "C", name: "a", addr: "x", conn: uint64(n % 3), body: bodyOf(names, int64(n/2))}, false, w.now)
				case 1:
					table.depart(table.connClosed(uint64(n % 3)))
				default:
					table.route(names[n%len(names)], javajson.Dialect(n%2), routeOptions{actingMaster: n%5 == 0})
					table.clusterInfo()
				}
			}
		})
	}
	users.Wait()
	w.check()
}

func bodyOf(names []string, version int64) *protocol.RegisterBrokerBody {
	b := &protocol.RegisterBrokerBody{Topics: protocol.TopicConfigWrapper{
		DataVersion: protocol.DataVersion{Counter: version}, TopicConfigTable: map[string]*protocol.TopicConfig{}}}
	for _, name := range names {
		b.Topics.TopicConfigTable[name] = protocol.NewTopicConfig(name)
	}
	return b
}

// Two thousand topics, as in a large cluster: what a registration without news and
// a route request cost.
func BenchmarkUnchangedRegistration(b *testing.B) {
	table, body := large()
	for b.Loop() {
		_, _ = table.register(&registration{cluster: "C", name: "a", addr: "x", conn: 1, body: body}, false, newWorld(b).now)
	}
}

func BenchmarkRoute(b *testing.B) {
	table, _ := large()
	for b.Loop() {
		table.route("T1234", javajson.Standard, routeOptions{})
	}
}

func large() (*routeTable, *protocol.RegisterBrokerBody) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf("T%d", i)
	}
	table, body := newRouteTable(), bodyOf(names, 1)
	_, _ = table.register(&registration{cluster: "C", name: "a", addr: "x", conn: 1, body: body}, false, newWorld(nil).now)
	return table, body
}
