// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package router

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Config of a Router.
type Config struct {
	Logger   *slog.Logger // nil discards
	Role     string       // in logs: broker, nameserver
	Observer Observer     // nil: nobody watches
}

// Router implements remoting.Handler.
type Router struct {
	log   *slog.Logger
	table table
	lanes []*Lane
	state atomic.Int32
}

var _ remoting.Handler = (*Router)(nil)

// States of a Router, in order.
const (
	open    int32 = iota
	leaving       // asks clients that understand it to go away
	closed        // refuses all
)

// New makes a router of a role's table.
func New(cfg Config, routes []Route) *Router {
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if cfg.Role != "" {
		log = log.With("role", cfg.Role)
	}
	r := &Router{log: log, table: newTable(routes, cfg.Observer)}
	seen := make(map[*Lane]bool)
	for _, route := range routes {
		if l := route.Lane; l != nil && !seen[l] {
			seen[l] = true
			r.lanes = append(r.lanes, l)
		}
	}
	return r
}

// goAwayVersion is the newest client version that does not understand GO_AWAY.
const goAwayVersion = 475

// ServeCommand handles or refuses one request; the checks are in RocketMQ's order.
func (r *Router) ServeCommand(x *remoting.Exchange) {
	route := r.table.find(x.Request.Code)
	if route == nil {
		x.ReplyTo().Queue(answerOf(protocol.Errorf(protocol.RequestCodeNotSupported,
			" request type %d not supported", x.Request.Code)))
		return
	}
	if state := r.state.Load(); state != open {
		if err := leave(state, x.Request.Version); err != nil {
			r.refuse(route, x, err)
			return
		}
	}
	if route.Reject != nil {
		if err := route.Reject(); err != nil {
			r.refuse(route, x, err)
			return
		}
	}
	if route.Lane == nil {
		r.handle(route, x, false)
		return
	}
	if err := route.Lane.submit(r, route, x); err != nil {
		r.refuse(route, x, err)
	}
}

// leave is the answer of a router that is about to stop.
func leave(state, version int32) error {
	switch {
	case version > goAwayVersion:
		return &protocol.Error{Code: protocol.GoAway, Remark: "please go away"}
	case state == closed:
		return &protocol.Error{Code: protocol.ServiceNotAvailable, Remark: "shutting down"}
	}
	return nil
}

// refuse answers with err on the goroutine of the reader.
func (r *Router) refuse(route *route, x *remoting.Exchange, err error) {
	r.finish(route, x, answerOf(err), false)
}

// handle runs the handler and sends its answer. own tells that nobody flushes the
// connection after us.
func (r *Router) handle(route *route, x *remoting.Exchange, own bool) {
	resp, err := r.call(route, x)
	if err != nil {
		resp = answerOf(err)
		if resp.Code == protocol.SystemError {
			r.logError(route, x, err)
		}
	}
	r.finish(route, x, resp, own)
}

func (r *Router) finish(route *route, x *remoting.Exchange, resp *remoting.Command, own bool) {
	code := Deferred
	if resp != nil {
		code = resp.Code
		if own {
			x.ReplyTo().Send(resp)
		} else {
			x.ReplyTo().Queue(resp)
		}
	}
	if route.observer != nil {
		route.observer.Done(code, time.Since(x.Arrived))
	}
}

// call runs the handler. A panic in it costs its own request only.
func (r *Router) call(route *route, x *remoting.Exchange) (resp *remoting.Command, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("handler panic", "request", route.Name, "code", route.Code, "addr", x.Conn.RemoteAddr(),
				"panic", p, "stack", string(debug.Stack()))
			resp, err = nil, protocol.Errorf(protocol.SystemError, "internal error: %v", p)
		}
	}()
	return route.Handle(x)
}

// logError writes down a failure of ours; a request that lacks a field is the
// peer's.
func (r *Router) logError(route *route, x *remoting.Exchange, err error) {
	level := slog.LevelWarn
	var field *header.FieldError
	var known *protocol.Error
	if errors.As(err, &field) || errors.As(err, &known) {
		level = slog.LevelDebug
	}
	r.log.Log(context.Background(), level, "request failed", "request", route.Name, "addr", x.Conn.RemoteAddr(), "err", err)
}

// answerOf is the one place that turns errors into answers.
func answerOf(err error) *remoting.Command {
	var e *protocol.Error
	if errors.As(err, &e) {
		return &remoting.Command{Code: e.Code, Remark: e.Remark}
	}
	return &remoting.Command{Code: protocol.SystemError, Remark: err.Error()}
}

// GoAway makes the router answer GO_AWAY to clients that understand it (newer than
// 5.3.1), which then go on with a new connection elsewhere; others are served
// (RocketMQ: enableShutdownGracefully). Close comes next.
func (r *Router) GoAway() { r.state.CompareAndSwap(open, leaving) }

// Close refuses further requests and waits for the lanes to empty, at most d. Lanes
// that are shared with another router empty only when that is closed, too.
func (r *Router) Close(d time.Duration) {
	r.state.Store(closed)
	timer := time.NewTimer(d)
	defer timer.Stop()
	for _, l := range r.lanes {
		select {
		case <-l.whenIdle():
		case <-timer.C:
			r.log.Warn("requests still running at the end", "lane", l.Name(), "waiting", l.Size())
			return
		}
	}
}
