// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package cli is the command line: one file per command, with its flags, help,
// checks and run.
//
// run_*.go start servers; the other commands are clients of a cluster. A command
// returns an error; root.go makes of it one sentence on standard error and the exit
// code: 1 when it failed, 2 when it was called wrongly.
//
// RocketMQ: mqnamesrv, mqbroker, mqadmin.
package cli
