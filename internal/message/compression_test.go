// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

func TestDecompressWhatJavaPacks(t *testing.T) {
	for _, row := range goldenMessages(t, "compressor") {
		want := unhex(t, row.In)
		got, err := message.Decompress(unhex(t, row.Out), message.FlagCompressed|row.Flag, len(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of %d bytes: %x, %v", row.Type, len(want), got, err)
		}
		if len(want) > 0 {
			if _, err := message.Decompress(unhex(t, row.Out), message.FlagCompressed|row.Flag, len(want)-1); !errors.Is(err, message.ErrTooLarge) {
				t.Errorf("%s beyond the limit: %v", row.Type, err)
			}
		}
	}
}

func TestCompress(t *testing.T) {
	random := make([]byte, 100_000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for name, body := range map[string][]byte{
		"nothing": {}, "one byte": {1}, "text": []byte(strings.Repeat("hello world ", 10_000)), "noise": random,
	} {
		t.Run(name, func(t *testing.T) {
			packed, err := message.Compress(body)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(packed, []byte{0x78, 0x5E}) {
				t.Errorf("begins with %x", packed[:2])
			}
			for _, codec := range []int32{0, message.CompressionZlib} {
				got, err := message.Decompress(packed, message.FlagCompressed|codec, len(body))
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
}

func TestDecompressRefuses(t *testing.T) {
	packed, err := message.Compress([]byte(strings.Repeat("x", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(packed)
	flipped[len(flipped)-1] ^= 1 // the checksum
	for name, tt := range map[string]struct {
		body    []byte
		sysFlag int32
	}{
		"unknown codec":  {packed, message.FlagCompressed | 0x400},
		"all codec bits": {packed, message.FlagCompressed | 0x700},
		"empty":          {nil, message.FlagCompressed},
		"empty lz4":      {nil, message.FlagCompressed | message.CompressionLZ4},
		"cut off":        {packed[:len(packed)-5], message.FlagCompressed},
		"damaged":        {flipped, message.FlagCompressed},
		"zlib as lz4":    {packed, message.FlagCompressed | message.CompressionLZ4},
		"zlib as zstd":   {packed, message.FlagCompressed | message.CompressionZstd},
		"plain text":     {[]byte("hello"), message.FlagCompressed | message.CompressionZlib},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := message.Decompress(tt.body, tt.sysFlag, 1<<20); err == nil {
				t.Errorf("taken as %q", got)
			}
		})
	}
	// after all that the decoders still work
	if got, err := message.Decompress(packed, message.FlagCompressed, 1000); err != nil || len(got) != 1000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestDecompressLeavesPlainBodies(t *testing.T) {
	body := []byte("plain")
	got, err := message.Decompress(body, message.CompressionZstd, 1)
	if err != nil || &got[0] != &body[0] {
		t.Errorf("%q, %v", got, err)
	}
}

// A small body that unpacks to very much is given up at the limit.
func TestDecompressBomb(t *testing.T) {
	bomb, err := message.Compress(make([]byte, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := message.Decompress(bomb, message.FlagCompressed, 4<<20); !errors.Is(err, message.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

func TestCompressConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			body := bytes.Repeat([]byte{byte('a' + i)}, 10_000)
			for range 50 {
				packed, err := message.Compress(body)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := message.Decompress(packed, message.FlagCompressed, len(body)); err != nil || !bytes.Equal(got, body) {
					t.Errorf("%d: %d bytes, %v", i, len(got), err)
					return
				}
			}
		})
	}
	wg.Wait()
}
