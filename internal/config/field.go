// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Field describes one setting of a room's Config.
type Field struct {
	Key     string        // RocketMQ's name
	Unit    time.Duration // what a whole number of the text means; 0 when the field is no time.Duration
	Min     *int64        // smallest number the text may give; nil: the type's
	Max     *int64        // largest
	OneOf   []string      // the only texts a string may have; nil: any
	Restart bool          // read at start only

	index []int
	typ   reflect.Type
}

var durationType = reflect.TypeFor[time.Duration]()

// fieldSet is what the tags of one struct type say. Two rooms that are put together in one struct may both have a
// field for a key; both are set then, and the first is shown.
type fieldSet struct {
	list  []*Field // one per key
	byKey map[string][]*Field
}

var fieldSets sync.Map // reflect.Type -> *fieldSet

// Fields lists the settings of the Config that ptr points to, in the order of its declaration.
// It panics when a tag is malformed: that is a mistake in the program.
func Fields(ptr any) []Field {
	set, _ := fieldsOf(ptr)
	out := make([]Field, len(set.list))
	for i, f := range set.list {
		out[i] = *f
	}
	return out
}

func fieldsOf(ptr any) (*fieldSet, reflect.Value) {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: want a pointer to a struct, got %T", ptr))
	}
	v = v.Elem()
	if set, ok := fieldSets.Load(v.Type()); ok {
		return set.(*fieldSet), v
	}
	set := &fieldSet{byKey: map[string][]*Field{}}
	set.collect(v.Type(), nil)
	fieldSets.Store(v.Type(), set)
	return set, v
}

func (s *fieldSet) collect(t reflect.Type, above []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		if !sf.IsExported() {
			continue
		}
		index := append(append([]int(nil), above...), i)
		tag, tagged := sf.Tag.Lookup("rmq")
		switch {
		case tagged && tag != "-":
			f, err := parseTag(tag, sf.Type)
			if err != nil {
				panic(fmt.Sprintf("config: field %s.%s: %v", t, sf.Name, err))
			}
			f.index = index
			if s.byKey[f.Key] == nil {
				s.list = append(s.list, f)
			}
			s.byKey[f.Key] = append(s.byKey[f.Key], f)
		case !tagged && sf.Type.Kind() == reflect.Struct:
			s.collect(sf.Type, index)
		}
	}
}

var units = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "m": time.Minute, "h": time.Hour,
}

func parseTag(tag string, typ reflect.Type) (*Field, error) {
	key, options, _ := strings.Cut(tag, ",")
	f := &Field{Key: key, typ: typ}
	if key == "" {
		return nil, fmt.Errorf("tag %q has no key", tag)
	}
	for option := range strings.SplitSeq(options, ",") {
		if err := f.option(option); err != nil {
			return nil, fmt.Errorf("tag %q: %w", tag, err)
		}
	}
	if (typ == durationType) != (f.Unit != 0) {
		return nil, fmt.Errorf("tag %q: a time.Duration, and nothing else, needs a unit", tag)
	}
	if !settable(typ) {
		return nil, fmt.Errorf("tag %q: type %s cannot be a setting", tag, typ)
	}
	return f, nil
}

func (f *Field) option(option string) error {
	name, arg, _ := strings.Cut(option, "=")
	switch name {
	case "":
	case "restart":
		f.Restart = true
	case "oneof":
		f.OneOf = strings.Split(arg, "|")
	case "min", "max":
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return fmt.Errorf("option %s: %w", option, err)
		}
		if name == "min" {
			f.Min = &n
		} else {
			f.Max = &n
		}
	default:
		unit, ok := units[name]
		if !ok {
			return fmt.Errorf("unknown option %q", option)
		}
		f.Unit = unit
	}
	return nil
}

func settable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.String
	}
	return false
}
