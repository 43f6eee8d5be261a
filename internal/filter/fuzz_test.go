// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"testing"
	"unicode/utf8"
)

// FuzzCompile: no panic; an error points into the text; what is printed compiles to the same; both ways of evaluation
// agree.
func FuzzCompile(f *testing.F) {
	properties := []byte("a\x015\x02b\x01abc\x02c\x01true\x02d\x011.5\x02")
	for _, tt := range examples {
		f.Add(tt.expression, properties)
	}
	for _, source := range refused {
		f.Add(source, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, source string, properties []byte) {
		e, err := Compile(source)
		if err != nil {
			se := err.(*SyntaxError)
			if se.Line < 1 || se.Column < 1 || se.Column > 1+utf8.RuneCountInString(source) || se.Want == "" {
				t.Fatalf("%q: error %+v", source, se)
			}
			return
		}
		printed := e.String()
		again, err := Compile(printed)
		switch {
		case err == nil:
			if !again.root.equal(e.root) || again.Unread() != "" || again.String() != printed {
				t.Fatalf("%q is printed as %q, which is another expression", source, printed)
			}
		case len(printed) <= MaxLength && e.root.depth <= MaxDepth/2: // parentheses are added
			t.Fatalf("%q is printed as %q: %v", source, printed, err)
		}
		got := e.Test(properties)
		explained, reason := e.Explain(properties)
		if got != explained || (reason != nil) != (got == Failed) || e.Match(properties) != (got == True) {
			t.Fatalf("%q on %q: %s, %s, %v", source, properties, got, explained, reason)
		}
	})
}

// FuzzNumbers: no panic; blanks around a number change nothing; what is an integer of both sizes, or an integer and a
// float, is the same number.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"", "0", "-0", "+5", "1e3", "0x1p3", "NaN", "Infinity", " 1.5d\t", "2147483648", "٣", "1_0", "0x.8p1f", "--1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		i, ok32 := parseInteger(b, 1<<31-1)
		if ok32 && int64(int32(i)) != i {
			t.Fatalf("%q is an integer of 32 bits: %d", b, i)
		}
		j, ok64 := parseInteger(b, 1<<63-1)
		if ok32 && (!ok64 || i != j) {
			t.Fatalf("%q is %d in 32 bits, %d %t in 64", b, i, j, ok64)
		}
		x, okFloat := parseFloat(b)
		if ok64 && okFloat && float64(j) != x {
			t.Fatalf("%q is %d and %v", b, j, x)
		}
		y, okBlanks := parseFloat(append([]byte("\t "), append(b, ' ')...))
		if okFloat != okBlanks || okFloat && compareFloats(x, y) != 0 {
			t.Fatalf("%q is %v %t, with blanks %v %t", b, x, okFloat, y, okBlanks)
		}
	})
}
