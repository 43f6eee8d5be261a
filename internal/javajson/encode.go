// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"cmp"
	"encoding/base64"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

func encodeBool(dst []byte, v reflect.Value, _ Dialect) []byte {
	return strconv.AppendBool(dst, v.Bool())
}

func encodeInt(dst []byte, v reflect.Value, _ Dialect) []byte {
	return strconv.AppendInt(dst, v.Int(), 10)
}

func encodeUint(dst []byte, v reflect.Value, _ Dialect) []byte {
	return strconv.AppendUint(dst, v.Uint(), 10)
}

func encodeFloat(dst []byte, v reflect.Value, _ Dialect) []byte {
	return appendDouble(dst, v.Float(), v.Type().Bits())
}

func encodeString(dst []byte, v reflect.Value, d Dialect) []byte {
	return appendString(dst, v.String(), d)
}

func encodeBytes(dst []byte, v reflect.Value, _ Dialect) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, v.Bytes())
	return append(dst, '"')
}

func encodeInterface(dst []byte, v reflect.Value, d Dialect) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	v = v.Elem()
	return planOf(v.Type()).encode(dst, v, d)
}

func (p *plan) encodePointer(dst []byte, v reflect.Value, d Dialect) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	if p.typ.Implements(appenderType) && !p.elem.typ.Implements(appenderType) {
		return v.Interface().(Appender).AppendJSON(dst, d)
	}
	return p.elem.encode(dst, v.Elem(), d)
}

func (p *plan) encodeList(dst []byte, v reflect.Value, d Dialect) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.elem.encode(dst, v.Index(i), d)
	}
	return append(dst, ']')
}

func (p *plan) encodeStruct(dst []byte, v reflect.Value, d Dialect) []byte {
	dst = append(dst, '{')
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		fv := v.FieldByIndex(f.index)
		if f.nilable && fv.IsNil() || f.omitEmpty && fv.IsZero() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.label...)
		dst = f.plan.encode(dst, fv, d)
	}
	return append(dst, '}')
}

// mapEncoder makes the encoder of a map. quoted: keys are text even in Bare.
func (p *plan) mapEncoder(quoted bool) func([]byte, reflect.Value, Dialect) []byte {
	return func(dst []byte, v reflect.Value, d Dialect) []byte {
		if v.IsNil() {
			return append(dst, "null"...)
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, p.key.compare)
		dst = append(dst, '{')
		first := true
		for _, k := range keys {
			e := v.MapIndex(k)
			if isNil(e) {
				continue // fastjson leaves nulls out of maps too
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = p.key.encodeKey(dst, k, d, quoted || d == Standard)
			dst = append(dst, ':')
			dst = p.elem.encode(dst, e, d)
		}
		return append(dst, '}')
	}
}

// encodeKey writes a map key; text: one that is no string becomes one.
func (p *plan) encodeKey(dst []byte, k reflect.Value, d Dialect, text bool) []byte {
	if p.typ.Kind() == reflect.String || !text {
		return p.encode(dst, k, d)
	}
	return appendString(dst, string(p.encode(nil, k, Bare)), d)
}

// compare orders map keys: numbers by value, structs by their fields in the order they are written.
func (p *plan) compare(a, b reflect.Value) int {
	switch k := p.typ.Kind(); {
	case k == reflect.String:
		return strings.Compare(a.String(), b.String())
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case k == reflect.Struct:
		for i := range p.fields {
			f := &p.fields[i]
			if c := f.plan.compare(a.FieldByIndex(f.index), b.FieldByIndex(f.index)); c != 0 {
				return c
			}
		}
		return 0
	}
	return strings.Compare(string(p.encode(nil, a, Bare)), string(p.encode(nil, b, Bare)))
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return v.IsNil()
	}
	return false
}
