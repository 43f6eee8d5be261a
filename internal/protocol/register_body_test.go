// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/javajson"
)

func sampleRegistration() *RegisterBrokerBody {
	order := NewTopicConfig("T")
	order.Order, order.TopicSysFlag, order.Perm, order.WriteQueueNums = true, TopicFlagUnit, 7, 3
	order.Attributes["message.type"] = "FIFO"
	return &RegisterBrokerBody{
		FilterServerList: []string{"10.0.0.1:3000"},
		Topics: TopicConfigWrapper{
			DataVersion:              DataVersion{Counter: 3, StateVersion: 2, Timestamp: 1700000000000},
			TopicConfigTable:         map[string]*TopicConfig{"T": order, "%RETRY%g": NewTopicConfig("%RETRY%g")},
			TopicQueueMappingInfoMap: map[string]*TopicQueueMappingInfo{"T": {BrokerName: "a", Topic: "T", TotalQueues: 4, CurrIDMap: map[int32]int32{0: 1}, Scope: ScopeGlobal}},
		},
	}
}

func TestRegisterBodyForms(t *testing.T) {
	full := sampleRegistration()
	lossy := sampleRegistration() // what the compressed form keeps
	lossy.Topics.TopicConfigTable["T"].Order = false
	lossy.Topics.TopicConfigTable["T"].TopicSysFlag = 0
	noMapping := sampleRegistration()
	noMapping.Topics.TopicConfigTable = lossy.Topics.TopicConfigTable
	noMapping.Topics.TopicQueueMappingInfoMap = nil
	alone := sampleRegistration()
	alone.FilterServerList = nil
	compress := func(version int32) []byte {
		b, err := CompressRegisterBody(full, version)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, row := range []struct {
		form       string
		body       []byte
		version    int32
		compressed bool
		want       *RegisterBrokerBody
	}{
		{"JSON", javajson.Marshal(full, javajson.Bare), V5_5_0, false, full},
		{"topics alone", javajson.Marshal(&full.Topics, javajson.Bare), V3_0_11 - 1, false, alone},
		{"compressed, 5.x", compress(V5_0_0), V5_0_0, true, lossy},
		{"compressed, 5.x, not told", compress(V5_0_0), V5_0_0, false, lossy},
		{"compressed, 4.x", compress(V5_0_0 - 1), V5_0_0 - 1, true, noMapping},
		{"nothing", nil, V5_5_0, false, &RegisterBrokerBody{FilterServerList: []string{}}},
		{"nothing of an old broker", nil, 1, false, &RegisterBrokerBody{}},
		{"no filter servers named: none", []byte(`{}`), V5_5_0, false, &RegisterBrokerBody{FilterServerList: []string{}}},
		{"topics that only the table names, and one without settings",
			[]byte(`{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"perm":4},"U":null}}}`), V5_5_0, false,
			&RegisterBrokerBody{FilterServerList: []string{}, Topics: TopicConfigWrapper{TopicConfigTable: map[string]*TopicConfig{
				"T": {TopicName: "T", Perm: 4, ReadQueueNums: 16, WriteQueueNums: 16, TopicFilterType: SingleTag, Attributes: map[string]string{}}}}}},
	} {
		t.Run(row.form, func(t *testing.T) {
			got, err := DecodeRegisterBody(row.body, row.version, row.compressed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRegisterBodyMalformed(t *testing.T) {
	deflate := func(plain []byte) []byte {
		var out bytes.Buffer
		z := zlib.NewWriter(&out)
		_, _ = z.Write(plain)
		_ = z.Close()
		return out.Bytes()
	}
	pieces := func(texts ...any) []byte {
		var b []byte
		for _, x := range texts {
			switch x := x.(type) {
			case int:
				b = binary.BigEndian.AppendUint32(b, uint32(x))
			case string:
				b = append(binary.BigEndian.AppendUint32(b, uint32(len(x))), x...)
			}
		}
		return b
	}
	const version = `{"counter":1,"stateVersion":0,"timestamp":2}`
	whole := pieces(version, 1, "T 4 4 6 SINGLE_TAG", "[]", 0)
	if _, err := DecodeRegisterBody(deflate(whole), V5_0_0, true); err != nil {
		t.Fatalf("the whole one: %v", err)
	}
	for n := range len(whole) {
		if _, err := DecodeRegisterBody(deflate(whole[:n]), V5_0_0, true); err == nil {
			t.Errorf("cut after %d of %d bytes: taken", n, len(whole))
		}
	}
	for _, row := range []struct {
		what string
		body []byte
		says string
	}{
		{"no zlib stream", []byte("x\x9cnothing"), "inflate"},
		{"a negative length", deflate(pieces(-1)), "length -1"},
		{"more topics than bytes", deflate(pieces(version, 1<<30)), "middle of a piece"},
		{"a topic line that is too short", deflate(pieces(version, 1, "T 4 4", "[]", 0)), `topic line "T 4 4"`},
		{"a topic line with a word for a number", deflate(pieces(version, 1, "T four 4 6 SINGLE_TAG", "[]", 0)), "topic line"},
		{"a topic line without a name", deflate(pieces(version, 1, " 4 4 6 SINGLE_TAG", "[]", 0)), "topic line"},
		{"more than is good", deflate(make([]byte, maxRegisterBytes+1)), "inflates to more than"},
		{"more topics than are taken", deflate(pieces(version, maxRegisterTopics+1, string(make([]byte, 4*maxRegisterTopics)))), "500001 topics"},
		{"JSON that ends early", []byte(`{"topicConfigSerializeWrapper":{`), "body of the registration"},
	} {
		_, err := DecodeRegisterBody(row.body, V5_0_0, true)
		if !isZlib(row.body) {
			_, err = DecodeRegisterBody(row.body, V5_0_0, false)
		}
		if err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: error %v, want one that says %q", row.what, err, row.says)
		}
	}
}

func TestRegisterBodyBadAttributesAreSkipped(t *testing.T) {
	c, err := parseTopicLine(`T 4 5 6 SINGLE_TAG {"message.type"`)
	if err != nil || c.ReadQueueNums != 4 || c.WriteQueueNums != 5 || c.Perm != 6 || len(c.Attributes) != 0 {
		t.Errorf("%+v %v", c, err)
	}
}

func FuzzDecodeRegisterBody(f *testing.F) {
	full := sampleRegistration()
	compressed, err := CompressRegisterBody(full, V5_0_0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(javajson.Marshal(full, javajson.Bare), V5_5_0, false)
	f.Add(javajson.Marshal(&full.Topics, javajson.Bare), int32(1), false)
	f.Add(compressed, V5_0_0, true)
	f.Fuzz(func(t *testing.T, body []byte, version int32, compressed bool) {
		b, err := DecodeRegisterBody(body, version, compressed)
		if err != nil {
			return
		}
		for name, c := range b.Topics.TopicConfigTable {
			if c == nil || c.TopicName == "" && name != "" {
				t.Fatalf("topic %q without settings or name", name)
			}
		}
	})
}
