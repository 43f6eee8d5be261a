// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build !linux

package e2e

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
