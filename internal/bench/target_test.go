// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/nameserver"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// cluster is a name server and what registers brokers with it.
type cluster struct {
	t      *testing.T
	addr   string
	client *remoting.Client
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	cfg := nameserver.DefaultConfig()
	cfg.Files.KV = ""
	s, err := nameserver.New(cfg, nameserver.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l)
	}()
	c := &cluster{t: t, addr: l.Addr().String(), client: remoting.NewClient(nil, nil, remoting.DefaultConfig())}
	t.Cleanup(func() {
		_ = c.client.Close()
		_ = s.Close()
		<-ended
	})
	return c
}

func (c *cluster) register(name string, b *broker, perm int32, topics ...string) {
	c.t.Helper()
	body := &protocol.RegisterBrokerBody{Topics: protocol.TopicConfigWrapper{TopicConfigTable: map[string]*protocol.TopicConfig{}}}
	for _, topic := range topics {
		conf := protocol.NewTopicConfig(topic)
		conf.ReadQueueNums, conf.WriteQueueNums, conf.Perm = 3, 2, perm
		body.Topics.TopicConfigTable[topic] = conf
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	resp, err := c.client.Call(ctx, c.addr, &remoting.Command{
		Code:   protocol.RegisterBroker,
		Header: header.Of(&protocol.RegisterBrokerRequest{BrokerName: name, BrokerAddr: b.addr, ClusterName: "C"}),
		Body:   javajson.Marshal(body, javajson.Bare),
	})
	if err != nil || resp.Code != protocol.Success {
		c.t.Fatal(err, resp)
	}
}

func TestLoadFindsBrokersThroughTheNameServer(t *testing.T) {
	a, b, readOnly := startBroker(t, &broker{}), startBroker(t, &broker{}), startBroker(t, &broker{})
	c := startCluster(t)
	p := produceOn(a)
	p.Broker, p.NameServers, p.Connections = "", []string{"127.0.0.1:1", c.addr}, 3
	if _, err := RunProduce(context.Background(), p, io.Discard); err == nil || !strings.Contains(err.Error(), "no broker") {
		t.Errorf("without any broker: %v", err)
	}
	c.register("a", a, 6, "T", "U")
	c.register("b", b, 6, "T", "U")
	c.register("c", readOnly, 4, "T", "U")
	r, err := RunProduce(context.Background(), p, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Brokers) != 2 || len(a.queues) != 2 || len(b.queues) != 2 || readOnly.stored() != 0 {
		t.Errorf("brokers %v, queues used %d and %d, on the read-only one %d messages", r.Brokers, len(a.queues), len(b.queues), readOnly.stored())
	}
	q := consumeOn(a)
	q.Broker, q.NameServers, q.UntilEnd = "", []string{c.addr}, true
	read, err := RunConsume(context.Background(), q, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(a.stored() + b.stored()); read.Messages != want || len(read.Brokers) != 3 {
		t.Errorf("read %d of %d from %v", read.Messages, want, read.Brokers)
	}
	p.Topic = "new"
	if _, err := RunProduce(context.Background(), p, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !a.known || !b.known || len(a.queues) != p.Queues {
		t.Errorf("a new topic is created on %v %v with %d queues", a.known, b.known, len(a.queues))
	}
}
