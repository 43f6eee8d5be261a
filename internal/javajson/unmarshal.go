// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"bytes"
	"fmt"
	"reflect"
)

// Error tells what is wrong with a text and where.
type Error struct {
	Pos    int    // in bytes from the beginning; within a key that is itself JSON text, that of the key
	Field  string // names of the fields leading there, joined by dots; "" at the top
	Reason string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("JSON at byte %d: %s", e.Pos, e.Reason)
	}
	return fmt.Sprintf("JSON at byte %d, in %s: %s", e.Pos, e.Field, e.Reason)
}

// Limits on what a text may make us do. Memory is bounded by the length of the text, so that a short
// one cannot ask for much: what RocketMQ sends takes less memory than text.
const (
	maxDepth      = 128      // of values within values
	freeMemory    = 64 << 10 // bytes, for any text
	memoryPerByte = 16       // and so much more per byte of it
)

var byteOrderMark = []byte("\xEF\xBB\xBF")

// Unmarshal reads b into what the pointer v points to. An empty text is a null.
//
// Beside JSON it reads what fastjson reads: keys without quotes, numbers and whole objects as map
// keys, single quotes, surplus commas, comments, a byte order mark, {"$ref":"$.path"}; numbers, names
// and booleans where text is wanted and as text, fractions and booleans where an integer is wanted;
// null and "" for anything, {} where a list is wanted, [] where an object is. Keys that a struct does
// not know are skipped, those that differ in case or underscores only are known. Of equal keys the
// last counts. What is not there leaves *v as it was, or as its Defaulter sets it.
//
// Integers that do not fit, enum ordinals that do not exist, text after the value and damaged JSON
// are refused with an *Error.
func Unmarshal(b []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		panic(fmt.Sprintf("javajson: Unmarshal into %T", v))
	}
	budget := freeMemory + memoryPerByte*len(b)
	r := &reader{b: b, budget: &budget}
	if bytes.HasPrefix(b, byteOrderMark) {
		r.pos = len(byteOrderMark)
	}
	if err := r.space(); err != nil {
		return err
	}
	if r.pos == len(b) {
		rv.Elem().SetZero()
		return nil
	}
	if err := planOf(rv.Type().Elem()).decode(r, rv.Elem()); err != nil {
		return err
	}
	if err := r.space(); err != nil {
		return err
	}
	if r.pos < len(b) {
		return r.fail("text after the value")
	}
	return nil
}
