// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package e2e tries the built binary from outside: real processes on loopback, real sockets, real files, kill -9.
//
// Each test starts the servers it needs on ports and folders of its own and ends them; what they printed is shown when
// a test failed, and no test passes while a server of its own panicked. Requests go out through package remoting;
// frames that no client would send are written byte by byte.
//
// The binary is built once per run from the source beside it, or taken from the environment variable E2E_BINARY.
package e2e
