// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"bytes"
	"unicode/utf8"
)

// quoted reads text in quotes. Without escapes the result aliases the text read.
func (r *reader) quoted(quote byte) ([]byte, error) {
	start := r.pos
	r.pos++
	for i := r.pos; i < len(r.b); i++ {
		switch r.b[i] {
		case quote:
			s := r.b[r.pos:i]
			r.pos = i + 1
			return s, nil
		case '\\':
			s := append(make([]byte, 0, 2*(i-r.pos)+16), r.b[r.pos:i]...)
			r.pos = i
			return r.escaped(s, quote, start)
		}
	}
	return nil, r.failAt(start, "text without end")
}

// escaped goes on with text from its first backslash.
func (r *reader) escaped(s []byte, quote byte, start int) ([]byte, error) {
	for r.pos < len(r.b) {
		c := r.b[r.pos]
		switch c {
		case quote:
			r.pos++
			return s, nil
		case '\\':
			var err error
			if s, err = r.escape(s); err != nil {
				return nil, err
			}
		default:
			s = append(s, c)
			r.pos++
		}
	}
	return nil, r.failAt(start, "text without end")
}

// escape reads one escape, fastjson's beside JSON's.
func (r *reader) escape(s []byte) ([]byte, error) {
	at := r.pos
	r.pos++
	c := r.peek()
	r.pos++
	switch {
	case c == '"' || c == '\'' || c == '\\' || c == '/':
		return append(s, c), nil
	case c >= '0' && c <= '7':
		return append(s, c-'0'), nil
	}
	switch c {
	case 'b':
		return append(s, '\b'), nil
	case 'f', 'F':
		return append(s, '\f'), nil
	case 'n':
		return append(s, '\n'), nil
	case 'r':
		return append(s, '\r'), nil
	case 't':
		return append(s, '\t'), nil
	case 'v':
		return append(s, '\v'), nil
	case 'x':
		u, err := r.hex(at, 2)
		return utf8.AppendRune(s, rune(u)), err
	case 'u':
		return r.unicode(s, at)
	}
	r.pos = at
	return nil, r.fail("unknown escape \\%c", c)
}

// unicode reads the digits of \u, and those of a second one that completes a character.
func (r *reader) unicode(s []byte, at int) ([]byte, error) {
	u, err := r.hex(at, 4)
	if err != nil {
		return nil, err
	}
	if u >= 0xD800 && u < 0xDC00 && bytes.HasPrefix(r.b[r.pos:], []byte(`\u`)) {
		next := r.pos
		r.pos += 2
		low, err := r.hex(next, 4)
		if err != nil {
			return nil, err
		}
		if low >= 0xDC00 && low < 0xE000 {
			return utf8.AppendRune(s, rune(0x10000+(u-0xD800)<<10+(low-0xDC00))), nil
		}
		r.pos = next // it stands for itself
	}
	return utf8.AppendRune(s, rune(u)), nil // half a character becomes U+FFFD
}

func (r *reader) hex(at, digits int) (int, error) {
	if len(r.b)-r.pos < digits {
		return 0, r.failAt(at, "escape cut off")
	}
	u := 0
	for _, c := range r.b[r.pos : r.pos+digits] {
		switch {
		case c >= '0' && c <= '9':
			u = u<<4 | int(c-'0')
		case c >= 'a' && c <= 'f':
			u = u<<4 | int(c-'a'+10)
		case c >= 'A' && c <= 'F':
			u = u<<4 | int(c-'A'+10)
		default:
			return 0, r.failAt(at, "escape with %q", c)
		}
	}
	r.pos += digits
	return u, nil
}
