// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package faultfs

import "syscall"

// euclean is what file systems answer that find themselves damaged.
const euclean = syscall.EUCLEAN
