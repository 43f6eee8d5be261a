// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// session is one client's presence in a cluster: its connections, the routes of the
// topics it uses, and the heartbeats that keep brokers aware of it (RocketMQ:
// MQClientInstance, though never shared).
type session struct {
	cfg    clusterConfig
	id     string // client id
	conns  *remoting.Client
	routes *route.Cache
	roles  roles

	ctx    context.Context // ends with Close; of background work
	cancel context.CancelFunc
	work   sync.WaitGroup

	beatNow chan struct{} // asks for a heartbeat out of turn

	// reroutes counts changes of routes; beaten is its value at the last heartbeat
	// that has ended. When they differ there may be brokers that do not know us.
	reroutes, beaten atomic.Int64
}

// roles is what a session tells brokers of itself.
type roles struct {
	producer string // producer group, "" for none
	// consumers gives the consumer groups to tell, nil for none. Slaves are told, too.
	consumers func() []protocol.ConsumerData
	group     string // consumer group to take leave of, "" for none
	// handler serves what brokers ask, nil for nothing.
	handler remoting.Handler
	// changed is told of routes that are new or lead elsewhere.
	changed func(*route.Route)
}

// leaveTimeout bounds taking leave of one broker: it forgets us anyway.
const leaveTimeout = time.Second

func newSession(cfg clusterConfig, r roles) (*session, error) {
	addrs, err := route.ParseAddresses(cfg.nameServers...)
	if err != nil {
		return nil, err
	}
	rc := remoting.DefaultConfig()
	rc.Language = remoting.LanguageGo
	rc.TLS = cfg.tls
	rc.Logger = cfg.logger
	s := &session{
		cfg: cfg, id: cfg.clientID(), roles: r,
		conns:   remoting.NewClient(r.handler, cfg.dial, rc),
		beatNow: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.routes = route.NewCache(route.Config{
		Refresh: cfg.routeRefresh, Logger: cfg.logger, Changed: s.routeChanged,
	}, route.NewNameServers(addrs, nameServerCaller{s}, cfg.callTimeout))
	s.work.Go(func() { _ = s.routes.Run(s.ctx) })
	s.work.Go(s.beatLoop)
	return s, nil
}

// nameServerCaller lets name servers be asked like brokers, with what that does when
// there is no answer.
type nameServerCaller struct{ s *session }

func (c nameServerCaller) Call(ctx context.Context, addr string, req *remoting.Command) (*remoting.Command, error) {
	return c.s.exchange(ctx, addr, req)
}

func (s *session) routeChanged(r *route.Route) {
	s.reroutes.Add(1)
	s.beatSoon()
	if s.roles.changed != nil {
		s.roles.changed(r)
	}
}

// close ends the session: brokers are told, connections closed, goroutines awaited.
func (s *session) close() {
	s.leave()
	s.cancel()
	_ = s.conns.Close()
	s.work.Wait()
}

// call asks a broker, whose answer must be SUCCESS or one of the codes in also.
func (s *session) call(ctx context.Context, op, addr string, req *remoting.Command, also ...int32) (*remoting.Command, error) {
	if addr == "" {
		return nil, &Error{Code: CodeNoBroker, Op: op}
	}
	resp, err := s.exchange(ctx, addr, req)
	if err != nil {
		return nil, s.failure(op, addr, err)
	}
	if resp.Code == protocol.Success {
		return resp, nil
	}
	for _, code := range also {
		if resp.Code == code {
			return resp, nil
		}
	}
	return nil, answerError(op, addr, resp)
}

// ask is call bounded by CallTimeout.
func (s *session) ask(ctx context.Context, op, addr string, req *remoting.Command, also ...int32) (*remoting.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.callTimeout)
	defer cancel()
	return s.call(ctx, op, addr, req, also...)
}

func answerError(op, addr string, resp *remoting.Command) *Error {
	return &Error{Code: Code(resp.Code), Op: op, Addr: addr, Remark: resp.Remark}
}

func (s *session) failure(op, addr string, err error) *Error {
	if s.ctx.Err() != nil {
		err = ErrClosed
	}
	return wrap(op, addr, err)
}

// noRoute is the error of a topic whose route is not told.
func (s *session) noRoute(op string, err error) *Error {
	if protocol.CodeOf(err) == protocol.TopicNotExist {
		return &Error{Code: CodeNoRoute, Op: op, Err: errors.New("the topic does not exist")}
	}
	return s.failure(op, "", err)
}

