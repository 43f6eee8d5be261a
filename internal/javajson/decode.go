// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"strings"
)

func decodeBool(r *reader, v reflect.Value) error {
	start := r.pos
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	switch k {
	case yes, no, null:
		v.SetBool(k == yes)
		return nil
	case number, text:
		switch strings.ToLower(string(s)) {
		case "true", "1", "y", "t":
			v.SetBool(true)
			return nil
		case "false", "0", "n", "f", "", "null":
			v.SetBool(false)
			return nil
		}
	}
	return r.failAt(start, "%v %.32q where true or false is wanted", k, s)
}

func decodeInt(r *reader, v reflect.Value) error {
	start := r.pos
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	if k == list || k == object {
		return r.fail("%v where an integer is wanted", k)
	}
	return r.setInt(v, k, s, start)
}

// setInt sets an integer from a token of a value or a key that begins at start.
func (r *reader) setInt(v reflect.Value, k kind, s []byte, start int) error {
	n, reason := integer(k, s)
	if reason == "" && v.OverflowInt(n) {
		reason = "overflow"
	}
	if reason != "" {
		return r.failAt(start, "integer %s: %.32q", reason, s)
	}
	v.SetInt(n)
	return nil
}

// integer makes a number of a token; reason tells why not.
func integer(k kind, s []byte) (n int64, reason string) {
	switch k {
	case null, no:
		return 0, ""
	case yes:
		return 1, ""
	}
	t := strings.TrimSpace(string(s))
	if t == "" || k == text && strings.EqualFold(t, "null") {
		return 0, ""
	}
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		return n, ""
	}
	f, reason := fraction(k, t)
	if reason == "" && (f >= math.MaxInt64 || f <= math.MinInt64) {
		reason = "overflow"
	}
	return int64(f), reason
}

// fraction makes a floating-point number of a token's text.
func fraction(k kind, t string) (f float64, reason string) {
	if strings.Trim(t, "0123456789+-.eE") != "" {
		return 0, "expected" // no hexadecimal, no Inf
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil {
		return 0, "malformed"
	}
	return f, ""
}

func decodeUint(r *reader, v reflect.Value) error {
	start := r.pos
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	if k == list || k == object {
		return r.fail("%v where an integer is wanted", k)
	}
	if n, err := strconv.ParseUint(string(s), 10, 64); err == nil && !v.OverflowUint(n) {
		v.SetUint(n)
		return nil
	}
	n, reason := integer(k, s)
	if reason == "" && (n < 0 || v.OverflowUint(uint64(n))) {
		reason = "overflow"
	}
	if reason != "" {
		return r.failAt(start, "integer %s: %.32q", reason, s)
	}
	v.SetUint(uint64(n))
	return nil
}

func decodeFloat(r *reader, v reflect.Value) error {
	start := r.pos
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	var f float64
	var reason string
	switch k {
	case list, object:
		return r.fail("%v where a number is wanted", k)
	case yes:
		f = 1
	case number, text:
		if t := strings.TrimSpace(string(s)); t != "" && !strings.EqualFold(t, "null") && t != "NaN" {
			f, reason = fraction(k, t)
		}
	}
	if reason == "" && v.OverflowFloat(f) {
		reason = "overflow"
	}
	if reason != "" {
		return r.failAt(start, "number %s: %.32q", reason, s)
	}
	v.SetFloat(f)
	return nil
}

func decodeString(r *reader, v reflect.Value) error {
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	switch k {
	case null:
		v.SetString("")
	case list, object: // an object where text is wanted is kept as its text
		if s, err = r.compact(nil); err != nil {
			return err
		}
		v.SetString(string(s))
	default:
		v.SetString(validText(s))
	}
	return nil
}

func validText(s []byte) string { return strings.ToValidUTF8(string(s), "\uFFFD") }

func (p *plan) decodeEnum(r *reader, v reflect.Value) error {
	start := r.pos
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	switch k {
	case null:
		v.SetString("")
		return nil
	case text:
		v.SetString("")
		for _, name := range p.names {
			if name == string(s) {
				v.SetString(name)
			}
		}
		return nil
	case number:
		n, reason := integer(k, s)
		if reason == "" && n >= 0 && n < int64(len(p.names)) {
			v.SetString(p.names[n])
			return nil
		}
	}
	return r.failAt(start, "no %s has the ordinal %.32q", p.typ.Name(), s)
}

func decodeBytes(r *reader, v reflect.Value) error {
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	switch k {
	case null:
		v.SetZero()
		return nil
	case text:
		start := r.pos
		b := make([]byte, base64.RawStdEncoding.DecodedLen(len(s)))
		n, err := base64.RawStdEncoding.Decode(b, []byte(strings.TrimRight(string(s), "=")))
		if err != nil {
			return r.failAt(start, "malformed Base64: %v", err)
		}
		v.SetBytes(b[:n])
		return nil
	case list:
		var numbers []int8 // Java's bytes have a sign
		if err := planOf(reflect.TypeFor[[]int8]()).decode(r, reflect.ValueOf(&numbers).Elem()); err != nil {
			return err
		}
		b := make([]byte, len(numbers))
		for i, n := range numbers {
			b[i] = byte(n)
		}
		v.SetBytes(b)
		return nil
	}
	return r.fail("%v where bytes are wanted", k)
}

func decodeParser(r *reader, v reflect.Value) error {
	if err := r.space(); err != nil {
		return err
	}
	start := r.pos
	if err := r.skip(); err != nil {
		return err
	}
	if err := v.Addr().Interface().(Parser).ParseJSON(r.b[start:r.pos]); err != nil {
		return r.failAt(start, "%v", err)
	}
	return nil
}

// decodeInterface reads a value of unknown type: text, int64, float64, bool, []any, map[string]any or nil.
func decodeInterface(r *reader, v reflect.Value) error {
	if v.NumMethod() != 0 {
		panic("javajson: cannot read " + v.Type().String())
	}
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	var x any
	switch k {
	case text:
		x = validText(s)
	case yes, no:
		x = k == yes
	case number:
		if n, err := strconv.ParseInt(string(s), 10, 64); err == nil {
			x = n
			break
		}
		f, reason := fraction(k, string(s))
		if reason != "" {
			return r.fail("number %s: %.32q", reason, s)
		}
		x = f
	case list:
		l := []any{}
		err = r.into(&l)
		x = l
	case object:
		m := map[string]any{}
		err = r.into(&m)
		x = m
	}
	if err != nil || x == nil {
		v.SetZero()
		return err
	}
	v.Set(reflect.ValueOf(x))
	return nil
}

// into reads a list or object of any into what dst points to.
func (r *reader) into(dst any) error {
	if err := r.charge(24); err != nil {
		return err
	}
	v := reflect.ValueOf(dst).Elem()
	return planOf(v.Type()).decode(r, v)
}
