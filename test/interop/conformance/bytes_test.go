// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

//go:build shared

package conformance

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/test/interop/rig"
)

// sent is one send, the same to both brokers.
type sent struct {
	situation  string
	code       int
	fields     map[string]string
	properties string // name=value pairs, ';' between
	open       bool   // without the last separator
	body       []byte
}

var sends = []sent{
	{situation: "plain", properties: "UNIQ_KEY=U1"},
	{situation: "tag, keys and user properties", properties: "KEYS=k1 k2;UNIQ_KEY=U2;WAIT=true;TAGS=TagA;a=1;zeta=z;中文=值;Aa=1;BB=2"},
	{situation: "no last separator", properties: "TAGS=t;UNIQ_KEY=U3", open: true},
	{situation: "a value twice", properties: "a=1;UNIQ_KEY=U4;a=2"},
	{situation: "the broker's own names", properties: "CLUSTER=x;TRACE_ON=y;UNIQ_KEY=U5;MSG_REGION=z;POP_CK=1"},
	{situation: "not to wait", properties: "WAIT=false;UNIQ_KEY=U6"},
	{situation: "flag, reconsume times, compressed bit", properties: "UNIQ_KEY=U7", fields: map[string]string{"h": "77", "j": "3", "f": "1"}},
	{situation: "delay level", properties: "DELAY=18;UNIQ_KEY=U8;TAGS=x"},
	{situation: "delay level beyond the last", properties: "DELAY=40;UNIQ_KEY=U9"},
	{situation: "another queue", properties: "UNIQ_KEY=U10", fields: map[string]string{"e": "1"}},
	{situation: "batch", code: 320, fields: map[string]string{"m": "true"}, properties: "", body: batch()},
	{situation: "long body", properties: "UNIQ_KEY=U11", body: []byte(strings.Repeat("long ", 20000))},
}

func batch() []byte {
	var b []byte
	for i, p := range []string{"UNIQ_KEY\x01B1\x02TAGS\x01x\x02", "TAGS\x01x\x02UNIQ_KEY\x01B2\x02", "UNIQ_KEY\x01B3"} {
		body := fmt.Sprint("item ", i)
		b = binary.BigEndian.AppendUint32(b, uint32(4*4+4+len(body)+2+len(p)))
		b = append(b, make([]byte, 8)...) // magic and checksum: not looked at
		b = binary.BigEndian.AppendUint32(b, uint32(i))
		b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
		b = append(b, body...)
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		b = append(b, p...)
	}
	return b
}

// TestStoredBytes: what Goddard writes to its log is what the Java broker writes for the same sends, but for addresses and
// times.
func TestStoredBytes(t *testing.T) {
	shared := os.Getenv("SHARED")
	if shared == "" {
		t.Fatal("SHARED must name the folder that holds oracle/oracle")
	}
	java := records(t, rig.StartJava(t, filepath.Join(shared, "oracle", "oracle")))
	ours := records(t, rig.Start(t))
	if len(java) != len(ours) || len(java) < len(sends) {
		t.Fatalf("the Java broker stored %d records, we %d", len(java), len(ours))
	}
	for i := range java {
		if java[i] != ours[i] {
			t.Errorf("record %d:\n Java %s\n ours %s", i, java[i], ours[i])
		}
	}
}

// records sends everything and gives the records of the log, in hexadecimal, without addresses and times.
func records(t *testing.T, s rig.Server) []string {
	t.Helper()
	ask := func(situation string, code int, fields map[string]string, body []byte) {
		t.Helper()
		h, _, err := rig.Ask(t.Context(), s.Broker(), code, fields, body)
		if err != nil || h.Code != 0 {
			t.Fatalf("%s: code %d %s %v", situation, h.Code, h.Remark, err)
		}
	}
	ask("topic", 17, map[string]string{"topic": "SameBytes", "defaultTopic": "TBW102", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6",
		"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}, nil)
	for _, m := range sends {
		properties := strings.NewReplacer("=", "\x01", ";", "\x02").Replace(m.properties)
		if properties != "" && !m.open {
			properties += "\x02"
		}
		fields := map[string]string{"a": "producer", "b": "SameBytes", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1700000000000", "h": "0",
			"i": properties, "j": "0", "k": "false", "m": "false"}
		maps.Copy(fields, m.fields)
		body := m.body
		if body == nil {
			body = []byte("body of " + m.situation)
		}
		ask(m.situation, max(m.code, 310), fields, body)
	}
	log, err := os.ReadFile(filepath.Join(s.Store(), "commitlog", "00000000000000000000"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for at := 0; at+100 < len(log); {
		size := int(binary.BigEndian.Uint32(log[at:]))
		if size < 91 || at+size > len(log) {
			break
		}
		r := log[at : at+size]
		clear(r[48:80]) // born host and port, store time, store host and port; before them the time of birth, which is ours to choose
		binary.BigEndian.PutUint64(r[40:], 0)
		out = append(out, hex.EncodeToString(r[:min(size, 600)]))
		at += size
	}
	return out
}
