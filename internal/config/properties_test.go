// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseProperties(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Property
		fault      string
	}{
		{name: "nothing"},
		{name: "comments and blank lines", text: "# a\n  ! b\n\n \t\n#c=d"},
		{name: "three separators", text: "a=1\nb:2\nc 3", want: []Property{{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 3}}},
		{name: "blanks around the separator", text: " \ta \t= \t1", want: []Property{{"a", "1", 1}}},
		{name: "only the first separator counts", text: "a = =b=c\nd  : e:f", want: []Property{{"a", "=b=c", 1}, {"d", "e:f", 2}}},
		{name: "blanks behind a value stay", text: "a=1 ", want: []Property{{"a", "1 ", 1}}},
		{name: "a comment behind a value is part of it", text: "a=1 # one", want: []Property{{"a", "1 # one", 1}}},
		{name: "a key without a value", text: "a\nb=\n", want: []Property{{"a", "", 1}, {"b", "", 2}}},
		{name: "line ends of three systems", text: "a=1\r\nb=2\rc=3\n", want: []Property{{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 3}}},
		{name: "a value over three lines", text: "a=x,\\\n   y,\\\r\n\tz\nb=1", want: []Property{{"a", "x,y,z", 1}, {"b", "1", 4}}},
		{name: "two backslashes join nothing", text: "a=x\\\\\nb=y", want: []Property{{"a", `x\`, 1}, {"b", "y", 2}}},
		{name: "a comment cannot be continued", text: "# x\\\na=1", want: []Property{{"a", "1", 2}}},
		{name: "a continued line may begin with #", text: "a=x\\\n#y", want: []Property{{"a", "x#y", 1}}},
		{name: "a backslash at the end of the text", text: "a=x\\", want: []Property{{"a", "x", 1}}},
		{name: "escapes", text: `a=\t\n\r\f\\\=\q`, want: []Property{{"a", "\t\n\r\f\\=q", 1}}},
		{name: "separators inside a key", text: `a\=b\:c\ d=1`, want: []Property{{"a=b:c d", "1", 1}}},
		{name: "characters by number", text: `a=\u4e2d\u6587x\ud83d\ude80`, want: []Property{{"a", "中文x🚀", 1}}},
		{name: "UTF-8 as it is", text: "a=中文", want: []Property{{"a", "中文", 1}}},
		{name: "ISO 8859-1", text: "a=caf\xe9", want: []Property{{"a", "café", 1}}},
		{name: "byte order mark", text: "\xef\xbb\xbfa=1", want: []Property{{"a", "1", 1}}},
		{name: "a key twice", text: "a=1\na=2", want: []Property{{"a", "1", 1}, {"a", "2", 2}}},
		{name: "half a number", text: "a=1\nb=\\u12", want: []Property{{"a", "1", 1}}, fault: `line 2: \u without four hexadecimal digits in "\\u12"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseProperties([]byte(tt.text))
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if fault != tt.fault {
				t.Errorf("error %q, want %q", fault, tt.fault)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFormatProperties(t *testing.T) {
	got := FormatProperties([]KV{
		{"messageDelayLevel", "1s 5s 10s"}, {"namesrvAddr", "a:9876;b:9876"}, {"path", `C:\data`}, {"blank", " x "}, {"cn", "中🚀"}, {"a b=c", ""},
	})
	want := strings.Join([]string{
		"messageDelayLevel=1s 5s 10s", "namesrvAddr=a:9876;b:9876", `path=C:\\data`, `blank=\ x `, `cn=\u4E2D\uD83D\uDE80`, `a\ b\=c=`, "",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Parsing never panics, gives no more entries than lines, and what was parsed survives being written and read again.
func FuzzProperties(f *testing.F) {
	for _, seed := range []string{"a=1\nb : 2\\\n 3", "\\u4e2d=\\ud83d\\ude80", "#\n!\n\\", "a\\\\=b\\", "\xff\xfe=1", "a=\\ud83d"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := ParseProperties(text)
		if err != nil {
			return
		}
		if len(entries) > len(text)+1 {
			t.Fatalf("%d entries in %d bytes", len(entries), len(text))
		}
		kvs := make([]KV, len(entries))
		for i, e := range entries {
			if !utf8.ValidString(e.Key) || !utf8.ValidString(e.Value) {
				t.Fatalf("entry %d is not UTF-8", i)
			}
			kvs[i] = KV{e.Key, e.Value}
		}
		again, err := ParseProperties([]byte(FormatProperties(kvs)))
		if err != nil {
			t.Fatalf("what was written does not parse: %v", err)
		}
		for i, e := range again {
			if kvs[i] != (KV{e.Key, e.Value}) {
				t.Fatalf("entry %d: wrote %q, read %q", i, kvs[i], KV{e.Key, e.Value})
			}
		}
		if len(again) != len(kvs) {
			t.Fatalf("wrote %d entries, read %d", len(kvs), len(again))
		}
	})
}
