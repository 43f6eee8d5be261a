// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package header

// Field is one entry of extFields. Key and Value are raw text; in a received
// command they alias the frame's bytes.
type Field struct{ Key, Value []byte }

// Fields are the extFields of a command in wire order. A key may occur twice:
// the later one counts.
type Fields []Field

// Get gives the last value of key, not copied.
func (f Fields) Get(key string) ([]byte, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if string(f[i].Key) == key {
			return f[i].Value, true
		}
	}
	return nil, false
}

// Text gives the last value of key as a copied string, "" when absent.
func (f Fields) Text(key string) string {
	v, _ := f.Get(key)
	return string(v)
}

// Add appends a field. It copies both texts, so it is meant for outgoing
// commands off the hot path; hot ones implement Encoder.
func (f *Fields) Add(key, value string) {
	*f = append(*f, Field{Key: []byte(key), Value: []byte(value)})
}