// patience is how long a call must have been allowed to take for its silence to
// speak against the connection.
const patience = 100 * time.Millisecond

// exchange sends a request and takes the answer, whatever its code. A server that is
// about to stop (GO_AWAY) is asked once more on a new connection, as its address may
// be another process by then. A connection on which an answer stayed out is closed:
// the peer may be gone without a word, and the next call shall find out.
func (s *session) exchange(ctx context.Context, addr string, req *remoting.Command) (*remoting.Command, error) {
	for again := true; ; again = false {
		conn, err := s.conns.Conn(ctx, addr)
		if err != nil {
			return nil, dialError(ctx, err)
		}
		begin := time.Now()
		resp, err := conn.Call(ctx, req)
		if err == nil && resp.Code == protocol.GoAway && again {
			s.conns.Renew(addr, conn)
			continue
		}
		if errors.Is(err, context.DeadlineExceeded) && time.Since(begin) >= patience {
			_ = conn.Close()
		}
		return resp, err
	}
}

// dialFailure keeps a dial that took too long apart from a caller that ran out of time.
type dialFailure struct{ error }

// Unwrap gives the cause.
func (f dialFailure) Unwrap() error { return f.error }

func dialError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return dialFailure{err}
}

// forBroker builds a request about something at a broker. The broker's name is for
// proxies, which find the broker by it; brokers do not look at it.
func forBroker(code int32, broker string, h header.Encoder) *remoting.Command {
	req := &remoting.Command{Code: code, Header: h}
	req.Fields.Add("bname", broker)
	return req
}

func (s *session) beatSoon() {
	select {
	case s.beatNow <- struct{}{}:
	default:
	}
}

func (s *session) beatLoop() {
	if s.roles.producer == "" && s.roles.consumers == nil {
		return
	}
	tick := time.NewTicker(s.cfg.heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		case <-s.beatNow:
		}
		s.beat(s.ctx)
	}
}

// beat tells all brokers of the topics in use that the client is there.
func (s *session) beat(ctx context.Context) {
	reroutes := s.reroutes.Load()
	data := &protocol.HeartbeatData{
		ClientID:        s.id,
		ProducerDataSet: []protocol.ProducerData{}, ConsumerDataSet: []protocol.ConsumerData{},
	}
	if s.roles.producer != "" {
		data.ProducerDataSet = append(data.ProducerDataSet, protocol.ProducerData{GroupName: s.roles.producer})
	}
	if s.roles.consumers != nil {
		data.ConsumerDataSet = s.roles.consumers()
	}
	body := javajson.Append(nil, data, javajson.Bare)
	s.eachBroker(func(addr string) {
		_, err := s.ask(ctx, "heartbeat", addr, &remoting.Command{Code: protocol.HeartBeat, Body: body})
		if err != nil && ctx.Err() == nil {
			s.cfg.logger.Warn("heartbeat not taken", "addr", addr, "err", err)
		}
	})
	s.beaten.Store(reroutes)
}

// greet makes sure that all brokers known have had a heartbeat.
func (s *session) greet(ctx context.Context) {
	if s.beaten.Load() != s.reroutes.Load() {
		s.beat(ctx)
	}
}

// leave tells all brokers that the client goes.
func (s *session) leave() {
	if s.roles.producer == "" && s.roles.group == "" {
		return
	}
	req := remoting.Command{Code: protocol.UnregisterClient}
	req.Fields.Add("clientID", s.id)
	if s.roles.producer != "" { // an empty name would be taken for a group's
		req.Fields.Add("producerGroup", s.roles.producer)
	}
	if s.roles.group != "" {
		req.Fields.Add("consumerGroup", s.roles.group)
	}
	s.eachBroker(func(addr string) {
		ctx, cancel := context.WithTimeout(s.ctx, leaveTimeout)
		defer cancel()
		own := req
		_, err := s.call(ctx, "take leave", addr, &own)
		if err != nil {
			s.cfg.logger.Debug("leave not taken", "addr", addr, "err", err)
		}
	})
}

// eachBroker calls f for every address that is to know of the client, several at a
// time, and waits: masters, and for consumers slaves, too.
func (s *session) eachBroker(f func(addr string)) {
	var addrs []string
	for _, b := range s.routes.Brokers() {
		for id, addr := range b.Addrs {
			if addr != "" && (id == protocol.MasterID || s.roles.consumers != nil) {
				addrs = append(addrs, addr)
			}
		}
	}
	inParallel(addrs, func(_ int, addr string) { f(addr) })
}
