// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"errors"
	"io"
	"os"
)

// Damage is a place in a file whose bytes are not what they should be.
type Damage struct {
	Path   string
	Offset int64 // in the file, bytes
	Bytes  int64 // that are affected; 0 when unknown
	Reason string
}

// source is a file opened for reading.
type source struct {
	f    *os.File
	path string
	size int64
}

func openSource(path string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &source{f: f, path: path, size: info.Size()}, nil
}

func (s *source) close() { s.f.Close() }

// read fills b from off on. What lies behind the file's end is not read: n is then less than len(b), without an error.
func (s *source) read(b []byte, off int64) (n int, err error) {
	n, err = s.f.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// zeroBlock is how much is looked at at once in search of bytes that are not zero.
const zeroBlock = 256 << 10

// used gives the first byte in [off, end) that is not zero; end when there is none. Parts that the file system never
// gave blocks to are not read.
func (s *source) used(off, end int64) (int64, error) {
	end = min(end, s.size)
	var block []byte
	for off < end {
		off = max(off, s.data(off))
		if off >= end {
			break
		}
		if block == nil {
			block = make([]byte, min(zeroBlock, end-off))
		}
		b := block[:min(int64(len(block)), end-off)]
		n, err := s.read(b, off)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break // it was cut meanwhile
		}
		for i, c := range b[:n] {
			if c != 0 {
				return off + int64(i), nil
			}
		}
		off += int64(n)
	}
	return end, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
