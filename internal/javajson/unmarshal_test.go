// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/javajson"
)

// target has a field for each kind of thing that is read.
type target struct {
	Int      int32            `json:"int"`
	Long     int64            `json:"long"`
	Byte     uint8            `json:"byte"`
	Bool     bool             `json:"bool"`
	Double   float64          `json:"double"`
	Text     string           `json:"text"`
	Color    color            `json:"color"`
	Bytes    []byte           `json:"bytes"`
	Ints     []int32          `json:"ints"`
	Queues   []queue          `json:"queues"`
	Pointers []*queue         `json:"pointers"`
	Queue    queue            `json:"queue"`
	Pointer  *queue           `json:"pointer"`
	Number   *int32           `json:"number"`
	Name     *string          `json:"name"`
	ByID     map[int32]string `json:"byId"`
	ByName   map[string]int64 `json:"byName"`
	ByQueue  map[queue]int64  `json:"byQueue"`
	Any      any              `json:"any"`
	Raw      javajson.Raw     `json:"raw"`
	Preset   preset           `json:"preset"`
}

type preset struct {
	A int `json:"a"`
	B int `json:"b"`
}

func (p *preset) JSONDefaults() { *p = preset{16, 17} }

func TestUnmarshal(t *testing.T) {
	q := queue{"b", 1, "t"}
	zero, name := int32(0), ""
	tests := map[string]struct {
		in   string
		want target
	}{
		"empty text":       {``, target{}},
		"blanks":           {" \r\n\t\f\b ", target{}},
		"null":             {`null`, target{}},
		"empty object":     {`{}`, target{}},
		"byte order mark":  {"\ufeff{\"int\":1}", target{Int: 1}},
		"blanks all over":  {" { \"int\" : 1 , \"ints\" : [ 1 , 2 ] } \n", target{Int: 1, Ints: []int32{1, 2}}},
		"comments":         {"/*a*/{/*b*/\"int\"/*c*/:/*d*/1/*e*/,//f\n\"long\":2}//g", target{Int: 1, Long: 2}},
		"surplus commas":   {`{,"int":1,,"ints":[1,,2,],}`, target{Int: 1, Ints: []int32{1, 2}}},
		"keys bare":        {`{int:1,_x:2,$y:3,long:4}`, target{Int: 1, Long: 4}},
		"single quotes":    {`{'int':1,'text':'a"b'}`, target{Int: 1, Text: `a"b`}},
		"unknown keys":     {`{"x":{"y":[1,{0:1},{{"a":1}:2},'z',true,null]},0:1,"int":1}`, target{Int: 1}},
		"case differs":     {`{"INT":1,"by_id":{1:"a"},"By-Name":{"a":1}}`, target{Int: 1, ByID: map[int32]string{1: "a"}, ByName: map[string]int64{"a": 1}}},
		"last of doubles":  {`{"int":1,"int":2,"byId":{1:"a"},"byId":{2:"b"}}`, target{Int: 2, ByID: map[int32]string{2: "b"}}},
		"nulls":            {`{"int":null,"bool":null,"double":null,"text":null,"color":null,"bytes":null,"ints":null,"queue":null,"pointer":null,"number":null,"name":null,"byId":null,"byQueue":null,"any":null}`, target{}},
		"empty texts":      {`{"int":"","bool":"","double":"","text":"","color":"","bytes":"","ints":"","queue":"","pointer":"","number":"","name":"","byId":"","byQueue":""}`, target{Bytes: []byte{}, Name: &name}},
		"NaN":              {`{"int":NaN,"double":NaN}`, target{}},
		"numbers as text":  {`{"int":"5","long":" -6 ","byte":"7","double":"1.5","number":"0","bool":"1"}`, target{Int: 5, Long: -6, Byte: 7, Double: 1.5, Number: &zero, Bool: true}},
		"text null":        {`{"int":"null","bool":"null","double":"null"}`, target{}},
		"fractions":        {`{"int":6.9,"long":-6.9,"byte":"7.5","ints":[1e2,"1.5E1"]}`, target{Int: 6, Long: -6, Byte: 7, Ints: []int32{100, 15}}},
		"booleans":         {`{"int":true,"long":false,"byte":true,"double":true,"bool":true}`, target{Int: 1, Byte: 1, Double: 1, Bool: true}},
		"booleans as text": {`{"bool":"TRUE"}`, target{Bool: true}},
		"boolean 1":        {`{"bool":1}`, target{Bool: true}},
		"boolean 0":        {`{"bool":0}`, target{}},
		"boolean Y":        {`{"bool":"Y"}`, target{Bool: true}},
		"Java's suffixes":  {`{"long":1L,"int":2S,"double":1.5D}`, target{Long: 1, Int: 2, Double: 1.5}},
		"limits":           {`{"int":-2147483648,"long":9223372036854775807,"byte":255}`, target{Int: -1 << 31, Long: 1<<63 - 1, Byte: 255}},
		"things as text":   {`{"text":5}`, target{Text: "5"}},
		"double as text":   {`{"text":1.50}`, target{Text: "1.50"}},
		"boolean as text":  {`{"text":true}`, target{Text: "true"}},
		"object as text":   {`{"text":{ "a" : [ 1 , 'b' ] , c : {0:1} , }}`, target{Text: `{"a":[1,"b"],c:{0:1}}`}},
		"list as text":     {`{"text":[ ]}`, target{Text: `[]`}},
		"escapes":          {`{"text":"\"\'\\\/\b\f\n\r\t\v\0\7\x41\u6807\uD83D\uDE00"}`, target{Text: "\"'\\/\b\f\n\r\t\v\x00\x07A标😀"}},
		"raw control":      {"{\"text\":\"a\tb\nc\"}", target{Text: "a\tb\nc"}},
		"half characters":  {`{"text":"\uD83Dx\uDE00\uD83D\u0041"}`, target{Text: "\uFFFDx\uFFFD\uFFFDA"}},
		"not UTF-8":        {"{\"text\":\"a\xff\"}", target{Text: "a\uFFFD"}},
		"enum":             {`{"color":"GREEN"}`, target{Color: "GREEN"}},
		"enum ordinal":     {`{"color":1}`, target{Color: "GREEN"}},
		"enum unknown":     {`{"color":"green"}`, target{}},
		"bytes":            {`{"bytes":"AQL/"}`, target{Bytes: []byte{1, 2, 255}}},
		"bytes unpadded":   {`{"bytes":"AQ"}`, target{Bytes: []byte{1}}},
		"bytes as list":    {`{"bytes":[1,-1]}`, target{Bytes: []byte{1, 255}}},
		"empty list":       {`{"ints":[],"queues":[],"byId":{}}`, target{Ints: []int32{}, Queues: []queue{}, ByID: map[int32]string{}}},
		"lists":            {`{"queues":[{"brokerName":"b","queueId":1,"topic":"t"},null,{}],"pointers":[{"brokerName":"b","queueId":1,"topic":"t"},null,{}]}`, target{Queues: []queue{q, {}, {}}, Pointers: []*queue{&q, nil, {}}}},
		"object for list":  {`{"queues":{"brokerName":"b","queueId":1,"topic":"t"},"pointers":{}}`, target{Queues: []queue{q}, Pointers: []*queue{{}}}},
		"list for object":  {`{"queue":[],"pointer":[]}`, target{}},
		"objects":          {`{"queue":{"brokerName":"b","queueId":1,"topic":"t"},"pointer":{"brokerName":"b","queueId":1,"topic":"t"}}`, target{Queue: q, Pointer: &q}},
		"integer keys":     {`{"byId":{0:"a","1":"b",'2':"c",-3:"d",+4:null,5L:"e","":"f"}}`, target{ByID: map[int32]string{0: "f", 1: "b", 2: "c", -3: "d", 5: "e"}}},
		"text keys":        {`{"byName":{"a":1,b:2,3:3,{"x":0}:4,null:5,"n":null}}`, target{ByName: map[string]int64{"a": 1, "b": 2, "3": 3, `{"x":0}`: 4, "null": 5}}},
		"object keys":      {`{"byQueue":{{"brokerName":"b","queueId":1,"topic":"t"}:10,{}:"11"}}`, target{ByQueue: map[queue]int64{q: 10, {}: 11}}},
		"object keys text": {`{"byQueue":{"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"t\"}":10}}`, target{ByQueue: map[queue]int64{q: 10}}},
		"any":              {`{"any":{"a":[1,1.5,"x",true,false,null,{0:{}}]}}`, target{Any: map[string]any{"a": []any{int64(1), 1.5, "x", true, false, nil, map[string]any{"0": map[string]any{}}}}}},
		"raw":              {`{"raw": { 0 : [ 1 , ] } ,"int":1}`, target{Raw: javajson.Raw(`{ 0 : [ 1 , ] }`), Int: 1}},
		"defaults":         {`{"preset":{"b":1}}`, target{Preset: preset{16, 1}}},
		"defaults of null": {`{"preset":null}`, target{}},
		"reference":        {`{"queue":{"brokerName":"b","queueId":1,"topic":"t"},"pointer":{"$ref":"$.queue"}}`, target{Queue: q, Pointer: &q}},
		"reference ahead":  {`{"pointer":{"$ref":"$.x\\.y[1].z"},"int":1,"x.y":[0,{"z":{"brokerName":"b","queueId":1,"topic":"t"}}]}`, target{Pointer: &q, Int: 1}},
		"reference above":  {`{"pointer":{"$ref":".."},"queue":{"$ref":"@"}}`, target{Pointer: &queue{}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got target
			if err := javajson.Unmarshal([]byte(tt.in), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	deep := strings.Repeat(`{"any":[`, 100)
	tests := map[string]struct {
		in, field, reason string
		pos               int
	}{
		"text after the value":   {`{"int":1} x`, "", "text after", 10},
		"two values":             {`{}{}`, "", "text after", 2},
		"object cut off":         {`{"int":1`, "", "unexpected end", 8},
		"list cut off":           {`{"ints":[1`, "ints", "unexpected end", 10},
		"text cut off":           {`{"text":"abc`, "text", "text without end", 8},
		"escape cut off":         {`{"text":"\u12`, "text", "escape cut off", 9},
		"escape at the end":      {`{"text":"\`, "text", "unknown escape", 9},
		"unknown escape":         {`{"text":"\q"}`, "text", "unknown escape", 9},
		"escape without digits":  {`{"text":"\u12x4"}`, "text", "escape with", 9},
		"comment cut off":        {`{/*`, "", "comment without end", 1},
		"slash":                  {`{/}`, "", "unexpected character", 1},
		"no colon":               {`{"int" 1}`, "", "is missing after the key", 7},
		"no value":               {`{"int":}`, "int", "unexpected character", 7},
		"no value at the end":    {`{"int":`, "int", "a value is missing", 7},
		"no key":                 {`{:1}`, "", "a key is missing", 1},
		"word":                   {`{"text":hello}`, "text", "unexpected", 8},
		"list at the top":        {`[1]`, "", "an object is wanted", 0},
		"text at the top":        {`"x"`, "", "an object is wanted", 0},
		"integer too large":      {`{"int":3000000000}`, "int", "overflow", 7},
		"long too large":         {`{"long":9223372036854775808}`, "long", "overflow", 8},
		"huge number":            {`{"long":1e999}`, "long", "malformed", 8},
		"huge float":             {`{"double":1e999}`, "double", "malformed", 10},
		"byte negative":          {`{"byte":-1}`, "byte", "overflow", 8},
		"integer of letters":     {`{"int":"abc"}`, "int", "expected", 7},
		"integer of signs":       {`{"int":1-2}`, "int", "malformed", 7},
		"hexadecimal":            {`{"int":"0x10"}`, "int", "expected", 7},
		"integer of an object":   {`{"long":{"value":3}}`, "long", "object where", 8},
		"integer of a list":      {`{"int":[1]}`, "int", "list where", 7},
		"boolean of letters":     {`{"bool":"maybe"}`, "bool", "true or false", 8},
		"double of an object":    {`{"double":{}}`, "double", "object where", 10},
		"ordinal beyond":         {`{"color":2}`, "color", "no color has the ordinal", 9},
		"ordinal negative":       {`{"color":-1}`, "color", "no color has the ordinal", 9},
		"bytes not Base64":       {`{"bytes":"?"}`, "bytes", "Base64", 12},
		"list for a map":         {`{"byId":[]}`, "byId", "an object is wanted", 8},
		"pairs for a map":        {`{"byQueue":[[{},1]]}`, "byQueue", "an object is wanted", 11},
		"list for an object":     {`{"queue":[1]}`, "queue", "an object is wanted", 9},
		"text for a list":        {`{"ints":"1"}`, "ints", "a list is wanted", 8},
		"key too large":          {`{"byId":{3000000000:"a"}}`, "byId", "overflow", 9},
		"key of letters":         {`{"byId":{"a":"a"}}`, "byId", "expected", 9},
		"damaged key":            {`{"byQueue":{"{\"queueId\":}":1}}`, "byQueue", `key "{\"queueId\":}"`, 12},
		"key with more":          {`{"byQueue":{"{}x":1}}`, "byQueue", "text after", 12},
		"deep inside":            {`{"queues":[{"queueId":"x"}]}`, "queues.queueId", "expected", 22},
		"in a map":               {`{"byName":{"a b":"x"}}`, `byName."a b"`, "expected", 17},
		"nested deeply":          {deep, "", "nested more than", 0},
		"nested deeply, skipped": {`{"x":` + strings.Repeat("[", 1000), "", "nested more than", 0},
		"reference to nowhere":   {`{"queue":{"$ref":"$.x"}}`, "queue", "not there", 17},
		"reference to itself":    {`{"queue":{"$ref":"$.queue"}}`, "", "nested more than", 0},
		"reference of a number":  {`{"queue":{"$ref":1}}`, "queue", "path of a reference", 17},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var v target
			err := javajson.Unmarshal([]byte(tt.in), &v)
			var e *javajson.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v, want %q", err, tt.reason)
			}
			if !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("reason %q, want %q", e.Reason, tt.reason)
			}
			if tt.pos != 0 && e.Pos != tt.pos {
				t.Errorf("at byte %d, want %d", e.Pos, tt.pos)
			}
			if tt.field != "" && e.Field != tt.field {
				t.Errorf("in %s, want %s", e.Field, tt.field)
			}
			if !strings.Contains(err.Error(), e.Reason) {
				t.Errorf("text %q lacks the reason", err)
			}
		})
	}
}

// What is small on the wire must not become large in memory.
func TestUnmarshalBoundsMemory(t *testing.T) {
	type large struct {
		Big [512]struct{ A, B, C, D int64 } `json:"-"`
	}
	var v struct {
		List []large          `json:"list"`
		Map  map[string]large `json:"map"`
		Refs []queue          `json:"refs"`
	}
	tests := map[string]string{
		"list": `{"list":[` + strings.Repeat(`{},`, 10_000) + `]}`,
		"map":  `{"map":{` + strings.Repeat(`"":{},`, 10_000) + `}}`,
		"references to the far end": `{"refs":[` + strings.Repeat(`{"$ref":"$.x"},`, 10_000) + `],"pad":"` +
			strings.Repeat("x", 100_000) + `","x":{}}`,
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			err := javajson.Unmarshal([]byte(in), &v)
			if err == nil || !strings.Contains(err.Error(), "too much memory") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestUnmarshalKeepsWhatIsNotThere(t *testing.T) {
	v := target{Int: 5, Text: "x"}
	if err := javajson.Unmarshal([]byte(`{"text":"y"}`), &v); err != nil {
		t.Fatal(err)
	}
	if want := (target{Int: 5, Text: "y"}); !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v", v)
	}
}
