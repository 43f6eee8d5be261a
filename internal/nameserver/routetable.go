// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// routeTable knows which brokers are live and which queues of which topics they
// have. It opens no socket and reads no clock.
//
// Between calls these hold: a topic has queues of at least one broker; a broker
// that has queues of a topic is in brokers and lists the topic; an address in
// brokers is in live.
type routeTable struct {
	mu       sync.RWMutex // guards everything below
	topics   map[string]*topic
	brokers  map[string]*brokerGroup        // by broker name
	clusters map[string]map[string]struct{} // broker names by cluster
	live     map[brokerKey]*liveBroker
	// conns lists, per connection, what was registered through it: true while it
	// still holds the registration, false when another connection has taken over.
	conns map[uint64]map[brokerKey]bool
	seq   uint64 // registrations so far
}

// topic is where one topic is.
type topic struct {
	queues   map[string]*protocol.QueueData             // by broker name
	mappings map[string]*protocol.TopicQueueMappingInfo // by broker name; static topics only
	// encoded answers, by JSON dialect; nil until asked for and after each change.
	// Readers fill them in, writers clear them while no reader is there.
	encoded [2]atomic.Pointer[encodedRoute]
}

// brokerGroup is the brokers of one name.
type brokerGroup struct {
	data    protocol.BrokerData
	topics  map[string]struct{} // topics of which this name has queues
	touched time.Time           // last registration under this name
}

// brokerKey names one broker process.
type brokerKey struct{ cluster, addr string }

// liveBroker is a registration.
type liveBroker struct {
	name          string
	id            int64
	lastUpdate    time.Time
	timeout       time.Duration // without news for longer: expired
	version       protocol.DataVersion
	conn          uint64
	haAddr        string
	filterServers []string
	seq           uint64 // of the registration, from routeTable.seq
}

func newRouteTable() *routeTable {
	return &routeTable{
		topics:   map[string]*topic{},
		brokers:  map[string]*brokerGroup{},
		clusters: map[string]map[string]struct{}{},
		live:     map[brokerKey]*liveBroker{},
		conns:    map[uint64]map[brokerKey]bool{},
	}
}

// sizes of the table, for metrics: topics, broker processes.
func (t *routeTable) sizes() (topics, brokers int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.topics), len(t.live)
}

// changedLocked forgets the encoded answers of a topic.
func (p *topic) changedLocked() {
	for i := range p.encoded {
		p.encoded[i].Store(nil)
	}
}

// brokerChangedLocked forgets the encoded answers in which a broker occurs.
func (t *routeTable) brokerChangedLocked(g *brokerGroup) {
	for name := range g.topics {
		t.topics[name].changedLocked()
	}
}

// putQueuesLocked sets the queues that a broker, which must be known, has of a topic.
func (t *routeTable) putQueuesLocked(name string, q protocol.QueueData) {
	p := t.topics[name]
	if p == nil {
		p = &topic{queues: map[string]*protocol.QueueData{}}
		t.topics[name] = p
	}
	if old := p.queues[q.BrokerName]; old != nil && *old == q {
		return
	}
	p.queues[q.BrokerName] = &q
	t.brokers[q.BrokerName].topics[name] = struct{}{}
	p.changedLocked()
}

// removeQueuesLocked forgets what a broker has of a topic, and the topic with its last broker.
func (t *routeTable) removeQueuesLocked(name, brokerName string) {
	p := t.topics[name]
	if p == nil {
		return
	}
	delete(p.queues, brokerName)
	delete(p.mappings, brokerName)
	p.changedLocked()
	if len(p.queues) == 0 {
		delete(t.topics, name)
	}
	if g := t.brokers[brokerName]; g != nil {
		delete(g.topics, name)
	}
}

// setPermsLocked changes the permission of all topics of a broker and says how many it has.
func (t *routeTable) setPermsLocked(brokerName string, change func(perm int32) int32) int {
	g := t.brokers[brokerName]
	if g == nil {
		return 0
	}
	for name := range g.topics {
		p := t.topics[name]
		q := p.queues[brokerName]
		if perm := change(q.Perm); perm != q.Perm {
			q.Perm = perm
			p.changedLocked()
		}
	}
	return len(g.topics)
}

// wipeWritePerm makes a broker's topics unwritable until a registration with a
// changed data version, and says how many topics it has.
func (t *routeTable) wipeWritePerm(brokerName string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.setPermsLocked(brokerName, func(perm int32) int32 { return perm &^ protocol.PermWrite })
}

// addWritePerm makes a broker's topics readable and writable and nothing else (as
// in RocketMQ the inherit bit is lost), and says how many topics it has.
func (t *routeTable) addWritePerm(brokerName string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.setPermsLocked(brokerName, func(int32) int32 { return protocol.PermReadWrite })
}

// deleteTopic forgets a topic on the brokers of a cluster, or everywhere when
// cluster is "". A broker that still has the topic brings it back by its next
// registration.
func (t *routeTable) deleteTopic(name, cluster string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.topics[name]
	if p == nil {
		return
	}
	for _, brokerName := range slices.Collect(maps.Keys(p.queues)) {
		if _, in := t.clusters[cluster][brokerName]; in || cluster == "" {
			t.removeQueuesLocked(name, brokerName)
		}
	}
}

// registerTopic sets the queues of a topic, broker by broker, up to the first
// broker that is not known. For a new topic that stops it all.
func (t *routeTable) registerTopic(name string, queues []protocol.QueueData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := slices.IndexFunc(queues, func(q protocol.QueueData) bool { return t.brokers[q.BrokerName] == nil })
	if known < 0 {
		known = len(queues)
	} else if t.topics[name] == nil {
		return
	}
	for _, q := range queues[:known] {
		t.putQueuesLocked(name, q)
	}
}
