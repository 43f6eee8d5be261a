// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package commitlog is the one log that every message is appended to.
//
// Append encodes a record into memory and gives it its place: queue offset, physical offset, store time. The records
// gathered since the last write are the pending group. Commit writes the pending group with one pwrite. With async
// flush the caller of Commit does it, unless somebody else is writing already, who then goes on with the next group;
// with sync flush one goroutine writes and syncs group after group, and what is appended during a sync is the next
// group. A group that is done is handed to Dispatch first, then everybody who waits for it is told; with sync flush
// that is done by a second goroutine while the next group is synced, if there is one.
//
//	Append ──> pending group ──Commit──> written ──(sync flush: fdatasync)──> Dispatch ──> waiters
//
// Positions only grow: written <= the end of what Append gave out; with sync flush readers see what is flushed, with
// async flush what is written (confirmed, in both cases). The last bytes that were appended stay in memory, in chunks:
// the tail. It is what is written from and what hot readers read from.
//
// RocketMQ: CommitLog, its flush services and MappedFileQueue.
//
// # Locks
//
// Log.mu guards the end of the log: where the next record goes, the pending group, the counters of the queues. It is
// held for the time of a copy. Log.writing is held by whoever writes a group, until its waiters are told. Log.reserving
// is held while files are made. Order: writing, reserving, mu.
//
// # Failures
//
// A failed write or sync is final: the log takes nothing more and says why, and who waits is told; a later sync that
// succeeds would prove nothing. A full disk is not a failure: the group is taken back, as if it had never been
// appended, and the log takes records again when space was found.
package commitlog
