// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"bufio"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/header"
)

// collected takes what an Encoder writes.
type collected map[string]string

func (c collected) Text(key, value string)         { c[key] = value }
func (c collected) Bytes(key string, value []byte) { c[key] = string(value) }
func (c collected) Int32(key string, value int32)  { c[key] = strconv.Itoa(int(value)) }
func (c collected) Int64(key string, value int64)  { c[key] = strconv.FormatInt(value, 10) }
func (c collected) Bool(key string, value bool)    { c[key] = strconv.FormatBool(value) }

func fieldsOf(m map[string]string) header.Fields {
	var f header.Fields
	for _, k := range slices.Sorted(maps.Keys(m)) {
		f.Add(k, m[k])
	}
	return f
}

// exchange is one request and its answer as clients and brokers of RocketMQ 5.5.0 and 4.9.7 sent them, taken from the wire.
type exchange struct {
	Sender    string
	Code      int32
	Ext       map[string]string
	Answer    *int32
	AnswerExt map[string]string
}

func capturedExchanges(t *testing.T) []exchange {
	t.Helper()
	f, err := os.Open("testdata/send_pull_headers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []exchange
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	if len(all) < 10 {
		t.Fatalf("%d exchanges only", len(all))
	}
	return all
}

// What real clients sent is read, and written again to the same fields.
func TestRequestsFromTheWire(t *testing.T) {
	for _, x := range capturedExchanges(t) {
		var again header.Encoder
		var err error
		switch x.Code {
		case PullMessage, LitePullMessage:
			h := new(PullRequest)
			again, err = h, h.Decode(fieldsOf(x.Ext))
		case SendMessage:
			h := new(SendRequest)
			err = h.DecodeV1(fieldsOf(x.Ext))
			again = h.V1()
		default:
			h := new(SendRequest)
			again, err = h, h.DecodeV2(fieldsOf(x.Ext))
		}
		if err != nil {
			t.Errorf("%s code %d: %v", x.Sender, x.Code, err)
			continue
		}
		got := collected{}
		again.EncodeFields(got)
		want := maps.Clone(x.Ext)
		delete(want, "ReqT") // of stream clients; brokers ignore it
		if d := cmp.Diff(collected(want), got); d != "" {
			t.Errorf("%s code %d:\n%s", x.Sender, x.Code, d)
		}
	}
}

func TestAnswersFromTheWire(t *testing.T) {
	for _, x := range capturedExchanges(t) {
		if x.Answer == nil {
			continue
		}
		var again header.Encoder
		var err error
		if x.Code == PullMessage || x.Code == LitePullMessage {
			h := new(PullResponse)
			again, err = h, h.Decode(fieldsOf(x.AnswerExt))
		} else {
			h := new(SendResponse)
			again, err = h, h.Decode(fieldsOf(x.AnswerExt))
			h.Refused = *x.Answer != Success
		}
		if err != nil {
			t.Errorf("answer of code %d: %v", x.Code, err)
			continue
		}
		got := collected{}
		again.EncodeFields(got)
		if d := cmp.Diff(collected(x.AnswerExt), got); d != "" && len(x.AnswerExt) > 0 {
			t.Errorf("answer %d of code %d:\n%s", *x.Answer, x.Code, d)
		}
	}
}

func goodSend() map[string]string {
	return map[string]string{"a": "g", "b": "t", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
}

func goodPull() map[string]string {
	return map[string]string{
		"consumerGroup": "g", "topic": "t", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "0",
		"commitOffset": "0", "suspendTimeoutMillis": "15000", "subVersion": "0",
	}
}

func TestFaultyFieldsAreNamed(t *testing.T) {
	decodeSend := func(m map[string]string) error { return new(SendRequest).DecodeV2(fieldsOf(m)) }
	decodePull := func(m map[string]string) error { return new(PullRequest).Decode(fieldsOf(m)) }
	tests := []struct {
		situation string
		decode    func(map[string]string) error
		good      func() map[string]string
		key       string
		value     *string // nil: left out
		field     string  // "": no fault
	}{
		{"queue id missing", decodeSend, goodSend, "e", nil, "queueId"},
		{"topic missing", decodeSend, goodSend, "b", nil, "topic"},
		{"queue id is text", decodeSend, goodSend, "e", new("x"), "queueId"},
		{"queue id is empty", decodeSend, goodSend, "e", new(""), "queueId"},
		{"queue id beyond 32 bits", decodeSend, goodSend, "e", new("2147483648"), "queueId"},
		{"smallest queue id", decodeSend, goodSend, "e", new("-2147483648"), ""},
		{"plus sign, as Java takes it", decodeSend, goodSend, "e", new("+1"), ""},
		{"born time beyond 64 bits", decodeSend, goodSend, "g", new("9223372036854775808"), "bornTimestamp"},
		{"smallest born time", decodeSend, goodSend, "g", new("-9223372036854775808"), ""},
		{"properties left out", decodeSend, goodSend, "i", nil, ""},
		{"unknown field", decodeSend, goodSend, "zone", new("z"), ""},
		{"queue id of a pull missing", decodePull, goodPull, "queueId", nil, "queueId"},
		{"offset of a pull is text", decodePull, goodPull, "queueOffset", new("1.5"), "queueOffset"},
		{"largest offset", decodePull, goodPull, "queueOffset", new(strconv.Itoa(math.MaxInt64)), ""},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			m := tt.good()
			delete(m, tt.key)
			if tt.value != nil {
				m[tt.key] = *tt.value
			}
			err := tt.decode(m)
			var fault *header.FieldError
			switch {
			case tt.field == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.field != "" && (!errors.As(err, &fault) || fault.Field != tt.field):
				t.Errorf("error %v, want one that names %s", err, tt.field)
			}
		})
	}
}

func TestLaterDoubleCounts(t *testing.T) {
	f := fieldsOf(goodSend())
	f.Add("e", "3")
	var h SendRequest
	if err := h.DecodeV2(f); err != nil || h.QueueID != 3 {
		t.Errorf("queue %d, error %v; want the later of two", h.QueueID, err)
	}
}

func FuzzHotHeaders(f *testing.F) {
	f.Add("e", "5", "subscription", "*")
	f.Add("queueId", "-1", "l", "16")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		for _, m := range []map[string]string{goodSend(), goodPull()} {
			m[k1], m[k2] = v1, v2
			fields := fieldsOf(m)
			var send, sendAgain SendRequest
			if send.DecodeV2(fields) == nil {
				w := collected{}
				send.EncodeFields(w)
				if err := sendAgain.DecodeV2(fieldsOf(w)); err != nil {
					t.Errorf("what was read cannot be written and read: %v", err)
				}
				if d := cmp.Diff(send, sendAgain, cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })); d != "" {
					t.Error(d)
				}
			}
			var pull PullRequest
			_ = pull.Decode(fields)
			_ = new(SendRequest).DecodeV1(fields)
			_ = new(SendResponse).Decode(fields)
			_ = new(PullResponse).Decode(fields)
		}
	})
}

func BenchmarkSendRequestDecodeV2(b *testing.B) {
	m := goodSend()
	m["i"], m["j"], m["k"], m["m"] = "UNIQ_KEY\x01x\x02", "0", "false", "false"
	fields := fieldsOf(m)
	var h SendRequest
	b.ReportAllocs()
	for b.Loop() {
		if err := h.DecodeV2(fields); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPullRequestDecode(b *testing.B) {
	fields := fieldsOf(goodPull())
	var h PullRequest
	b.ReportAllocs()
	for b.Loop() {
		if err := h.Decode(fields); err != nil {
			b.Fatal(err)
		}
	}
}
