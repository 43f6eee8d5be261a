// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build !linux

package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Outside Linux the store works, for development: without reservation of blocks, and syncing more than it must.

type osFile struct{ *os.File }

func (osFS) Open(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) DataEnd() (int64, error)     { return f.Size() }
func (f *osFile) Datasync() error             { return f.Sync() }
func (f *osFile) Allocate(off, n int64) error { return nil }

func (f *osFile) Zero(off, n int64) error {
	if n <= 0 {
		return nil
	}
	return zeroByWriting(f, off, n)
}

func (osFS) SyncAll(string) error {
	unix.Sync()
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

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 0, Len: 1}
	err = again(func() error { return unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock) })
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
}
