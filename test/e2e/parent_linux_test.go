// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import "syscall"

// dieWithParent ends a child when the test binary is killed, so that no server outlives a test that timed out.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
