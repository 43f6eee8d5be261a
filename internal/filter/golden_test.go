// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// testdata/README.md says how the golden files were made.
func readGolden(t testing.TB, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// goldenCase is an expression and what the Java classes answered: no results when it does not compile there.
type goldenCase struct {
	expression string
	results    []Result // by property set
}

func TestGolden(t *testing.T) {
	var file struct {
		Properties []map[string]string
		Cases      []struct {
			Expression, CompileError string
			Results                  []json.RawMessage
		}
	}
	readGolden(t, "sql92.json", &file)
	var cases []goldenCase
	for _, c := range file.Cases {
		g := goldenCase{expression: c.Expression}
		if (c.CompileError == "") != (len(c.Results) == len(file.Properties)) {
			t.Fatalf("%q has %d results and the error %q", c.Expression, len(c.Results), c.CompileError)
		}
		for _, raw := range c.Results {
			g.results = append(g.results, goldenResult(t, raw))
		}
		cases = append(cases, g)
	}
	compareGolden(t, file.Properties, cases)
}

// goldenResult reads "TRUE", {"type":"null"} or {"error":...}.
func goldenResult(t *testing.T, raw json.RawMessage) Result {
	t.Helper()
	var object struct{ Type, Error string }
	switch s := string(raw); {
	case s == `"TRUE"`:
		return True
	case s == `"FALSE"`:
		return False
	case json.Unmarshal(raw, &object) == nil && object.Error != "":
		return Failed
	case object.Type == "null":
		return Null
	}
	t.Fatalf("unknown result %s", raw)
	return Failed
}

func TestMoreGolden(t *testing.T) {
	var groups []struct {
		Properties []map[string]string
		Cases      [][2]string
	}
	readGolden(t, "sql92-more.json", &groups)
	letters := map[rune]Result{'T': True, 'F': False, 'N': Null, 'E': Failed}
	for _, group := range groups {
		var cases []goldenCase
		for _, c := range group.Cases {
			g := goldenCase{expression: c[0]}
			if c[1] != "P" {
				for _, letter := range c[1] {
					result, known := letters[letter]
					if !known {
						t.Fatalf("%q has the result %q", c[0], letter)
					}
					g.results = append(g.results, result)
				}
			}
			cases = append(cases, g)
		}
		compareGolden(t, group.Properties, cases)
	}
}

// compareGolden asks for each expression whether it compiles, and for its result on each property set, both looked up and
// in a text of properties.
func compareGolden(t *testing.T, properties []map[string]string, cases []goldenCase) {
	t.Helper()
	if len(cases) < 30 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		e, err := Compile(c.expression)
		if (err == nil) != (len(c.results) > 0) {
			t.Errorf("compile %q: %v; Java has the results %v", c.expression, err, c.results)
			continue
		}
		if err != nil {
			if _, ok := errors.AsType[*SyntaxError](err); !ok {
				t.Errorf("compile %q: the error is a %T", c.expression, err)
			}
			continue
		}
		if len(c.results) != len(properties) {
			t.Fatalf("%q has %d results for %d property sets", c.expression, len(c.results), len(properties))
		}
		for i, want := range c.results {
			got, err := e.Eval(lookup(properties[i]))
			if got != want || (err != nil) != (want == Failed) {
				t.Errorf("%q on %q: %s (%v), Java: %s", c.expression, properties[i], got, err, want)
			}
			if hasEmpty(properties[i]) {
				continue // a text of properties cannot say that
			}
			if got := e.Test(propertyText(properties[i])); got != want {
				t.Errorf("%q on the text of %q: %s, Java: %s", c.expression, properties[i], got, want)
			}
		}
	}
}
