// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Property is one entry of a text in the format of java.util.Properties.
type Property struct {
	Key   string
	Value string
	Line  int // where it begins, from 1
}

// ParseProperties reads text in the format of java.util.Properties: # and ! begin comments, the key ends at the first
// = or : or blank that no backslash precedes, a backslash at the end of a line joins the next, \t \n \r \f and \uXXXX
// mean what they mean in Java. Entries come in the order of the text, so the last one of a key counts.
//
// Bytes that are not UTF-8 are read as ISO 8859-1, which is what Java makes of every file.
func ParseProperties(text []byte) ([]Property, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	s := string(text)
	if !utf8.Valid(text) {
		s = fromLatin1(text)
	}
	var out []Property
	lines := lineReader{rest: s}
	for lines.next() {
		key, value, err := splitProperty(lines.logical)
		if err != nil {
			return out, fmt.Errorf("line %d: %w", lines.begin, err)
		}
		out = append(out, Property{Key: key, Value: value, Line: lines.begin})
	}
	return out, nil
}

func fromLatin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// lineReader joins natural lines to logical ones and leaves out blank lines and comments.
type lineReader struct {
	rest    string
	line    int // of the natural line read last
	logical string
	begin   int // line where logical begins
}

const blanks = " \t\f"

func (r *lineReader) next() bool {
	for r.rest != "" {
		natural := strings.TrimLeft(r.natural(), blanks)
		if natural == "" || natural[0] == '#' || natural[0] == '!' {
			continue
		}
		r.begin = r.line
		var joined strings.Builder
		for oddBackslashes(natural) {
			joined.WriteString(natural[:len(natural)-1])
			natural = strings.TrimLeft(r.natural(), blanks)
		}
		joined.WriteString(natural)
		r.logical = joined.String()
		return true
	}
	return false
}

// natural takes one line, whose end is \n, \r, \r\n or the end of the text.
func (r *lineReader) natural() string {
	r.line++
	i := strings.IndexAny(r.rest, "\r\n")
	if i < 0 {
		line := r.rest
		r.rest = ""
		return line
	}
	line, after := r.rest[:i], r.rest[i+1:]
	if r.rest[i] == '\r' {
		after = strings.TrimPrefix(after, "\n")
	}
	r.rest = after
	return line
}

func oddBackslashes(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// splitProperty cuts a logical line at the end of its key.
func splitProperty(line string) (key, value string, err error) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	value = strings.TrimLeft(line[end:], blanks)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], blanks)
	}
	if key, err = unescape(line[:end]); err != nil {
		return "", "", err
	}
	value, err = unescape(value)
	return key, value, err
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var out strings.Builder
	var units []uint16 // of \u escapes not written yet: two may be one character
	flush := func() {
		out.WriteString(string(utf16.Decode(units)))
		units = units[:0]
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && s[i+1] == 'u' {
			n, err := strconv.ParseUint(s[min(i+2, len(s)):min(i+6, len(s))], 16, 16)
			if err != nil || i+6 > len(s) {
				return "", fmt.Errorf(`\u without four hexadecimal digits in %q`, s)
			}
			units = append(units, uint16(n))
			i += 5
			continue
		}
		flush()
		if s[i] == '\\' {
			if i++; i == len(s) {
				break
			}
			out.WriteByte(escaped(s[i]))
			continue
		}
		out.WriteByte(s[i])
	}
	flush()
	return out.String(), nil
}

func escaped(c byte) byte {
	switch c {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	}
	return c
}

// FormatProperties writes settings as text that ParseProperties and java.util.Properties read back as they were: a
// line key=value each, in the order given. What needs no escape is written plainly (RocketMQ: MixAll.properties2String).
func FormatProperties(kvs []KV) string {
	var out strings.Builder
	for _, kv := range kvs {
		escape(&out, kv.Key, "=: \t\f#!")
		out.WriteByte('=')
		escape(&out, kv.Value, "")
		out.WriteByte('\n')
	}
	return out.String()
}

// escape writes s; the characters of special get a backslash wherever they stand, blanks only in front.
func escape(out *strings.Builder, s, special string) {
	front := true
	for _, r := range s {
		switch {
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\f':
			out.WriteString(`\f`)
		case r == '\\' || r == ' ' && front || strings.ContainsRune(special, r):
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < ' ' || r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(out, `\u%04X`, unit)
			}
		default:
			out.WriteRune(r)
		}
		front = front && r == ' '
	}
}
