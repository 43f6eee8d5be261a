// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package header

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fields makes Fields of alternating keys and values.
func fields(kv ...string) Fields {
	var f Fields
	for i := 0; i < len(kv); i += 2 {
		f.Add(kv[i], kv[i+1])
	}
	return f
}

// collected is a Writer that remembers, each value as its text.
type collected []string

func (c *collected) Text(key, value string)         { *c = append(*c, key+"="+value) }
func (c *collected) Bytes(key string, value []byte) { *c = append(*c, key+"="+string(value)) }
func (c *collected) Int32(key string, value int32)  { *c = append(*c, fmt.Sprint(key, "=", value)) }
func (c *collected) Int64(key string, value int64)  { *c = append(*c, fmt.Sprint(key, "=", value)) }
func (c *collected) Bool(key string, value bool)    { *c = append(*c, fmt.Sprint(key, "=", value)) }

func TestLaterOfEqualKeysCounts(t *testing.T) {
	f := fields("a", "1", "b", "2", "a", "3")
	if got := f.Text("a"); got != "3" {
		t.Errorf("a is %q", got)
	}
	if _, ok := f.Get("c"); ok || f.Text("c") != "" {
		t.Error("c is there")
	}
}

type brokerName struct {
	BrokerName *string `header:"bname"`
}

type everything struct {
	Topic    string   `header:"topic,required"`
	Queue    int32    `header:"queueId,required"`
	Offset   int64    `header:"offset"`
	Count    int      `header:"count"`
	Ratio    float64  `header:"ratio"`
	Order    bool     `header:"order"`
	Key      []byte   `header:"key"`
	MaybeS   *string  `header:"maybeS"`
	MaybeI   *int32   `header:"maybeI"`
	MaybeL   *int64   `header:"maybeL"`
	MaybeB   *bool    `header:"maybeB"`
	MaybeF   *float64 `header:"maybeF"`
	Optional string   `header:"optional,omitempty"`
	Zero     int32    `header:"zero,omitempty"`
	brokerName
	Untagged string
	Ignored  string `header:"-"`
}

func ptr[T any](v T) *T { return &v }

func TestDecodeAndEncodeAgain(t *testing.T) {
	in := fields("unknown", "x", "topic", "T", "queueId", "-3", "offset", "9223372036854775807", "count", "+7", "ratio", "0.5",
		"order", "TRUE", "key", "k", "maybeS", "", "maybeI", "5", "maybeL", "6", "maybeB", "false", "maybeF", "2",
		"optional", "o", "zero", "1", "bname", "broker-a", "Untagged", "x", "-", "x")
	want := everything{
		Topic: "T", Queue: -3, Offset: math.MaxInt64, Count: 7, Ratio: 0.5, Order: true, Key: []byte("k"),
		MaybeS: ptr(""), MaybeI: ptr(int32(5)), MaybeL: ptr(int64(6)), MaybeB: ptr(false), MaybeF: ptr(2.0),
		Optional: "o", Zero: 1, brokerName: brokerName{BrokerName: ptr("broker-a")},
	}
	var got everything
	if err := Decode(in, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(everything{})); d != "" {
		t.Errorf("decoded (-want +got):\n%s", d)
	}
	var out collected
	Of(&got).EncodeFields(&out)
	text := "topic=T queueId=-3 offset=9223372036854775807 count=7 ratio=0.5 order=true key=k maybeS= maybeI=5 maybeL=6 " +
		"maybeB=false maybeF=2.0 optional=o zero=1 bname=broker-a"
	if d := cmp.Diff(strings.Split(text, " "), []string(out)); d != "" {
		t.Errorf("encoded (-want +got):\n%s", d)
	}
}

func TestAbsentFields(t *testing.T) {
	var got everything
	// An empty number is what a binary header can not tell from an absent one.
	if err := Decode(fields("topic", "", "queueId", "0", "offset", "", "maybeI", "", "maybeB", ""), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(everything{}, got, cmp.AllowUnexported(everything{})); d != "" {
		t.Errorf("decoded (-want +got):\n%s", d)
	}
	var out collected
	Of(got).EncodeFields(&out)
	text := "topic= queueId=0 offset=0 count=0 ratio=0.0 order=false"
	if d := cmp.Diff(strings.Split(text, " "), []string(out)); d != "" {
		t.Errorf("encoded (-want +got):\n%s", d)
	}
}

func TestFieldErrorsNameTheField(t *testing.T) {
	for _, tt := range []struct {
		what string
		in   Fields
		want string
	}{
		{"required text missing", fields("queueId", "1"), "header field topic is missing"},
		{"required number missing", fields("topic", "T"), "header field queueId is missing"},
		{"required number empty", fields("topic", "T", "queueId", ""), "header field queueId is missing"},
		{"no number", fields("topic", "T", "queueId", "x1"), `header field queueId "x1" is not an int32`},
		{"beyond int32", fields("topic", "T", "queueId", "2147483648"), `header field queueId "2147483648" is not an int32`},
		{"below int32", fields("topic", "T", "queueId", "-2147483649"), `header field queueId "-2147483649" is not an int32`},
		{"beyond int64", fields("topic", "T", "queueId", "1", "offset", "9223372036854775808"), `header field offset "9223372036854775808" is not an int64`},
		{"blank before", fields("topic", "T", "queueId", " 1"), `header field queueId " 1" is not an int32`},
		{"a fraction", fields("topic", "T", "queueId", "1", "maybeL", "1.0"), `header field maybeL "1.0" is not an int64`},
		{"no fraction", fields("topic", "T", "queueId", "1", "ratio", "x"), `header field ratio "x" is not a number`},
		{"sign alone", fields("topic", "T", "queueId", "-"), `header field queueId "-" is not an int32`},
		{"long text is cut", fields("topic", "T", "queueId", strings.Repeat("x", 63)+"主题"),
			`header field queueId "` + strings.Repeat("x", 63) + `..." is not an int32`},
	} {
		var got everything
		err := Decode(tt.in, &got)
		var fe *FieldError
		if !errors.As(err, &fe) || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.what, err, tt.want)
		}
	}
}

func TestTypesThatAreNoHeaders(t *testing.T) {
	for what, v := range map[string]any{
		"no pointer": everything{},
		"nil":        (*everything)(nil),
		"no struct":  ptr(7),
		"two equal names": &struct {
			A, B string `header:"a"`
		}{},
		"a map": &struct {
			A map[string]string `header:"a"`
		}{},
		"unexported": &struct {
			a string `header:"a"`
		}{},
		"unknown option": &struct {
			A string `header:"a,optional"`
		}{},
		"tag without name": &struct {
			A string `header:",required"`
		}{},
	} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_ = Decode(nil, v)
		})
	}
}

func TestParseBool(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "TRUE": true, "tRuE": true, "false": false, "": false, "1": false, "yes": false, "truee": false, "tru": false} {
		if ParseBool([]byte(text)) != want {
			t.Errorf("%q is not %v", text, want)
		}
	}
}

// FuzzParseInt: the same numbers as strconv, which takes Java's syntax.
func FuzzParseInt(f *testing.F) {
	for _, s := range []string{"0", "-0", "+1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616", "-", "", "1_0", "0x1", "１"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, bits := range []uint{32, 64} {
			want, err := strconv.ParseInt(s, 10, int(bits))
			got, ok := parseInt([]byte(s), bits)
			if ok != (err == nil) || ok && got != want {
				t.Errorf("%q in %d bits: got %d %v, want %d %v", s, bits, got, ok, want, err)
			}
		}
	})
}
