// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/message"
)

type goldenProperties struct {
	Encode []struct {
		Properties map[string]*string
		Hex        string
	}
	Decode []struct {
		Text       string
		Properties map[string]string
	}
}

func TestParseProperties(t *testing.T) {
	for _, row := range golden[goldenProperties](t, "properties.json").Decode {
		props := []byte(row.Text)
		if diff := cmp.Diff(row.Properties, message.ParseProperties(props)); diff != "" {
			t.Errorf("%q: -want +got\n%s", row.Text, diff)
		}
		for name, want := range row.Properties {
			if got, ok := message.FindProperty(props, name); !ok || string(got) != want {
				t.Errorf("%q: %s is %q, %v", row.Text, name, got, ok)
			}
		}
		normal := message.NormalizeProperties(nil, props)
		if diff := cmp.Diff(row.Properties, message.ParseProperties(normal)); diff != "" {
			t.Errorf("%q normalized to %q: -want +got\n%s", row.Text, normal, diff)
		}
	}
}

func TestAppendProperties(t *testing.T) {
	for _, row := range golden[goldenProperties](t, "properties.json").Encode {
		m := map[string]string{}
		for name, value := range row.Properties {
			if value != nil { // Go has no null text; Java leaves them out
				m[name] = *value
			}
		}
		if got, want := string(message.AppendProperties(nil, m)), string(unhex(t, row.Hex)); got != want {
			t.Errorf("%v: %q, want %q", m, got, want)
		}
	}
}

func TestAppendPropertyMindsTheSeparator(t *testing.T) {
	for before, want := range map[string]string{
		"":               "n\x01v\x02",
		"a\x01b\x02":     "a\x01b\x02n\x01v\x02",
		"a\x01b":         "a\x01b\x02n\x01v\x02",
		"a\x01b\x02\x02": "a\x01b\x02\x02n\x01v\x02",
	} {
		if got := string(message.AppendProperty([]byte(before), "n", "v")); got != want {
			t.Errorf("after %q: %q, want %q", before, got, want)
		}
	}
}

func TestFindProperty(t *testing.T) {
	tests := []struct {
		situation, props, name, want string
		found                        bool
	}{
		{"none at all", "", "a", "", false},
		{"the only one", "a\x01b\x02", "a", "b", true},
		{"the last, without separator", "x\x01y\x02a\x01b", "a", "b", true},
		{"later of doubles", "a\x011\x02b\x012\x02a\x013\x02", "a", "3", true},
		{"later double is malformed", "a\x011\x02a\x01\x02", "a", "1", true},
		{"empty value", "a\x01\x02", "a", "", false},
		{"name is the beginning of another", "ab\x01c\x02", "a", "", false},
		{"name is the end of another", "ba\x01c\x02", "a", "", false},
		{"name is in a value", "x\x01a\x01b\x02", "a", "", false},
		{"value with a separator of names", "a\x01b\x01c\x02", "a", "b\x01c", true},
		{"no separator of names", "abc\x02", "a", "", false},
		{"empty name", "\x01b\x02", "", "", false},
		{"longer than everything", "a\x01b\x02", "abcdefgh", "", false},
	}
	for _, tt := range tests {
		got, ok := message.FindProperty([]byte(tt.props), tt.name)
		if string(got) != tt.want || ok != tt.found {
			t.Errorf("%s: %q, %v", tt.situation, got, ok)
		}
	}
}

func TestEachPropertyStops(t *testing.T) {
	var seen []string
	message.EachProperty([]byte("a\x011\x02bad\x02b\x012\x02c\x013\x02"), func(name, value []byte) bool {
		seen = append(seen, string(name)+"="+string(value))
		return string(name) != "b"
	})
	if diff := cmp.Diff([]string{"a=1", "b=2"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestNormalizeProperties(t *testing.T) {
	many := strings.Repeat("x\x011\x02", 100)
	var distinct strings.Builder
	for i := range 100 {
		fmt.Fprintf(&distinct, "n%d\x01v\x02", i)
	}
	tests := []struct {
		situation, props string
		drop             []string
		want             string
	}{
		{"nothing", "", nil, ""},
		{"already normal", "b\x011\x02a\x012\x02", nil, "b\x011\x02a\x012\x02"},
		{"separator missing", "b\x011\x02a\x012", nil, "b\x011\x02a\x012\x02"},
		{"malformed pieces", "\x02x\x02a\x01\x02\x01b\x02c\x01d\x02\x02", nil, "c\x01d\x02"},
		{"doubles", "a\x011\x02b\x012\x02a\x013\x02", nil, "b\x012\x02a\x013\x02"},
		{"dropped", "a\x011\x02POP_CK\x01x\x02b\x012\x02", []string{"POP_CK", "z"}, "a\x011\x02b\x012\x02"},
		{"dropped all", "a\x011\x02a\x012", []string{"a"}, ""},
		{"very many doubles", many + "y\x012\x02" + many, nil, "y\x012\x02x\x011\x02"},
		{"very many, no doubles", distinct.String(), nil, distinct.String()},
	}
	for _, tt := range tests {
		if got := string(message.NormalizeProperties([]byte("before"), []byte(tt.props), tt.drop...)); got != "before"+tt.want {
			t.Errorf("%s: %q, want %q", tt.situation, got, tt.want)
		}
	}
}
