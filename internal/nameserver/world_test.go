// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// world is a route table with a clock of its own, and short words for what happens to it.
type world struct {
	t     rapid.TB
	table *routeTable
	now   time.Time
}

func newWorld(t rapid.TB) *world {
	return &world{t: t, table: newRouteTable(), now: time.UnixMilli(1_700_000_000_000)}
}

// broker is what one registers; the zero value of a field is what brokers usually have.
type broker struct {
	name    string // "a"
	id      int64
	addr    string // name:id
	cluster string // "C"
	topics  []string
	perm    int32 // of the topics, 6
	read    int32 // queues of the topics, 4
	sysFlag int32
	version int64
	state   int64
	acting  *bool
	zone    string
	timeout time.Duration
	conn    uint64 // 1
	filters []string
	mapping map[string]*protocol.TopicQueueMappingInfo
	whole   bool // deleteTopicWithBrokerRegistration
}

var yes, no = new(true), new(false)

func (w *world) try(b broker) (registered, error) {
	b.name, b.cluster = or(b.name, "a"), or(b.cluster, "C")
	b.addr = or(b.addr, fmt.Sprintf("%s:%d", b.name, b.id))
	body := &protocol.RegisterBrokerBody{FilterServerList: b.filters, Topics: protocol.TopicConfigWrapper{
		DataVersion:              protocol.DataVersion{Counter: b.version, StateVersion: b.state},
		TopicConfigTable:         map[string]*protocol.TopicConfig{},
		TopicQueueMappingInfoMap: b.mapping,
	}}
	for _, name := range b.topics {
		c := protocol.NewTopicConfig(name)
		c.ReadQueueNums, c.WriteQueueNums, c.Perm, c.TopicSysFlag = or(b.read, 4), 4, or(b.perm, 6), b.sysFlag
		body.Topics.TopicConfigTable[name] = c
	}
	got, err := w.table.register(&registration{
		cluster: b.cluster, name: b.name, addr: b.addr, id: b.id, haAddr: b.addr + "/ha", zone: b.zone, acting: b.acting,
		timeout: b.timeout, body: body, conn: or(b.conn, 1),
	}, b.whole, w.now)
	w.check()
	return got, err
}

// register is try for a registration that must be taken.
func (w *world) register(b broker) registered {
	w.t.Helper()
	got, err := w.try(b)
	if err != nil {
		w.t.Fatalf("registration of %s %d: %v", b.name, b.id, err)
	}
	return got
}

// bye is UNREGISTER_BROKER, applied at once.
func (w *world) bye(name string, id int64, addr string, conn uint64) []*minIDChange {
	d, ok := w.table.goodbye(brokerKey{"C", addr}, name, id, conn)
	if !ok {
		return nil
	}
	return w.depart([]departure{d})
}

func (w *world) depart(ds []departure) []*minIDChange {
	changes := w.table.depart(ds)
	w.check()
	return changes
}

// hangUp closes a connection.
func (w *world) hangUp(conn uint64) []*minIDChange { return w.depart(w.table.connClosed(conn)) }

// pass lets time pass and the scan run.
func (w *world) pass(d time.Duration) (closed []uint64) {
	w.now = w.now.Add(d)
	ds, conns := w.table.expired(w.now)
	w.depart(ds)
	slices.Sort(conns)
	return conns
}

// route shows a topic's route: per broker its queues, permission and addresses.
func (w *world) route(name string, o routeOptions) string {
	body, _, ok := w.table.route(name, javajson.Standard, o)
	if !ok {
		return "none"
	}
	var r protocol.TopicRouteData
	if err := javajson.Unmarshal(body, &r); err != nil {
		w.t.Fatal(err)
	}
	return show(&r)
}

func show(r *protocol.TopicRouteData) string {
	var out []string
	for i, q := range r.QueueDatas {
		b := r.BrokerDatas[i]
		line := fmt.Sprintf("%s %d/%d perm %d", q.BrokerName, q.ReadQueueNums, q.WriteQueueNums, q.Perm)
		for _, id := range slices.Sorted(maps.Keys(b.BrokerAddrs)) {
			line += fmt.Sprintf(" %d=%s", id, b.BrokerAddrs[id])
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

// check fails the test when the parts of the table disagree.
func (w *world) check() {
	w.t.Helper()
	t := w.table
	for name, p := range t.topics {
		if len(p.queues) == 0 {
			w.t.Fatalf("topic %s has no queues", name)
		}
		for brokerName := range p.queues {
			if _, lists := t.brokers[brokerName].topics[name]; !lists {
				w.t.Fatalf("broker %s does not list topic %s", brokerName, name)
			}
		}
		for brokerName := range p.mappings {
			if t.brokers[brokerName] == nil {
				w.t.Fatalf("topic %s is mapped to broker %s, which is gone", name, brokerName)
			}
		}
		for d := range p.encoded {
			if e := p.encoded[d].Load(); e != nil {
				if fresh := javajson.Marshal(t.assembleLocked(name, p, e.options), javajson.Dialect(d)); string(fresh) != string(e.body) {
					w.t.Fatalf("topic %s: kept answer %s, should be %s", name, e.body, fresh)
				}
			}
		}
	}
	for name, g := range t.brokers {
		for topic := range g.topics {
			if t.topics[topic] == nil || t.topics[topic].queues[name] == nil {
				w.t.Fatalf("broker %s lists topic %s, which has no queues of it", name, topic)
			}
		}
		for id, addr := range g.data.BrokerAddrs {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(t.live)), func(k brokerKey) bool { return k.addr == addr }) {
				w.t.Fatalf("broker %s id %d has the address %s, which is not live", name, id, addr)
			}
		}
		if _, in := t.clusters[g.data.Cluster][name]; !in {
			w.t.Fatalf("broker %s is not in its cluster", name)
		}
	}
	for key, l := range t.live {
		if held := t.conns[l.conn]; held != nil && !held[key] {
			w.t.Fatalf("%v is live through connection %d, which does not hold it", key, l.conn)
		}
	}
}

func or[T comparable](v, instead T) T {
	var zero T
	if v == zero {
		return instead
	}
	return v
}
