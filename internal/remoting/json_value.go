// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import "github.com/goddard-mq/goddard/internal/header"

// scalar reads any value as text: a string without its quotes, a number or a
// boolean as it stands, an object or array as its JSON.
func (s *scanner) scalar() (text []byte, null bool, err error) {
	switch ch := s.skipSpace(); {
	case ch == '"':
		text, err = s.text()
		return text, false, err
	case ch == 'n':
		return nil, true, s.literal("null")
	case ch == '-' || ch >= '0' && ch <= '9':
		text, err = s.number()
		return text, false, err
	}
	from := s.at
	if err := s.skipValue(0); err != nil {
		return nil, false, err
	}
	return s.b[from:s.at:s.at], false, nil
}

func (s *scanner) literal(want string) error {
	if len(s.b)-s.at < len(want) || string(s.b[s.at:s.at+len(want)]) != want {
		return errBadJSON
	}
	s.at += len(want)
	return nil
}

// number takes the bytes of a number, loosely: what it means is up to the reader.
func (s *scanner) number() ([]byte, error) {
	from := s.at
	digits := false
	for ; s.at < len(s.b); s.at++ {
		switch ch := s.b[s.at]; {
		case ch >= '0' && ch <= '9':
			digits = true
			continue
		case ch == '-' || ch == '+' || ch == '.' || ch == 'e' || ch == 'E':
			continue
		}
		break
	}
	if !digits {
		return nil, errBadJSON
	}
	return s.b[from:s.at:s.at], nil
}

// int32 reads a number, which may be quoted; null is 0.
func (s *scanner) int32() (int32, error) {
	text, null, err := s.scalar()
	if err != nil || null {
		return 0, err
	}
	n, ok := header.ParseInt32(text)
	if !ok {
		return 0, badFrame("number in the JSON header does not parse")
	}
	return n, nil
}

// language reads a name or an ordinal. One that is not known is no mistake.
func (s *scanner) language() (Language, error) {
	quoted := s.skipSpace() == '"'
	text, null, err := s.scalar()
	if err != nil || null {
		return LanguageUnknown, err
	}
	if quoted {
		return languageOf(text), nil
	}
	n, ok := header.ParseInt32(text)
	if !ok {
		return LanguageUnknown, nil
	}
	return languageAt(int64(n)), nil
}

// skipValue passes over one value of any kind.
func (s *scanner) skipValue(depth int) error {
	if depth > maxDepth {
		return badFrame("JSON header nested too deep")
	}
	switch ch := s.skipSpace(); ch {
	case '"':
		return s.skipText()
	case '{':
		return s.skipList('}', true, depth)
	case '[':
		return s.skipList(']', false, depth)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		_, err := s.number()
		return err
	}
}

// skipText leaves escapes as they are, so that an object taken as text stays
// JSON.
func (s *scanner) skipText() error {
	for i := s.at + 1; i < len(s.b); i++ {
		switch s.b[i] {
		case '"':
			s.at = i + 1
			return nil
		case '\\':
			i++
		}
	}
	return errBadJSON
}

// skipList passes over an object or an array.
func (s *scanner) skipList(end byte, keys bool, depth int) error {
	s.at++
	if s.open(end) {
		return nil
	}
	for {
		if keys {
			if s.skipSpace() != '"' {
				return errBadJSON
			}
			if err := s.skipText(); err != nil {
				return err
			}
			if !s.open(':') {
				return errBadJSON
			}
		}
		if err := s.skipValue(depth + 1); err != nil {
			return err
		}
		switch s.skipSpace() {
		case ',':
			s.at++
		case end:
			s.at++
			return nil
		default:
			return errBadJSON
		}
	}
}
