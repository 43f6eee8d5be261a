// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// Properties are text: name 0x01 value 0x02, one after another. The last 0x02 may be missing (4.9
// never writes it). A piece counts only if it has a 0x01 with something before and something after
// it; the first 0x01 splits. Other pieces are dropped, as Java's reader drops them.
const (
	nameEnd  = 0x01
	valueEnd = 0x02
)

// nextProperty takes the first piece off props. ok is false when it is malformed.
func nextProperty(props []byte) (name, value, rest []byte, ok bool) {
	piece := props
	if i := bytes.IndexByte(props, valueEnd); i >= 0 {
		piece, rest = props[:i], props[i+1:]
	}
	i := bytes.IndexByte(piece, nameEnd)
	if i <= 0 || i == len(piece)-1 {
		return nil, nil, rest, false
	}
	return piece[:i:i], piece[i+1 : len(piece) : len(piece)], rest, true
}

// FindProperty gives the value of a property, the later of doubles. The value aliases props.
func FindProperty(props []byte, name string) (value []byte, ok bool) {
	at := len(name) // where the 0x01 must be
	if at == 0 || strings.IndexByte(name, nameEnd) >= 0 {
		return nil, false
	}
	for len(props) > at+1 {
		end := bytes.IndexByte(props, valueEnd)
		if end < 0 {
			end = len(props)
		}
		if end > at+1 && props[at] == nameEnd && string(props[:at]) == name {
			value, ok = props[at+1:end:end], true
		}
		if end == len(props) {
			break
		}
		props = props[end+1:]
	}
	return value, ok
}

// FindProperties is FindProperty for several names in one pass: values[i] is set to that of names[i]
// where there is one. Names are not empty and have no 0x01.
func FindProperties(props []byte, names []string, values [][]byte) {
	for len(props) > 0 {
		piece := props
		if i := bytes.IndexByte(props, valueEnd); i >= 0 {
			piece, props = props[:i:i], props[i+1:]
		} else {
			props = nil
		}
		for i, name := range names {
			at := len(name) // where the 0x01 must be
			if at < len(piece)-1 && piece[at] == nameEnd && string(piece[:at]) == name {
				values[i] = piece[at+1 : len(piece) : len(piece)]
				break
			}
		}
	}
}

// EachProperty calls f with the name and value of each well-formed piece in order, until f returns
// false. They alias props.
func EachProperty(props []byte, f func(name, value []byte) bool) {
	for len(props) > 0 {
		name, value, rest, ok := nextProperty(props)
		if ok && !f(name, value) {
			return
		}
		props = rest
	}
}

// ParseProperties gives all properties as a map (RocketMQ: MessageDecoder.string2messageProperties).
func ParseProperties(props []byte) map[string]string {
	m := make(map[string]string)
	EachProperty(props, func(name, value []byte) bool {
		m[string(name)] = string(value)
		return true
	})
	return m
}

// AppendProperty appends a property to the property text dst, putting the separator in first where
// the last property lacks it.
func AppendProperty(dst []byte, name, value string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != valueEnd {
		dst = append(dst, valueEnd)
	}
	dst = append(dst, name...)
	dst = append(dst, nameEnd)
	dst = append(dst, value...)
	return append(dst, valueEnd)
}

// AppendProperties appends all of m to the property text dst, sorted by name.
func AppendProperties(dst []byte, m map[string]string) []byte {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		dst = AppendProperty(dst, name, m[name])
	}
	return dst
}

// manyProperties is where telling doubles by comparing each with each becomes dearer than a map.
const manyProperties = 32

// piece is a well-formed property within a text: its name is text[start:name], its value text[name+1:end].
type piece struct{ start, name, end int }

// NormalizeProperties appends to dst the well-formed pieces of props in their order, ending in 0x02:
// of doubles only the last, and none of the names in drop.
func NormalizeProperties(dst, props []byte, drop ...string) []byte {
	var few [manyProperties]piece
	pieces := few[:0]
	for start := 0; start < len(props); {
		end := len(props)
		if i := bytes.IndexByte(props[start:], valueEnd); i >= 0 {
			end = start + i
		}
		if i := bytes.IndexByte(props[start:end], nameEnd); i > 0 && start+i < end-1 {
			pieces = append(pieces, piece{start, start + i, end})
		}
		start = end + 1
	}
	var last map[string]int // index of the last piece of a name
	if len(pieces) > manyProperties {
		last = make(map[string]int)
		for i, p := range pieces {
			last[string(props[p.start:p.name])] = i
		}
	}
	for i, p := range pieces {
		name := props[p.start:p.name]
		if slices.Contains(drop, string(name)) {
			continue
		}
		if last != nil && last[string(name)] != i || last == nil && hasName(props, pieces[i+1:], name) {
			continue
		}
		dst = append(dst, props[p.start:p.end]...)
		dst = append(dst, valueEnd)
	}
	return dst
}

// hasName tells whether one of the pieces of props has the name.
func hasName(props []byte, pieces []piece, name []byte) bool {
	for _, p := range pieces {
		if p.name-p.start == len(name) && bytes.Equal(props[p.start:p.name], name) {
			return true
		}
	}
	return false
}
