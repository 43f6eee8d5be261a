// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// scripted is a cluster of servers whose answers a test writes: brokers on real
// sockets that fail as real ones do only now and then. One name server tells the
// route of topic T over all of them, with four queues each.
type scripted struct {
	t       *testing.T
	ns      *scriptedServer
	brokers map[string]*scriptedServer
}

// scriptedServer answers by code; without a function for a code it answers SUCCESS.
type scriptedServer struct {
	name, addr string
	server     *remoting.Server

	mu     sync.Mutex
	answer map[int32]func(x *remoting.Exchange)
	seen   []*remoting.Exchange
}

func newScripted(t *testing.T, brokers ...string) *scripted {
	t.Helper()
	s := &scripted{t: t, brokers: map[string]*scriptedServer{}}
	for _, name := range brokers {
		s.brokers[name] = newScriptedServer(t, name)
	}
	s.ns = newScriptedServer(t, "ns")
	s.ns.on(protocol.GetRouteInfoByTopic, s.route)
	return s
}

func newScriptedServer(t *testing.T, name string) *scriptedServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scriptedServer{name: name, addr: l.Addr().String(), answer: map[int32]func(*remoting.Exchange){}}
	s.server = remoting.NewServer(s, remoting.DefaultConfig())
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(l) }()
	t.Cleanup(func() {
		_ = s.server.Shutdown(t.Context()) // its context has ended: no patience
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// on sets the answer to a code; nil is SUCCESS again.
func (s *scriptedServer) on(code int32, f func(x *remoting.Exchange)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer[code] = f
}

func (s *scriptedServer) ServeCommand(x *remoting.Exchange) {
	x = x.Clone()
	s.mu.Lock()
	s.seen = append(s.seen, x)
	f := s.answer[x.Request.Code]
	s.mu.Unlock()
	switch {
	case f != nil:
		f(x)
	case isSend(x):
		stored(protocol.Success)(x)
	default:
		x.ReplyTo().Send(&remoting.Command{})
	}
}

// requests gives those of a code that came, in order.
func (s *scriptedServer) requests(code int32) []*remoting.Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*remoting.Exchange
	for _, x := range s.seen {
		if x.Request.Code == code {
			found = append(found, x)
		}
	}
	return found
}

func isSend(x *remoting.Exchange) bool {
	return x.Request.Code == protocol.SendMessageV2 || x.Request.Code == protocol.SendBatchMessage
}

// Ways to answer.

func code(code int32) func(*remoting.Exchange) {
	return func(x *remoting.Exchange) { x.ReplyTo().Send(&remoting.Command{Code: code, Remark: "scripted"}) }
}

// stored answers a send as one that put the message at offset 7.
func stored(code int32) func(*remoting.Exchange) {
	return func(x *remoting.Exchange) {
		var h protocol.SendRequest
		_ = h.DecodeV2(x.Request.Fields)
		x.ReplyTo().Send(&remoting.Command{Code: code, Header: &protocol.SendResponse{
			MessageID: []byte("7F00000100002A9F0000000000000001"), QueueID: h.QueueID, QueueOffset: 7,
		}})
	}
}

func silence(*remoting.Exchange) {}

func hangUp(x *remoting.Exchange) { _ = x.Conn.Close() }

// once answers by the functions in turn, the last one for good.
func once(functions ...func(*remoting.Exchange)) func(*remoting.Exchange) {
	var mu sync.Mutex
	return func(x *remoting.Exchange) {
		mu.Lock()
		f := functions[0]
		if len(functions) > 1 {
			functions = functions[1:]
		}
		mu.Unlock()
		f(x)
	}
}

func after(d time.Duration, f func(*remoting.Exchange)) func(*remoting.Exchange) {
	return func(x *remoting.Exchange) { time.AfterFunc(d, func() { f(x) }) }
}

// all sets the answer of every broker.
func (s *scripted) all(code int32, f func(*remoting.Exchange)) {
	for _, b := range s.brokers {
		b.on(code, f)
	}
}

// route answers for topic T and for TBW102, and for any retry topic.
func (s *scripted) route(x *remoting.Exchange) {
	topic := x.Request.Fields.Text("topic")
	if topic != "T" && topic != protocol.TopicDefault && !strings.HasPrefix(topic, protocol.RetryPrefix) {
		code(protocol.TopicNotExist)(x)
		return
	}
	data := new(protocol.TopicRouteData)
	data.JSONDefaults()
	for name, b := range s.brokers {
		data.BrokerDatas = append(data.BrokerDatas, protocol.BrokerData{
			BrokerName: name, Cluster: "C", BrokerAddrs: map[int64]string{protocol.MasterID: b.addr},
		})
		data.QueueDatas = append(data.QueueDatas, protocol.QueueData{
			BrokerName: name, ReadQueueNums: 4, WriteQueueNums: 4, Perm: protocol.PermReadWrite,
		})
	}
	x.ReplyTo().Send(&remoting.Command{Body: javajson.Append(nil, data, javajson.Standard)})
}

// producer makes one that is closed when the test ends.
func (s *scripted) producer(options ...ProducerOption) *Producer {
	s.t.Helper()
	p, err := NewProducer(append([]ProducerOption{NameServers(s.ns.addr)}, options...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Close() })
	return p
}

// tried gives the brokers that got sends, in order.
func (s *scripted) tried() []string {
	type try struct {
		at     time.Time
		broker string
	}
	var tries []try
	for name, b := range s.brokers {
		for _, c := range []int32{protocol.SendMessageV2, protocol.SendBatchMessage} {
			for _, x := range b.requests(c) {
				tries = append(tries, try{x.Arrived, name})
			}
		}
	}
	slices.SortFunc(tries, func(a, b try) int { return a.at.Compare(b.at) })
	var names []string
	for _, t := range tries {
		names = append(names, t.broker)
	}
	return names
}

// await waits until f is true.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after 10 s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Answers to consumers.

// offset answers with an offset.
func offset(n int64) func(*remoting.Exchange) {
	return func(x *remoting.Exchange) {
		x.ReplyTo().Send(&remoting.Command{Header: protocol.OffsetAnswer{Offset: n}})
	}
}

// queueOnBroker keeps messages of one queue and answers pulls with them; those beyond
// the end are held, as far as the test goes without an answer.
type queueOnBroker struct {
	messages []message.Record
	min      int64
}

func (q *queueOnBroker) pull(x *remoting.Exchange) {
	var h protocol.PullRequest
	_ = h.Decode(x.Request.Fields)
	end := q.min + int64(len(q.messages))
	answer := &protocol.PullResponse{MinOffset: q.min, MaxOffset: end, NextBeginOffset: end}
	switch {
	case h.QueueID != 0 || string(h.Topic) != "T":
		return // nothing there
	case h.QueueOffset < q.min || h.QueueOffset > end:
		answer.NextBeginOffset = q.min
		x.ReplyTo().Send(&remoting.Command{Code: protocol.PullOffsetMoved, Header: answer})
	case h.QueueOffset < end:
		var body []byte
		for i := h.QueueOffset - q.min; i < int64(len(q.messages)); i++ {
			m := q.messages[i]
			m.Topic, m.QueueOffset = h.Topic, q.min+i
			body = message.AppendRecord(body, &m)
		}
		x.ReplyTo().Send(&remoting.Command{Header: answer, Body: body})
	}
}

// members answers with client ids; "self" stands for the last client that greeted.
func (s *scriptedServer) members(ids ...string) func(*remoting.Exchange) {
	return func(x *remoting.Exchange) {
		var list protocol.ConsumerIDList
		for _, id := range ids {
			if id == "self" {
				beats := s.requests(protocol.HeartBeat)
				var data protocol.HeartbeatData
				if len(beats) == 0 || javajson.Unmarshal(beats[len(beats)-1].Request.Body, &data) != nil {
					continue
				}
				id = data.ClientID
			}
			list.ConsumerIDList = append(list.ConsumerIDList, id)
		}
		x.ReplyTo().Send(&remoting.Command{Body: javajson.Append(nil, &list, javajson.Bare)})
	}
}
