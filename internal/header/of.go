// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package header

import (
	"fmt"
	"reflect"
	"strconv"
)

// Of makes a tagged struct (or a pointer to one) an Encoder. Its fields are
// written in the order of the struct. Left out are nil pointers, nil []byte, and
// zero values of fields tagged omitempty, as RocketMQ leaves out nulls.
func Of(v any) Encoder {
	s := reflect.ValueOf(v)
	if s.Kind() == reflect.Pointer {
		if s.IsNil() {
			panic(fmt.Sprintf("header: Of a nil %T", v))
		}
		s = s.Elem()
	}
	return tagged{value: s, layout: layoutOf(s.Type())}
}

// tagged is a struct seen through its tags.
type tagged struct {
	value  reflect.Value
	layout *layout
}

// EncodeFields writes each field that is there.
func (t tagged) EncodeFields(w Writer) {
	for i := range t.layout.slots {
		s := &t.layout.slots[i]
		v := t.value.FieldByIndex(s.path)
		if s.omitEmpty && v.IsZero() {
			continue
		}
		if s.pointer {
			if v.IsNil() {
				continue
			}
			v = v.Elem()
		}
		switch s.kind {
		case reflect.String:
			w.Text(s.key, v.String())
		case reflect.Slice:
			if !v.IsNil() {
				w.Bytes(s.key, v.Bytes())
			}
		case reflect.Bool:
			w.Bool(s.key, v.Bool())
		case reflect.Int32:
			w.Int32(s.key, int32(v.Int()))
		case reflect.Float64:
			w.Text(s.key, javaDouble(v.Float()))
		default:
			w.Int64(s.key, v.Int())
		}
	}
}

// javaDouble writes what Java reads back; whole numbers get the ".0" that
// Double.toString gives them.
func javaDouble(x float64) string {
	s := strconv.FormatFloat(x, 'f', -1, 64)
	for i := range len(s) {
		if s[i] < '0' && s[i] != '-' || s[i] > '9' { // a point, NaN, Inf
			return s
		}
	}
	return s + ".0"
}
