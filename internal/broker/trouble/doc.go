// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package trouble finds what is wrong with consumer groups while it can still be
// mended: members that subscribe differently, a client id that two processes have,
// queues that nobody consumes, members that stopped committing.
//
// A Watch looks at all groups with members now and then. A fault is told once when it
// is found and once when it is over; in between it is counted and shown to those who
// ask. What cannot be known is not guessed: groups that keep their progress themselves
// (broadcasting, or pulling without ever committing) are not judged by their progress,
// and neither are queues in which nothing waits.
//
// RocketMQ has nothing of the kind; its tools leave it to people to compare offsets.
package trouble
