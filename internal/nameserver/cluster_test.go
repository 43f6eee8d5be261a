// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Three name servers that do not know each other, two brokers with two thousand
// topics that register with each of them. All give the same answers, and one that
// was restarted gives them again after one registration of each broker.
func TestSeveralNameServersWithManyTopics(t *testing.T) {
	topics := make([]string, 2000)
	for i := range topics {
		topics[i] = fmt.Sprintf("topic-%04d", i)
	}
	servers := make([]*running, 3)
	answers := make([][]string, 3)
	registerWith := func(s *running) {
		for _, name := range []string{"a", "b"} {
			s.dial().register(protocol.RegisterBrokerRequest{BrokerName: name}, 1, topics...)
		}
	}
	ask := func(s *running) []string {
		out := make([]string, len(topics))
		p := s.dial()
		for i, topic := range topics {
			out[i] = string(p.must(protocol.GetRouteInfoByTopic, nil, "topic", topic).Body)
		}
		return out
	}
	var done sync.WaitGroup
	for i := range servers {
		servers[i] = start(t, nil)
		done.Go(func() {
			registerWith(servers[i])
			answers[i] = ask(servers[i])
		})
	}
	done.Wait()
	for i := range topics {
		if answers[0][i] != answers[1][i] || answers[0][i] != answers[2][i] {
			t.Fatalf("%s: %s, %s, %s", topics[i], answers[0][i], answers[1][i], answers[2][i])
		}
	}
	servers[1].stop()
	fresh := start(t, nil)
	if got := fresh.dial().route(topics[0]); got != "17" {
		t.Errorf("a fresh name server knows %q", got)
	}
	registerWith(fresh)
	for i, answer := range ask(fresh) {
		if answer != answers[0][i] {
			t.Fatalf("%s after the restart: %s, before: %s", topics[i], answer, answers[0][i])
		}
	}
	if got := servers[0].dial().route(topics[0]); got != "a 16/16 perm 6 0=a:0, b 16/16 perm 6 0=b:0" {
		t.Errorf("the others have lost something: %q", got)
	}
}

// ear is a broker that notes what name servers push.
type ear struct {
	addr  string
	heard chan protocol.MinBrokerIDChange
}

func (e *ear) ServeCommand(x *remoting.Exchange) {
	var c protocol.MinBrokerIDChange
	if x.Request.Code == protocol.NotifyMinBrokerIDChange && x.Request.IsOneway() && header.Decode(x.Request.Fields, &c) == nil {
		e.heard <- c
	}
}

func listen(t *testing.T) *ear {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &ear{addr: l.Addr().String(), heard: make(chan protocol.MinBrokerIDChange, 10)}
	s := remoting.NewServer(e, remoting.DefaultConfig())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(l); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-ended
	})
	return e
}

func (e *ear) next(t *testing.T) protocol.MinBrokerIDChange {
	t.Helper()
	select {
	case c := <-e.heard:
		return c
	case <-time.After(patience):
		t.Fatal("no push")
		panic("unreachable")
	}
}

func TestBrokersAreToldOfTheSmallestID(t *testing.T) {
	s := start(t, func(c *Config) { c.Brokers.NotifyMinID = true; c.Routes.ActingMaster = true })
	slave, master := listen(t), listen(t)
	slaveConn, masterConn := s.dial(), s.dial()
	acting := new(true)
	slaveConn.register(protocol.RegisterBrokerRequest{BrokerID: 1, BrokerAddr: slave.addr, EnableActingMaster: acting}, 1, "T", "U")
	masterConn.register(protocol.RegisterBrokerRequest{BrokerAddr: master.addr, EnableActingMaster: acting}, 1, "T", "U")
	if c := slave.next(t); *c.MinBrokerID != 0 || c.MinBrokerAddr != master.addr || c.HABrokerAddr != master.addr+"/ha" || c.OfflineBrokerAddr != "" {
		t.Errorf("a master came: %+v", c)
	}
	masterConn.hangUp()
	if c := slave.next(t); *c.MinBrokerID != 1 || c.MinBrokerAddr != slave.addr || c.OfflineBrokerAddr != master.addr || c.HABrokerAddr != "" {
		t.Errorf("the master went: %+v", c)
	}
	if got, want := s.dial().route("T"), "a 16/16 perm 4 0="+slave.addr; got != want {
		t.Errorf("route %q, want %q", got, want)
	}
	if len(master.heard) != 0 {
		t.Error("the master was told of itself")
	}
}

func TestMemberGroupAndClusterInfo(t *testing.T) {
	s := start(t, nil)
	p := s.dial()
	p.register(protocol.RegisterBrokerRequest{}, 1, "T", "U")
	p.register(protocol.RegisterBrokerRequest{BrokerID: 1, ZoneName: "z"}, 1)
	for _, row := range []struct {
		code   int32
		fields []string
		want   string
	}{
		{901, []string{"clusterName", "C", "brokerName", "a"}, `{"brokerMemberGroup":{"brokerAddrs":{0:"a:0",1:"a:1"},"brokerName":"a","cluster":"C"}}`},
		{901, []string{"clusterName", "D", "brokerName", "x"}, `{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"x","cluster":"D"}}`},
		{901, nil, `{"brokerMemberGroup":{"brokerAddrs":{}}}`},
		{106, nil, `{"brokerAddrTable":{"a":{"brokerAddrs":{0:"a:0",1:"a:1"},"brokerName":"a","cluster":"C","enableActingMaster":false,"zoneName":"z"}},"clusterAddrTable":{"C":["a"]}}`},
		{206, nil, `{"topicList":["T","U"]}`},
		{304, nil, `{"brokerAddr":"a:0","topicList":["C","a"]}`},
	} {
		if got := string(p.must(row.code, nil, row.fields...).Body); got != row.want {
			t.Errorf("%d %v: %s, want %s", row.code, row.fields, got, row.want)
		}
	}
}

func TestTopicsByRequest(t *testing.T) {
	s := start(t, nil)
	p := s.dial()
	p.register(protocol.RegisterBrokerRequest{}, 1, "T", "U")
	p.must(217, []byte(`{"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":3,"writeQueueNums":2}]}`), "topic", "V")
	if got := p.route("V"); got != "a 3/2 perm 6 0=a:0" {
		t.Errorf("route %q", got)
	}
	p.must(216, nil, "topic", "V", "clusterName", "D")
	if got := p.route("V"); got == "17" {
		t.Error("deleted in a cluster that it is not in")
	}
	p.must(216, nil, "topic", "V", "clusterName", "C")
	if got := p.route("V"); got != "17" {
		t.Errorf("route %q after it was deleted", got)
	}
	if answer := p.must(205, nil, "brokerName", "a"); answer.Fields.Text("wipeTopicCount") != "2" {
		t.Errorf("%v", answer.Fields)
	}
	if got := p.route("T"); got != "a 16/16 perm 4 0=a:0" {
		t.Errorf("route %q after the wipe", got)
	}
	if answer := p.must(327, nil, "brokerName", "a"); answer.Fields.Text("addTopicCount") != "2" {
		t.Errorf("%v", answer.Fields)
	}
	zone := p.must(105, nil, "topic", "T", "__ZONE_MODE", "true", "__ZONE_NAME", "z")
	if string(zone.Body) != `{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}` {
		t.Errorf("zone: %s", zone.Body)
	}
}
