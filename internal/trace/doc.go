// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package trace reads and writes what clients tell of the lives of messages: who sent one, who consumed it, how long
// that took and what came of it.
//
// An event is one such record. Clients gather events and send them as bodies of ordinary messages to the trace topic
// (RMQ_SYS_TRACE_TOPIC, or one of the application's choice), under the ids and keys of the messages they speak of
// (RocketMQ: TraceContext, TraceBean, TraceDataEncoder).
package trace
