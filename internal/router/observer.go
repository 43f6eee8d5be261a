// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package router

import "time"

// Observer makes what counts and times requests, one per route, when a Router is
// made.
type Observer interface {
	// Route names a route and its lane ("" for inline).
	Route(code int32, name, lane string) RouteObserver
}

// RouteObserver is told of every request of a route, on the goroutine that handled
// it; it must not wait. answer is the response code, or Deferred when the handler
// answers later. took is the time since the request was read, waiting in a lane
// included.
type RouteObserver interface {
	Done(answer int32, took time.Duration)
}

// Deferred stands for the response code of a request that is answered later.
const Deferred int32 = -1
