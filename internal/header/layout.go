// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package header

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// layout is what the tags of one struct type say, worked out once per type.
type layout struct {
	slots []slot
	byKey map[string]int
}

// slot is one tagged field of a struct.
type slot struct {
	key       string
	path      []int // reflect index, through embedded structs
	kind      reflect.Kind
	pointer   bool
	required  bool
	omitEmpty bool
}

// layouts caches a *layout per struct type.
var layouts sync.Map

// layoutOf panics on a type that can not be a header: that is a mistake in our
// own source, met by the first test that uses the type.
func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("header: %s is not a struct", t))
	}
	l := &layout{byKey: make(map[string]int)}
	l.collect(t, nil)
	got, _ := layouts.LoadOrStore(t, l)
	return got.(*layout)
}

func (l *layout) collect(t reflect.Type, path []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int(nil), path...), i)
		tag, tagged := f.Tag.Lookup("header")
		if f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct {
			l.collect(f.Type, at)
			continue
		}
		if !tagged || tag == "-" {
			continue
		}
		l.add(t, f, tag, at)
	}
}

func (l *layout) add(t reflect.Type, f reflect.StructField, tag string, at []int) {
	if !f.IsExported() {
		panic(fmt.Sprintf("header: %s.%s is tagged but not exported", t, f.Name))
	}
	name, options, _ := strings.Cut(tag, ",")
	s := slot{key: name, path: at, kind: f.Type.Kind()}
	for options != "" {
		var o string
		o, options, _ = strings.Cut(options, ",")
		switch o {
		case "required":
			s.required = true
		case "omitempty":
			s.omitEmpty = true
		default:
			panic(fmt.Sprintf("header: %s.%s: unknown tag option %q", t, f.Name, o))
		}
	}
	ft := f.Type
	if s.kind == reflect.Pointer {
		s.pointer = true
		ft = ft.Elem()
		s.kind = ft.Kind()
	}
	switch s.kind {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
	case reflect.Slice:
		if ft.Elem().Kind() == reflect.Uint8 && !s.pointer {
			break
		}
		fallthrough
	default:
		panic(fmt.Sprintf("header: %s.%s: %s can not be a header field", t, f.Name, f.Type))
	}
	if name == "" {
		panic(fmt.Sprintf("header: %s.%s: tag without a name", t, f.Name))
	}
	if _, twice := l.byKey[name]; twice {
		panic(fmt.Sprintf("header: %s has two fields named %q", t, name))
	}
	l.byKey[name] = len(l.slots)
	l.slots = append(l.slots, s)
}
