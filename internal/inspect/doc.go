// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package inspect reads the files of a store as they lie on the disk, without the broker that they belong to: to show
// them to people (goddard dump), and to compare them with each other (goddard verify).
//
// It opens files for reading only, takes no size that it finds in bytes for granted, and goes on behind what it cannot
// read. Memory does not grow with the log: a block of a file, and some KiB per queue.
//
// Words: damage is a place whose bytes are not what they should be. The log is the truth; queues and index are derived
// from it, and a fault of theirs can be mended by building them again (Rebuild). A finding is a fault with its place and
// what to do about it; a note is one that the next start of a broker mends by itself.
//
// The formats are those of package store, described in docs/formats. RocketMQ: DumpCompactionLogCommand and
// QueryConsumeQueueCommand of mqadmin show a little of it.
package inspect
