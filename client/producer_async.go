// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"fmt"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// SendAsync sends a message and returns; done gets the outcome once, on a goroutine of
// its own. The call itself waits for the topic's route when it is not known yet, for
// a connection, and for its turn while MaxInFlight others wait for their answers;
// ctx bounds that. What goes wrong before the message is on its way is returned, and
// done is not called.
//
// A broker's refusal is final. When the way to a broker fails, the message is sent to
// others as Send does.
func (p *Producer) SendAsync(ctx context.Context, m *Message, done func(SendResult, error)) error {
	o, err := p.cfg.outgoing(m, time.Now())
	if err != nil {
		return invalid(opSend(m), err)
	}
	end, err := p.begin(opSend(m))
	if err != nil {
		return err
	}
	a := &asyncSend{p: p, o: o, deadline: time.Now().Add(p.cfg.sendTimeout), left: p.cfg.asyncRetries}
	if failed := a.start(ctx, m.ShardingKey); failed != nil {
		end()
		return failed
	}
	a.done = func(res SendResult, failed *Error) {
		// The answer came on the connection's reader, which must not wait for the
		// application.
		go func() {
			defer end()
			<-p.slots
			done(p.result(res, failed))
		}()
	}
	a.send()
	return nil
}

// asyncSend is one SendAsync.
type asyncSend struct {
	p        *Producer
	o        *outgoing
	r        *route.Route
	q        protocol.MessageQueue
	tried    []string // brokers, before that of q
	fixed    bool     // to that queue only
	deadline time.Time
	left     int  // tries
	again    bool // at the same broker, after GO_AWAY
	done     func(SendResult, *Error)
}

// start waits for a slot and a route and chooses the queue.
func (a *asyncSend) start(ctx context.Context, shardingKey string) *Error {
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	select {
	case a.p.slots <- struct{}{}:
	case <-ctx.Done():
		return wrap("send to topic "+a.o.topic, "", fmt.Errorf("%d sends are in flight: %w", cap(a.p.slots), ctx.Err()))
	}
	var failed *Error
	if a.r, failed = a.p.route(ctx, a.o.topic); failed != nil {
		<-a.p.slots
		return failed
	}
	if a.fixed = shardingKey != ""; a.fixed {
		a.q = byKey(shardingKey, a.r.Write)
	} else {
		a.q = a.p.pick(a.o.topic, a.r, nil)
	}
	return nil
}

// send is one try. Its callback comes on the reader of the connection, or here.
func (a *asyncSend) send() {
	q := queueOf(a.q)
	addr, failed := a.p.master(a.r, q)
	if failed != nil {
		a.failed(failed)
		return
	}
	ctx, cancel := context.WithDeadline(a.p.s.ctx, a.deadline)
	defer cancel()
	conn, err := a.p.s.conns.Conn(ctx, addr)
	if err != nil {
		a.failed(a.p.s.failure(opQueue(q), addr, dialError(ctx, err)))
		return
	}
	begin := time.Now()
	conn.Go(a.o.command(q), time.Until(a.deadline), func(resp *remoting.Command, err error) {
		a.answered(addr, q, conn, time.Since(begin), resp, err)
	})
}

// answered must not block.
func (a *asyncSend) answered(addr string, q Queue, conn *remoting.Conn, took time.Duration, resp *remoting.Command, err error) {
	var res SendResult
	var failed *Error
	switch {
	case err != nil:
		failed = a.p.s.failure(opQueue(q), addr, err)
		if failed.Code == CodeTimeout && took >= patience {
			_ = conn.Close() // as exchange does
		}
	case resp.Code == protocol.GoAway:
		a.p.s.conns.Renew(addr, conn)
		if a.again = !a.again; a.again {
			go a.send() // once more on a new connection, as exchange does
			return
		}
		failed = &Error{Code: CodeConnect, Op: opQueue(q), Addr: addr, Remark: resp.Remark}
	default:
		if res, failed = sendResult(addr, a.o, q, resp); failed == nil {
			a.p.tracer.sent(a.o, addr, took, resp, &res)
		}
	}
	a.p.faults.note(q.Broker, took, failed, time.Now())
	if failed != nil {
		a.failed(failed)
		return
	}
	a.done(res, nil)
}

// failed tries again where that may help, at a queue of another broker. (Java sends the
// same queue number to the other broker, which may not have it.)
func (a *asyncSend) failed(err *Error) {
	if !err.network() || a.left == 0 || !time.Now().Before(a.deadline) || a.p.s.ctx.Err() != nil {
		a.done(SendResult{}, err)
		return
	}
	a.left--
	a.again = false
	if !a.fixed {
		a.tried = append(a.tried, a.q.BrokerName)
		a.q = a.p.pick(a.o.topic, a.r, a.tried)
	}
	go a.send() // may dial: not on the goroutine that told of the failure
}

// SendOneway sends a message without waiting for an answer: no error does not mean
// that it arrived.
func (p *Producer) SendOneway(ctx context.Context, m *Message) error {
	o, err := p.cfg.outgoing(m, time.Now())
	if err != nil {
		return invalid(opSend(m), err)
	}
	end, err := p.begin(opSend(m))
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.sendTimeout)
	defer cancel()
	r, failed := p.route(ctx, o.topic)
	if failed != nil {
		return failed
	}
	wire := p.pick(o.topic, r, nil)
	if m.ShardingKey != "" {
		wire = byKey(m.ShardingKey, r.Write)
	}
	q := queueOf(wire)
	addr, failed := p.master(r, q)
	if failed != nil {
		return failed
	}
	if err := p.s.conns.Oneway(ctx, addr, o.command(q)); err != nil {
		return p.s.failure(opQueue(q), addr, dialError(ctx, err))
	}
	return nil
}
