// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import "strconv"

// jsonHeader writes keys in RocketMQ's order (alphabetical) and no white space.
func (e *encoder) jsonHeader(c *Command, m meta) {
	e.b = append(e.b, `{"code":`...)
	e.b = strconv.AppendInt(e.b, int64(c.Code), 10)
	at := len(e.b)
	e.b = append(e.b, `,"extFields":{`...)
	e.fieldsOf(c)
	switch {
	case e.fields > 0, c.EmptyFields:
		e.b = append(e.b, '}')
	default:
		e.b = e.b[:at]
	}
	e.b = append(e.b, `,"flag":`...)
	e.b = strconv.AppendInt(e.b, int64(m.flag), 10)
	e.b = append(e.b, `,"language":"`...)
	e.b = append(e.b, m.language.String()...)
	e.b = append(e.b, `","opaque":`...)
	e.b = strconv.AppendInt(e.b, int64(m.opaque), 10)
	if c.Remark != "" {
		e.b = append(e.b, `,"remark":`...)
		e.b = appendJSONText(e.b, c.Remark)
	}
	e.b = append(e.b, `,"serializeTypeCurrentRPC":"JSON","version":`...)
	e.b = strconv.AppendInt(e.b, int64(m.version), 10)
	e.b = append(e.b, '}')
}

// jsonKey writes key, colon and the opening quote of the value.
func (e *encoder) jsonKey(key string) {
	if e.fields > 0 {
		e.b = append(e.b, ',')
	}
	e.fields++
	e.b = append(e.b, '"')
	e.b = appendEscaped(e.b, key)
	e.b = append(e.b, `":"`...)
}

func appendJSONText[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}

// plain marks bytes that stand for themselves in a JSON text.
var plain = func() (t [256]bool) {
	for i := range t {
		t[i] = i >= 0x20 && i != '"' && i != '\\'
	}
	return t
}()

const hexDigits = "0123456789abcdef"

// appendEscaped escapes what JSON demands and nothing else, as RocketMQ does.
// Bytes that are no UTF-8 pass: a text goes out as it came in.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		ch := s[i]
		if plain[ch] {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch ch {
		case '"', '\\':
			dst = append(dst, '\\', ch)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[ch>>4], hexDigits[ch&15])
		}
	}
	return append(dst, s[from:]...)
}
