// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"sync"

	"golang.org/x/sys/unix"
)

// memoryBytes is the machine's memory.
var memoryBytes = sync.OnceValue(func() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return fallbackMemory
	}
	return int64(info.Totalram) * int64(max(info.Unit, 1))
})
