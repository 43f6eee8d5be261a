// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import "reflect"

// Dialect of output.
type Dialect uint8

const (
	Bare     Dialect = iota // integer map keys bare, struct map keys as objects, UTF-8 and '/' as they are
	Standard                // legal JSON: integer keys quoted, struct keys as text, '/' as \/, non-ASCII as \uXXXX (fastjson: BrowserCompatible)
)

// Appender is a type that writes itself.
type Appender interface {
	AppendJSON(dst []byte, d Dialect) []byte
}

// Raw is JSON that is passed through as it is, in both directions. A nil or empty Raw is a null.
type Raw []byte

// AppendJSON writes r.
func (r Raw) AppendJSON(dst []byte, _ Dialect) []byte {
	if len(r) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, r...)
}

// ParseJSON keeps a copy of raw.
func (r *Raw) ParseJSON(raw []byte) error {
	*r = append((*r)[:0:0], raw...)
	return nil
}

// Marshal writes v: struct fields sorted by their JSON name, maps by key, no blanks. Types that JSON
// cannot hold (functions, channels) panic.
func Marshal(v any, d Dialect) []byte { return Append(nil, v, d) }

// Append is Marshal at the end of dst.
func Append(dst []byte, v any, d Dialect) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	rv := reflect.ValueOf(v)
	return planOf(rv.Type()).encode(dst, rv, d)
}
