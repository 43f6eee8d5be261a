// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package faultfs is the disk as the store sees it, and a disk that fails and crashes on request.
//
// FS and File are the few operations that durable code is made of. OS is the machine's own file
// systems, without anything in between. Disk is a file system in memory for tests: it remembers what
// was synced, so that a test can cut its power at any operation and look at what a real disk might
// then hold: sectors of 512 bytes that arrived or not, names that were created or not.
//
// What code may assume, and no more:
//
//   - WriteAt that returned nil is seen by every later read until the machine stops. It survives
//     when a later Datasync or Sync of the file returned nil.
//   - Of writes not synced any 512-byte sector may survive, in the version of any of them.
//   - Names (create, remove, rename) survive when the folder was synced; before that, any prefix of
//     the changes to one folder does.
//   - After a failed sync nothing is known about the data written since the one before.
package faultfs
