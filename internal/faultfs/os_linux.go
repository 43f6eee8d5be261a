// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func (f *osFile) Datasync() error {
	return f.failed("fdatasync", again(func() error { return unix.Fdatasync(int(f.Fd())) }))
}

func (f *osFile) Allocate(off, n int64) error {
	err := again(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, off, n) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return f.failed("fallocate", err)
}

func (f *osFile) Zero(off, n int64) error {
	if n <= 0 {
		return nil
	}
	err := again(func() error {
		return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return f.writeZeros(off, n)
	}
	return f.failed("punch hole", err)
}

// SyncAll reports a failed write-back since Linux 5.8; older kernels return nil whatever happened.
func (osFS) SyncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := again(func() error { return unix.Syncfs(int(d.Fd())) }); err != nil {
		return &fs.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	return nil
}

func (osFS) Usage(path string) (Usage, error) {
	var st unix.Statfs_t
	if err := again(func() error { return unix.Statfs(path, &st) }); err != nil {
		return Usage{}, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	block := int64(st.Bsize)
	return Usage{Total: int64(st.Blocks) * block, Free: int64(st.Bfree) * block, Available: int64(st.Bavail) * block}, nil
}

// Lock uses a lock that belongs to the open file and not to the process. It keeps out, and is kept out by, the
// process-wide record locks that Java takes on the same byte; and closing another descriptor of the file in this
// process does not drop it.
func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 0, Len: 1}
	err = again(func() error { return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock) })
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
}
