// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/message"
)

// What is decoded as a record can be encoded and comes back the same.
func FuzzRecord(f *testing.F) {
	r := sample()
	f.Add(message.AppendRecord(nil, &r))
	r.BornHost, r.StoreHost, r.Topic = bornV6, hostV6, bytes.Repeat([]byte("t"), 200)
	f.Add(message.AppendRecord(nil, &r))
	f.Add([]byte{0, 0, 1, 0, 0xCB, 0xD4, 0x31, 0x94})
	f.Fuzz(func(t *testing.T, b []byte) {
		var first message.Record
		n, err := message.DecodeRecord(b, &first, false)
		if err != nil {
			return
		}
		if n > len(b) || int(first.Size) != n {
			t.Fatalf("size %d of %d, in the record %d", n, len(b), first.Size)
		}
		encoded := message.AppendRecord(nil, &first)
		if len(encoded) != message.RecordSize(&first) {
			t.Fatalf("%d bytes written, size %d", len(encoded), message.RecordSize(&first))
		}
		var second message.Record
		if _, err := message.DecodeRecord(encoded, &second, first.BodyCRC == 0); err != nil {
			t.Fatalf("not read back: %v", err)
		}
		// IPv4 in 16 bytes becomes IPv4 in 4, a checksum of 0 is worked out, a short topic in V2 stays so
		second.Size, second.SysFlag = first.Size, first.SysFlag
		if first.BodyCRC == 0 {
			second.BodyCRC = 0
		}
		if diff := cmp.Diff(first, second, equalAddrs); diff != "" {
			t.Error(diff)
		}
	})
}

// Whatever is read as a batch can be written and comes back the same.
func FuzzBatch(f *testing.F) {
	one := message.AppendBatchItem(nil, message.BatchItem{Flag: 1, Body: []byte("body"), Properties: []byte("a\x01b\x02")})
	f.Add(one)
	f.Add(append(one, one...))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := items(b)
		size := 0
		for _, it := range all {
			size += 22 + len(it.Body) + len(it.Properties)
		}
		if size > len(b) || err == nil && size != len(b) {
			t.Fatalf("%d items of %d bytes in %d, %v", len(all), size, len(b), err)
		}
		var again []byte
		for _, it := range all {
			again = message.AppendBatchItem(again, it)
		}
		got, err := items(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Error(diff)
		}
	})
}

// All ways to read properties agree, and normal text says the same as the text it was made of.
func FuzzProperties(f *testing.F) {
	f.Add([]byte("KEYS\x01k\x02TAGS\x01t"), "KEYS")
	f.Add([]byte("a\x011\x02a\x01\x02\x01\x02a\x012"), "a")
	f.Fuzz(func(t *testing.T, props []byte, name string) {
		all := message.ParseProperties(props)
		value, ok := message.FindProperty(props, name)
		if want, wanted := all[name]; ok != wanted || string(value) != want {
			t.Errorf("%q: found %q, %v; parsed %q, %v", name, value, ok, want, wanted)
		}
		for n, want := range all {
			if value, ok := message.FindProperty(props, n); !ok || string(value) != want {
				t.Errorf("%q: %q, %v", n, value, ok)
			}
		}
		normal := message.NormalizeProperties(nil, props)
		if got := message.ParseProperties(normal); !maps.Equal(got, all) {
			t.Errorf("normalized: %q, not %q", got, all)
		}
		if got := message.ParseProperties(message.AppendProperties(nil, all)); !maps.Equal(got, all) {
			t.Errorf("written: %q, not %q", got, all)
		}
		delete(all, name)
		if got := message.ParseProperties(message.NormalizeProperties(nil, props, name)); !maps.Equal(got, all) {
			t.Errorf("without %q: %q, not %q", name, got, all)
		}
		if again := message.NormalizeProperties(nil, normal); !bytes.Equal(again, normal) {
			t.Errorf("normal text changes: %q, %q", normal, again)
		}
	})
}

func FuzzIDs(f *testing.F) {
	f.Add("7F00000100002A9F0000000000001000")
	f.Add("20010DB800000000000000000000000200002A9F000000E5F4C8F374")
	f.Fuzz(func(t *testing.T, id string) {
		_, _ = message.ParseUniqueID(id, time.Unix(1700000000, 0))
		host, offset, err := message.ParseOffsetID(id)
		if err != nil {
			return
		}
		port := strings.ToUpper(id[len(id)-24 : len(id)-20]) // upper half of the port: no port has it
		mapped := len(id) == message.IDLengthV6 && host.Addr().Is4()
		if got := message.OffsetID(host, offset); got != strings.ToUpper(id) && port == "0000" && !mapped {
			t.Errorf("%s becomes %s", id, got)
		}
	})
}

// Nothing that is unpacked grows over the limit or takes the process down.
func FuzzDecompress(f *testing.F) {
	packed, err := message.Compress([]byte(strings.Repeat("hello ", 100)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed, int32(0))
	for _, row := range golden[[]goldenMessage](f, "messages.json") {
		if row.Case == "compressor" {
			f.Add(unhex(f, row.Out), row.Flag)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, codec int32) {
		const limit = 10_000
		out, err := message.Decompress(b, message.FlagCompressed|codec, limit)
		if err == nil && len(out) > limit {
			t.Errorf("%d bytes", len(out))
		}
	})
}

func FuzzHashString(f *testing.F) {
	f.Add([]byte("TagA标😀"))
	f.Fuzz(func(t *testing.T, s []byte) {
		var want int32
		for _, r := range string(s) {
			units := []int32{r}
			if r >= 0x10000 {
				units = []int32{0xD800 + (r-0x10000)>>10, 0xDC00 + (r-0x10000)&0x3FF}
			}
			for _, u := range units {
				want = 31*want + u
			}
		}
		if got := message.HashString(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	})
}

// FuzzFindProperties: one pass finds what single look-ups find.
func FuzzFindProperties(f *testing.F) {
	f.Add([]byte("a\x015\x02bb\x01abc\x02a\x017"))
	names := []string{"a", "bb", "TAGS", "_"}
	f.Fuzz(func(t *testing.T, properties []byte) {
		values := make([][]byte, len(names))
		message.FindProperties(properties, names, values)
		for i, name := range names {
			want, ok := message.FindProperty(properties, name)
			if (values[i] != nil) != ok || string(values[i]) != string(want) {
				t.Fatalf("%s in %q: %q, alone %q %t", name, properties, values[i], want, ok)
			}
		}
	})
}
