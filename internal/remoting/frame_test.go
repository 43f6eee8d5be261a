// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/header"
)

// decode decodes a whole frame, length word included, and leaves it as it was.
func decode(frame []byte) (*Command, error) {
	frame = bytes.Clone(frame)
	if n := binary.BigEndian.Uint32(frame); int(n) != len(frame)-lengthBytes {
		return nil, fmt.Errorf("length word says %d, frame has %d", n, len(frame)-lengthBytes)
	}
	c := new(Command)
	return c, DecodeFrame(c, frame[lengthBytes:])
}

// extOf gives the fields as a map, the later of equal keys.
func extOf(c *Command) map[string]string {
	m := make(map[string]string)
	for _, f := range c.Fields {
		m[string(f.Key)] = string(f.Value)
	}
	return m
}

func TestCapturedFrames(t *testing.T) {
	f, err := os.Open("testdata/frames.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var want struct {
			Source, Serializer, Language, Hex string
			Code, Flag, Opaque, Version       int32
			Remark                            string
			Ext                               map[string]string
			Body                              int
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		t.Run(want.Source, func(t *testing.T) {
			frame, err := hex.DecodeString(want.Hex)
			if err != nil {
				t.Fatal(err)
			}
			c, err := decode(frame)
			if err != nil {
				t.Fatal(err)
			}
			got := want
			got.Serializer, got.Language, got.Code, got.Flag = c.Serializer.String(), c.Language.String(), c.Code, c.Flag
			got.Opaque, got.Version, got.Remark, got.Body = c.Opaque, c.Version, c.Remark, len(c.Body)
			if got.Ext = extOf(c); len(got.Ext) == 0 {
				got.Ext = want.Ext
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("decoded (-want +got):\n%s", d)
			}
			again, err := AppendFrame(nil, c)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, frame) {
				t.Errorf("encoded again\n%q, want\n%q", again, frame)
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Serializer    string
		Case          int
		Hex           string
		DecodedExt    map[string]*string
		DecodedCode   int32
		DecodedFlag   int32
		DecodedRemark string
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		t.Run(fmt.Sprint(v.Serializer, v.Case), func(t *testing.T) {
			frame, _ := hex.DecodeString(v.Hex)
			c, err := decode(frame)
			if err != nil {
				t.Fatal(err)
			}
			want := make(map[string]string)
			for k, value := range v.DecodedExt {
				if value != nil {
					want[k] = *value
				}
			}
			if d := cmp.Diff(want, extOf(c)); d != "" {
				t.Errorf("fields (-want +got):\n%s", d)
			}
			if c.Code != v.DecodedCode || c.Flag != v.DecodedFlag || c.Remark != v.DecodedRemark {
				t.Errorf("got code %d flag %d remark %q", c.Code, c.Flag, c.Remark)
			}
			if len(want) < len(v.DecodedExt) {
				return // an empty value is not there any more
			}
			if again, _ := AppendFrame(nil, c); !bytes.Equal(again, frame) {
				t.Errorf("encoded again\n%q, want\n%q", again, frame)
			}
		})
	}
}

// frameOf puts a header and a body into a frame.
func frameOf(form Serializer, head string, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(lengthBytes+len(head)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(form)<<24|uint32(len(head)))
	return append(append(b, head...), body...)
}

func TestJSONHeadersOfOtherClients(t *testing.T) {
	deep := strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1)
	for _, tt := range []struct {
		what, head string
		want       Command
		fields     string // key=value, comma separated
	}{
		{"numbers and booleans as ext values, line feed at the end (C++)",
			`{"code":310,"extFields":{"d":4,"e":0,"k":"false","m":true,"x":-1.5e3},"flag":0,"language":"CPP","opaque":1,"version":333}` + "\n",
			Command{Code: 310, Opaque: 1, Language: LanguageCPP, Version: 333}, "d=4,e=0,k=false,m=true,x=-1.5e3"},
		{"language as ordinal", `{"code":30,"language":9,"opaque":2,"version":317}`,
			Command{Code: 30, Opaque: 2, Language: LanguageGo, Version: 317}, ""},
		{"language nobody knows", `{"code":30,"language":"KLINGON","opaque":2}`,
			Command{Code: 30, Opaque: 2, Language: LanguageUnknown}, ""},
		{"ordinal nobody knows", `{"code":30,"language":99}`, Command{Code: 30, Language: LanguageUnknown}, ""},
		{"language null", `{"code":30,"language":null}`, Command{Code: 30, Language: LanguageUnknown}, ""},
		{"no extFields", `{"code":34,"opaque":-4}`, Command{Code: 34, Opaque: -4}, ""},
		{"extFields null", `{"extFields":null,"code":34}`, Command{Code: 34}, ""},
		{"extFields empty", `{"extFields":{ },"code":34}`, Command{Code: 34, EmptyFields: true}, ""},
		{"null ext value is absent", `{"code":1,"extFields":{"a":null,"b":"x"}}`, Command{Code: 1}, "b=x"},
		{"only null ext values", `{"code":1,"extFields":{"a":null}}`, Command{Code: 1, EmptyFields: true}, ""},
		{"keys nobody knows, nested", `{"extra":[1,{"a":["]}\"",null,true]}],"code":1,"more":{},"none":[]}`, Command{Code: 1}, ""},
		{"nested to the bound", `{"x":` + deep + `,"code":1}`, Command{Code: 1}, ""},
		{"blanks everywhere", " \t\r\n{ \"code\" : 5 ,\n \"extFields\" : { \"a\" : \"b\" , \"c\" : 1 } } \n ", Command{Code: 5}, "a=b,c=1"},
		{"numbers in quotes", `{"code":"310","opaque":"-7","flag":null}`, Command{Code: 310, Opaque: -7}, ""},
		{"remark null", `{"code":1,"remark":null}`, Command{Code: 1}, ""},
		{"escapes", `{"code":1,"remark":"\"\\\/\b\f\n\r\tA\u00e9\u4e3b\uD83D\uDE00","extFields":{"\u0061b":"x\u0001y\u0002"}}`,
			Command{Code: 1, Remark: "\"\\/\b\f\n\r\tAé主😀"}, "ab=x\x01y\x02"},
		{"half a surrogate", `{"code":1,"remark":"\ud83dx\ude00"}`, Command{Code: 1, Remark: "\uFFFDx\uFFFD"}, ""},
		{"surrogate and other escape", `{"code":1,"remark":"\ud83d\u0041"}`, Command{Code: 1, Remark: "\uFFFDA"}, ""},
		{"bytes that are no UTF-8", "{\"code\":1,\"remark\":\"\xff\xfe\"}", Command{Code: 1, Remark: "\xff\xfe"}, ""},
		{"object as ext value", `{"code":1,"extFields":{"a":{"b":["\"x"]},"c":[1, 2]}}`, Command{Code: 1}, `a={"b":["\"x"]},c=[1, 2]`},
		{"later of equal keys", `{"code":1,"code":2,"extFields":{"a":"1"},"extFields":{"a":"2","a":"3"}}`, Command{Code: 2}, "a=2,a=3"},
		{"nothing", `{}`, Command{}, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			got, err := decode(frameOf(JSON, tt.head, ""))
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, f := range got.Fields {
				fields = append(fields, string(f.Key)+"="+string(f.Value))
			}
			if s := strings.Join(fields, ","); s != tt.fields {
				t.Errorf("fields %s, want %s", s, tt.fields)
			}
			got.Fields = nil
			if d := cmp.Diff(&tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// hostile are bytes after the length word that are no command.
func hostile() map[string][]byte {
	word := func(form Serializer, n int) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(form)<<24|uint32(n)))
	}
	j := func(head string) []byte { return []byte(word(JSON, len(head)) + head) }
	bin := func(head string) []byte { return []byte(word(Binary, len(head)) + head) }
	fixed := strings.Repeat("\x00", binaryFixedBytes)
	many := strings.Repeat(`"":"",`, maxFields)
	return map[string][]byte{
		"empty":                            nil,
		"three bytes":                      {0, 0, 0},
		"header longer than the frame":     []byte(word(JSON, 1000) + "{}"),
		"form 7":                           []byte(word(7, 2) + "{}"),
		"no JSON":                          j("rubbish!"),
		"empty header":                     j(""),
		"JSON cut":                         j(`{"code":1`),
		"JSON cut in a text":               j(`{"code`),
		"JSON cut in an escape":            j(`{"remark":"\`),
		"JSON cut in a unicode escape":     j(`{"remark":"\u00`),
		"escape nobody knows":              j(`{"remark":"\x41"}`),
		"bad hex":                          j(`{"remark":"\u00zz"}`),
		"two objects":                      j(`{"code":1}{}`),
		"code is a text":                   j(`{"code":"abc"}`),
		"code beyond 32 bits":              j(`{"code":2147483648}`),
		"code is an object":                j(`{"code":{}}`),
		"code with a fraction":             j(`{"code":1.5}`),
		"extFields is an array":            j(`{"extFields":[]}`),
		"comma first":                      j(`{,"code":1}`),
		"comma last":                       j(`{"code":1,}`),
		"colon missing":                    j(`{"code" 1}`),
		"key without quotes":               j(`{code:1}`),
		"value missing":                    j(`{"code":}`),
		"literal cut":                      j(`{"x":tru}`),
		"sign without digits":              j(`{"x":-}`),
		"nested without end":               j(`{"x":` + strings.Repeat("[", 100_000)),
		"array not closed":                 j(`{"x":[1 2]}`),
		"key in an object without colon":   j(`{"x":{"y"}}`),
		"more fields than bytes are worth": j(`{"extFields":{` + many + `"":""}}`),
		"binary of 20 bytes":               bin(strings.Repeat("\x00", 20)),
		"remark of 2 GiB":                  bin(fixed + "\x7f\xff\xff\xff" + "\x00\x00\x00\x00"),
		"remark of -1":                     bin(fixed + "\xff\xff\xff\xff" + "\x00\x00\x00\x00"),
		"fields of 2 GiB":                  bin(fixed + "\x00\x00\x00\x00" + "\x7f\xff\xff\xff"),
		"fields of -1":                     bin(fixed + "\x00\x00\x00\x00" + "\xff\xff\xff\xff"),
		"field of one byte":                bin(fixed + "\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00"),
		"key longer than the fields":       bin(fixed + "\x00\x00\x00\x00" + "\x00\x00\x00\x03" + "\x00\x09a"),
		"key of negative length":           bin(fixed + "\x00\x00\x00\x00" + "\x00\x00\x00\x03" + "\xff\xffa"),
		"value missing, binary":            bin(fixed + "\x00\x00\x00\x00" + "\x00\x00\x00\x03" + "\x00\x01a"),
		"value of 2 GiB":                   bin(fixed + "\x00\x00\x00\x00" + "\x00\x00\x00\x08" + "\x00\x01a\x7f\xff\xff\xff!"),
	}
}

func TestHostileFrames(t *testing.T) {
	for what, frame := range hostile() {
		t.Run(what, func(t *testing.T) {
			var c Command
			var bad *FrameError
			if err := DecodeFrame(&c, frame); !errors.As(err, &bad) {
				t.Errorf("got %v and %+v, want a FrameError", err, c)
			}
		})
	}
}

func TestBinaryHeaderIgnoresWhatFollowsTheFields(t *testing.T) {
	c, err := decode(frameOf(Binary, "\x00\x22"+strings.Repeat("\x00", 19)+"rest", "body"))
	if err != nil || c.Code != 34 || string(c.Body) != "body" {
		t.Errorf("got %+v, %v", c, err)
	}
}

// allKinds writes one field of each kind.
type allKinds struct{}

func (allKinds) EncodeFields(w header.Writer) {
	w.Text("text", "a\"b\x01")
	w.Bytes("bytes", []byte("主题"))
	w.Int32("int32", math.MinInt32)
	w.Int64("int64", math.MaxInt64)
	w.Bool("yes", true)
	w.Bool("no", false)
}

func TestEncoderFieldsReadBack(t *testing.T) {
	want := map[string]string{
		"text": "a\"b\x01", "bytes": "主题", "int32": "-2147483648", "int64": "9223372036854775807",
		"yes": "true", "no": "false", "late": "x",
	}
	for _, s := range []Serializer{JSON, Binary} {
		t.Run(s.String(), func(t *testing.T) {
			c := &Command{Code: 7, Serializer: s, Header: allKinds{}, Body: []byte("body")}
			c.Fields.Add("late", "x")
			frame, err := AppendFrame([]byte("before"), c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decode(frame[len("before"):])
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, extOf(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if string(got.Body) != "body" || got.Serializer != s {
				t.Errorf("body %q, form %s", got.Body, got.Serializer)
			}
		})
	}
}

func TestEmptyFieldsAreWrittenOnlyWhenAskedFor(t *testing.T) {
	plain, _ := AppendFrame(nil, &Command{Code: 1})
	asked, _ := AppendFrame(nil, &Command{Code: 1, EmptyFields: true})
	if bytes.Contains(plain, []byte("extFields")) || !bytes.Contains(asked, []byte(`"extFields":{},`)) {
		t.Errorf("got %q and %q", plain, asked)
	}
}

func TestCodesBeyondInt16TravelAsJSON(t *testing.T) {
	for code, want := range map[int32]Serializer{200050: JSON, 32767: Binary, 32768: JSON, -1: Binary, -32769: JSON} {
		frame, err := AppendFrame(nil, &Command{Code: code, Serializer: Binary})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := decode(frame); err != nil || c.Code != code || c.Serializer != want {
			t.Errorf("code %d: got %d as %s, %v", code, c.Code, c.Serializer, err)
		}
	}
}

func TestCommandsThatFitNoFrame(t *testing.T) {
	longKey := &Command{Serializer: Binary}
	longKey.Fields.Add(strings.Repeat("k", math.MaxInt16+1), "v")
	for what, c := range map[string]*Command{
		"key beyond 16 bits":    longKey,
		"header beyond 24 bits": {Remark: strings.Repeat("r", 1<<24)},
	} {
		got, err := AppendFrame([]byte("before"), c)
		if !errors.Is(err, ErrTooLarge) || string(got) != "before" {
			t.Errorf("%s: got %d bytes, %v", what, len(got), err)
		}
	}
}

func TestCloneOutlivesTheBuffer(t *testing.T) {
	frame, _ := AppendFrame(nil, sendV2(7, JSON))
	var c Command
	if err := DecodeFrame(&c, frame[lengthBytes:]); err != nil {
		t.Fatal(err)
	}
	want, body := extOf(&c), string(c.Body)
	d := c.Clone()
	clear(frame)
	if diff := cmp.Diff(want, extOf(d)); diff != "" || string(d.Body) != body {
		t.Errorf("clone changed with the buffer: %s", diff)
	}
}

func TestDecodingReusesFields(t *testing.T) {
	for _, s := range []Serializer{JSON, Binary} {
		frame, _ := AppendFrame(nil, sendV2(7, s))
		scratch := make([]byte, len(frame))
		var c Command
		n := testing.AllocsPerRun(100, func() {
			copy(scratch, frame)
			if err := DecodeFrame(&c, scratch[lengthBytes:]); err != nil {
				t.Error(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations per frame", s, n)
		}
	}
}
