// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/goddard-mq/goddard/internal/message"
)

var (
	hostV4 = netip.MustParseAddrPort("127.0.0.1:10911")
	bornV4 = netip.MustParseAddrPort("10.1.2.3:54321")
	hostV6 = netip.MustParseAddrPort("[2001:db8::2]:10911")
	bornV6 = netip.MustParseAddrPort("[2001:db8::1]:54321")

	equalAddrs = cmpopts.EquateComparable(netip.AddrPort{})
)

// sample is the message of the golden rows.
func sample() message.Record {
	return message.Record{
		QueueID: 3, Flag: 0x01020304, QueueOffset: 123456789, PhysicalOffset: 987654321012,
		BornTimestamp: 1700000000000, BornHost: bornV4, StoreTimestamp: 1700000000123, StoreHost: hostV4,
		ReconsumeTimes: 2, PreparedOffset: 77, Body: []byte("body"), Topic: []byte("TopicTest"), Properties: []byte("KEYS\x01KEY1\x02"),
	}
}

type goldenMessage struct {
	Case        string
	V6          bool
	Compressed  bool
	Compression string
	Hex         json.RawMessage
	Good        string
	Decoded     struct {
		Topic          string
		SysFlag        int32
		BodyHex        string
		StoredBodyHex  string
		MsgID          string
		StoreSize      int32
		BornHost       string
		QueueOffset    int64
		PhysicalOffset int64
	}
	Count int
	List  []struct {
		CutTo                *int
		WrongMagic, WrongCRC string
		Decodes              int
		WithCheck            string
	}
	Type          string
	Flag          int32
	In, Out, Back string
}

func (g *goldenMessage) hex(t *testing.T) []byte {
	var s string
	if err := json.Unmarshal(g.Hex, &s); err != nil {
		t.Fatal(err)
	}
	return unhex(t, s)
}

