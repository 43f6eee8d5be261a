// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package testcluster is a whole cluster in one process for tests: real name servers
// and brokers on real sockets and files, which can be stopped and started again at
// the same addresses with the same data.
package testcluster
