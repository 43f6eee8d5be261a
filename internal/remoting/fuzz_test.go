// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecodeFrame: what decodes can be encoded, and then decodes to the same.
func FuzzDecodeFrame(f *testing.F) {
	for _, s := range []Serializer{JSON, Binary} {
		for _, c := range []*Command{sendV2(7, s), pull(-1, s), {Code: 17, Flag: 1, Serializer: s, Remark: "a\"\\\n主题"}} {
			frame, err := AppendFrame(nil, c)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(frame[lengthBytes:])
		}
	}
	for _, frame := range hostile() {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first Command
		if DecodeFrame(&first, bytes.Clone(b)) != nil {
			return
		}
		frame, err := AppendFrame(nil, &first)
		if err != nil {
			t.Fatalf("encode %+v: %v", first, err)
		}
		second, err := decode(frame)
		if err != nil {
			t.Fatalf("decode %q again: %v", frame, err)
		}
		if d := cmp.Diff(&first, second); d != "" {
			t.Errorf("changed on the way (-first +second):\n%s", d)
		}
	})
}

// FuzzIncoming: however the bytes of a stream are cut, the same frames come out.
func FuzzIncoming(f *testing.F) {
	small, _ := AppendFrame(nil, pull(1, Binary))
	large, _ := AppendFrame(nil, &Command{Code: 10, Body: make([]byte, 9000)})
	f.Add(append(bytes.Clone(small), large...), []byte{1, 2, 3, 200})
	f.Add(append(large, small...), []byte{0})
	f.Add([]byte("\x00\x00\x00\x03abc"), []byte{4})
	f.Add([]byte("GET / HTTP/1.1\r\n"), []byte{255})
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		const limit = 1 << 20
		whole := cutAll(stream, nil, limit)
		pieces := cutAll(stream, cuts, limit)
		if d := cmp.Diff(whole, pieces); d != "" {
			t.Errorf("depends on the pieces (-whole +pieces):\n%s", d)
		}
	})
}

// cutAll feeds stream to an incoming, in pieces of the sizes given in turn, and
// returns the frames; the last entry tells how it ended.
func cutAll(stream, sizes []byte, limit int) (frames []string) {
	var in incoming
	in.init(nil, nil, false)
	defer in.drop()
	for i := 0; len(stream) > 0; i++ {
		room := in.room()
		n := min(len(room), len(stream))
		if len(sizes) > 0 {
			n = min(n, int(sizes[i%len(sizes)])+1)
		}
		copy(room, stream[:n])
		stream = stream[n:]
		in.took(n, len(room))
		for {
			frame, ok, err := in.next(limit)
			if err != nil {
				return append(frames, err.Error())
			}
			if !ok {
				break
			}
			frames = append(frames, string(frame))
		}
		in.rest()
	}
	return append(frames, string(in.unread()))
}