func goldenMessages(t *testing.T, kind string) []goldenMessage {
	var rows []goldenMessage
	for _, row := range golden[[]goldenMessage](t, "messages.json") {
		if row.Case == kind {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no golden messages of kind %q", kind)
	}
	return rows
}

// Java's encoder (MessageDecoder.encode) leaves the checksum 0; everything else must be the same.
func TestRecordIsWhatJavaWrites(t *testing.T) {
	for _, row := range goldenMessages(t, "encode") {
		want := row.hex(t)
		t.Run(row.Compression, func(t *testing.T) {
			var got message.Record
			n, err := message.DecodeRecord(want, &got, false)
			if err != nil || n != len(want) {
				t.Fatalf("decode: %d, %v", n, err)
			}
			expected := sample()
			expected.Size, expected.Magic = int32(len(want)), message.MagicV1
			if row.V6 {
				expected.BornHost, expected.StoreHost = bornV6, hostV6
			}
			expected.SysFlag = got.SysFlag
			expected.Body = unhex(t, row.Decoded.StoredBodyHex)
			if diff := cmp.Diff(expected, got, equalAddrs); diff != "" {
				t.Errorf("decoded -want +got\n%s", diff)
			}
			if wide := got.SysFlag&(message.FlagBornHostV6|message.FlagStoreHostV6) != 0; wide != row.V6 {
				t.Errorf("sysFlag %#x with IPv6 %v", got.SysFlag, row.V6)
			}
			if id := message.OffsetID(got.StoreHost, got.PhysicalOffset); id != row.Decoded.MsgID {
				t.Errorf("id %s, want %s", id, row.Decoded.MsgID)
			}
			body, err := message.Decompress(got.Body, got.SysFlag, 1000)
			if err != nil || !bytes.Equal(body, unhex(t, row.Decoded.BodyHex)) {
				t.Errorf("body %x, %v", body, err)
			}

			if n := message.RecordSize(&got); n != len(want) {
				t.Errorf("size %d, want %d", n, len(want))
			}
			encoded := message.AppendRecord([]byte("x"), &got)[1:]
			if crc := binary.BigEndian.Uint32(encoded[8:]); crc != message.BodyCRC(got.Body) {
				t.Errorf("checksum %#x", crc)
			}
			copy(encoded[8:12], []byte{0, 0, 0, 0})
			if !bytes.Equal(encoded, want) {
				t.Errorf("encoded\n got %x\nwant %x", encoded, want)
			}
		})
	}
}

func TestEmptyBodyIsWhatJavaWrites(t *testing.T) {
	r := sample()
	r.Body, r.Topic = nil, []byte("T")
	row := goldenMessages(t, "empty body")[0]
	if got, want := message.AppendRecord(nil, &r), row.hex(t); !bytes.Equal(got, want) {
		t.Errorf("got %x\nwant %x", got, want)
	}
}

func TestDamagedRecords(t *testing.T) {
	row := goldenMessages(t, "bad")[0]
	good := unhex(t, row.Good)
	decodes := func(b []byte, check bool) int {
		var r message.Record
		if _, err := message.DecodeRecord(b, &r, check); err != nil {
			return 0
		}
		return 1
	}
	if decodes(good, false) != 1 {
		t.Fatal("the good one is refused")
	}
	for _, bad := range row.List {
		switch {
		case bad.CutTo != nil:
			if got := decodes(good[:*bad.CutTo], false); got != bad.Decodes {
				t.Errorf("cut to %d: %d", *bad.CutTo, got)
			}
		case bad.WrongMagic != "":
			if got := decodes(unhex(t, bad.WrongMagic), false); got != bad.Decodes {
				t.Errorf("wrong magic: %d", got)
			}
		default:
			b := unhex(t, bad.WrongCRC)
			if got := decodes(b, false); got != bad.Decodes {
				t.Errorf("wrong checksum, not looked at: %d", got)
			}
			if decodes(b, true) != 0 {
				t.Error("wrong checksum is not seen")
			}
		}
	}
}

func TestDecodeRecordRefuses(t *testing.T) {
	r := sample()
	good := message.AppendRecord(nil, &r)
	set := func(pos int, b ...byte) func([]byte) []byte {
		return func(d []byte) []byte { copy(d[pos:], b); return d }
	}
	topicAt := 88 + len(r.Body)
	propsAt := topicAt + 1 + len(r.Topic)
	tests := map[string]struct {
		damage func([]byte) []byte
		pos    int
		reason string
	}{
		"nothing":                   {func([]byte) []byte { return nil }, 0, "cut off"},
		"seven bytes":               {func(b []byte) []byte { return b[:7] }, 7, "cut off"},
		"one byte missing":          {func(b []byte) []byte { return b[:len(b)-1] }, len(good) - 1, "cut off"},
		"size zero":                 {set(0, 0, 0, 0, 0), 0, "size of 0"},
		"size negative":             {set(0, 0xFF, 0xFF, 0xFF, 0xFF), 0, "size of -1"},
		"size below the least":      {set(0, 0, 0, 0, 90), 0, "size of 90"},
		"size huge":                 {set(0, 0x7F, 0xFF, 0xFF, 0xFF), len(good), "cut off"},
		"size too large by one":     {func(b []byte) []byte { b[3]++; return append(b, 0) }, propsAt + 2, "properties of 10 bytes in 11"},
		"size too small by one":     {func(b []byte) []byte { b[3]--; return b }, propsAt + 2, "properties of 10 bytes in 9"},
		"zeros":                     {func(b []byte) []byte { return make([]byte, len(b)) }, 4, "wrong magic"},
		"body negative":             {set(84, 0xFF), 84, "body of"},
		"body huge":                 {set(84, 0x7F), 84, "body of"},
		"body reaches the end":      {set(84, 0, 0, 0, byte(len(good)-88)), len(good), "no topic"},
		"body leaves no properties": {func(b []byte) []byte { b[87], b[len(b)-1] = byte(len(b)-89), 0; return b }, len(good), "no properties"},
		"topic negative":            {set(topicAt, 0x80), topicAt + 1, "topic of -128"},
		"topic beyond the end":      {set(topicAt, 0x7F), topicAt + 1, "topic of 127"},
		"properties negative":       {set(propsAt, 0xFF), propsAt + 2, "properties of"},
		"properties beyond the end": {set(propsAt, 1), propsAt + 2, "properties of"},
		"checksum":                  {set(8, 1), 8, "checksum"},
		"IPv6 flags, IPv4 size":     {func(b []byte) []byte { b = b[:91]; b[3], b[39] = 91, 0x30; return b }, 0, "with IPv6 hosts"},
		"blank of seven":            {func(b []byte) []byte { return []byte{0, 0, 0, 7, 0xCB, 0xD4, 0x31, 0x94} }, 0, "blank of 7"},
		"blank negative":            {func(b []byte) []byte { return []byte{0x80, 0, 0, 8, 0xCB, 0xD4, 0x31, 0x94} }, 0, "blank of -"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got message.Record
			_, err := message.DecodeRecord(tt.damage(bytes.Clone(good)), &got, name == "checksum")
			var e *message.RecordError
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Pos != tt.pos || !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("%q at %d, want %q at %d", e.Reason, e.Pos, tt.reason, tt.pos)
			}
		})
	}
}

