// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"strings"
	"testing"
)

func TestSyntaxErrors(t *testing.T) {
	const operand = `want a property, a value, NOT or "("`
	tests := []struct{ source, want string }{
		{"", "line 1, column 1: found the end, " + operand},
		{"a >", "line 1, column 4: found the end, " + operand},
		{"a = 1 AND\n  > 2", `line 2, column 3: found ">", ` + operand},
		{"'标签' = 标签", `line 1, column 8: found "标", want a name, a number, a text in single quotes or an operator`},
		{`a = "x"`, `line 1, column 5: found "\"", want a name, a number, a text in single quotes or an operator (texts stand in single quotes)`},
		{"a != 1", `line 1, column 3: found "!", want a name, a number, a text in single quotes or an operator (unequal is <>)`},
		{"a == 1", `line 1, column 4: found "=", ` + operand + " (equal is =)"},
		{"a.b = 1", `line 1, column 2: found ".", want a name, a number, a text in single quotes or an operator (names of properties have letters, digits, _ and $ only)`},
		{"a * 2 = 4", `line 1, column 3: found "*", want a name, a number, a text in single quotes or an operator (there is no arithmetic)`},
		{"a = 'x", `line 1, column 5: found "'x", want a single quote that ends the text`},
		{"a = 1 /* x", `line 1, column 7: found "/* x", want */ that ends the comment`},
		{"(a = 1", `line 1, column 7: found the end, want ")" or an operator`},
		{"(a = 1 b)", `line 1, column 8: found "b", want ")" or an operator`},
		{"a IS", "line 1, column 5: found the end, want NULL or NOT NULL"},
		{"a IS NOT 5", `line 1, column 10: found "5", want NULL`},
		{"a NOT NULL", `line 1, column 7: found "NULL", want BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH`},
		{"a BETWEEN 1 OR 2", `line 1, column 13: found "OR", want AND and the largest value of BETWEEN`},
		{"a BETWEEN 10 AND 1", `line 1, column 18: found "1", want a value not below 10 (the smaller one comes first)`},
		{"a IN 'x'", `line 1, column 6: found "'x'", want "("`},
		{"a IN (1)", `line 1, column 7: found "1", want a text in single quotes`},
		{"a IN ('x' 'y')", `line 1, column 11: found "'y'", want "," or ")"`},
		{"'x' IN ('x')", `line 1, column 1: found "'x'", want a property before IN`},
		{"a CONTAINS b", `line 1, column 12: found "b", want a text in single quotes`},
		{"a > '5'", `line 1, column 5: found "'5'", want a property or a number (texts are compared with = and <> only; numbers stand without quotes)`},
		{"NOT a > 1", `line 1, column 1: found "NOT a", want a property or a number (NOT binds tighter than comparisons; use parentheses)`},
		{"a = NULL", `line 1, column 5: found "NULL", want a property or a value (missing properties are found with IS NULL)`},
		{"TRUE = 1", `line 1, column 8: found "1", want a condition or a property, as TRUE and FALSE stand left of it`},
		{"a AND 5", `line 1, column 7: found "5", want a condition or a property`},
		{" 'abc'", `line 1, column 2: found "'abc'", want a condition or a property`},
		{"a = 9223372036854775808", `line 1, column 5: found "9223372036854775808", want an integer up to 9223372036854775807`},
		{"a = 0.0", `line 1, column 5: found "0.0", want a number from 4.9e-324 to 1.7976931348623157e308 (zero is 0)`},
		{"a = ('" + strings.Repeat("标", 20) + "')x", ""},
		{"'" + strings.Repeat("标", 20) + "'", `line 1, column 1: found "'` + strings.Repeat("标", 13) + `"..., want a condition or a property`},
	}
	for _, tt := range tests {
		_, err := Compile(tt.source)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.source, got, tt.want)
		}
	}
}

func TestBounds(t *testing.T) {
	nested := func(open, inner, close string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(close, n)
	}
	tests := []struct {
		situation, source string
		ok                bool
	}{
		{"parentheses, as many as may be", nested("(", "a = 1", ")", MaxDepth), true},
		{"one more", nested("(", "a = 1", ")", MaxDepth+1), false},
		{"very many", nested("(", "a = 1", ")", MaxLength/2-10), false},
		{"a chain of NOT", nested("NOT ", "a", "", MaxDepth-2), true},
		{"a longer one", nested("NOT ", "a", "", MaxDepth), false},
		{"signs", "a = " + nested("- ", "1", "", MaxLength/2-10), false},
		{"positive signs", "a = " + nested("+", "1", "", MaxLength-10), false},
		{"a chain of =", "a" + nested("", "", " = b", MaxDepth-1), true},
		{"a longer one", "a" + nested("", "", " = b", MaxDepth), false},
		{"a list of ORs of any length", "a = 1" + nested("", "", " OR a = 1", 5000), true},
		{"a list of ANDs and ORs", "a = 1" + nested("", "", " OR a = 1 AND b", 4000), true},
		{"a long list", "a IN ('x'" + nested("", "", ",'x'", 15000) + ")", true},
		{"as long as may be", "a = 1" + strings.Repeat(" ", MaxLength-5), true},
		{"too long", "a = 1" + strings.Repeat(" ", MaxLength-4), false},
	}
	for _, tt := range tests {
		e, err := Compile(tt.source)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.situation, err)
		}
		if err == nil {
			e.Match([]byte("a\x011\x02"))
		}
	}
}

// An operand that BETWEEN looks at twice must not be evaluated twice: nested, that would never end.
func TestNestedBetween(t *testing.T) {
	source := "a"
	for range MaxDepth / 4 {
		source = "-(" + source + " BETWEEN 1 AND 2)"
	}
	if got := compile(t, source+" = 1").Test([]byte("a\x011\x02")); got != Null {
		t.Errorf("result %s", got)
	}
}
