// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"reflect"
)

// nothing reads a null, or "" or [] where they stand for one.
func (r *reader) nothing(emptyText, emptyList bool) (bool, error) {
	if err := r.space(); err != nil {
		return false, err
	}
	start := r.pos
	switch c := r.peek(); {
	case c == '[' && emptyList:
		r.pos++
		if ok, err := r.more(']'); err == nil && !ok {
			return true, nil
		}
	case (c == '"' || c == '\'') && emptyText:
		if s, err := r.quoted(c); err == nil && len(s) == 0 {
			return true, nil
		}
	case isNameStart(c):
		if k, _, err := r.scalar(); err == nil && k == null {
			return true, nil
		}
	}
	r.pos = start
	return false, nil
}

func (p *plan) decodePointer(r *reader, v reflect.Value) error {
	k := p.elem.typ.Kind()
	if ok, err := r.nothing(k != reflect.String, k == reflect.Struct); err != nil {
		return err
	} else if ok {
		v.SetZero()
		return nil
	}
	if err := r.charge(p.elem.size); err != nil {
		return err
	}
	e := reflect.New(p.elem.typ)
	if err := p.elem.decode(r, e.Elem()); err != nil {
		return err
	}
	v.Set(e)
	return nil
}

func (p *plan) decodeList(r *reader, v reflect.Value) error {
	if ok, err := r.nothing(true, false); err != nil {
		return err
	} else if ok {
		v.SetZero()
		return nil
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	v.Set(reflect.MakeSlice(p.typ, 0, 0))
	switch c := r.peek(); c {
	case '{': // fastjson takes an object for a list of it
		return p.decodeElem(r, v)
	case '[':
		r.pos++
	default:
		return r.fail("unexpected character %q, a list is wanted", c)
	}
	for {
		if ok, err := r.more(']'); err != nil || !ok {
			return err
		}
		if err := p.decodeElem(r, v); err != nil {
			return err
		}
	}
}

// decodeElem reads a list's next element.
func (p *plan) decodeElem(r *reader, v reflect.Value) error {
	if err := r.charge(p.elem.size); err != nil {
		return err
	}
	n := v.Len()
	v.Grow(1)
	v.SetLen(n + 1)
	e := v.Index(n)
	e.SetZero()
	return p.elem.decode(r, e)
}

func (p *plan) decodeMap(r *reader, v reflect.Value) error {
	if ok, err := r.nothing(true, false); err != nil {
		return err
	} else if ok {
		v.SetZero()
		return nil
	}
	if c := r.peek(); c != '{' {
		return r.fail("unexpected character %q, an object is wanted", c)
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	r.pos++
	v.Set(reflect.MakeMap(p.typ))
	for {
		if ok, err := r.more('}'); err != nil || !ok {
			return err
		}
		if err := p.decodeEntry(r, v); err != nil {
			return err
		}
	}
}

// decodeEntry reads a map's next entry. One that is null is left out.
func (p *plan) decodeEntry(r *reader, v reflect.Value) error {
	if err := r.charge(2*(p.key.size+p.elem.size) + 16); err != nil {
		return err
	}
	k := reflect.New(p.key.typ).Elem()
	start := r.pos
	if err := p.key.decodeKey(r, k); err != nil {
		return err
	}
	name := r.b[start:r.pos]
	if err := r.colon(); err != nil {
		return err
	}
	if ok, err := r.nothing(false, false); ok || err != nil {
		return err
	}
	e := reflect.New(p.elem.typ).Elem()
	if err := p.elem.decode(r, e); err != nil {
		return within(name, err)
	}
	v.SetMapIndex(k, e)
	return nil
}

// decodeKey reads a map's key. An object may also be given as text.
func (p *plan) decodeKey(r *reader, v reflect.Value) error {
	start := r.pos
	c := r.peek()
	if c == '{' && p.typ.Kind() == reflect.Struct {
		return p.decode(r, v)
	}
	s, err := r.key()
	if err != nil {
		return err
	}
	switch {
	case p.typ.Kind() == reflect.String:
		v.SetString(validText(s))
	case v.CanInt() && (c == '"' || c == '\''):
		return r.setInt(v, text, s, start)
	case v.CanInt():
		return r.setInt(v, number, s, start)
	default:
		inner := &reader{b: s, depth: r.depth, budget: r.budget}
		if err := p.decode(inner, v); err != nil {
			return r.failAt(start, "key %.64q: %v", s, err)
		}
		if inner.pos != len(s) {
			return r.failAt(start, "key %.64q: text after the value", s)
		}
	}
	return nil
}

func (p *plan) decodeStruct(r *reader, v reflect.Value) error {
	if ok, err := r.nothing(true, true); err != nil {
		return err
	} else if ok {
		v.SetZero()
		return nil
	}
	if c := r.peek(); c != '{' {
		return r.fail("unexpected character %q, an object is wanted", c)
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	r.pos++
	if p.preset {
		v.Addr().Interface().(Defaulter).JSONDefaults()
	}
	for {
		if ok, err := r.more('}'); err != nil || !ok {
			return err
		}
		if err := p.decodeField(r, v); err != nil {
			return err
		}
	}
}

// decodeField reads the next entry of an object into the field it names.
func (p *plan) decodeField(r *reader, v reflect.Value) error {
	key, err := r.key()
	if err != nil {
		return err
	}
	i, ok := p.byName[string(key)]
	reference := !ok && string(key) == "$ref"
	if !ok && !reference {
		i, ok = p.folded[fold(string(key))]
	}
	if err := r.colon(); err != nil {
		return err
	}
	switch {
	case reference:
		return p.decodeReference(r, v)
	case !ok:
		return r.skip()
	}
	f := &p.fields[i]
	if err := f.plan.decode(r, v.FieldByIndex(f.index)); err != nil {
		return within([]byte(f.name), err)
	}
	return nil
}

// within adds to an error the name of the field or key it happened in.
func within(name []byte, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	if len(name) > 64 {
		name = name[:64]
	}
	if e.Field == "" {
		e.Field = string(name)
	} else {
		e.Field = string(name) + "." + e.Field
	}
	return e
}
