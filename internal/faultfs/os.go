// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package faultfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// OS is the machine's own file systems.
var OS FS = osFS{}

// ErrLocked: another process, or another caller in this one, holds the lock.
var ErrLocked = errors.New("locked by another process")

type osFS struct{}

func (osFS) Open(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

func (osFS) MkdirAll(dir string) error                 { return os.MkdirAll(dir, 0o755) }
func (osFS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
func (osFS) Stat(name string) (fs.FileInfo, error)     { return os.Stat(name) }
func (osFS) Remove(name string) error                  { return os.Remove(name) }
func (osFS) RemoveAll(name string) error               { return os.RemoveAll(name) }
func (osFS) Rename(from, to string) error              { return os.Rename(from, to) }

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

type osFile struct{ *os.File }

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.Name(), Err: err}
}

// writeZeros is Zero for file systems that cannot punch holes.
func (f *osFile) writeZeros(off, n int64) error {
	zeros := make([]byte, min(n, 1<<20))
	for n > 0 {
		part := zeros[:min(n, int64(len(zeros)))]
		if _, err := f.WriteAt(part, off); err != nil {
			return err
		}
		off += int64(len(part))
		n -= int64(len(part))
	}
	return nil
}

// again repeats a system call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
