// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package broker is the role that takes, keeps and delivers messages.
//
// routes.go is the table from request code to handler; each family of requests has
// a file that says what it does and what it does not. broker.go makes the parts and
// puts them together, run.go runs and ends them. The parts with a life of their own
// live below: topics, groups and their members, offsets, held pulls, delayed
// messages.
//
// RocketMQ: BrokerController and the processors; each handler here knows only the
// parts it uses.
package broker