func TestBlank(t *testing.T) {
	blank := []byte{0, 0, 1, 0, 0xCB, 0xD4, 0x31, 0x94}
	var r message.Record
	n, err := message.DecodeRecord(blank, &r, true)
	if n != 256 || err != message.ErrBlank {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := message.DecodeAll(blank); !errors.Is(err, message.ErrBlank) {
		t.Errorf("DecodeAll: %v", err)
	}
}

func TestLayoutFollowsTopicAndHosts(t *testing.T) {
	mapped := netip.AddrPortFrom(netip.MustParseAddr("::ffff:10.1.2.3"), 54321)
	tests := map[string]struct {
		change func(*message.Record)
		size   int // beyond body, topic and properties
		magic  uint32
		flags  int32
	}{
		"short topic":             {func(r *message.Record) {}, 91, message.MagicV1, 0},
		"topic of 127":            {func(r *message.Record) { r.Topic = bytes.Repeat([]byte("t"), 127) }, 91, message.MagicV1, 0},
		"topic of 128":            {func(r *message.Record) { r.Topic = bytes.Repeat([]byte("t"), 128) }, 92, message.MagicV2, 0},
		"short topic, V2 wanted":  {func(r *message.Record) { r.Magic = message.MagicV2 }, 92, message.MagicV2, 0},
		"long topic, V1 wanted":   {func(r *message.Record) { r.Magic = message.MagicV1; r.Topic = make([]byte, 200) }, 92, message.MagicV2, 0},
		"born host IPv6":          {func(r *message.Record) { r.BornHost = bornV6 }, 103, message.MagicV1, 0x10},
		"store host IPv6":         {func(r *message.Record) { r.StoreHost = hostV6 }, 103, message.MagicV1, 0x20},
		"both IPv6, V2":           {func(r *message.Record) { r.BornHost, r.StoreHost, r.Magic = bornV6, hostV6, message.MagicV2 }, 116, message.MagicV2, 0x30},
		"stale IPv6 flags":        {func(r *message.Record) { r.SysFlag = 0x30 }, 91, message.MagicV1, 0},
		"IPv4 in IPv6 is IPv4":    {func(r *message.Record) { r.BornHost = mapped }, 91, message.MagicV1, 0},
		"no hosts are 0.0.0.0":    {func(r *message.Record) { r.BornHost, r.StoreHost = netip.AddrPort{}, netip.AddrPort{} }, 91, message.MagicV1, 0},
		"nothing in it":           {func(r *message.Record) { r.Body, r.Topic, r.Properties = nil, nil, nil }, 91, message.MagicV1, 0},
		"properties at the limit": {func(r *message.Record) { r.Properties = make([]byte, message.MaxProperties) }, 91, message.MagicV1, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := sample()
			tt.change(&r)
			want := tt.size + len(r.Body) + len(r.Topic) + len(r.Properties)
			b := message.AppendRecord(nil, &r)
			if message.RecordSize(&r) != want || len(b) != want {
				t.Errorf("size %d, written %d, want %d", message.RecordSize(&r), len(b), want)
			}
			var got message.Record
			if n, err := message.DecodeRecord(b, &got, true); err != nil || n != want {
				t.Fatalf("%d, %v", n, err)
			}
			if got.Magic != tt.magic || got.SysFlag != tt.flags {
				t.Errorf("magic %#x, sysFlag %#x", got.Magic, got.SysFlag)
			}
			pos := message.StoreTimestampPos(got.SysFlag)
			for at, want := range map[int]int64{message.PosQueueOffset: r.QueueOffset, message.PosPhysicalOffset: r.PhysicalOffset, pos: r.StoreTimestamp} {
				if n := int64(binary.BigEndian.Uint64(b[at:])); n != want {
					t.Errorf("at %d is %d, want %d", at, n, want)
				}
			}
			if again := message.AppendRecord(nil, &got); !bytes.Equal(again, b) {
				t.Errorf("encoded again\n got %x\nwant %x", again, b)
			}
		})
	}
}

