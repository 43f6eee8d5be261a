// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

func record(body []byte, sysFlag int32, offset int64) []byte {
	return message.AppendRecord(nil, &message.Record{
		Topic: []byte("T"), QueueID: 3, QueueOffset: offset, PhysicalOffset: 1000 + offset, SysFlag: sysFlag, Flag: 9,
		BornTimestamp: 1700000000001, StoreTimestamp: 1700000000002, ReconsumeTimes: 1,
		BornHost: netip.MustParseAddrPort("10.0.0.1:1"), StoreHost: netip.MustParseAddrPort("10.0.0.2:10911"),
		Body: body, Properties: []byte("TAGS\x01A\x02x\x01y\x02UNIQ_KEY\x01ID\x02"),
	})
}

func TestReadRecords(t *testing.T) {
	packed, err := message.Compress(bytes.Repeat([]byte("z"), 9000))
	if err != nil {
		t.Fatal(err)
	}
	var inner []byte
	for _, text := range []string{"one", "two"} {
		inner = message.AppendBatchItem(inner, message.BatchItem{Flag: 4, Body: []byte(text), Properties: []byte("TAGS\x01" + text + "\x02")})
	}
	for _, test := range []struct {
		situation string
		body      []byte
		bodies    []string // of the messages
		offsets   []int64
		err       bool
	}{
		{"nothing", nil, nil, nil, false},
		{"two plain messages", append(record([]byte("a"), 0, 5), record([]byte("b"), 0, 6)...), []string{"a", "b"}, []int64{5, 6}, false},
		{"a compressed one", record(packed, zlibFlag, 5), []string{string(bytes.Repeat([]byte("z"), 9000))}, []int64{5}, false},
		{"one that says it is compressed and is not, between good ones",
			slicesConcat(record([]byte("a"), 0, 5), record([]byte("no zlib"), zlibFlag, 6), record([]byte("c"), 0, 7)),
			[]string{"a", "c"}, []int64{5, 7}, true},
		{"a record that holds two messages", record(inner, message.FlagInnerBatch|message.FlagNeedUnwrap, 5), []string{"one", "two"}, []int64{5, 6}, false},
		{"half a record behind a good one", append(record([]byte("a"), 0, 5), record([]byte("b"), 0, 6)[:40]...), []string{"a"}, []int64{5}, true},
		{"noise", []byte("HTTP/1.1 400 Bad Request"), nil, nil, true},
	} {
		t.Run(test.situation, func(t *testing.T) {
			got, err := readRecords(test.body, "b")
			if (err != nil) != test.err {
				t.Errorf("error %v, want one: %v", err, test.err)
			}
			if len(got) != len(test.bodies) {
				t.Fatalf("%d messages, want %d", len(got), len(test.bodies))
			}
			for i, m := range got {
				if string(m.Body) != test.bodies[i] || m.Offset != test.offsets[i] || m.Queue != (Queue{"T", "b", 3}) {
					t.Errorf("message %d: %q at %v %d", i, m.Body, m.Queue, m.Offset)
				}
			}
		})
	}
}

func slicesConcat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestReceivedMessage(t *testing.T) {
	got, err := readRecords(record([]byte("body"), 0, 5), "broker-a")
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	m := got[0]
	if m.ID != "ID" || m.OffsetID != "0A00000200002A9F00000000000003ED" || m.Tag != "A" || m.Properties["x"] != "y" || m.Flag != 9 ||
		m.Attempts != 1 || m.BornAt.UnixMilli() != 1700000000001 || m.StoredAt.UnixMilli() != 1700000000002 ||
		m.BornHost.String() != "10.0.0.1:1" || m.StoreHost.String() != "10.0.0.2:10911" {
		t.Errorf("%+v", m)
	}
}

func FuzzReadRecords(f *testing.F) {
	f.Add(record([]byte("a"), 0, 5))
	f.Add(record([]byte("no zlib"), zlibFlag, 6))
	f.Add(record(message.AppendBatchItem(nil, message.BatchItem{Body: []byte("x")}), message.FlagInnerBatch|message.FlagNeedUnwrap, 5))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := readRecords(body, "b")
		if err != nil {
			return
		}
		for _, m := range got {
			if m.Queue.Broker != "b" || m.ID == "" {
				t.Errorf("a message without a place or id: %+v", m)
			}
		}
	})
}
