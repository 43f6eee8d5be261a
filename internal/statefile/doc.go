// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package statefile keeps small state (topics, groups, offsets, KV settings) in
// files that survive a crash at any moment.
//
// A file is replaced as a whole: the new content goes into a temporary file, is
// synced, takes the place of the old one by rename, and the folder is synced. The
// generation before stays beside it as <file>.bak. Whoever reads gets the file, or
// the generation before when the file is missing or damaged.
//
// A journal makes single changes of such a file durable without writing all of it
// again: see Journal.
//
// RocketMQ: MixAll.string2File and ConfigManager, whose files these are.
package statefile
