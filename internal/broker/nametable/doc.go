// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package nametable maps names to values for many readers and few writers: topics,
// groups, offsets by topic and group.
//
// A look-up takes no lock and no memory, by text or by bytes of a request. A write
// copies one of 256 parts, so that filling a table with n names costs about n²/512
// small copies: 20,000 names take some milliseconds.
package nametable
