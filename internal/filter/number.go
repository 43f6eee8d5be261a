// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"errors"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// parseInteger reads a text as Java's Integer.valueOf and Long.valueOf do: a sign, then digits of any script, nothing
// else. largest is that of the kind; the smallest is one further from 0.
func parseInteger(b []byte, largest uint64) (int64, bool) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	if negative {
		largest++
	}
	var n uint64
	for len(b) > 0 {
		d, size := uint64(b[0]-'0'), 1
		if d > 9 {
			if d, size = digitValue(b); size == 0 {
				return 0, false
			}
		}
		if n > (largest-d)/10 {
			return 0, false
		}
		n = n*10 + d
		b = b[size:]
	}
	if negative {
		n = -n
	}
	return int64(n), true
}

// digitValue gives the value of the digit that b begins with, of another script than ASCII; size is 0 when there is none.
// Java looks at UTF-16 units, so only at digits below U+10000.
func digitValue(b []byte) (value uint64, size int) {
	r, size := utf8.DecodeRune(b)
	if r < utf8.RuneSelf || r > 0xFFFF {
		return 0, 0
	}
	for _, digits := range unicode.Nd.R16 {
		if lo, hi := rune(digits.Lo), rune(digits.Hi); lo <= r && r <= hi {
			return uint64(r-lo) % 10, size
		}
	}
	return 0, 0
}

// parseFloat reads a text as Java's Double.valueOf does: blanks around, decimal or hexadecimal, a suffix of d or f, NaN,
// Infinity; too large is infinite, too small is 0.
func parseFloat(b []byte) (float64, bool) {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	if len(b) == 0 {
		return 0, false
	}
	digits := b
	if b[0] == '+' || b[0] == '-' {
		digits = b[1:]
	}
	switch string(digits) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
	default:
		n := floatLength(digits)
		if n == 0 {
			return 0, false
		}
		if n < len(digits) {
			switch digits[n] {
			case 'd', 'D', 'f', 'F':
			default:
				return 0, false
			}
			if n+1 != len(digits) {
				return 0, false
			}
			b = b[:len(b)-1]
		}
	}
	f, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64) // it keeps nothing of the text
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

// floatLength gives the length of the number without sign that b begins with, 0 when there is none.
func floatLength(b []byte) int {
	if len(b) > 1 && b[0] == '0' && (b[1] == 'x' || b[1] == 'X') {
		n := mantissaLength(b[2:], isHexDigit)
		if n == 0 {
			return 0
		}
		e := exponentLength(b[2+n:], 'p')
		if e == 0 {
			return 0 // a hexadecimal number must have one
		}
		return 2 + n + e
	}
	n := mantissaLength(b, isDigit)
	if n == 0 {
		return 0
	}
	return n + exponentLength(b[n:], 'e')
}

func isHexDigit(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// mantissaLength gives the length of digits with or without a point, 0 when there is no digit.
func mantissaLength(b []byte, digit func(byte) bool) int {
	n, digits := 0, 0
	for point := false; n < len(b); n++ {
		switch {
		case digit(b[n]):
			digits++
			continue
		case b[n] == '.' && !point:
			point = true
			continue
		}
		break
	}
	if digits == 0 {
		return 0
	}
	return n
}

// exponentLength gives the length of the exponent after a letter in lower or upper case, 0 when there is none.
func exponentLength(b []byte, letter byte) int {
	if len(b) == 0 || b[0]|0x20 != letter {
		return 0
	}
	n := 1
	if n < len(b) && (b[n] == '+' || b[n] == '-') {
		n++
	}
	first := n
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	if n == first {
		return 0
	}
	return n
}
