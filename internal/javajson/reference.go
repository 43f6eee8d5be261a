// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

import (
	"reflect"
	"strconv"
	"strings"
)

// decodeReference reads {"$ref":"$.path"}, by which fastjson 1 writes an object again that it has
// written before: the object at that path of the same text is read another time. References to the
// objects around it ("@", "..") leave v as it is.
func (p *plan) decodeReference(r *reader, v reflect.Value) error {
	start := r.pos
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	if k != text {
		return r.failAt(start, "%v where the path of a reference is wanted", k)
	}
	path := string(s)
	if !strings.HasPrefix(path, "$") {
		return nil
	}
	back := r.pos
	defer func() { r.pos = back }()

	r.pos = 0
	if strings.HasPrefix(string(r.b[:min(3, len(r.b))]), string(byteOrderMark)) {
		r.pos = len(byteOrderMark)
	}
	found, err := r.follow(path[1:])
	if err != nil {
		return err
	}
	if !found {
		return r.failAt(start, "reference to %.64q, which is not there", path)
	}
	from := r.pos
	if err := p.decode(r, v); err != nil {
		return err
	}
	return r.charge(r.pos - from)
}

// follow goes from the value at r.pos to the one at path below it.
func (r *reader) follow(path string) (bool, error) {
	for path != "" {
		step, rest, ok := nextStep(path)
		if !ok {
			return false, nil
		}
		path = rest
		from := r.pos
		found, err := r.child(step)
		if err == nil {
			err = r.charge(r.pos - from)
		}
		if err != nil || !found {
			return false, err
		}
	}
	return true, r.space()
}

// nextStep takes ".name" or "[index]" off a path. A backslash takes away the meaning of the character behind it.
func nextStep(path string) (step, rest string, ok bool) {
	if strings.HasPrefix(path, "[") {
		i := strings.IndexByte(path, ']')
		if i < 0 {
			return "", "", false
		}
		return strings.Trim(path[1:i], `'"`), path[i+1:], true
	}
	if !strings.HasPrefix(path, ".") {
		return "", "", false
	}
	var name []byte
	i := 1
	for ; i < len(path); i++ {
		c := path[i]
		if c == '.' || c == '[' {
			break
		}
		if c == '\\' && i+1 < len(path) {
			i++
			c = path[i]
		}
		name = append(name, c)
	}
	return string(name), path[i:], true
}

// child goes from an object or list to its part of the given name or number.
func (r *reader) child(step string) (bool, error) {
	if err := r.space(); err != nil {
		return false, err
	}
	end := byte('}')
	index := -1
	switch r.peek() {
	case '{':
	case '[':
		end = ']'
		n, err := strconv.Atoi(step)
		if err != nil {
			return false, nil
		}
		index = n
	default:
		return false, nil
	}
	r.pos++
	for n := 0; ; n++ {
		if ok, err := r.more(end); err != nil || !ok {
			return false, err
		}
		if end == ']' && n == index {
			return true, nil
		}
		if end == '}' {
			key, err := r.key()
			if err != nil {
				return false, err
			}
			same := string(key) == step
			if err := r.colon(); err != nil || same {
				return same, err
			}
		}
		if err := r.skip(); err != nil {
			return false, err
		}
	}
}
