// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// kills is how often a test kills a server: few, or as many as E2E_KILLS says, for a night.
func kills(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("E2E_KILLS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("E2E_KILLS: %v", err)
	}
	return n
}

// kill -9 under every kind of traffic: messages, batches, delayed messages, messages that consumers send back; with few
// queues and with a thousand; also while the process is starting and recovering. Whatever was acknowledged is there
// afterwards, at its offset where it has one, and after a proper stop the store is in order.
func TestKillUnderMixedLoad(t *testing.T) {
	t.Parallel()
	small := []string{
		"mappedFileSizeCommitLog=131072", "mappedFileSizeConsumeQueue=400", "maxIndexNum=3000", "maxHashSlotNum=500", "checkpointBytes=65536",
	}
	for _, row := range []struct {
		name   string
		queues int32
		set    []string
	}{
		{"SYNC_FLUSH", 4, nil},
		{"ASYNC_FLUSH, small files", 4, append([]string{"flushDiskType=ASYNC_FLUSH"}, small...)},
		{"SYNC_FLUSH, small files", 4, small},
		{"ASYNC_FLUSH, 1000 queues", 1000, append([]string{"flushDiskType=ASYNC_FLUSH", "checkpointBytes=1048576"}, small[1:4]...)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			set := append([]string{"messageDelayLevel=1s 2s"}, row.set...)
			s := start(t, setup{set: set})
			m := &mixedLoad{loadLedger: newLoadLedger(int(row.queues)), queues: row.queues, later: map[string]bool{}, back: map[int64]bool{}}
			w := dial(t, s.broker)
			w.createTopic("load", row.queues)
			w.createTopic("later", 1)
			m.prepareGroup(w)
			rounds := kills(t, 4)
			for round := range rounds {
				m.round(t, s, round)
				if round%5 == 4 || round == rounds-1 {
					s.stop()
					s.verify(set)
					s.begin()
				}
				m.check(t, dial(t, s.broker))
				if t.Failed() {
					return
				}
			}
			m.checkAll(t, dial(t, s.broker))
			m.checkLate(t, dial(t, s.broker))
			t.Logf("%d acknowledged, %d attempted, %d delayed, %d sent back", m.total(), len(m.attempted), len(m.later), len(m.back))
		})
	}
}

// verify runs goddard verify over the store of a stopped server, which must find nothing.
func (s *server) verify(set []string) {
	s.t.Helper()
	args := []string{"verify", filepath.Join(s.data, "store")}
	for _, kv := range set {
		args = append(args, "--set", kv)
	}
	cmd := exec.Command(goddard(s.t), args...)
	cmd.Env = environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Errorf("goddard verify: %v\n%s", err, tail(string(out), 4000))
	}
}

// mixedLoad is a loadLedger that also knows of messages whose place is not known when they are acknowledged: delayed
// ones, and those sent back.
type mixedLoad struct {
	*loadLedger
	queues int32
	later  map[string]bool // bodies of delayed messages that were acknowledged
	back   map[int64]bool  // physical offsets of the messages whose return was acknowledged
}

const mixedGroup = "e2e_mixed"

// prepareGroup makes the consumer group of those who send back.
func (m *mixedLoad) prepareGroup(w *wire) {
	w.t.Helper()
	w.must(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(protocol.NewSubscriptionGroupConfig(mixedGroup)))
}

// round sends, kills, and starts again, sometimes after more kills of the process that starts.
func (m *mixedLoad) round(t *testing.T, s *server, round int) {
	t.Helper()
	var wait sync.WaitGroup
	enough := m.total() + 150
	for i := range 2 {
		w := dial(t, s.broker)
		wait.Go(func() { m.send(w, fmt.Sprintf("%d-%d", round, i), m.queues) })
	}
	for _, send := range []func(*wire, string){m.sendBatches, m.sendLate, m.sendBack} {
		w := dial(t, s.broker)
		wait.Go(func() { send(w, fmt.Sprint(round)) })
	}
	eventually(t, "messages acknowledged", func() bool { return m.total() >= enough })
	<-time.After(time.Duration(rand.IntN(200)) * time.Millisecond) // any moment will do
	s.kill()
	wait.Wait()
	for range rand.IntN(4) {
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(rand.IntN(40)) * time.Millisecond) // before, in or after recovery
		s.kill()
	}
	s.begin()
}

