// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"strings"
	"testing"
)

// example is a message's properties, "name=value" separated by ", ", and the result on them; "null" is a message
// without any text of properties.
type example struct {
	properties string
	want       Result
}

// examples are the decisions in which implementations of SQL92 filters differ, one by one.
var examples = []struct {
	expression string
	results    []example
}{
	{`a = 3`, []example{{"a=3", True}, {"a=3.0", Failed}, {"a=03", True}, {"a= 3", Failed}, {"a=+3", True}, {"a=abc", Failed}, {"", Null}, {"null", Null}, {"a=-3", False}}},
	{`a > 5`, []example{{"a=6", True}, {"a=5.5", Failed}, {"a=abc", Failed}, {"", Null}}},
	{`a > b`, []example{{"a=10, b=9", True}, {"a=x, b=9", Failed}, {"a=10", Null}, {"b=2", Null}}},
	{`a between 1 and 10`, []example{{"a=10", True}, {"a=11", False}, {"", Null}, {"a=1.5", Failed}}},
	{`a = TRUE`, []example{{"a=true", True}, {"a=TRUE", True}, {"a=1", False}}},
	{`a = 1 and b = 2`, []example{{"a=1, b=2", True}, {"a=1", Null}, {"b=3", False}}},
	{`a = 1 or b = 2`, []example{{"a=1", True}, {"a=2", Null}, {"b=3, a=9", False}}},
	{`a <> 3`, []example{{"a=4", True}, {"", Null}}},
	{`3 = a`, []example{{"", False}}},
	{`3 <> a`, []example{{"", True}}},
	{`a = b`, []example{{"", True}, {"a=1", False}, {"a=1, b=1.0", False}}},
	{`b = a`, []example{{"a=1", Null}}},
	{`a = 3.0`, []example{{"a=3", True}}},
	{`a = 1.5`, []example{{"a=1.50", True}}},
	{`a = 'x'`, []example{{"a=x", True}, {"a=X", False}}},
	{`A = 'x'`, []example{{"a=x", Null}}},
	{`a = 'it''s'`, []example{{"a=it's", True}}},
	{`a > 5.0`, []example{{"a=5.5", True}}},
	{`a >= 3000000000`, []example{{"a=3000000001", True}}},
	{`a = 5L`, []example{{"a=5", True}}},
	{`a = -1`, []example{{"a=-1", True}}},
	{`-a = 1`, []example{{"a=-1", Null}}},
	{`a = +5`, []example{{"a=5", True}}},
	{`a not between 1 and 10`, []example{{"a=0", True}, {"", Null}}},
	{`a between b and c`, []example{{"a=2, b=1, c=3", True}}},
	{`a in ('x','y')`, []example{{"a=y", True}, {"a=z", False}, {"", Null}}},
	{`a not in ('x','y')`, []example{{"a=z", True}, {"", Null}}},
	{`a is null`, []example{{"", True}, {"a=1", False}, {"null", True}}},
	{`a is not null`, []example{{"a=", True}, {"", False}}},
	{`TRUE = a`, []example{{"a=true", Failed}}},
	{`a <> FALSE`, []example{{"a=true", True}}},
	{`a`, []example{{"a=true", False}, {"", Null}}},
	{`NOT a`, []example{{"a=true", True}, {"", Null}}},
	{`TRUE`, []example{{"", True}}},
	{`FALSE`, []example{{"", False}}},
	{`NULL`, []example{{"", Null}}},
	{`NOT TRUE`, []example{{"", False}}},
	{`a contains 'b'`, []example{{"a=abc", True}, {"", False}}},
	{`a contains ''`, []example{{"a=abc", False}}},
	{`a not contains 'b'`, []example{{"", False}, {"a=xyz", True}}},
	{`a startswith 'ab'`, []example{{"a=abc", True}}},
	{`a not startswith 'ab'`, []example{{"a=abc", False}}},
	{`a endswith 'bc'`, []example{{"a=abc", True}}},
	{`'abc' contains 'b'`, []example{{"", True}}},
	{`not (a = 1)`, []example{{"a=2", True}, {"", Null}}},
	{`not a = 1`, []example{{"a=2", False}}},
	{`a = 1 or b = 2 and c = 3`, []example{{"a=1", True}}},
	{`(a = 1 or b = 2) and c = 3`, []example{{"a=1, c=4", False}}},
	{`a = 1 garbage`, []example{{"a=1", True}}},
	{`a-b = 1`, []example{{"a=1", False}}},
	{`a like 'x%'`, []example{{"a=xy", False}}},
	{`(a > 5) = TRUE`, []example{{"a=6", True}, {"a=4", False}}},
	{`a = .5`, []example{{"a=0.5", True}}},
	{`a = 5.`, []example{{"a=5", True}}},
	{`a = 5E2`, []example{{"a=500", True}}},
	{`a = 007`, []example{{"a=0", True}}},
	{`$a_1 = 'q'`, []example{{"$a_1=q", True}}},
	{`a = 1 -- tail`, []example{{"a=1", True}}},
	{`/* c */ a = 1`, []example{{"a=1", True}}},
	{`(a = 1)) and b = 2`, []example{{"a=1, b=9", True}}},
	{`a = '中'`, []example{{"a=中", True}}},
	{`a is null or a > 1`, []example{{"", True}}},
	{`a > 1 or a is null`, []example{{"", True}}},
	{`a > 5 and a is not null`, []example{{"a=abc", Failed}}},
	{`a is not null and b > 5`, []example{{"a=1, b=q", Failed}}},
	{`a = 1 or b > 5`, []example{{"a=1, b=q", True}}},
	{`b > 5 or a = 1`, []example{{"a=1, b=q", Failed}}},
	{`TAGS = 'T1'`, []example{{"TAGS=T1", True}}},
	{`a = 3.14`, []example{{"a=3.14", True}}},
	{`a >= 2147483648`, []example{{"a=2147483648", True}}},
	{`a < 2147483648`, []example{{"a=1.5", Failed}}},
	{`a between 1.0 and 2.0`, []example{{"a=1.5", True}}},
	{`a = 2147483647`, []example{{"a=2147483648", Failed}}},
	{`a <> b`, []example{{"a=3.14, b=3.140", True}}},
	{`not not a = 1`, []example{{"a=1", False}}},
	{`a in ('1','2','3','4','5','6')`, []example{{"a=6", True}}},
	{`a = - - 1`, []example{{"a=1", True}}},
	{`a IN ('X') AND b NOT BETWEEN 3 AND 5`, []example{{"a=X, b=9", True}}},
	{`a BETWEEN 1 AND 10`, []example{{"a=1", True}}},
	{`b between a and c`, []example{{"a=1, b=x, c=3", Failed}}},
	{`a = '3'`, []example{{"a=3", True}, {"a=3.0", False}}},
	{`3 = 3.0`, []example{{"", True}}},
	{`3 = '3'`, []example{{"", True}}},
	{`'x' = 3`, []example{{"", Failed}}},
	{`1 = TRUE`, []example{{"", False}}},
	{`a = 1.0`, []example{{"a=1e0", True}, {"a= 1 ", True}}},
	{`a > 1.0`, []example{{"a=NaN", True}}},
	{`a = 1 = TRUE`, []example{{"a=1", True}}},
	{`a is null is null`, []example{{"a=1", False}}},
	{`NOT (a contains 'x')`, []example{{"", True}}},
	{`NOT a contains 'x'`, []example{{"a=y", False}}},
	{`NOT a is null`, []example{{"a=y", False}}},
	{`a = 0L`, []example{{"a=0", True}}},
	{`a > -5`, []example{{"a=-4", True}}},
	{`a and TRUE`, []example{{"a=true", False}}},
	{`NULL or TRUE`, []example{{"", True}}},
	{`NULL and FALSE`, []example{{"", False}}},
	{`a = ''`, []example{{"a=", True}, {"", Null}}},
	{`'x' <> a`, []example{{"", True}}},
}

