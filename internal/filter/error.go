// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError tells why an expression does not compile.
type SyntaxError struct {
	Line, Column int    // of what was found, from 1; columns count characters
	Found        string // a piece of the expression in quotes, or what was met there
	Want         string // what may stand there instead
	Hint         string // what is likely to have been meant; may be ""
}

func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("line %d, column %d: found %s, want %s", e.Line, e.Column, e.Found, e.Want)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// longestFound bounds the piece of an expression that an error shows, bytes.
const longestFound = 40

// newSyntaxError tells that source[start:end] was found.
func newSyntaxError(source string, start, end int, want, hint string) *SyntaxError {
	e := &SyntaxError{Want: want, Hint: hint, Found: "the end"}
	before := source[:start]
	e.Line = 1 + strings.Count(before, "\n")
	e.Column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	if start < end {
		e.Found = quote(source[start:end])
	}
	return e
}

// quote shows the beginning of a piece of an expression on one line.
func quote(piece string) string {
	if len(piece) <= longestFound {
		return strconv.Quote(piece)
	}
	end := longestFound
	for end > 0 && !utf8.RuneStart(piece[end]) {
		end--
	}
	return strconv.Quote(piece[:end]) + "..."
}

// EvalError tells why the result of an expression on a message is Failed.
type EvalError struct {
	Part   string // of the expression
	Reason string
}

func (e *EvalError) Error() string { return fmt.Sprintf("evaluate %s: %s", e.Part, e.Reason) }
