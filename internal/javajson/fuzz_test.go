// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/javajson"
)

// Whatever is read is written in both dialects such that it reads the same again.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{
		``, `null`, `{}`, "\ufeff{'int':1,}", `{"byQueue":{{"brokerName":"b","queueId":1,"topic":"t"}:10},"byId":{0:"a",'1':"b"}}`,
		`{"queues":[{},null],"pointers":{},"any":{"a":[1,1.5e30,"x",true,null]},"raw":{0:[1,]},"color":1}`,
		`{"text":"\"\\\u6807\uD83D\uDE00\x41","bytes":"AQL/","double":1.0E-5}`, `/*c*/{x:{"$ref":"$"},pointer:{"$ref":"$.queue"},queue:{}}`,
		`{"byQueue":{"{\"queueId\":\"5\"}":"10"},"preset":{"a":1},"name":"","number":"7"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first target
		if err := javajson.Unmarshal(b, &first); err != nil {
			var e *javajson.Error
			if e, _ = err.(*javajson.Error); e == nil || e.Pos < 0 || e.Pos > len(b)+1 {
				t.Fatalf("error %#v", err)
			}
			return
		}
		for _, d := range []javajson.Dialect{javajson.Bare, javajson.Standard} {
			out := javajson.Marshal(&first, d)
			if d == javajson.Standard && len(first.Raw) == 0 && utf8.Valid(out) && !json.Valid(out) {
				t.Fatalf("no legal JSON: %s", out)
			}
			var second target
			if err := javajson.Unmarshal(out, &second); err != nil {
				if strings.Contains(err.Error(), "too much memory") {
					continue // the text has become much shorter
				}
				t.Fatalf("%s: %v", out, err)
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%s\n%s", out, diff)
			}
		}
	})
}
