// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"bytes"
	"unsafe"
)

// RocketMQ's broker keeps the properties of a message that it stores in a HashMap made for 128 entries and writes them in
// the order in which such a map gives them: by bucket, and inside a bucket as they came. What Goddard stores for the same
// message is the same text.
const propertyBuckets = 128

// AppendInMapOrder appends the well-formed pieces of props to dst as Java's map would hold them: in its order, of doubles
// the later value at the place of the first. Names for which drop (may be nil) says true are left out. Nothing is
// allocated for the usual number of properties.
func AppendInMapOrder(dst, props []byte, drop func(name []byte) bool) []byte {
	var few [24]placedProperty
	m := PropertyMap{few[:0]}
	EachProperty(props, func(name, value []byte) bool {
		m.Put(name, value)
		return true
	})
	return m.Append(dst, drop)
}

// PropertyMap holds properties as Java's map does. The zero value is empty.
type PropertyMap struct{ placed []placedProperty }

// Put sets a property, over an earlier one of that name. One without a name or a value is left out, as it could not be
// written. m keeps the slices.
func (m *PropertyMap) Put(name, value []byte) {
	if len(name) > 0 && len(value) > 0 {
		m.placed = place(m.placed, placedProperty{name, value, propertyBucket(name)})
	}
}

// PutText is Put for text.
func (m *PropertyMap) PutText(name, value string) {
	m.Put(unsafe.Slice(unsafe.StringData(name), len(name)), unsafe.Slice(unsafe.StringData(value), len(value)))
}

// Append appends all properties, in the map's order, but those for which drop (may be nil) says true.
func (m *PropertyMap) Append(dst []byte, drop func(name []byte) bool) []byte {
	for i := range m.placed {
		p := &m.placed[i]
		if drop != nil && drop(p.name) {
			continue
		}
		dst = append(dst, p.name...)
		dst = append(dst, nameEnd)
		dst = append(dst, p.value...)
		dst = append(dst, valueEnd)
	}
	return dst
}

// Reset empties m and lets go of what it held. Memory for a few is kept.
func (m *PropertyMap) Reset() {
	if cap(m.placed) > 2*manyProperties {
		m.placed = nil
		return
	}
	clear(m.placed)
	m.placed = m.placed[:0]
}

type placedProperty struct {
	name, value []byte
	bucket      uint8
}

// place puts p behind all of its bucket, or over the one of its name.
func place(placed []placedProperty, p placedProperty) []placedProperty {
	at := len(placed)
	for at > 0 && placed[at-1].bucket > p.bucket {
		at--
	}
	for i := at - 1; i >= 0 && placed[i].bucket == p.bucket; i-- {
		if bytes.Equal(placed[i].name, p.name) {
			placed[i].value = p.value
			return placed
		}
	}
	placed = append(placed, placedProperty{})
	copy(placed[at+1:], placed[at:])
	placed[at] = p
	return placed
}

// propertyBucket is where Java's HashMap puts a name: its hash with the upper half folded into the lower.
func propertyBucket(name []byte) uint8 {
	h := uint32(HashString(name))
	return uint8((h ^ h>>16) % propertyBuckets)
}
