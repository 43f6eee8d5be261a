// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package keyindex finds messages by their keys.
//
// An index file is a hash table: slots, each with the number of the newest entry whose key falls into it, and entries,
// each with the number of the one before it in the same slot. Files are filled one after another; the last one is the
// current one. Records are added in the order of the log, by one goroutine.
//
// What is kept in memory of the current file: the slots that were touched, in pieces, and the entries not written yet.
// A Checkpoint makes the file durable in an order that survives a power cut at any point: entries first, and only when
// they are on disk the slots that lead to them. So slots on disk never lead to an entry that is not there; an entry
// above the durable count is passed over by the link to the one before it, and is made again, the same, from the log.
//
// RocketMQ: IndexService, IndexFile, IndexHeader.
package keyindex
