// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package store keeps messages on disk behind one door: one log that every
// message is appended to, queues of positions into it, and an index by key.
//
// The log is the truth; queues and index are derived from it and can be rebuilt
// (RocketMQ: DefaultMessageStore, CommitLog, ConsumeQueue, IndexService). The
// files are those of RocketMQ, byte for byte.
//
// Words: a physical offset is a byte position in the log; a queue offset is a
// message's number in its queue. The confirm offset is the end of what readers may
// see: with sync flush, what is on disk.
package store