func TestAppendRecordRefusesToGarble(t *testing.T) {
	for name, r := range map[string]message.Record{
		"properties": {Properties: make([]byte, message.MaxProperties+1)},
		"topic":      {Topic: make([]byte, 1<<15)},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("written")
				}
			}()
			message.AppendRecord(nil, &r)
		})
	}
}

func TestDecodeAll(t *testing.T) {
	a, b := sample(), sample()
	b.Topic = bytes.Repeat([]byte("%"), 200)
	body := message.AppendRecord(message.AppendRecord(nil, &a), &b)
	all, err := message.DecodeAll(body)
	if err != nil || len(all) != 2 || string(all[0].Topic) != "TopicTest" || !bytes.Equal(all[1].Topic, b.Topic) {
		t.Fatalf("%d records, %v", len(all), err)
	}
	all, err = message.DecodeAll(body[:len(body)-1])
	var e *message.RecordError
	if len(all) != 1 || !errors.As(err, &e) || !strings.Contains(err.Error(), "record 1, from byte") {
		t.Errorf("cut off: %d records, %v", len(all), err)
	}
	if all, err := message.DecodeAll(nil); len(all) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", all, err)
	}
}

// Records of real commit logs come out byte by byte as they went in.
func TestRecordsOfJavasLogs(t *testing.T) {
	for _, name := range []string{"records_4.9.7.bin", "records_5.5.0.bin"} {
		log, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for pos := 0; pos < len(log); n++ {
			var r message.Record
			size, err := message.DecodeRecord(log[pos:], &r, true)
			if err != nil {
				t.Fatalf("%s at %d: %v", name, pos, err)
			}
			if got := message.AppendRecord(nil, &r); !bytes.Equal(got, log[pos:pos+size]) {
				t.Errorf("%s at %d\n got %x\nwant %x", name, pos, got, log[pos:pos+size])
			}
			if _, err := message.Decompress(r.Body, r.SysFlag, 1<<20); err != nil {
				t.Errorf("%s at %d: %v", name, pos, err)
			}
			pos += size
		}
		if all, err := message.DecodeAll(log); err != nil || len(all) != n || n < 3 {
			t.Errorf("%s: %d records, then %d, %v", name, n, len(all), err)
		}
	}
}

func TestBodyCRC(t *testing.T) {
	type row struct {
		BytesHex string
		CRC32    uint32
	}
	for _, r := range golden[[]row](t, "crc32.json") {
		if got := message.BodyCRC(unhex(t, r.BytesHex)); got != r.CRC32 {
			t.Errorf("%s: %d, want %d", r.BytesHex, got, r.CRC32)
		}
	}
}
