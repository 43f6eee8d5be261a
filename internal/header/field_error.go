// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package header

import (
	"fmt"
	"unicode/utf8"
)

// FieldError names a field of a request that is missing or malformed. It is the
// peer's mistake, so its text is fit to be sent back.
type FieldError struct {
	Field  string // name on the wire
	Value  string // what was received, "" when missing
	Reason string // "is missing", "is not an int32", ...
}

// maxShownValue bounds how much of a peer's value is repeated to it, in bytes.
const maxShownValue = 64

// Error reads like: header field queueId "x" is not an int32.
func (e *FieldError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("header field %s %s", e.Field, e.Reason)
	}
	v := e.Value
	if len(v) > maxShownValue {
		n := maxShownValue
		for n > 0 && !utf8.RuneStart(v[n]) {
			n--
		}
		v = v[:n] + "..."
	}
	return fmt.Sprintf("header field %s %q %s", e.Field, v, e.Reason)
}
