// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import "strconv"

// Text writes a field (header.Writer).
func (e *encoder) Text(key, value string) {
	if e.binary {
		if e.binaryKey(key, len(value)) {
			e.b = append(e.b, value...)
		}
		return
	}
	e.jsonKey(key)
	e.b = appendEscaped(e.b, value)
	e.b = append(e.b, '"')
}

// Bytes writes a field (header.Writer).
func (e *encoder) Bytes(key string, value []byte) {
	if e.binary {
		if e.binaryKey(key, len(value)) {
			e.b = append(e.b, value...)
		}
		return
	}
	e.jsonKey(key)
	e.b = appendEscaped(e.b, value)
	e.b = append(e.b, '"')
}

// Int32 writes a field (header.Writer).
func (e *encoder) Int32(key string, value int32) { e.Int64(key, int64(value)) }

// Int64 writes a field (header.Writer).
func (e *encoder) Int64(key string, value int64) {
	if e.binary {
		e.binaryInt(key, value)
		return
	}
	e.jsonKey(key)
	e.b = strconv.AppendInt(e.b, value, 10)
	e.b = append(e.b, '"')
}

// Bool writes a field (header.Writer).
func (e *encoder) Bool(key string, value bool) {
	if value {
		e.Text(key, "true")
	} else {
		e.Text(key, "false")
	}
}

// rawField writes one of Command.Fields.
func (e *encoder) rawField(key, value []byte) { e.Bytes(string(key), value) }
