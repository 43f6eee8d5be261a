// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// nameServerFake is a name server that keeps what it is told.
type nameServerFake struct {
	testing.TB
	addr   string
	server *remoting.Server

	mu            sync.Mutex
	topics        map[string]protocol.TopicConfig
	registrations []protocol.RegisterBrokerBody
	header        protocol.RegisterBrokerRequest // of the last
	asked         int                            // QUERY_DATA_VERSION
	version       protocol.DataVersion
	gone          int // UNREGISTER_BROKER
	delay         time.Duration
	order         map[string]string
}

func startNames(t testing.TB, l net.Listener) *nameServerFake {
	t.Helper()
	if l == nil {
		l = listen(t)
	}
	n := &nameServerFake{TB: t, addr: l.Addr().String(), topics: map[string]protocol.TopicConfig{}}
	n.server = remoting.NewServer(n, remoting.DefaultConfig())
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(l) }()
	t.Cleanup(func() {
		n.close()
		<-served
	})
	return n
}

func (n *nameServerFake) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.server.Shutdown(ctx)
}

func (n *nameServerFake) ServeCommand(x *remoting.Exchange) {
	n.mu.Lock()
	delay := n.delay
	n.mu.Unlock()
	time.Sleep(delay)
	n.mu.Lock()
	resp := n.answerLocked(&x.Request)
	n.mu.Unlock()
	x.ReplyTo().Queue(resp)
}

func (n *nameServerFake) answerLocked(req *remoting.Command) *remoting.Command {
	switch req.Code {
	case protocol.RegisterBroker:
		return n.registerLocked(req)
	case protocol.QueryDataVersion:
		n.asked++
		var v protocol.DataVersion
		if err := javajson.Unmarshal(req.Body, &v); err != nil {
			n.Error(err)
		}
		return &remoting.Command{Header: header.Of(protocol.QueryDataVersionResponse{Changed: !v.Equal(n.version)})}
	case protocol.UnregisterBroker:
		n.gone++
		return &remoting.Command{}
	}
	n.Errorf("a broker asks a name server for %s", protocol.CodeName(req.Code))
	return &remoting.Command{Code: protocol.RequestCodeNotSupported}
}

func (n *nameServerFake) registerLocked(req *remoting.Command) *remoting.Command {
	var h protocol.RegisterBrokerRequest
	if err := header.Decode(req.Fields, &h); err != nil {
		n.Error(err)
	}
	if crc := int32(message.BodyCRC(req.Body)); h.BodyCRC32 != crc {
		n.Errorf("checksum %d, the body has %d", h.BodyCRC32, crc)
	}
	body, err := protocol.DecodeRegisterBody(req.Body, protocol.CurrentVersion, h.Compressed)
	if err != nil {
		n.Error(err)
		return &remoting.Command{Code: protocol.SystemError}
	}
	if len(n.topics) == 0 && len(body.Topics.TopicConfigTable) == 1 {
		return &remoting.Command{Code: protocol.SystemError, Remark: "register broker failed"}
	}
	n.header = h
	n.registrations = append(n.registrations, *body)
	n.version = body.Topics.DataVersion
	for name, c := range body.Topics.TopicConfigTable {
		n.topics[name] = *c
	}
	resp := &remoting.Command{Header: header.Of(protocol.RegisterBrokerResponse{})}
	if n.order != nil {
		resp.Body = javajson.Marshal(protocol.KVTable{Table: n.order}, javajson.Bare)
	}
	return resp
}

// knows waits until the name server knows a topic.
func (n *nameServerFake) knows(r *running, topic string) {
	n.Helper()
	r.until("a name server knows "+topic, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		_, ok := n.topics[topic]
		return ok
	})
}

// full and part count the registrations of all topics and of some.
func (n *nameServerFake) counts() (full, part int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.registrations {
		if b.Topics.TopicConfigTable[protocol.TopicDefault] != nil {
			full++
		} else {
			part++
		}
	}
	return full, part
}

func at(addrs ...string) func(*Config) { return func(c *Config) { c.Names.Addrs = addrs } }

