// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxReason is how many bytes a reason for a failure has at most, as a property.
const MaxReason = 512

// reasonCut stands at the end of a reason that was too long.
const reasonCut = "..."

// CleanReason makes a property's value of any text: one line of UTF-8 with at most MaxReason bytes, without control
// characters, of which the separators of properties are two. It is "" when there is nothing to see.
func CleanReason(text string) string {
	cut := len(text) > 4*MaxReason // what is looked at is bounded, too
	if cut {
		text = text[:4*MaxReason]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > MaxReason {
		text, cut = text[:MaxReason], true
	}
	if !cut {
		return text
	}
	for len(text) > MaxReason-len(reasonCut) || !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return strings.TrimSuffix(text, " ") + reasonCut
}
