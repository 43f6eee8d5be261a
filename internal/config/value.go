// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// KV is a setting as text.
type KV struct {
	Key   string
	Value string
}

// ValueError says that a key may not have a value.
type ValueError struct {
	Key   string
	Value string
	Want  string // what the value may be: "true or false", "a whole number from 1 to 64"
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s=%s: want %s", e.Key, e.Value, e.Want)
}

// Set gives the fields of *ptr with this key (mostly one) the value that the text means; blanks around it do not count.
// known is false when no field has the key. A text that a field cannot take leaves it as it was and gives a *ValueError.
func Set(ptr any, key, value string) (known bool, err error) {
	set, v := fieldsOf(ptr)
	for _, f := range set.byKey[key] {
		if err := f.set(v.FieldByIndex(f.index), strings.TrimSpace(value)); err != nil {
			return true, err
		}
	}
	return len(set.byKey[key]) > 0, nil
}

// Get gives the text of the field of *ptr with this key.
func Get(ptr any, key string) (value string, known bool) {
	set, v := fieldsOf(ptr)
	if len(set.byKey[key]) == 0 {
		return "", false
	}
	f := set.byKey[key][0]
	return f.text(v.FieldByIndex(f.index)), true
}

// List gives all settings of the Configs that the pointers point to, sorted by key. A key that two of them have is
// listed once, with the value of the first.
func List(ptrs ...any) []KV {
	var out []KV
	seen := map[string]bool{}
	for _, ptr := range ptrs {
		set, v := fieldsOf(ptr)
		for _, f := range set.list {
			if !seen[f.Key] {
				seen[f.Key] = true
				out = append(out, KV{f.Key, f.text(v.FieldByIndex(f.index))})
			}
		}
	}
	slices.SortFunc(out, func(a, b KV) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

func (f *Field) set(v reflect.Value, text string) error {
	fault := func() error { return &ValueError{Key: f.Key, Value: text, Want: f.want()} }
	switch v.Kind() {
	case reflect.Bool:
		b, ok := parseBool(text)
		if !ok {
			return fault()
		}
		v.SetBool(b)
	case reflect.String:
		if f.OneOf != nil && !slices.Contains(f.OneOf, text) {
			return fault()
		}
		v.SetString(text)
	case reflect.Float32, reflect.Float64:
		x, err := strconv.ParseFloat(text, v.Type().Bits())
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) ||
			f.Min != nil && x < float64(*f.Min) || f.Max != nil && x > float64(*f.Max) {
			return fault()
		}
		v.SetFloat(x)
	case reflect.Slice:
		v.Set(splitList(text, v.Type()))
	default:
		lo, hi := f.bounds()
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < lo || n > hi {
			return fault()
		}
		v.SetInt(n * max(int64(f.Unit), 1))
	}
	return nil
}

func (f *Field) text(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.String:
		return v.String()
	case reflect.Float32, reflect.Float64:
		return formatFloat(v.Float(), v.Type().Bits())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = v.Index(i).String()
		}
		return strings.Join(parts, ";")
	default:
		return strconv.FormatInt(v.Int()/max(int64(f.Unit), 1), 10)
	}
}

// bounds of the number that the text may give, in the unit of the text.
func (f *Field) bounds() (lo, hi int64) {
	bits := f.typ.Bits()
	hi = math.MaxInt64 >> (64 - bits)
	lo = -hi - 1
	if f.Unit > 1 {
		lo, hi = math.MinInt64/int64(f.Unit), math.MaxInt64/int64(f.Unit)
	}
	if f.Min != nil {
		lo = max(lo, *f.Min)
	}
	if f.Max != nil {
		hi = min(hi, *f.Max)
	}
	return lo, hi
}

func (f *Field) want() string {
	switch f.typ.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		if len(f.OneOf) == 1 {
			return f.OneOf[0]
		}
		last := len(f.OneOf) - 1
		return strings.Join(f.OneOf[:last], ", ") + " or " + f.OneOf[last]
	case reflect.Float32, reflect.Float64:
		return "a number" + f.rangeText()
	}
	if f.Unit == 0 {
		return "a whole number" + f.rangeText()
	}
	return "a whole number of " + unitNames[f.Unit] + f.rangeText()
}

var unitNames = map[time.Duration]string{
	time.Nanosecond: "nanoseconds", time.Microsecond: "microseconds", time.Millisecond: "milliseconds",
	time.Second: "seconds", time.Minute: "minutes", time.Hour: "hours",
}

// rangeText names the bounds; those that only the type sets are named when they are those of an int32.
func (f *Field) rangeText() string {
	lo, hi := f.Min, f.Max
	if f.typ.Kind() == reflect.Int32 {
		tlo, thi := f.bounds()
		lo, hi = &tlo, &thi
	}
	switch {
	case lo != nil && hi != nil:
		return fmt.Sprintf(" from %d to %d", *lo, *hi)
	case lo != nil:
		return fmt.Sprintf(", at least %d", *lo)
	case hi != nil:
		return fmt.Sprintf(", at most %d", *hi)
	}
	return ""
}

// parseBool takes what Java's Boolean.parseBoolean takes for true, and for false only "false": a typo must not switch
// something off in silence.
func parseBool(text string) (value, ok bool) {
	switch {
	case strings.EqualFold(text, "true"):
		return true, true
	case strings.EqualFold(text, "false"):
		return false, true
	}
	return false, false
}

// formatFloat writes as Java does where that matters to readers: a whole number keeps its ".0".
func formatFloat(x float64, bits int) string {
	s := strconv.FormatFloat(x, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// splitList cuts a ;-separated list, leaving out empty parts.
func splitList(text string, t reflect.Type) reflect.Value {
	list := reflect.MakeSlice(t, 0, 1)
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" {
			list = reflect.Append(list, reflect.ValueOf(part).Convert(t.Elem()))
		}
	}
	return list
}
