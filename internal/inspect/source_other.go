// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build !linux

package inspect

import (
	"os"

	"golang.org/x/sys/unix"
)

// data gives the first byte at off or behind that may be other than zero.
func (s *source) data(off int64) int64 { return off }

// lockHolder asks who holds the first byte of an open file. It takes nothing.
func lockHolder(f *os.File) (pid int32, held bool) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 0, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return 0, false
	}
	return max(lock.Pid, 0), true
}