// sendBatches sends batches of one to eight messages until the connection breaks.
func (m *mixedLoad) sendBatches(w *wire, name string) {
	for n := 0; !w.c.Closed(); n++ {
		var body []byte
		var bodies []string
		for i := range 1 + rand.IntN(8) {
			one := fmt.Sprintf("batch-%s-%d-%d-%0*d", name, n, i, rand.IntN(300), 0)
			m.attempt(one)
			bodies = append(bodies, one)
			body = message.AppendBatchItem(body, message.BatchItem{Body: []byte(one), Properties: []byte(properties(true, "KEYS", "kb"+name))})
		}
		place, err := w.trySend(outgoing{topic: "load", queue: rand.Int32N(m.queues), body: body, batch: true})
		if err != nil {
			continue // not known whether it is stored, but none or all of it
		}
		for i, one := range bodies {
			m.acknowledge(stored{queue: place.queue, offset: place.offset + int64(i)}, one)
		}
	}
}

// sendLate sends delayed messages until the connection breaks.
func (m *mixedLoad) sendLate(w *wire, name string) {
	for n := 0; !w.c.Closed(); n++ {
		body := fmt.Sprintf("late-%s-%d", name, n)
		if _, err := w.trySend(outgoing{topic: "later", body: []byte(body), props: properties(true, "DELAY", fmt.Sprint(1+n%2))}); err == nil {
			m.mu.Lock()
			m.later[body] = true
			m.mu.Unlock()
		}
	}
}

// sendBack consumes messages, fails with each, and sends it back, until the connection breaks.
func (m *mixedLoad) sendBack(w *wire, _ string) {
	queue := rand.Int32N(m.queues)
	offset := int64(0)
	for !w.c.Closed() {
		answer, err := w.ask(pull{topic: "load", queue: queue, offset: offset, count: 4}.command())
		if err != nil {
			return
		}
		got, err := pulledOf(answer)
		if err != nil {
			w.t.Errorf("pull: %v", err)
			return
		}
		for i := range got.messages {
			r := &got.messages[i]
			back := protocol.SendBackRequest{Offset: r.PhysicalOffset, Group: mixedGroup, DelayLevel: 1}
			answer, err := w.ask(request(protocol.ConsumerSendMsgBack, back, nil))
			if err != nil || answer.Code != 0 {
				continue
			}
			m.mu.Lock()
			m.back[r.PhysicalOffset] = true
			m.mu.Unlock()
		}
		offset = got.NextBeginOffset
		if len(got.messages) == 0 {
			queue, offset = rand.Int32N(m.queues), 0
		}
	}
}

// checkLate waits for all delayed messages and all that came back. They may come twice, but not be lost.
func (m *mixedLoad) checkLate(t *testing.T, w *wire) {
	t.Helper()
	var read int64
	eventually(t, "all delayed messages", func() bool {
		for _, r := range w.readFrom("later", 0, read) {
			read++
			delete(m.later, string(r.Body))
		}
		return len(m.later) == 0
	})
	retry := protocol.RetryTopic(mixedGroup)
	origin := map[string]int64{} // bodies of messages that were sent back
	for queue := range m.queues {
		for _, r := range w.read("load", queue) {
			if m.back[r.PhysicalOffset] {
				origin[string(r.Body)] = r.PhysicalOffset
			}
		}
	}
	if len(origin) != len(m.back) {
		t.Errorf("of %d messages that were sent back the queues have %d", len(m.back), len(origin))
	}
	read = 0
	eventually(t, "all that was sent back", func() bool {
		for _, r := range w.readFrom(retry, 0, read) {
			read++
			delete(origin, string(r.Body))
		}
		return len(origin) == 0
	})
}
