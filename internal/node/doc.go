// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package node is one process: which roles run in it, in which order they start
// and stop. It is the only place that sees two roles.
//
// A role is a name server or a broker (RocketMQ: NamesrvStartup, BrokerStartup,
// each a process of its own). A node is live when it answers at all and ready when
// each of its roles serves.
package node
