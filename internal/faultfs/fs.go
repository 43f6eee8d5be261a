// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// FS is a file system. Names are paths as the operating system takes them. Errors are *fs.PathError or wrap a
// syscall.Errno, so that errors.Is works with fs.ErrNotExist, syscall.ENOSPC and the like.
type FS interface {
	// Open opens a file; flag is os.O_RDWR, os.O_RDONLY, with os.O_CREATE and os.O_EXCL.
	Open(name string, flag int) (File, error)
	MkdirAll(dir string) error
	ReadDir(dir string) ([]fs.DirEntry, error) // sorted by name
	Stat(name string) (fs.FileInfo, error)
	Remove(name string) error
	RemoveAll(name string) error
	Rename(from, to string) error

	// SyncDir makes the names in a folder durable.
	SyncDir(dir string) error
	// SyncAll makes everything on the file system that holds dir durable, names and contents. It is for the
	// moment when one call is cheaper than syncing thousands of files one by one.
	SyncAll(dir string) error

	// Usage tells how full the file system that holds path is.
	Usage(path string) (Usage, error)
	// Lock takes the byte [0, 1) of a file, created if need be, for writing, against other processes and other
	// callers in this one. It does not wait: ErrLocked when it is taken.
	Lock(name string) (io.Closer, error)
}

// File is an open file. Its methods may be called at the same time.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	// DataEnd is where the first hole begins: [0, DataEnd) was written, for the most part. Where the file system knows
	// no holes it is the size.
	DataEnd() (int64, error)
	Truncate(size int64) error
	// Allocate reserves blocks for [off, off+n) without changing what is read, so that writing there cannot meet a
	// full disk. Where the file system has no such call it does nothing.
	Allocate(off, n int64) error
	// Zero makes [off, off+n) read as zero and gives its blocks back.
	Zero(off, n int64) error
	// Datasync makes the contents durable, and of the rest what reading them needs. Sync: everything.
	Datasync() error
	Sync() error
}

// Usage of a file system, bytes.
type Usage struct {
	Total     int64
	Free      int64 // blocks nobody uses
	Available int64 // of these, what an ordinary user may take
}

// Ratio is the part in use, from 0 to 1, as df counts it: of what an ordinary user can have.
func (u Usage) Ratio() float64 {
	used := u.Total - u.Free
	if used+u.Available <= 0 {
		return 0
	}
	return float64(used) / float64(used+u.Available)
}

// Lost tells whether an error of reading is the disk's word that the bytes are gone: they cannot be read, or the file is
// shorter. Every other error may be over when the read is tried again.
func Lost(err error) bool {
	if errors.Is(err, io.EOF) {
		return true
	}
	var no syscall.Errno
	if !errors.As(err, &no) {
		return false
	}
	switch no {
	case syscall.EIO, syscall.EBADMSG, syscall.EILSEQ, syscall.ENODATA:
		return true
	}
	return no == euclean
}
