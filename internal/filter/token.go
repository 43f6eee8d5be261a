// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"strings"
	"unicode/utf8"
)

// tokenKind tells tokens apart; keywords and symbols are kinds of their own.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokInteger
	tokFloat
	tokText

	tokNot
	tokAnd
	tokOr
	tokBetween
	tokIn
	tokTrue
	tokFalse
	tokNull
	tokIs
	tokContains
	tokStartsWith
	tokEndsWith

	tokEqual
	tokUnequal
	tokGreater
	tokGreaterEqual
	tokLess
	tokLessEqual
	tokPlus
	tokMinus
	tokOpen
	tokClose
	tokComma
)

var keywords = map[string]tokenKind{
	"NOT": tokNot, "AND": tokAnd, "OR": tokOr, "BETWEEN": tokBetween, "IN": tokIn, "TRUE": tokTrue, "FALSE": tokFalse,
	"NULL": tokNull, "IS": tokIs, "CONTAINS": tokContains, "STARTSWITH": tokStartsWith, "ENDSWITH": tokEndsWith,
}

// longestKeyword is the length of STARTSWITH.
const longestKeyword = 10

// keyword gives the kind of a name, which is a keyword in any case.
func keyword(name string) tokenKind {
	if len(name) > longestKeyword {
		return tokName
	}
	var upper [longestKeyword]byte
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	if kind, ok := keywords[string(upper[:len(name)])]; ok {
		return kind
	}
	return tokName
}

// token is source[start:end].
type token struct {
	kind       tokenKind
	start, end int
}

// lexer cuts an expression into tokens, the longest possible ones. It looks at no more than it is asked for: what
// follows a complete expression may be anything.
type lexer struct {
	source string
	at     int
}

// next gives the next token. After the end it gives the end again.
func (l *lexer) next() (token, *SyntaxError) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	start := l.at
	if start == len(l.source) {
		return token{tokEnd, start, start}, nil
	}
	kind := tokEnd
	switch c := l.source[start]; {
	case isNameStart(c):
		for l.at < len(l.source) && (isNameStart(l.source[l.at]) || isDigit(l.source[l.at])) {
			l.at++
		}
		kind = keyword(l.source[start:l.at])
	case isDigit(c) || c == '.':
		kind = l.number()
	case c == '\'':
		if !l.text() {
			return token{}, l.fault(start, len(l.source), "a single quote that ends the text", "")
		}
		kind = tokText
	default:
		kind = l.symbol()
	}
	if l.at == start {
		return token{}, l.refuse()
	}
	return token{kind, start, l.at}, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}

// skip moves over blanks and comments.
func (l *lexer) skip() *SyntaxError {
	for l.at < len(l.source) {
		rest := l.source[l.at:]
		switch {
		case strings.IndexByte(" \t\n\r\f", rest[0]) >= 0:
			l.at++
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexAny(rest, "\r\n")
			if end < 0 {
				return nil // without an end of line these are two signs
			}
			l.at += end + 1
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return l.fault(l.at, len(l.source), "*/ that ends the comment", "")
			}
			l.at += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

// number moves over an integer or floating number; it does not move when there is none.
func (l *lexer) number() tokenKind {
	s := l.source[l.at:]
	digits := countDigits(s)
	n := digits // of the number so far
	float := false
	if n < len(s) && s[n] == '.' {
		fraction := countDigits(s[n+1:])
		if digits+fraction == 0 {
			return tokEnd
		}
		n, float = n+1+fraction, true
	}
	if e := countExponent(s[n:]); e > 0 {
		n, float = n+e, true
	}
	if float {
		l.at += n
		return tokFloat
	}
	if s[0] == '0' {
		digits = 1 // 007 is three numbers
	} else if digits < len(s) && (s[digits] == 'l' || s[digits] == 'L') {
		digits++
	}
	l.at += digits
	return tokInteger
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// countExponent gives the length of the exponent that s begins with, 0 when it does not.
func countExponent(s string) int {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	digits := countDigits(s[n:])
	if digits == 0 {
		return 0
	}
	return n + digits
}

// text moves over a quoted text; false when it does not end. Two quotes are one within the text, unless there is no other
// quote after them: then the first of them ends it.
func (l *lexer) text() bool {
	start := l.at
	for at := start + 1; ; at++ {
		end := strings.IndexByte(l.source[at:], '\'')
		if end < 0 {
			return l.at > start
		}
		at += end + 1
		l.at = at
		if at == len(l.source) || l.source[at] != '\'' {
			return true
		}
	}
}

var symbols = [...]struct {
	text string
	kind tokenKind
}{ // longer ones first
	{"<>", tokUnequal}, {"<=", tokLessEqual}, {">=", tokGreaterEqual}, {"<", tokLess}, {">", tokGreater}, {"=", tokEqual},
	{"+", tokPlus}, {"-", tokMinus}, {"(", tokOpen}, {")", tokClose}, {",", tokComma},
}

func (l *lexer) symbol() tokenKind {
	for _, s := range symbols {
		if strings.HasPrefix(l.source[l.at:], s.text) {
			l.at += len(s.text)
			return s.kind
		}
	}
	return tokEnd
}

// hints tell what a character that begins no token is likely to have been meant for.
var hints = map[byte]string{
	'"': "texts stand in single quotes",
	'!': "unequal is <>",
	'.': "names of properties have letters, digits, _ and $ only",
	'*': "there is no arithmetic",
	'/': "there is no arithmetic",
	'&': "write AND",
	'|': "write OR",
}

// refuse makes the error of a character that begins no token.
func (l *lexer) refuse() *SyntaxError {
	_, size := utf8.DecodeRuneInString(l.source[l.at:])
	return l.fault(l.at, l.at+size, "a name, a number, a text in single quotes or an operator", hints[l.source[l.at]])
}

func (l *lexer) fault(start, end int, want, hint string) *SyntaxError {
	return newSyntaxError(l.source, start, end, want, hint)
}
