// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

func lookup(properties map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := properties[name]
		return value, ok
	}
}

// propertyText is the text of properties that a message carries.
func propertyText(properties map[string]string) []byte {
	return message.AppendProperties(nil, properties)
}

// hasEmpty tells whether one of the values is empty: in a text such a property is none.
func hasEmpty(properties map[string]string) bool {
	for _, value := range properties {
		if value == "" {
			return true
		}
	}
	return false
}

func compile(t testing.TB, source string) *Expr {
	t.Helper()
	e, err := Compile(source)
	if err != nil {
		t.Fatalf("compile %q: %v", source, err)
	}
	return e
}

// What users meet first: a property that is missing or not of the type that the expression means.
func TestMissingPropertiesAndTypes(t *testing.T) {
	messages := []string{"a=5", "a=abc", "a=", ""} // an empty value is dropped with its name
	tests := []struct {
		expression string
		matches    string // a letter per message
	}{
		{"a > 3", "TENN"},
		{"a <> 5", "FENN"},
		{"NOT (a = 5)", "FENN"},
		{"a IS NULL", "FFTT"},
		{"a IS NOT NULL", "TTFF"},
		{"a BETWEEN 3 AND 6", "TENN"},
		{"a IN ('5','6')", "TFNN"},
		{"a > 3 OR b = 1", "TENN"},
		{"b IS NULL OR a > 3", "TTTT"},
		{"a = 5", "TENN"},
		{"a = '5'", "TFNN"},
		{"a < 9223372036854775807", "TENN"},
		{"a > 3 AND TRUE", "TENN"},
	}
	for _, tt := range tests {
		e := compile(t, tt.expression)
		var got strings.Builder
		for _, m := range messages {
			name, value, ok := strings.Cut(m, "=")
			var text []byte
			if ok {
				text = message.AppendProperty(nil, name, value)
			}
			got.WriteByte("FTNE"[e.Test(text)])
		}
		if got.String() != tt.matches {
			t.Errorf("%s: %s, want %s", tt.expression, got.String(), tt.matches)
		}
	}
}

// The text of properties in the forms in which it is stored.
func TestTextsOfProperties(t *testing.T) {
	const and, end = "\x01", "\x02"
	e := compile(t, "a = 'x' AND bb = '1'")
	tests := []struct {
		situation, text string
		want            Result
	}{
		{"as stored", "a" + and + "x" + end + "bb" + and + "1" + end, True},
		{"without the last separator", "bb" + and + "1" + end + "a" + and + "x", True},
		{"among others with names alike", "aa" + and + "y" + end + "a" + and + "x" + end + "b" + and + "2" + end + "bb" + and + "1" + end + "bbb" + and + "3" + end, True},
		{"of doubles the later", "a" + and + "y" + end + "bb" + and + "1" + end + "a" + and + "x" + end, True},
		{"of doubles the later, which does not match", "a" + and + "x" + end + "bb" + and + "1" + end + "a" + and + "y" + end, False},
		{"a value that holds the separator of name and value", "a" + and + "x" + and + "x" + end + "bb" + and + "1" + end, False},
		{"an empty value is no property", "a" + and + end + "bb" + and + "1" + end, Null},
		{"an empty double does not count", "a" + and + "x" + end + "bb" + and + "1" + end + "a" + and + end, True},
		{"pieces that are no properties", end + end + "a" + end + and + "x" + end + and + end + "a" + and + "x" + end + "bb" + and + "1", True},
		{"nothing", "", Null},
	}
	for _, tt := range tests {
		if got := e.Test([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.situation, got, tt.want)
		}
	}
}

// Expressions with many properties take another way.
func TestManyProperties(t *testing.T) {
	for _, n := range []int{fewNames - 1, fewNames, fewNames + 1, 500} {
		var conditions []string
		properties := map[string]string{"other": "1"}
		for i := range n {
			conditions = append(conditions, fmt.Sprintf("p%d = %d", i, i))
			properties[fmt.Sprint("p", i)] = fmt.Sprint(i)
		}
		e := compile(t, strings.Join(conditions, " AND "))
		if got := e.Test(propertyText(properties)); got != True {
			t.Errorf("%d properties: %s", n, got)
		}
		properties["p3"] = "4"
		if got := e.Test(propertyText(properties)); got != False {
			t.Errorf("%d properties, one of them another: %s", n, got)
		}
		delete(properties, "p3")
		for range 3 { // what one evaluation found must not be there for the next
			if got := e.Test(propertyText(properties)); got != Null {
				t.Errorf("%d properties, one of them missing: %s", n, got)
			}
		}
	}
}

