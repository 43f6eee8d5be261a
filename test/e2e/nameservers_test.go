// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// A broker registers with all its name servers and with each new topic at once. One that was restarted knows everything
// again after the broker's next turn; meanwhile the other one answers.
func TestTwoNameServersAndManyTopics(t *testing.T) {
	t.Parallel()
	const count = 2000
	one, two := start(t, setup{command: "nameserver"}), start(t, setup{command: "nameserver"})
	s := start(t, setup{nameServers: []string{one.nameServer, two.nameServer}, set: []string{"registerNameServerPeriod=10000"}})
	w := dial(t, s.broker)
	began := time.Now()
	for i := range count {
		w.createTopic(fmt.Sprintf("many_%d", i), 4)
	}
	t.Logf("%d topics in %v", count, time.Since(began))
	w.send(outgoing{topic: "many_auto", body: []byte("makes its topic")}) // from the template TBW102

	routable := func(names *server) {
		t.Helper()
		n := dial(t, names.nameServer)
		check := func(topic string) {
			t.Helper()
			code, route := n.route(topic)
			if code != 0 || len(route.QueueDatas) != 1 || len(route.BrokerDatas) != 1 {
				t.Fatalf("route of %s: %d %+v", topic, code, route)
			}
			q, b := route.QueueDatas[0], route.BrokerDatas[0]
			if q.BrokerName != brokerName || q.ReadQueueNums != 4 || q.WriteQueueNums != 4 || q.Perm != readWrite || b.Master() != s.broker {
				t.Fatalf("route of %s: %+v", topic, route)
			}
		}
		for i := range count {
			check(fmt.Sprintf("many_%d", i))
		}
		check("many_auto")
	}
	routable(one)
	routable(two)

	one.crash()
	routable(two)
	eventually(t, "the broker to register with the new name server", func() bool {
		code, _ := dial(t, one.nameServer).route("many_auto")
		return code == 0
	})
	routable(one)
	w.createTopic("after", 1)
	for _, names := range []*server{one, two} {
		if code, _ := dial(t, names.nameServer).route("after"); code != 0 {
			t.Errorf("a topic made later: %d", code)
		}
	}
	one.kill() // a dead one holds nobody up
	began = time.Now()
	w.createTopic("without_one", 1)
	if code, _ := dial(t, two.nameServer).route("without_one"); code != 0 {
		t.Errorf("a topic made while one name server is down: %d", code)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("that took %v", took)
	}
}

// A broker that dies is out of the routes at once: its closed socket says so. A topic that another broker has keeps the
// other one.
func TestDeadBrokerLeavesTheRoutes(t *testing.T) {
	t.Parallel()
	names := start(t, setup{command: "nameserver"})
	dying := start(t, setup{nameServers: []string{names.nameServer}})
	living := start(t, setup{nameServers: []string{names.nameServer}, set: []string{"brokerName=broker-b"}})
	dial(t, dying.broker).createTopic("both", 1)
	dial(t, living.broker).createTopic("both", 1)
	dial(t, dying.broker).createTopic("alone", 1)
	n := dial(t, names.nameServer)
	if _, route := n.route("both"); len(route.BrokerDatas) != 2 {
		t.Fatalf("two brokers have the topic, its route is %+v", route)
	}
	began := time.Now()
	dying.kill()
	eventually(t, "the dead broker out of the route", func() bool {
		_, route := n.route("both")
		return len(route.BrokerDatas) == 1 && len(route.QueueDatas) == 1 && route.BrokerDatas[0].Master() == living.broker
	})
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if code, _ := n.route("alone"); code != protocol.TopicNotExist {
		t.Errorf("a topic that nobody has any more: %d", code)
	}
	dying.begin()
	eventually(t, "the broker back in the routes", func() bool { _, route := n.route("alone"); return len(route.BrokerDatas) == 1 })
}

// A broker comes back on a new connection before the name server notices the end of the old one. Neither that end nor a
// late goodbye through the old connection takes the fresh registration away; a goodbye through the fresh one does.
func TestLateGoodbyeOfAnOldConnection(t *testing.T) {
	t.Parallel()
	names := start(t, setup{command: "nameserver"})
	const addr = "127.0.0.1:1"
	n := dial(t, names.nameServer)
	register := func(version int64) *wire {
		t.Helper()
		body := protocol.RegisterBrokerBody{Topics: protocol.TopicConfigWrapper{
			DataVersion: protocol.DataVersion{Counter: version, Timestamp: version},
			TopicConfigTable: map[string]*protocol.TopicConfig{ // one alone would be taken for a change of a known broker
				"registered": protocol.NewTopicConfig("registered"), "too": protocol.NewTopicConfig("too"),
			},
		}}
		w := dial(t, names.nameServer)
		w.must(protocol.RegisterBroker, protocol.RegisterBrokerRequest{
			BrokerName: "back_again", BrokerAddr: addr, ClusterName: "c", BrokerID: protocol.MasterID,
		}, jsonOf(body))
		return w
	}
	goodbye := func(w *wire) {
		t.Helper()
		w.must(protocol.UnregisterBroker, protocol.UnregisterBrokerRequest{
			BrokerName: "back_again", BrokerAddr: addr, ClusterName: "c", BrokerID: protocol.MasterID,
		}, nil)
	}
	// The registration must be seen all the time, for so many questions; departures take effect a moment later.
	stays := func(after string) {
		t.Helper()
		for range 300 {
			if code, route := n.route("registered"); code != 0 || route.BrokerDatas[0].Master() != addr {
				t.Fatalf("after %s: %d %+v", after, code, route)
			}
		}
	}
	first := register(1)
	second := register(2)
	first.close()
	stays("the first connection's end")
	third := register(3)
	goodbye(second)
	stays("a goodbye through the second connection")
	second.close()
	stays("the second connection's end")
	goodbye(third)
	eventually(t, "the broker gone", func() bool { code, _ := n.route("registered"); return code == protocol.TopicNotExist })
}

// A first send is answered without waiting for name servers, as in RocketMQ, but they are told at once: who asks for the
// route a moment later has it.
func TestFirstSendIsRoutedAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	w, n := dial(t, s.broker), dial(t, s.nameServer)
	eventually(t, "the broker's registration", func() bool { code, _ := n.route("TBW102"); return code == 0 })
	gaps := make([]time.Duration, 50)
	for i := range gaps {
		topic := fmt.Sprintf("first_send_%d", i)
		w.send(outgoing{topic: topic, body: []byte("m")})
		answered := time.Now()
		for {
			if code, _ := n.route(topic); code == 0 {
				break
			}
			if gaps[i] = time.Since(answered); gaps[i] > 5*time.Second {
				t.Fatalf("no route to %s after %s", topic, gaps[i])
			}
		}
		gaps[i] = time.Since(answered) // one question longer than it is
	}
	slices.Sort(gaps)
	middle, longest := gaps[len(gaps)/2], gaps[len(gaps)-1]
	t.Logf("from the answer to the route: half within %s, all within %s", middle, longest)
	if middle > 100*time.Millisecond { // a machine that is busy with other tests; alone it is well below 5 ms
		t.Errorf("half of the routes take longer than %s", middle)
	}
}
