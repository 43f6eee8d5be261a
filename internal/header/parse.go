// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package header

// ParseBool is Java's Boolean.parseBoolean: only "true", in any case, is true.
func ParseBool(text []byte) bool {
	return len(text) == 4 &&
		text[0]|0x20 == 't' && text[1]|0x20 == 'r' && text[2]|0x20 == 'u' && text[3]|0x20 == 'e'
}

// ParseInt32 is Java's Integer.parseInt. It makes no garbage.
func ParseInt32(text []byte) (n int32, ok bool) {
	v, ok := parseInt(text, 32)
	return int32(v), ok
}

// parseInt takes an optional sign and decimal digits, as Java's parseInt and
// parseLong do.
func parseInt(text []byte, bits uint) (int64, bool) {
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, false
	}
	limit := uint64(1) << (bits - 1) // magnitude of the smallest value
	var n uint64
	for _, ch := range text {
		d := uint64(ch - '0')
		if d > 9 || n > limit/10 {
			return 0, false
		}
		n = n*10 + d
	}
	switch {
	case negative && n <= limit:
		return -int64(n), true
	case !negative && n < limit:
		return int64(n), true
	}
	return 0, false
}