func TestLongLists(t *testing.T) {
	for _, n := range []int{1, longList - 1, longList, 300} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("'v%d'", i))
		}
		e := compile(t, "a IN ("+strings.Join(list, ",")+")")
		for value, want := range map[string]Result{"v0": True, fmt.Sprint("v", n-1): True, "v": False, fmt.Sprint("v", n): False} {
			if got := e.Test(propertyText(map[string]string{"a": value})); got != want {
				t.Errorf("%q in a list of %d: %s, want %s", value, n, got, want)
			}
		}
	}
}

func TestPrint(t *testing.T) {
	tests := []struct{ source, want string }{
		{"a > 5", "(a > 5)"},
		{"NOT a = 1", "((NOT a) = 1)"},
		{"a = 1 or b = 2 and c = 3", "((a = 1) OR ((b = 2) AND (c = 3)))"},
		{"(a = 1 and b = 2) and c = 3 and (d and e)", "((a = 1) AND (b = 2) AND (c = 3) AND (d AND e))"},
		{"a <> - - 1.50", "(a <> (- (- 1.5)))"},
		{"a = 1e300 or a = 5.", "((a = 1e+300) OR (a = 5.0))"},
		{"a is not null = true", "((a IS NOT NULL) = TRUE)"},
		{"a not between 1 and b", "(a NOT BETWEEN 1 AND b)"},
		{"+a in ('it''s', 'x')", "(a IN ('it''s', 'x'))"},
		{"a not endswith ''", "(a NOT ENDSWITH '')"},
		{"a = 2147483648 or null", "((a = 2147483648) OR NULL)"},
	}
	for _, tt := range tests {
		e := compile(t, tt.source)
		if e.String() != tt.want {
			t.Errorf("%q is printed as %s, want %s", tt.source, e, tt.want)
		}
		if !compile(t, e.String()).root.equal(e.root) {
			t.Errorf("%q printed means something else: %s", tt.source, e)
		}
	}
}

func TestUnread(t *testing.T) {
	for source, want := range map[string]string{
		"a = 1": "", "a = 1  ": "", "a = 1 -- tail": "-- tail", "a like 'x%'": "like 'x%'", "(a = 1)) and b = 2": ") and b = 2",
		"a = 1 /* c */\n": "", "a = 007": "07", "a between 1 and 2 garbage ; \"": "garbage ; \"",
	} {
		if got := compile(t, source).Unread(); got != want {
			t.Errorf("%q: %q is not read, want %q", source, got, want)
		}
	}
}

func TestEvalErrors(t *testing.T) {
	tests := []struct{ expression, value, want string }{
		{"a = 5", "5.5", `evaluate (a = 5): "5.5" is not an integer of 32 bits`},
		{"b IS NULL AND 3000000000 < a", "x", `evaluate (3000000000 < a): "x" is not an integer of 64 bits`},
		{"a BETWEEN 1.5 AND 3", "x", `evaluate (a BETWEEN 1.5 AND 3): "x" is not a number`},
		{"a > a", "x", `evaluate (a > a): "x" and "x" are not both numbers`},
		{"TRUE = a", "true", `evaluate (TRUE = a): a boolean on the left cannot be compared with a text`},
	}
	for _, tt := range tests {
		e := compile(t, tt.expression)
		result, err := e.Explain(propertyText(map[string]string{"a": tt.value}))
		if _, ok := errors.AsType[*EvalError](err); !ok || result != Failed || err.Error() != tt.want {
			t.Errorf("%s: %s, %v", tt.expression, result, err)
		}
	}
	if result, err := compile(t, "a = 5").Explain(propertyText(map[string]string{"a": "5"})); result != True || err != nil {
		t.Errorf("no failure: %s, %v", result, err)
	}
}

func TestEvaluationTakesNoMemory(t *testing.T) {
	text := propertyText(map[string]string{"a": "7", "b": "x", "price": "12.5", "UNIQ_KEY": "0123456789ABCDEF0123456789ABCDEF", "region": "eu"})
	for _, source := range []string{
		"a > 5 AND b = 'x'", "price > 12.25 AND price <> 1e3", "region IN ('us','eu')", "region IN ('a','b','c','d','e','f','g','h','eu')",
		"a BETWEEN 1 AND 9 OR NOT (b CONTAINS 'y')", "price = 5", "a > price",
	} {
		e := compile(t, source)
		if n := testing.AllocsPerRun(100, func() { e.Match(text) }); n != 0 {
			t.Errorf("%s: %v allocations", source, n)
		}
	}
}
