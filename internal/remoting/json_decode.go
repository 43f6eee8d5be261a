// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goddard-mq/goddard/internal/header"
)

// decodeJSON reads a JSON header into c without making garbage: texts alias b,
// and escapes in them are resolved in place.
//
// It takes what RocketMQ's clients send: white space around everything (the C++
// client ends with a line feed), ext values that are numbers or booleans, the
// language as name or ordinal, keys in any order and keys it does not know. A
// null is an absent value. Absent keys leave the zero value, which for language
// means JAVA as it does in RocketMQ.
func decodeJSON(c *Command, b []byte) error {
	s := scanner{b: b}
	if err := s.command(c); err != nil {
		return err
	}
	if s.skipSpace(); s.at < len(b) {
		return badFrame("bytes after the JSON header")
	}
	return nil
}

var errBadJSON = badFrame("JSON header does not parse")

// maxDepth bounds the nesting of values that are skipped.
const maxDepth = 64

// scanner walks over JSON text.
type scanner struct {
	b  []byte
	at int
}

func (s *scanner) command(c *Command) error {
	if !s.open('{') {
		return errBadJSON
	}
	for first := true; ; first = false {
		key, ok, err := s.member(first)
		if err != nil || !ok {
			return err
		}
		if err := s.headerField(c, key); err != nil {
			return err
		}
	}
}

// headerField reads the value of a key of the header.
func (s *scanner) headerField(c *Command, key []byte) (err error) {
	switch string(key) {
	case "code":
		c.Code, err = s.int32()
	case "flag":
		c.Flag, err = s.int32()
	case "opaque":
		c.Opaque, err = s.int32()
	case "version":
		c.Version, err = s.int32()
	case "language":
		c.Language, err = s.language()
	case "remark":
		var text []byte
		text, _, err = s.scalar()
		c.Remark = string(text)
	case "extFields":
		err = s.fields(c)
	default:
		err = s.skipValue(0)
	}
	return err
}

// fields reads the value of extFields.
func (s *scanner) fields(c *Command) error {
	c.Fields, c.EmptyFields = c.Fields[:0], false
	if s.skipSpace() == 'n' {
		return s.literal("null")
	}
	if !s.open('{') {
		return errBadJSON
	}
	for first := true; ; first = false {
		key, ok, err := s.member(first)
		if err != nil {
			return err
		}
		if !ok {
			c.EmptyFields = len(c.Fields) == 0
			return nil
		}
		value, null, err := s.scalar()
		switch {
		case err != nil:
			return err
		case null:
			continue
		case len(c.Fields) == maxFields:
			return badFrame("too many fields")
		}
		c.Fields = append(c.Fields, header.Field{Key: key, Value: value})
	}
}

// member moves to the value of an object's next member; ok is false after the
// last one.
func (s *scanner) member(first bool) (key []byte, ok bool, err error) {
	switch s.skipSpace() {
	case '}':
		s.at++
		return nil, false, nil
	case ',':
		if first {
			return nil, false, errBadJSON
		}
		s.at++
	default:
		if !first {
			return nil, false, errBadJSON
		}
	}
	if s.skipSpace() != '"' {
		return nil, false, errBadJSON
	}
	if key, err = s.text(); err != nil {
		return nil, false, err
	}
	if !s.open(':') {
		return nil, false, errBadJSON
	}
	return key, true, nil
}

// skipSpace moves to the next byte that means something and returns it, 0 at the
// end.
func (s *scanner) skipSpace() byte {
	for ; s.at < len(s.b); s.at++ {
		switch ch := s.b[s.at]; ch {
		case ' ', '\n', '\r', '\t':
		default:
			return ch
		}
	}
	return 0
}

// open takes ch if it comes next.
func (s *scanner) open(ch byte) bool {
	if s.skipSpace() != ch {
		return false
	}
	s.at++
	return true
}

// text reads a string; the scanner stands at its opening quote.
func (s *scanner) text() ([]byte, error) {
	b := s.b
	from := s.at + 1
	for i := from; i < len(b); i++ {
		switch b[i] {
		case '"':
			s.at = i + 1
			return b[from:i:i], nil
		case '\\':
			return s.escapedText(from, i)
		}
	}
	return nil, errBadJSON
}

// escapedText goes on with a string that began at from and has its first escape
// at i. What an escape means is never longer than the escape, so the text is
// written over itself.
func (s *scanner) escapedText(from, i int) ([]byte, error) {
	b := s.b
	w := i
	for i < len(b) {
		switch ch := b[i]; ch {
		case '"':
			s.at = i + 1
			return b[from:w:w], nil
		case '\\':
			if i+1 >= len(b) {
				return nil, errBadJSON
			}
			i++
			switch ch := b[i]; ch {
			case '"', '\\', '/', '\'':
				b[w] = ch
			case 'n':
				b[w] = '\n'
			case 'r':
				b[w] = '\r'
			case 't':
				b[w] = '\t'
			case 'b':
				b[w] = '\b'
			case 'f':
				b[w] = '\f'
			case 'u':
				r, used := unicodeEscape(b[i+1:])
				if used == 0 {
					return nil, errBadJSON
				}
				w += utf8.EncodeRune(b[w:], r)
				i += 1 + used
				continue
			default:
				return nil, errBadJSON
			}
			w++
			i++
		default:
			b[w] = ch
			w++
			i++
		}
	}
	return nil, errBadJSON
}

// unicodeEscape reads the four digits after \u, and the second half of a pair of
// surrogates if one follows. A half alone becomes U+FFFD.
func unicodeEscape(b []byte) (r rune, used int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 4
	}
	if len(b) >= 10 && b[4] == '\\' && b[5] == 'u' {
		if low, ok := hex4(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 10
			}
		}
	}
	return utf8.RuneError, 4
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, ch := range b[:4] {
		switch {
		case ch >= '0' && ch <= '9':
			ch -= '0'
		case ch|0x20 >= 'a' && ch|0x20 <= 'f':
			ch = (ch | 0x20) - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(ch)
	}
	return r, true
}
