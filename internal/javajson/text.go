// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// appendString writes s in double quotes.
func appendString(dst []byte, s string, d Dialect) []byte {
	dst = append(dst, '"')
	start := 0 // of what is not written yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if d == Standard || r == utf8.RuneError && n == 1 {
				dst = append(dst, s[start:i]...)
				dst = appendRune(dst, r, d)
				start = i + n
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && (c != '/' || d == Bare) {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\', '/':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return appendUnit(dst, uint16(c))
}

// appendRune writes a character that is not ASCII, escaped in Standard.
func appendRune(dst []byte, r rune, d Dialect) []byte {
	switch {
	case d == Bare:
		return utf8.AppendRune(dst, r)
	case r >= 0x10000:
		r -= 0x10000
		return appendUnit(appendUnit(dst, uint16(0xD800+r>>10)), uint16(0xDC00+r&0x3FF))
	}
	return appendUnit(dst, uint16(r))
}

func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&0xF], hexDigits[u>>4&0xF], hexDigits[u&0xF])
}

// appendDouble writes f as Java's Double.toString does: always with a point, with an exponent only
// from 10^7 on and below 10^-3. What is no number is null.
func appendDouble(dst []byte, f float64, bits int) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case abs != 0 && (abs < 1e-3 || abs >= 1e7):
		return appendExponent(dst, f, bits)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// appendExponent turns Go's 1e+07 and 1.25e-05 into Java's 1.0E7 and 1.25E-5.
func appendExponent(dst []byte, f float64, bits int) []byte {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, bits)
	point := false
	for i, c := range text {
		switch c {
		case '.':
			point = true
		case 'e':
			if !point {
				dst = append(dst, ".0"...)
			}
			exponent, _ := strconv.Atoi(string(text[i+1:]))
			dst = append(dst, 'E')
			return strconv.AppendInt(dst, int64(exponent), 10)
		}
		dst = append(dst, c)
	}
	return dst
}
