// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// tiny are settings that keep a data folder small enough to be copied.
var tiny = []string{"mappedFileSizeCommitLog=65536", "mappedFileSizeConsumeQueue=2000", "maxHashSlotNum=100", "maxIndexNum=200"}

// A damaged state file is replaced by the generation before it. Without one the broker says which file it is: in its
// log, or in the message it stops with. It never begins all groups anew and says nothing.
func TestDamagedStateFiles(t *testing.T) {
	t.Parallel()
	template := stateTemplate(t)
	damages := []struct {
		name string
		do   func(content []byte) []byte // nil: no file
	}{
		{"empty", func([]byte) []byte { return []byte{} }},
		{"cut in half", func(b []byte) []byte { return b[:len(b)/2] }},
		{"zero bytes", func(b []byte) []byte { return make([]byte, len(b)) }},
		{"wrong types", func([]byte) []byte {
			return []byte(`{"dataVersion":7,"topicConfigTable":[1,2],"subscriptionGroupTable":"x","offsetTable":true}`)
		}},
		{"another file's content", func([]byte) []byte { return []byte(`{"unknown":{}}`) }},
		{"missing", nil},
	}
	for _, file := range []string{"topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json"} {
		for _, damage := range damages {
			for _, backup := range []bool{true, false} {
				name := fmt.Sprintf("%s/%s/with backup", file, damage.name)
				if !backup {
					name = fmt.Sprintf("%s/%s/without backup", file, damage.name)
				}
				t.Run(name, func(t *testing.T) {
					data := t.TempDir()
					if err := os.CopyFS(data, os.DirFS(template)); err != nil {
						t.Fatal(err)
					}
					s := prepare(t, setup{data: data, set: tiny})
					path := s.configFile(file)
					content, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if damage.do == nil {
						err = os.Remove(path)
					} else {
						err = os.WriteFile(path, damage.do(content), 0o644)
					}
					if err != nil {
						t.Fatal(err)
					}
					if !backup {
						for _, suffix := range []string{".bak", ".journal", ".journal.old"} {
							if err := os.Remove(path + suffix); err != nil && !os.IsNotExist(err) {
								t.Fatal(err)
							}
						}
					}
					startDamaged(t, s, file, damage.do == nil, backup)
				})
			}
		}
	}
}

func startDamaged(t *testing.T, s *server, file string, missing, backup bool) {
	t.Helper()
	err := s.tryBegin()
	if err != nil {
		cmd, exited := s.running()
		<-exited
		if backup {
			t.Fatalf("does not start although there is a generation before: %v", err)
		}
		if cmd.ProcessState.ExitCode() == 0 || !strings.Contains(s.log.String(), file) {
			t.Fatalf("stopped with exit code %d and does not name the file: %v", cmd.ProcessState.ExitCode(), err)
		}
		return
	}
	w := dial(t, s.broker)
	// A table that is gone with its generation before is as in a new folder; only lost progress must be told of even then.
	if !missing || backup || file == "consumerOffset.json" {
		eventually(t, "a line in the log that names "+file, func() bool { return strings.Contains(s.log.String(), file) })
	}
	if !backup {
		return
	}
	if _, there := w.topics()["state"]; !there {
		t.Error("the topic is gone")
	}
	if n := w.committed("state_group", "state", 0); n < 10 {
		t.Errorf("the group stands at %d, it had committed 10 a generation ago", n)
	}
	group := w.call(protocol.GetSubscriptionGroupConfig, protocol.GroupHeader{Group: "state_group"}, nil)
	if !bytes.Contains(group.Body, []byte(`"retryMaxTimes":7`)) {
		t.Errorf("the group's settings are %d %s", group.Code, group.Body)
	}
	// Each of the two delayed messages was delivered before; with a delay progress one generation old the second may
	// come once more, the first may not.
	first := 0
	for _, m := range w.read("state_later", 0) {
		if string(m.Body) == "first" {
			first++
		}
	}
	if first != 1 {
		t.Errorf("the first delayed message was delivered %d times", first)
	}
}

