// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package router leads a request to its handler: by code, through a lane, and
// turns what the handler returns into an answer.
//
// A lane is how many requests of one family may run at once and how long one may
// wait for its turn before the answer is "busy" (RocketMQ: an executor with a
// queue and BrokerFastFailure). A route without a lane runs on the goroutine that
// read the request and must not wait for anything.
package router
