// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"math"

	"github.com/goddard-mq/goddard/internal/header"
)

// fieldReader reads the values of hot headers, which are decoded by hand: no reflection, nothing allocated unless a
// value is wrong. The first fault stays.
type fieldReader struct {
	field string // being read, for errors
	err   *header.FieldError
}

func (r *fieldReader) fault(value []byte, reason string) {
	if r.err == nil {
		r.err = &header.FieldError{Field: r.field, Value: string(value), Reason: reason}
	}
}

func (r *fieldReader) missing(field string) {
	if r.err == nil {
		r.err = &header.FieldError{Field: field, Reason: "is missing"}
	}
}

// failed gives the fault as an error, nil for none.
func (r *fieldReader) failed() error {
	if r.err == nil {
		return nil // not a nil pointer in an interface
	}
	return r.err
}

func (r *fieldReader) int32(b []byte) int32 {
	n, ok := parseInt(b)
	if !ok || n < math.MinInt32 || n > math.MaxInt32 {
		r.fault(b, "is not a 32-bit number")
		return 0
	}
	return int32(n)
}

func (r *fieldReader) int64(b []byte) int64 {
	n, ok := parseInt(b)
	if !ok {
		r.fault(b, "is not a 64-bit number")
	}
	return n
}

// bool is Java's Boolean.parseBoolean: "true" in any case, anything else is false.
func (r *fieldReader) bool(b []byte) bool {
	return len(b) == 4 && b[0]|0x20 == 't' && b[1]|0x20 == 'r' && b[2]|0x20 == 'u' && b[3]|0x20 == 'e'
}

// parseInt reads what Java's Long.parseLong reads of ASCII digits, with a sign or without.
func parseInt(b []byte) (int64, bool) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' || n > math.MaxInt64/10 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	switch {
	case negative && n <= 1<<63:
		return -int64(n), true
	case !negative && n < 1<<63:
		return int64(n), true
	}
	return 0, false
}
