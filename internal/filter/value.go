// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"bytes"
	"cmp"
	"math"
)

// kind of a value.
type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt32 // an integer literal that fits 32 bits: what is compared with it must fit them too
	kindInt64
	kindFloat
	kindText
	kindFailed // the value could not be found
)

// value of a part of an expression.
type value struct {
	kind kind
	bits uint64 // of booleans 0 or 1, of integers two's complement, of floats IEEE 754
	text []byte
}

func booleanValue(b bool) value {
	if b {
		return value{kind: kindBoolean, bits: 1}
	}
	return value{kind: kindBoolean}
}

// integerValue gives the smallest kind that holds i.
func integerValue(i int64) value {
	if int64(int32(i)) == i {
		return value{kind: kindInt32, bits: uint64(i)}
	}
	return value{kind: kindInt64, bits: uint64(i)}
}

func floatValue(f float64) value { return value{kind: kindFloat, bits: math.Float64bits(f)} }
func textValue(b []byte) value   { return value{kind: kindText, text: b} }

func (v value) boolean() bool  { return v.bits != 0 }
func (v value) integer() int64 { return int64(v.bits) }
func (v value) float() float64 { return math.Float64frombits(v.bits) }
func (v value) number() bool   { return v.kind >= kindInt32 && v.kind <= kindFloat }

// widened is a number as a float.
func (v value) widened() float64 {
	if v.kind == kindFloat {
		return v.float()
	}
	return float64(v.integer())
}

// negated is null for what is not a number. No integer of an expression is the smallest of its kind.
func (v value) negated() value {
	switch v.kind {
	case kindInt32, kindInt64:
		v.bits = -v.bits
		return v
	case kindFloat:
		return floatValue(-v.float())
	case kindFailed:
		return v
	}
	return value{}
}

// same tells whether two values are of one kind and equal to the bit.
func (v value) same(o value) bool {
	return v.kind == o.kind && v.bits == o.bits && bytes.Equal(v.text, o.text)
}

// compare orders two values that are not null, after making them of one kind. comparable is false for kinds that have
// nothing in common: they are unequal. ok is false when a text cannot be read as the other's kind.
func compare(l, r value) (order int, comparable, ok bool) {
	switch {
	case l.kind == kindText && r.kind == kindText:
		return bytes.Compare(l.text, r.text), true, true
	case l.kind == kindText && r.number():
		if l, ok = l.as(r.kind); !ok {
			return 0, false, false
		}
	case l.number() && r.kind == kindText:
		if r, ok = r.as(l.kind); !ok {
			return 0, false, false
		}
	case l.kind == kindText && r.kind == kindBoolean:
		l = booleanValue(bytes.EqualFold(l.text, []byte("true")))
	case l.kind == kindBoolean && r.kind == kindText:
		return 0, false, false // RocketMQ casts in the wrong direction
	}
	switch {
	case l.kind == kindBoolean && r.kind == kindBoolean:
		return cmp.Compare(l.bits, r.bits), true, true
	case !l.number() || !r.number():
		return 0, false, true
	case l.kind == kindFloat || r.kind == kindFloat:
		return compareFloats(l.widened(), r.widened()), true, true
	}
	return cmp.Compare(l.integer(), r.integer()), true, true
}

// compareFloats orders as Java's Double.compareTo: NaN is the largest and equal to itself, -0 is below 0.
func compareFloats(l, r float64) int {
	switch {
	case l < r:
		return -1
	case l > r:
		return 1
	case l == r && l != 0:
		return 0
	}
	return cmp.Compare(rank(l), rank(r))
}

// rank orders zeros and NaN among themselves and others.
func rank(f float64) int {
	switch {
	case f != f:
		return 2
	case f == 0 && math.Signbit(f):
		return 0
	}
	return 1
}

// as reads a text as a number of a kind.
func (v value) as(k kind) (value, bool) {
	switch k {
	case kindInt32:
		i, ok := parseInteger(v.text, math.MaxInt32)
		return value{kind: k, bits: uint64(i)}, ok
	case kindInt64:
		i, ok := parseInteger(v.text, math.MaxInt64)
		return value{kind: k, bits: uint64(i)}, ok
	}
	f, ok := parseFloat(v.text)
	return floatValue(f), ok
}
