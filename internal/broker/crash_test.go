// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/store"
)

// afterCrash runs a second broker on a copy of the folder as it is on disk now. Journals are copied first: what a table
// writes into its file meanwhile was in its journal before.
func (r *running) afterCrash() *running {
	r.Helper()
	cfg := r.cfg
	cfg.Store.Root = r.TempDir()
	for _, pattern := range []string{"config/*.journal", "config/*.journal.old", "config/*.json", "config/*.bak", "*"} {
		paths, err := filepath.Glob(filepath.Join(r.cfg.Store.Root, pattern))
		if err != nil {
			r.Fatal(err)
		}
		for _, path := range paths {
			if pattern == "*" && filepath.Base(path) == "config" {
				continue
			}
			if err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				return copyFile(path, filepath.Join(cfg.Store.Root, path[len(r.cfg.Store.Root):]))
			}); err != nil {
				r.Fatal(err)
			}
		}
	}
	return startWith(r.TB, cfg)
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// Whatever way a topic came to be: a message in it that was acknowledged is in its queue after a crash.
func TestMessagesInFreshTopicsSurviveACrash(t *testing.T) {
	for _, c := range []struct {
		situation string
		send      func(r *running) (topic string)
	}{
		{"a first send", func(r *running) string {
			topic := name("T")
			r.send(topic, "x", nil)
			return topic
		}},
		{"a retry topic made by a heartbeat", func(r *running) string {
			g := name("G")
			r.join(r.dial(nil), "client", g, protocol.Clustering)
			r.send("%RETRY%"+g, "x", nil)
			return "%RETRY%" + g
		}},
		{"a retry topic that a heartbeat is about to make", func(r *running) string {
			g := r.group()
			r.topics.EnsureRetry(g, 1, false, 0)
			r.send("%RETRY%"+g, "x", nil)
			return "%RETRY%" + g
		}},
		{"dead letters", func(r *running) string {
			g := r.group()
			r.send("%RETRY%"+g, "x", ext{"j": 17})
			return "%DLQ%" + g
		}},
		{"dead letters by a send-back", func(r *running) string {
			topic, g := r.topic(), r.group()
			r.send(topic, "x", nil)
			m := r.first(topic, 0)
			if a := r.sendBack(&m, g, -1, protocol.CurrentVersion, nil); a.Code != protocol.Success {
				r.Fatalf("send-back: %d %s", a.Code, a.Remark)
			}
			return "%DLQ%" + g
		}},
	} {
		t.Run(c.situation, func(t *testing.T) {
			r := start(t, func(c *Config) { c.Store.Flush = store.SyncFlush })
			topic := c.send(r)
			if got := r.afterCrash().first(topic, 0); string(got.Body) != "x" {
				t.Fatalf("got %q", got.Body)
			}
		})
	}
}

// A send-back goes through the delay queue; it is the retry topic that has to be there when its time comes.
func TestSendBackSurvivesACrash(t *testing.T) {
	r := start(t, func(c *Config) { c.Store.Flush = store.SyncFlush })
	topic, g := r.topic(), r.group()
	r.send(topic, "x", nil)
	m := r.first(topic, 0)
	if a := r.sendBack(&m, g, 1, protocol.CurrentVersion, nil); a.Code != protocol.Success {
		t.Fatalf("send-back: %d %s", a.Code, a.Remark)
	}
	after := r.afterCrash()
	if after.topics.Get("%RETRY%"+g) == nil {
		t.Fatal("the crash forgot the retry topic")
	}
	if got := after.first("%RETRY%"+g, 0); string(got.Body) != "x" {
		t.Fatalf("got %q", got.Body)
	}
}

// A heartbeat that was answered need not be repeated after a crash.
func TestGroupsOfHeartbeatsSurviveACrash(t *testing.T) {
	r := start(t)
	g := name("G")
	r.join(r.dial(nil), "client", g, protocol.Clustering)
	after := r.afterCrash()
	if after.groups.Get(g) == nil || after.topics.Get("%RETRY%"+g) == nil {
		t.Fatal("the crash forgot the group or its retry topic")
	}
}

// While the disk takes no changes of topics, nothing is taken for a topic that it does not have, and all else goes on.
func TestNoMessageForATopicThatCannotBeKept(t *testing.T) {
	r := start(t)
	topic := r.topic()
	if err := r.topics.Close(); err != nil { // the journal takes nothing any more
		t.Fatal(err)
	}
	fresh := name("T")
	if a := r.trySend(fresh, "x", nil); a.Code != protocol.SystemError {
		t.Errorf("first send: %d %s", a.Code, a.Remark)
	}
	if a := r.trySend(fresh, "x", nil); a.Code != protocol.SystemError {
		t.Errorf("second send: %d %s", a.Code, a.Remark)
	}
	if _, end := r.store.QueueRange(fresh, 0); end > 0 {
		t.Errorf("%d messages in a topic that is not kept", end)
	}
	r.send(topic, "x", nil)
}

// notKept is a table whose topics are all on their way to the disk.
type notKept struct{ topicTable }

func (notKept) Kept(*topic.Config) bool { return false }

// The goroutine that reads a connection must not wait for that.
func TestSendsToTopicsOnTheirWayToTheDiskGoToTheLane(t *testing.T) {
	r := start(t)
	req := &protocol.SendRequest{Topic: []byte(r.topic())}
	for _, c := range []struct {
		situation string
		topics    topicTable
		want      bool
	}{{"on disk", r.topics, false}, {"not yet", notKept{r.topics}, true}} {
		if got := (&sendHandler{sender: &sender{topics: c.topics}}).mustNotRunInline(req); got != c.want {
			t.Errorf("%s: to the lane: %v", c.situation, got)
		}
	}
}

// A cluster of consumers that starts at once must not wait for one sync after the other.
func TestManyFirstHeartbeats(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 20,000 groups")
	}
	r := start(t)
	const groups, conns = 20_000, 8
	var answered atomic.Int64
	done := make(chan struct{})
	began := time.Now()
	for i := range conns {
		c := r.dial(nil)
		go func() {
			for k := range groups / conns {
				beat := protocol.HeartbeatData{ClientID: fmt.Sprintf("client-%d-%d", i, k), ConsumerDataSet: []protocol.ConsumerData{{
					GroupName: fmt.Sprintf("many-%d-%d", i, k), ConsumeType: protocol.ConsumePassively, MessageModel: protocol.Clustering,
				}}}
				c.Go(&remoting.Command{Code: protocol.HeartBeat, Body: javajson.Marshal(&beat, javajson.Bare)}, time.Minute, func(a *remoting.Command, err error) {
					if err != nil || a.Code != protocol.Success {
						t.Errorf("%v, %v", a, err)
					}
					if answered.Add(1) == groups {
						close(done)
					}
				})
			}
		}()
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%d of %d heartbeats were answered", answered.Load(), groups)
	}
	t.Logf("%d first heartbeats: %s", groups, time.Since(began))
}