// stateTemplate makes a data folder whose state files have a generation before, with a group that committed 10 in that
// and 12 in the last one.
func stateTemplate(t *testing.T) string {
	t.Helper()
	s := start(t, setup{set: tiny})
	w := dial(t, s.broker)
	w.createTopic("state", 1)
	w.createTopic("state_later", 1)
	var out []outgoing
	for i := range 20 {
		out = append(out, outgoing{topic: "state", body: fmt.Appendf(nil, "message %d", i)})
	}
	w.sendAll(out)
	generation := func(body string, commit int64, more string) {
		t.Helper()
		w = dial(t, s.broker)
		w.createTopic(more, 1)
		group := protocol.NewSubscriptionGroupConfig("state_group")
		group.RetryMaxTimes = 7
		w.must(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(group))
		w.must(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(protocol.NewSubscriptionGroupConfig(more)))
		w.commit("state_group", "state", 0, commit)
		before := w.maxOffset("state_later", 0)
		w.send(outgoing{topic: "state_later", body: []byte(body), props: properties(true, "DELAY", "1")})
		eventually(t, "the delayed message", func() bool { return w.maxOffset("state_later", 0) == before+1 })
	}
	generation("first", 10, "state_one")
	s.restart()
	generation("second", 12, "state_two")
	s.stop()
	return s.data
}

// What was acknowledged before a kill -9 or asked for before a SIGTERM is there after the next start: topics and groups
// at once, committed offsets up to the last time they were written.
func TestStateSurvives(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		end  func(t *testing.T, s *server)
	}{
		{"SIGTERM", func(t *testing.T, s *server) { s.stop() }},
		{"kill -9", func(t *testing.T, s *server) {
			eventually(t, "the offsets on disk", func() bool {
				b, _ := os.ReadFile(s.configFile("consumerOffset.json"))
				return bytes.Contains(b, []byte(":17"))
			})
			dial(t, s.broker).createTopic("last_breath", 3) // acknowledged a moment before
			s.kill()
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{set: []string{"flushConsumerOffsetInterval=100"}})
			w := dial(t, s.broker)
			w.createTopic("survives", 4)
			w.createTopic("changed", 2)
			w.must(protocol.UpdateAndCreateTopic, topicHeader("changed", 5), nil)
			group := protocol.NewSubscriptionGroupConfig("survivors")
			group.RetryMaxTimes = 3
			w.must(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(group))
			var out []outgoing
			for range 20 {
				out = append(out, outgoing{topic: "survives", queue: 2, body: []byte("m")})
			}
			w.sendAll(out)
			w.commit("survivors", "survives", 2, 17)
			w.join(member{id: "one", group: "survivors", topic: "survives"})
			if got := w.lock("survivors", "one", "survives", 0, 1); len(got) != 2 {
				t.Fatalf("locked %v", got)
			}
			row.end(t, s)
			s.begin()

			w = dial(t, s.broker)
			topics := w.topics()
			for topic, queues := range map[string]int32{"survives": 4, "changed": 5} {
				if c := topics[topic]; c == nil || c.ReadQueueNums != queues || c.WriteQueueNums != queues {
					t.Errorf("topic %s is %+v, want %d queues", topic, c, queues)
				}
			}
			if c := topics["last_breath"]; row.name == "kill -9" && (c == nil || c.ReadQueueNums != 3) {
				t.Errorf("the topic made last is %+v", c)
			}
			if n := w.committed("survivors", "survives", 2); n != 17 {
				t.Errorf("the group stands at %d, want 17", n)
			}
			answer := w.must(protocol.GetSubscriptionGroupConfig, protocol.GroupHeader{Group: "survivors"}, nil)
			if !bytes.Contains(answer.Body, []byte(`"retryMaxTimes":3`)) {
				t.Errorf("the group's settings are %s", answer.Body)
			}
			if n := w.maxOffset("survives", 2); n != 20 {
				t.Errorf("the queue ends at %d, want 20", n)
			}
			if got := w.members("survivors"); len(got) != 0 {
				t.Errorf("members that never came back: %v", got)
			}
			// Locks are not kept: who comes first has the queue, the former owner's time runs out at the client.
			if got := w.lock("survivors", "two", "survives", 0); len(got) != 1 {
				t.Errorf("after a restart the first who asks gets %v", got)
			}
		})
	}
}

// What cannot be written at the end is said in the log and by the exit code: who stops servers by script must not take it
// for a good end.
func TestStateThatCannotBeWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"consumerOffset.json", "delayOffset.json", "topics.json", "subscriptionGroup.json"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{set: tiny})
			w := dial(t, s.broker)
			w.createTopic("state", 1)
			// A folder with something in it stands where the temporary file would be: a write fails whoever runs the test.
			if err := os.MkdirAll(filepath.Join(s.configFile(file)+".tmp", "x"), 0o755); err != nil {
				t.Fatal(err)
			}
			w.must(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(protocol.NewSubscriptionGroupConfig("late")))
			w.createTopic("late", 1)
			w.commit("late", "late", 0, 3)
			w.send(outgoing{topic: "late", body: []byte("m"), props: properties(true, "DELAY", "1")})
			eventually(t, "the delayed message", func() bool { return w.maxOffset("late", 0) == 1 })
			if _, code := s.terminate(); code == 0 {
				t.Error("exit code 0")
			}
			if log := s.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, file) {
				t.Errorf("the log does not name %s as an error", file)
			}
		})
	}
}

