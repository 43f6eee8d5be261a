// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package header

// Writer takes extFields one by one in the form of the frame being written. A
// frame writer in package remoting implements it. Values travel as text whatever
// their type.
type Writer interface {
	Text(key, value string)
	Bytes(key string, value []byte)
	Int32(key string, value int32)
	Int64(key string, value int64)
	Bool(key string, value bool)
}

// Encoder is an outgoing header that writes its own extFields, so that hot
// answers need no map and no strings.
type Encoder interface{ EncodeFields(w Writer) }
