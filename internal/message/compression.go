// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// ErrTooLarge is returned by Decompress for a body that unpacks to more than the limit.
var ErrTooLarge = errors.New("decompressed body exceeds the limit")

// zlibLevel is the level that RocketMQ's clients use.
const zlibLevel = 5

// zstdWindow bounds the memory a frame may ask for: what level 9 of the reference coder uses, times four.
const zstdWindow = 32 << 20

// Decompress unpacks a body by its sysFlag, which tells whether it is packed and how: zlib, LZ4
// frames or Zstandard. A body that is not packed is returned as it is. limit bounds the result in
// bytes; nothing is taken from the sizes that the packed data claims.
func Decompress(body []byte, sysFlag int32, limit int) ([]byte, error) {
	if sysFlag&FlagCompressed == 0 {
		return body, nil
	}
	if len(body) == 0 {
		return nil, errors.New("decompress body: nothing to decompress")
	}
	var out []byte
	var err error
	name := "zlib"
	switch sysFlag & CompressionMask {
	case 0, CompressionZlib:
		out, err = unpack(&zlibReaders, body, limit)
	case CompressionLZ4:
		name = "lz4"
		out, err = unpack(&lz4Readers, body, limit)
	case CompressionZstd:
		name = "zstd"
		out, err = unpack(&zstdReaders, body, limit)
	default:
		return nil, fmt.Errorf("unknown compression type %d", sysFlag&CompressionMask>>8)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress %s body of %d bytes: %w", name, len(body), err)
	}
	return out, nil
}

// resetReader is a decoder that can be used again for another source.
type resetReader interface {
	io.Reader
	Reset(io.Reader) error
}

func unpack(pool *sync.Pool, body []byte, limit int) ([]byte, error) {
	r := pool.Get().(resetReader)
	if err := r.Reset(bytes.NewReader(body)); err != nil {
		return nil, err // not put back: it may be in any state
	}
	var out bytes.Buffer
	n, err := out.ReadFrom(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if n > int64(limit) {
		return nil, fmt.Errorf("%w of %d bytes", ErrTooLarge, limit)
	}
	_ = r.Reset(bytes.NewReader(nil)) // lets go of the body; the error says that nothing is nothing to read
	pool.Put(r)
	return out.Bytes(), nil
}

var (
	zlibReaders = sync.Pool{New: func() any { return new(zlibReader) }}
	lz4Readers  = sync.Pool{New: func() any { return lz4Reader{lz4.NewReader(nil)} }}
	zstdReaders = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			panic(err) // options are constant
		}
		return d
	}}
)

// zlibReader opens its decoder with the first body, because that reads at once.
type zlibReader struct{ r io.ReadCloser }

func (z *zlibReader) Reset(src io.Reader) (err error) {
	if z.r != nil {
		return z.r.(zlib.Resetter).Reset(src, nil)
	}
	z.r, err = zlib.NewReader(src)
	return err
}

func (z *zlibReader) Read(p []byte) (int, error) { return z.r.Read(p) }

type lz4Reader struct{ *lz4.Reader }

func (l lz4Reader) Reset(src io.Reader) error {
	l.Reader.Reset(src)
	return nil
}

var zlibWriters = sync.Pool{New: func() any {
	w, err := zlib.NewWriterLevel(nil, zlibLevel)
	if err != nil {
		panic(err) // the level is constant
	}
	return w
}}

// Compress packs a body with zlib, which every client can read. The sysFlag to go with it is FlagCompressed.
func Compress(body []byte) ([]byte, error) {
	var out bytes.Buffer
	w := zlibWriters.Get().(*zlib.Writer)
	defer zlibWriters.Put(w)
	w.Reset(&out)
	if _, err := w.Write(body); err != nil {
		return nil, fmt.Errorf("compress body of %d bytes: %w", len(body), err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress body of %d bytes: %w", len(body), err)
	}
	return out.Bytes(), nil
}