func TestRegistration(t *testing.T) {
	n, m := startNames(t, nil), startNames(t, nil)
	n.order = map[string]string{protocol.TopicBenchmark: "broker-a:4"}
	r := start(t, at(n.addr, m.addr))
	for _, n := range []*nameServerFake{n, m} {
		n.knows(r, protocol.TopicDefault)
		n.mu.Lock()
		h := n.header
		n.mu.Unlock()
		if h.BrokerName != "broker-a" || h.ClusterName != "DefaultCluster" || h.BrokerAddr != r.addr || h.BrokerID != 0 || h.HAServerAddr == "" {
			t.Errorf("registered as %+v", h)
		}
		if h.EnableActingMaster == nil || *h.EnableActingMaster || h.HeartbeatTimeoutMillis != nil {
			t.Errorf("acting master %v, expiry %v; want false and none", h.EnableActingMaster, h.HeartbeatTimeoutMillis)
		}
	}
	r.until("the ordered topic is marked", func() bool { return r.topics.Get(protocol.TopicBenchmark).Order })

	topic := name("Auto")
	r.send(topic, "x", nil)
	n.knows(r, topic)
	m.knows(r, topic)
	r.stop()
	for _, n := range []*nameServerFake{n, m} {
		if n.gone != 1 {
			t.Errorf("unregistered %d times", n.gone)
		}
	}
}

// An administrator's answer comes when the name servers know the topic, and 2,000 topics do not make 2,000 registrations
// of all topics.
func TestManyTopics(t *testing.T) {
	n := startNames(t, nil)
	r := start(t, at(n.addr))
	n.knows(r, protocol.TopicDefault)
	const topics = 2000
	for i := range topics {
		topic := name("T")
		r.success(protocol.UpdateAndCreateTopic, ext{
			"topic": topic, "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicFilterType": "SINGLE_TAG",
			"topicSysFlag": 0, "order": false,
		})
		n.mu.Lock()
		_, known := n.topics[topic]
		n.mu.Unlock()
		if !known {
			t.Fatalf("topic %d is not known when its creation is answered", i)
		}
	}
	if full, part := n.counts(); full > 3 {
		t.Errorf("%d registrations of all topics, %d of some", full, part)
	}
}

// Changes that come while a name server is slow are told together.
func TestChangesAreGathered(t *testing.T) {
	n := startNames(t, nil)
	r := start(t, at(n.addr))
	n.knows(r, protocol.TopicDefault)
	n.mu.Lock()
	n.delay = 50 * time.Millisecond
	n.mu.Unlock()
	var last string
	for range 100 {
		last = r.topic()
	}
	n.knows(r, last)
	if full, part := n.counts(); full+part > 20 {
		t.Errorf("%d registrations of all topics, %d of some, for 100 changes", full, part)
	}
}

// A dead name server neither holds up the start nor the others, and is told when it is there.
func TestNameServerThatComesLater(t *testing.T) {
	l := listen(t)
	addr := l.Addr().String()
	_ = l.Close()
	n := startNames(t, nil)
	r := start(t, at(addr, n.addr))
	n.knows(r, protocol.TopicDefault)
	begin := time.Now()
	r.success(protocol.UpdateAndCreateTopic, ext{
		"topic": name("T"), "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "topicFilterType": "SINGLE_TAG",
	})
	if took := time.Since(begin); took > registerWait {
		t.Errorf("a dead name server holds up a creation for %v", took)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	late := startNames(t, l)
	late.knows(r, protocol.TopicDefault)
}

// One that was restarted knows nothing: it is told all at once, not after half a minute.
func TestNameServerRestart(t *testing.T) {
	n := startNames(t, nil)
	r := start(t, at(n.addr))
	n.knows(r, protocol.TopicDefault)
	n.close()
	l, err := net.Listen("tcp", n.addr)
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	again := startNames(t, l)
	again.knows(r, protocol.TopicDefault)
}

// With brokerPermission narrowed all topics are registered with less.
func TestBrokerPermissionNarrowsRoutes(t *testing.T) {
	n := startNames(t, nil)
	r := start(t, at(n.addr), func(c *Config) { c.Identity.Perm = protocol.PermRead })
	n.knows(r, protocol.TopicDefault)
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, c := range n.topics {
		if c.Perm&^protocol.PermRead != 0 {
			t.Errorf("topic %s is registered with permission %d", name, c.Perm)
		}
	}
}

func TestRegisterOnlyWhatChanged(t *testing.T) {
	n := startNames(t, nil)
	r := start(t, at(n.addr), func(c *Config) { c.Names.ForceRegister = false })
	n.knows(r, protocol.TopicDefault)
	r.registrar.all()
	r.until("the name server was asked again", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.asked >= 2
	})
	if full, _ := n.counts(); full != 1 {
		t.Errorf("%d registrations although nothing changed", full)
	}
}

// A name server that forgot the broker refuses a single topic, and is told all.
func TestSingleTopicIsRefused(t *testing.T) {
	n := startNames(t, nil)
	r := start(t, at(n.addr))
	n.knows(r, protocol.TopicDefault)
	n.mu.Lock()
	n.topics = map[string]protocol.TopicConfig{}
	n.mu.Unlock()
	n.knows(r, r.topic())
	n.knows(r, protocol.TopicDefault)
}
