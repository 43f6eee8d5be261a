// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goddard-mq/goddard/internal/message"
)

func TestCleanReason(t *testing.T) {
	for _, test := range []struct{ situation, text, want string }{
		{"nothing", "", ""},
		{"nothing to see", " \n\t\x01\x02 ", ""},
		{"a line", "no such customer", "no such customer"},
		{"a stack", "boom\n\tat f()\r\n\tat g()\n", "boom at f() at g()"},
		{"the separators of properties", "a\x01b\x02c", "a b c"},
		{"characters of many bytes", "Kunde \u5ba2\u6237 unbekannt", "Kunde \u5ba2\u6237 unbekannt"},
		{"no UTF-8", "a\xff\xfeb", "a\ufffdb"},
		{"as long as may be", strings.Repeat("x", message.MaxReason), strings.Repeat("x", message.MaxReason)},
		{"too long", strings.Repeat("x", message.MaxReason+1), strings.Repeat("x", message.MaxReason-3) + "..."},
		{"too long, through a character", strings.Repeat("\u5ba2", message.MaxReason), strings.Repeat("\u5ba2", (message.MaxReason-3)/3) + "..."},
		{"blanks only where it is cut", "x" + strings.Repeat(" ", 9*message.MaxReason), "x..."},
	} {
		if got := message.CleanReason(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.situation, got, test.want)
		}
	}
}

func FuzzCleanReason(f *testing.F) {
	f.Add("a\x01b\x02\n")
	f.Add(strings.Repeat("\u5ba2", 800))
	f.Add(strings.Repeat("\xff", 3000))
	f.Fuzz(func(t *testing.T, text string) {
		got := message.CleanReason(text)
		if len(got) > message.MaxReason || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x01\x02\n") {
			t.Errorf("%q", got)
		}
		if again := message.CleanReason(got); again != got {
			t.Errorf("cleaned again %q becomes %q", got, again)
		}
	})
}
