// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"bytes"
	"fmt"
)

// reader takes a text apart into tokens.
type reader struct {
	b      []byte
	pos    int
	depth  int
	budget *int // bytes of memory and of repeated reading still allowed
}

func (r *reader) fail(format string, a ...any) error { return r.failAt(r.pos, format, a...) }

func (r *reader) failAt(pos int, format string, a ...any) error {
	return &Error{Pos: pos, Reason: fmt.Sprintf(format, a...)}
}

// enter and leave count how deep values lie within values.
func (r *reader) enter() error {
	if r.depth++; r.depth > maxDepth {
		return r.fail("values nested more than %d deep", maxDepth)
	}
	return nil
}

func (r *reader) leave() { r.depth-- }

// charge takes n bytes off what the text may make us use.
func (r *reader) charge(n int) error {
	if *r.budget -= n; *r.budget < 0 {
		return r.fail("needs too much memory for its length")
	}
	return nil
}

// peek gives the next byte, 0 at the end.
func (r *reader) peek() byte {
	if r.pos < len(r.b) {
		return r.b[r.pos]
	}
	return 0
}

// space skips white space and comments.
func (r *reader) space() error {
	for r.pos < len(r.b) {
		switch c := r.b[r.pos]; {
		case c == ' ' || c >= '\b' && c <= '\r':
			r.pos++
		case c == '/':
			if err := r.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (r *reader) comment() error {
	rest := r.b[r.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("/*")):
		i := bytes.Index(rest[2:], []byte("*/"))
		if i < 0 {
			return r.fail("comment without end")
		}
		r.pos += i + 4
	case bytes.HasPrefix(rest, []byte("//")):
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			i = len(rest)
		}
		r.pos += i
	default:
		return r.fail("unexpected character %q", '/')
	}
	return nil
}

// more goes to the next element of a list or object that ends with end: over white space and commas.
// It reports false behind the end.
func (r *reader) more(end byte) (bool, error) {
	for {
		if err := r.space(); err != nil {
			return false, err
		}
		switch r.peek() {
		case ',':
			r.pos++
		case end:
			r.pos++
			return false, nil
		default:
			if r.pos == len(r.b) {
				return false, r.fail("unexpected end, %q is missing", end)
			}
			return true, nil
		}
	}
}

// colon goes over the colon between key and value.
func (r *reader) colon() error {
	if err := r.space(); err != nil {
		return err
	}
	if r.peek() != ':' {
		return r.fail("%q is missing after the key", ':')
	}
	r.pos++
	return r.space()
}

// kind of a token.
type kind uint8

const (
	text   kind = iota // in quotes
	number             // digits and what goes with them, not checked
	null
	yes // true
	no  // false
	list
	object
)

var kindNames = [...]string{"text", "number", "null", "true", "false", "list", "object"}

func (k kind) String() string { return kindNames[k] }

// scalar reads the next value, if it is one without parts: its text, without quotes and escapes. Of
// a list or object nothing is read but its kind. The text is valid until the next call.
func (r *reader) scalar() (kind, []byte, error) {
	if err := r.space(); err != nil {
		return 0, nil, err
	}
	switch c := r.peek(); {
	case c == '"' || c == '\'':
		s, err := r.quoted(c)
		return text, s, err
	case c == '{':
		return object, nil, nil
	case c == '[':
		return list, nil, nil
	case isNumberStart(c):
		return number, r.number(), nil
	case isNameStart(c):
		start := r.pos
		word := r.name()
		switch string(word) {
		case "null", "NaN", "undefined":
			return null, word, nil
		case "true":
			return yes, word, nil
		case "false":
			return no, word, nil
		}
		return 0, nil, r.failAt(start, "unexpected %.32q", word)
	case r.pos == len(r.b):
		return 0, nil, r.fail("unexpected end, a value is missing")
	default:
		return 0, nil, r.fail("unexpected character %q", c)
	}
}

// key reads the key of an object's entry: in quotes, a name, a number, or a whole object or list,
// whose text it then gives.
func (r *reader) key() ([]byte, error) {
	switch c := r.peek(); {
	case c == '"' || c == '\'':
		return r.quoted(c)
	case isNumberStart(c):
		return r.number(), nil
	case isNameStart(c):
		return r.name(), nil
	case c == '{' || c == '[':
		return r.compact(nil)
	default:
		return nil, r.fail("unexpected character %q, a key is missing", c)
	}
}

func isNumberStart(c byte) bool { return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' }

func isNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}

// number takes all that can belong to a number. A letter at its end that tells Java's type is left out.
func (r *reader) number() []byte {
	start := r.pos
	for r.pos < len(r.b) {
		if c := r.b[r.pos]; !isNumberStart(c) && c != 'e' && c != 'E' {
			break
		}
		r.pos++
	}
	digits := r.b[start:r.pos]
	switch r.peek() {
	case 'L', 'S', 'B', 'F', 'D':
		r.pos++
	}
	return digits
}

func (r *reader) name() []byte {
	start := r.pos
	for r.pos < len(r.b) {
		if c := r.b[r.pos]; !isNameStart(c) && (c < '0' || c > '9') {
			break
		}
		r.pos++
	}
	return r.b[start:r.pos]
}
