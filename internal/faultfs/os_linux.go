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

// osFile is a descriptor, without what os.File does for sockets and pipes. Callers do not use it after Close.
type osFile struct {
	fd   int
	name string
}

func (osFS) Open(name string, flag int) (File, error) {
	fd := -1
	err := again(func() (err error) {
		fd, err = unix.Open(name, flag|unix.O_CLOEXEC, 0o644)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &osFile{fd, name}, nil
}

func (f *osFile) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

func (f *osFile) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		got, err := unix.Pread(f.fd, p[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, f.failed("read", err)
		case got == 0:
			return n, io.EOF
		}
		n += got
	}
	return n, nil
}

func (f *osFile) WriteAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		put, err := unix.Pwrite(f.fd, p[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, f.failed("write", err)
		case put == 0:
			return n, f.failed("write", io.ErrUnexpectedEOF)
		}
		n += put
	}
	return n, nil
}

func (f *osFile) Close() error { return f.failed("close", unix.Close(f.fd)) }

func (f *osFile) Size() (int64, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstat(f.fd, &st) })
	return st.Size, f.failed("stat", err)
}

func (f *osFile) DataEnd() (int64, error) {
	end, err := unix.Seek(f.fd, 0, unix.SEEK_HOLE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENXIO) {
		return f.Size()
	}
	return end, f.failed("seek", err)
}

func (f *osFile) Truncate(size int64) error {
	return f.failed("truncate", again(func() error { return unix.Ftruncate(f.fd, size) }))
}

func (f *osFile) Sync() error {
	return f.failed("fsync", again(func() error { return unix.Fsync(f.fd) }))
}

func (f *osFile) Datasync() error {
	return f.failed("fdatasync", again(func() error { return unix.Fdatasync(f.fd) }))
}

func (f *osFile) Allocate(off, n int64) error {
	err := again(func() error { return unix.Fallocate(f.fd, unix.FALLOC_FL_KEEP_SIZE, off, n) })
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
		return unix.Fallocate(f.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return zeroByWriting(f, off, n)
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
