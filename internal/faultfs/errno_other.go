// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build !linux

package faultfs

import "syscall"

// euclean is what file systems answer that find themselves damaged; here there is no such error.
const euclean = syscall.Errno(0)
