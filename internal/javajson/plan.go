// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Enum is a string type with a fixed set of names. Readers take the ordinal of a name for the name;
// a name not listed reads as "".
type Enum interface {
	JSONNames() []string // by ordinal
}

// Defaulter is a struct, by pointer, with fields that are not zero when the JSON lacks them. It is
// called before each object that is read.
type Defaulter interface {
	JSONDefaults()
}

// Parser is a type, by pointer, that reads itself: raw is one JSON value, valid during the call only.
type Parser interface {
	ParseJSON(raw []byte) error
}

var (
	appenderType  = reflect.TypeFor[Appender]()
	enumType      = reflect.TypeFor[Enum]()
	defaulterType = reflect.TypeFor[Defaulter]()
	parserType    = reflect.TypeFor[Parser]()
)

// plan is how values of one type are written and read, worked out once per type. A plan refers to
// those of its parts, to itself too where a type is recursive.
type plan struct {
	typ    reflect.Type
	encode func(dst []byte, v reflect.Value, d Dialect) []byte
	decode func(r *reader, v reflect.Value) error

	fields []field        // of structs, sorted by name
	byName map[string]int // index in fields
	folded map[string]int // the same without case, '_' and '-'
	names  []string       // of enums
	preset bool           // of structs: a Defaulter
	elem   *plan          // of pointers, lists and maps
	key    *plan          // of maps
	size   int            // of a value in memory, bytes
}

// field of a struct.
type field struct {
	name      string
	label     []byte // "name":
	index     []int
	omitEmpty bool
	nilable   bool
	plan      *plan
}

var plans struct {
	ready sync.Map   // reflect.Type -> *plan, complete
	mu    sync.Mutex // held while plans are being made
}

func planOf(t reflect.Type) *plan {
	if p, ok := plans.ready.Load(t); ok {
		return p.(*plan)
	}
	plans.mu.Lock()
	defer plans.mu.Unlock()
	made := make(map[planKey]*plan)
	p := makePlan(planKey{t, false}, made)
	for k, p := range made {
		if !k.quoted {
			plans.ready.Store(k.typ, p)
		}
	}
	return p
}

// planKey: fields with the option "quoted" have plans of their own.
type planKey struct {
	typ    reflect.Type
	quoted bool
}

func makePlan(k planKey, made map[planKey]*plan) *plan {
	if p, ok := made[k]; ok {
		return p
	}
	t := k.typ
	p := &plan{typ: t, size: int(t.Size())}
	made[k] = p
	part := func(t reflect.Type) *plan { return makePlan(planKey{t, k.quoted}, made) }

	switch t.Kind() {
	case reflect.Bool:
		p.encode, p.decode = encodeBool, decodeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.encode, p.decode = encodeInt, decodeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.encode, p.decode = encodeUint, decodeUint
	case reflect.Float32, reflect.Float64:
		p.encode, p.decode = encodeFloat, decodeFloat
	case reflect.String:
		p.encode, p.decode = encodeString, decodeString
	case reflect.Interface:
		p.encode, p.decode = encodeInterface, decodeInterface
	case reflect.Pointer:
		p.elem = part(t.Elem())
		p.encode, p.decode = p.encodePointer, p.decodePointer
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			p.encode, p.decode = encodeBytes, decodeBytes
			break
		}
		p.elem = part(t.Elem())
		p.encode, p.decode = p.encodeList, p.decodeList
	case reflect.Map:
		p.key, p.elem = part(t.Key()), part(t.Elem())
		p.encode, p.decode = p.mapEncoder(k.quoted), p.decodeMap
	case reflect.Struct:
		p.addFields(t, nil, k.quoted, made)
		p.indexFields()
		p.encode, p.decode = p.encodeStruct, p.decodeStruct
	default:
		p.encode = func([]byte, reflect.Value, Dialect) []byte { panic("javajson: cannot write " + t.String()) }
		p.decode = func(*reader, reflect.Value) error { panic("javajson: cannot read " + t.String()) }
	}
	p.override()
	return p
}

// override lets what the type says about itself take precedence over its kind.
func (p *plan) override() {
	switch t := p.typ; {
	case t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer:
		return // their elements are asked
	case t.Kind() == reflect.String && t.Implements(enumType):
		p.names = reflect.Zero(t).Interface().(Enum).JSONNames()
		p.decode = p.decodeEnum
	}
	if p.typ.Implements(appenderType) {
		p.encode = func(dst []byte, v reflect.Value, d Dialect) []byte {
			return v.Interface().(Appender).AppendJSON(dst, d)
		}
	}
	p.preset = reflect.PointerTo(p.typ).Implements(defaulterType)
	if reflect.PointerTo(p.typ).Implements(parserType) {
		p.decode = decodeParser
	}
}

// addFields lists the fields of t, which lies at index within the struct of the plan.
func (p *plan) addFields(t reflect.Type, index []int, quoted bool, made map[planKey]*plan) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := append(slices.Clone(index), i)
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			p.addFields(f.Type, at, quoted, made)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		name = cmp.Or(name, f.Name)
		kind := f.Type.Kind()
		p.fields = append(p.fields, field{
			name:      name,
			label:     append(appendString(nil, name, Bare), ':'),
			index:     at,
			omitEmpty: hasOption(options, "omitempty"),
			nilable:   kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice || kind == reflect.Interface,
			plan:      makePlan(planKey{f.Type, quoted || hasOption(options, "quoted")}, made),
		})
	}
}

// indexFields sorts the fields and makes the tables to find them by. Of two with one name the outer
// one counts.
func (p *plan) indexFields() {
	slices.SortStableFunc(p.fields, func(a, b field) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(len(a.index), len(b.index)))
	})
	p.fields = slices.CompactFunc(p.fields, func(a, b field) bool { return a.name == b.name })
	p.byName = make(map[string]int, len(p.fields))
	p.folded = make(map[string]int, len(p.fields))
	for i, f := range p.fields {
		p.byName[f.name] = i
		p.folded[fold(f.name)] = i
	}
}

var withoutDashes = strings.NewReplacer("_", "", "-", "")

// fold makes names alike that fastjson 1 takes for the same.
func fold(name string) string { return strings.ToLower(withoutDashes.Replace(name)) }

func hasOption(options, option string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == option {
			return true
		}
	}
	return false
}
