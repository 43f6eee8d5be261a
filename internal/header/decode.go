// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package header

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
)

// Decode fills the struct that v points to by its tags: `header:"queueId"` or
// `header:"queueId,required"`. Kinds: string, bool (only "true", in any case, is
// true), int, int32, int64, float64, []byte, and pointers to those other than
// []byte (nil when absent). Embedded structs count as if written in place. Texts
// are copied.
//
// A required field that is missing and a number that does not parse are a
// *FieldError naming the field. An empty text stands for an absent number or
// boolean. Unknown fields are ignored; of a key that occurs twice the later one
// counts. (RocketMQ: decodeCommandCustomHeader, which logs a bad number and
// leaves a null behind to fail later.)
func Decode(f Fields, v any) error {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		panic(fmt.Sprintf("header: Decode into %T, want a pointer to a struct", v))
	}
	s := p.Elem()
	l := layoutOf(s.Type())
	for i := range l.slots {
		sl := &l.slots[i]
		text, ok := f.Get(sl.key)
		if ok && len(text) == 0 && sl.kind != reflect.String && sl.kind != reflect.Slice {
			ok = false
		}
		if !ok {
			if sl.required {
				return &FieldError{Field: sl.key, Reason: "is missing"}
			}
			continue
		}
		if err := sl.set(s.FieldByIndex(sl.path), text); err != nil {
			return err
		}
	}
	return nil
}

// set parses text into the struct field at.
func (s *slot) set(at reflect.Value, text []byte) error {
	if s.pointer {
		at.Set(reflect.New(at.Type().Elem()))
		at = at.Elem()
	}
	switch s.kind {
	case reflect.String:
		at.SetString(string(text))
	case reflect.Slice:
		at.SetBytes(bytes.Clone(text))
	case reflect.Bool:
		at.SetBool(ParseBool(text))
	case reflect.Float64:
		x, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return &FieldError{Field: s.key, Value: string(text), Reason: "is not a number"}
		}
		at.SetFloat(x)
	default:
		bits := uint(64)
		if s.kind == reflect.Int32 {
			bits = 32
		}
		x, ok := parseInt(text, bits)
		if !ok {
			return &FieldError{Field: s.key, Value: string(text), Reason: fmt.Sprintf("is not an int%d", bits)}
		}
		at.SetInt(x)
	}
	return nil
}
