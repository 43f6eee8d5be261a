// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/goddard-mq/goddard/internal/javajson"
)

type queue struct {
	BrokerName string `json:"brokerName"`
	QueueID    int32  `json:"queueId"`
	Topic      string `json:"topic"`
}

type color string

func (color) JSONNames() []string { return []string{"RED", "GREEN"} }

type shouting string

func (s shouting) AppendJSON(dst []byte, _ javajson.Dialect) []byte {
	return append(append(append(dst, '"'), s...), '!', '"')
}

type inner struct {
	B string `json:"b"`
	X int    `json:"x"`
}

type everything struct {
	inner
	X       int64             `json:"x"` // wins over inner.X
	Text    string            `json:"aText"`
	None    string            `json:"none,omitempty"`
	Pointer *int32            `json:"pointer"`
	List    []string          `json:"list"`
	Bytes   []byte            `json:"bytes"`
	Map     map[string]string `json:"map"`
	Color   color             `json:"color"`
	Any     any               `json:"any"`
	Raw     javajson.Raw      `json:"raw"`
	Shout   shouting          `json:"shout"`
	Hidden  int               `json:"-"`
	private int
}

type tree struct {
	Kids []*tree        `json:"kids"`
	Byte map[byte]*tree `json:"byte"`
}

func TestMarshal(t *testing.T) {
	seven := int32(7)
	tests := map[string]struct {
		in             any
		bare, standard string // standard "": like bare
	}{
		"nil is null":                                      {nil, `null`, ``},
		"nil pointer is null":                              {(*queue)(nil), `null`, ``},
		"nil list is null at the top":                      {[]int(nil), `null`, ``},
		"keys are sorted":                                  {queue{"b", 1, "t"}, `{"brokerName":"b","queueId":1,"topic":"t"}`, ``},
		"pointer is what it points to":                     {&queue{"b", 1, "t"}, `{"brokerName":"b","queueId":1,"topic":"t"}`, ``},
		"nulls are left out, embedded fields are taken up": {everything{}, `{"aText":"","b":"","color":"","shout":"!","x":0}`, ``},
		"everything set": {
			everything{inner{"b", 9}, 5, "a", "n", &seven, []string{"p", "q"}, []byte{1, 2, 255}, map[string]string{"k": "v"}, "RED", 1.5, javajson.Raw(`{0:1}`), "hi", 1, 2},
			`{"aText":"a","any":1.5,"b":"b","bytes":"AQL/","color":"RED","list":["p","q"],"map":{"k":"v"},"none":"n","pointer":7,"raw":{0:1},"shout":"hi!","x":5}`, ``,
		},
		"empty is not null": {everything{List: []string{}, Map: map[string]string{}, Bytes: []byte{}},
			`{"aText":"","b":"","bytes":"","color":"","list":[],"map":{},"shout":"!","x":0}`, ``},
		"integer keys by value": {map[int32]string{10: "j", 9: "i", -1: "h"}, `{-1:"h",9:"i",10:"j"}`, `{"-1":"h","9":"i","10":"j"}`},
		"unsigned keys":         {map[uint16]bool{10: true, 9: false}, `{9:false,10:true}`, `{"9":false,"10":true}`},
		"string keys":           {map[string]int{"b": 1, "a": 2, "": 3}, `{"":3,"a":2,"b":1}`, ``},
		"struct keys, numbers in them by value": {
			map[queue]int64{{"b", 10, "t"}: 1, {"b", 9, "t"}: 2, {"a", 11, "t"}: 3},
			`{{"brokerName":"a","queueId":11,"topic":"t"}:3,{"brokerName":"b","queueId":9,"topic":"t"}:2,{"brokerName":"b","queueId":10,"topic":"t"}:1}`,
			`{"{\"brokerName\":\"a\",\"queueId\":11,\"topic\":\"t\"}":3,"{\"brokerName\":\"b\",\"queueId\":9,\"topic\":\"t\"}":2,"{\"brokerName\":\"b\",\"queueId\":10,\"topic\":\"t\"}":1}`,
		},
		"null in a map is left out, in a list it stands": {[]map[string]*int{{"a": nil}, nil}, `[{},null]`, ``},
		"any of any":     {map[string]any{"a": []any{1, "x", nil, true, map[string]any{}}}, `{"a":[1,"x",null,true,{}]}`, ``},
		"recursive type": {tree{Kids: []*tree{{}, {Byte: map[byte]*tree{3: {}}}}}, `{"kids":[{},{"byte":{3:{}}}]}`, `{"kids":[{},{"byte":{"3":{}}}]}`},
		"quoted option": {
			struct {
				A map[int32]map[int32]int `json:"a,quoted"`
				B map[int32]int           `json:"b"`
			}{map[int32]map[int32]int{1: {2: 3}}, map[int32]int{4: 5}},
			`{"a":{"1":{"2":3}},"b":{4:5}}`, `{"a":{"1":{"2":3}},"b":{"4":5}}`,
		},
		"escapes":           {"\"\\/\b\f\n\r\t\x00\x1f\x7f<>&", `"\"\\/\b\f\n\r\t\u0000\u001F` + "\x7f" + `<>&"`, `"\"\\\/\b\f\n\r\t\u0000\u001F` + "\x7f" + `<>&"`},
		"not ASCII":         {"é标😀\u2028", "\"é标😀\u2028\"", `"\u00E9\u6807\uD83D\uDE00\u2028"`},
		"not UTF-8":         {"a\xffb\xe6\xa0", "\"a\uFFFDb\uFFFD\uFFFD\"", `"a\uFFFDb\uFFFD\uFFFD"`},
		"whole double":      {[]float64{0, 1, -5, 100, 9999999}, `[0.0,1.0,-5.0,100.0,9999999.0]`, ``},
		"double":            {[]float64{0.5, 0.001, 123.456, 1.0 / 3}, `[0.5,0.001,123.456,0.3333333333333333]`, ``},
		"large and small":   {[]float64{1e7, 1.5e10, -1e300, 0.00099, 1.25e-5}, `[1.0E7,1.5E10,-1.0E300,9.9E-4,1.25E-5]`, ``},
		"float":             {[]float32{0.1, 1e10}, `[0.1,1.0E10]`, ``},
		"no number is null": {[]float64{math.NaN(), math.Inf(1), math.Inf(-1)}, `[null,null,null]`, ``},
		"limits":            {[]any{int64(math.MinInt64), int64(math.MaxInt64), uint64(math.MaxUint64), int8(-128)}, `[-9223372036854775808,9223372036854775807,18446744073709551615,-128]`, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(javajson.Marshal(tt.in, javajson.Bare)); got != tt.bare {
				t.Errorf("bare\n got %s\nwant %s", got, tt.bare)
			}
			want := tt.standard
			if want == "" {
				want = tt.bare
			}
			got := javajson.Append([]byte("x"), tt.in, javajson.Standard)
			if string(got) != "x"+want {
				t.Errorf("standard\n got %s\nwant x%s", got, want)
			}
			if name != "everything set" && !json.Valid(got[1:]) {
				t.Errorf("standard is no legal JSON: %s", got[1:])
			}
		})
	}
}

func TestMarshalPanicsOnWhatIsNoJSON(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a function was written")
		}
	}()
	javajson.Marshal(func() {}, javajson.Bare)
}