// refused does not compile.
var refused = []string{
	`a > '5'`,
	`a between 10 and 1`,
	`a in (1,2)`,
	`'x' in ('x')`,
	`a = null`,
	`'abc'`,
	`5`,
	`a endswith b`,
	`a contains 5`,
	`a = 1 and`,
	`a == 1`,
	`a != 1`,
	`a > 5 > 3`,
	`a = 0.0`,
	`a > 1e400`,
	`a = 9223372036854775808`,
	`a.b = 1`,
	`1a = 2`,
	`a = "x"`,
	`a = 'x`,
	`a = 1 AND (b = 2`,
	`名 = 1`,
	`a between 'a' and 'z'`,
	`TRUE = 1`,
}

func TestExamples(t *testing.T) {
	for _, tt := range examples {
		e, err := Compile(tt.expression)
		if err != nil {
			t.Errorf("compile %q: %v", tt.expression, err)
			continue
		}
		for _, x := range tt.results {
			properties := exampleProperties(x.properties)
			if got, err := e.Eval(lookup(properties)); got != x.want {
				t.Errorf("%q on %q: %s (%v), want %s", tt.expression, properties, got, err, x.want)
			}
			if hasEmpty(properties) {
				continue // a text of properties cannot say that
			}
			text := propertyText(properties)
			if got := e.Test(text); got != x.want {
				t.Errorf("%q on the text %q: %s, want %s", tt.expression, text, got, x.want)
			}
			if got := e.Match(text); got != (x.want == True) {
				t.Errorf("%q on the text %q: match %t", tt.expression, text, got)
			}
		}
	}
}

func TestRefusedExamples(t *testing.T) {
	for _, source := range refused {
		if e, err := Compile(source); err == nil {
			t.Errorf("%q compiles to %s", source, e)
		}
	}
}

func exampleProperties(s string) map[string]string {
	m := map[string]string{}
	if s == "" || s == "null" {
		return m
	}
	for pair := range strings.SplitSeq(s, ", ") {
		name, value, _ := strings.Cut(pair, "=")
		m[name] = value
	}
	return m
}
