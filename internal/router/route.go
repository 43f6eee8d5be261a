// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package router

import (
	"fmt"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// HandlerFunc handles a request. It returns the answer, or an error that becomes one
// (protocol.Error keeps its code and remark, anything else is SYSTEM_ERROR with its
// text), or nil and nil when it will answer through x.ReplyTo() itself. On a lane x
// is the handler's own (its request cloned); inline it is valid until the return.
type HandlerFunc func(x *remoting.Exchange) (*remoting.Command, error)

// Route is one line of a role's table.
type Route struct {
	Code   int32
	Name   string
	Handle HandlerFunc
	Lane   *Lane // nil: inline, the handler must not wait for anything
	// Reject, when set, is asked before anything else ("reject request" in RocketMQ);
	// a non-nil error is the answer.
	Reject func() error
}

// route is a Route in the table.
type route struct {
	Route
	observer RouteObserver // nil: nobody watches
}

// directCodes is below which codes are found by index. Those above are some of
// the newer RocketMQ requests, from 200050.
const directCodes = 4096

// table finds a route by code.
type table struct {
	direct []*route
	others map[int32]*route
}

// newTable panics when two routes have one code: that is a mistake in our own
// source.
func newTable(routes []Route, o Observer) table {
	t := table{others: make(map[int32]*route)}
	for _, r := range routes {
		if t.find(r.Code) != nil {
			panic(fmt.Sprintf("router: two routes for code %d", r.Code))
		}
		e := &route{Route: r}
		if o != nil {
			e.observer = o.Route(r.Code, r.Name, r.Lane.Name())
		}
		if r.Code < 0 || r.Code >= directCodes {
			t.others[r.Code] = e
			continue
		}
		for int(r.Code) >= len(t.direct) {
			t.direct = append(t.direct, nil)
		}
		t.direct[r.Code] = e
	}
	return t
}

// find gives the route of code, nil if there is none.
func (t *table) find(code int32) *route {
	if uint32(code) < uint32(len(t.direct)) {
		return t.direct[code]
	}
	return t.others[code]
}
