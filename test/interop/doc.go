// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package interop runs the official RocketMQ clients against the built binary:
// Java 5.5.0 and 4.9.8 with mqadmin (folder java, needs a JDK and Maven), and
// rocketmq-client-go v2; where clients of several makers share a group, Goddard's own
// is among them.
//
// It is a module of its own, so that nobody who imports Goddard's client gets
// the dependencies of others. INTEROP_SERVER=oracle runs the same scenarios
// against the real Java server (INTEROP_ORACLE names its start script), which
// shows that a scenario asks nothing but what RocketMQ does.
package interop