// SIGTERM ends it within a second, with pulls parked and sends under way, and the next start has nothing to repair.
func TestStopIsQuickAndClean(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	w := dial(t, s.broker)
	w.createTopic("stop", 4)
	for i := range 50 {
		parked := dial(t, s.broker)
		for range 2 {
			go func() { _, _ = parked.ask(pull{topic: "stop", queue: int32(i % 4), hold: patience}.command()) }()
		}
	}
	l := newLoadLedger(3)
	w.createTopic("load", 3)
	sender := dial(t, s.broker)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.send(sender, "stop", 3)
	}()
	eventually(t, "some sends", func() bool { return l.total() > 500 })

	took, code := s.terminate()
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took > 2*time.Second { // what is wanted is one; the machine may be busy
		t.Errorf("the end took %v", took)
	}
	<-ended
	if _, err := os.Stat(filepath.Join(s.data, "store", "abort")); err == nil {
		t.Error("the mark of an unclean end was left behind")
	}
	t.Logf("took %v; %d sends", took, l.total())
	logged := s.log.Len()
	s.begin()
	l.check(t, dial(t, s.broker))
	for line := range strings.Lines(s.log.String()[logged:]) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			t.Errorf("after a clean stop the start says: %s", line)
		}
	}
	if _, code := s.terminate(); code != 0 {
		t.Errorf("exit code %d of an idle server", code)
	}
}

// A topic that was deleted stays away, though its messages are still in the log and clients still ask for it. Made
// anew it begins at 0.
func TestDeletedTopicDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*server){"SIGTERM": (*server).restart, "kill -9": (*server).crash} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{command: "server"})
			w := dial(t, s.broker)
			w.createTopic("gone", 2)
			w.createTopic("stays", 1)
			w.join(member{id: "subscriber", group: "e2e_gone", topic: "gone"})
			for i := range 30 {
				w.send(outgoing{topic: "gone", queue: int32(i % 2), body: []byte("old"), props: properties(true, "KEYS", "old")})
			}
			w.commit("e2e_gone", "gone", 0, 9)
			w.must(protocol.DeleteTopicInBroker, protocol.TopicHeader{Topic: "gone"}, nil)
			dial(t, s.nameServer).must(protocol.DeleteTopicInNameServer, protocol.DeleteTopicInNameServerRequest{Topic: "gone"}, nil)
			w.send(outgoing{topic: "stays", body: []byte("new")})

			gone := func(w *wire, names *wire) {
				t.Helper()
				header := protocol.QueueHeader{Topic: "gone", QueueID: 0}
				w.call(protocol.GetMaxOffset, header, nil) // questions make no topic
				w.call(protocol.GetTopicStatsInfo, protocol.TopicHeader{Topic: "gone"}, nil)
				w.call(protocol.GetEarliestMsgStoreTime, header, nil)
				w.join(member{id: "subscriber", group: "e2e_gone", topic: "gone"})
				if _, there := w.topics()["gone"]; there {
					t.Error("the topic is in the broker's list")
				}
				if n := w.maxOffset("gone", 0); n != 0 {
					t.Errorf("its queue ends at %d", n)
				}
				if got := w.pull(pull{group: "e2e_gone", topic: "gone", hold: time.Second}); got.code != protocol.TopicNotExist {
					t.Errorf("a pull is answered %d %s", got.code, got.remark)
				}
				if code, _ := names.route("gone"); code != protocol.TopicNotExist {
					t.Errorf("the name server answers %d", code)
				}
			}
			gone(w, dial(t, s.nameServer))
			again(s)
			w, names := dial(t, s.broker), dial(t, s.nameServer)
			eventually(t, "the broker to register", func() bool { code, _ := names.route("stays"); return code == 0 })
			gone(w, names)
			if n := w.maxOffset("stays", 0); n != 1 {
				t.Errorf("the other topic's queue ends at %d, want 1", n)
			}

			w.createTopic("gone", 2)
			for queue := range int32(2) {
				if place := w.send(outgoing{topic: "gone", queue: queue, body: []byte("again")}); place.offset != 0 {
					t.Errorf("the first message of the new queue %d came to %d", queue, place.offset)
				}
			}
			check := func() {
				t.Helper()
				for queue := range int32(2) {
					wantBodies(t, "the new topic", w.read("gone", queue), "again")
				}
				if n := w.committed("e2e_gone", "gone", 0); n > 0 {
					t.Errorf("the group stands at %d of the new topic, it has one message", n)
				}
			}
			check()
			again(s)
			w = dial(t, s.broker)
			check()
		})
	}
}
