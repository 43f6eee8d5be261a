// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goddard-mq/goddard/internal/header"
)

// A frame (RocketMQ: NettyEncoder, NettyDecoder, RemotingCommand):
//
//	0        4      5           8                 8+headerLen
//	+--------+------+-----------+-----------------+------ - -
//	| length | form | headerLen | header          | body
//	+--------+------+-----------+-----------------+------ - -
//	    4       1         3         headerLen       length - 4 - headerLen
//
// length counts what follows it; form is a Serializer; all numbers are
// big-endian. No body and a body of no bytes are the same.
const (
	lengthBytes    = 4
	prefixBytes    = 8 // length word and header word
	maxHeaderBytes = 1<<24 - 1
	// maxFields bounds what decoding costs beyond the bytes that arrived. Requests
	// of real clients have some twenty fields.
	maxFields = 4096
)

// DecodeFrame decodes what follows the length word: header word, header, body.
// c aliases b, and b's header is altered where JSON texts had escapes. Fields of
// c keep their memory. The error is a *FrameError.
func DecodeFrame(c *Command, b []byte) error {
	c.reset()
	if len(b) < lengthBytes {
		return badFrame("length below 4")
	}
	word := binary.BigEndian.Uint32(b)
	n := int(word & maxHeaderBytes)
	if n > len(b)-lengthBytes {
		return badFrame("header longer than the frame")
	}
	head := b[lengthBytes : lengthBytes+n : lengthBytes+n]
	if body := b[lengthBytes+n : len(b) : len(b)]; len(body) > 0 {
		c.Body = body
	}
	switch c.Serializer = Serializer(word >> 24); c.Serializer {
	case JSON:
		return decodeJSON(c, head)
	case Binary:
		return decodeBinary(c, head)
	}
	return badFrame(fmt.Sprintf("unknown header form %d", word>>24))
}

// AppendFrame encodes c, length word included. A code that a binary header can
// not say makes the header JSON. The error wraps ErrTooLarge; dst is then
// returned as it was.
func AppendFrame(dst []byte, c *Command) ([]byte, error) {
	var e encoder
	e.b = dst
	err := e.frame(c, meta{
		opaque: c.Opaque, flag: c.Flag, version: c.Version, language: c.Language, serializer: c.Serializer,
	}, true)
	return e.b, err
}

// meta is the part of a header that the connection decides, not the command, so
// that one Command may be sent to many peers at once.
type meta struct {
	opaque, flag, version int32
	language              Language
	serializer            Serializer
}

func (m *meta) isResponse() bool { return m.flag&FlagResponse != 0 }

// encoder writes frames to the end of b. As a header.Writer it writes the
// extFields of the frame it is in.
type encoder struct {
	b      []byte
	binary bool
	fields int   // written in this frame
	err    error // of a field that can not be said
}

var _ header.Writer = (*encoder)(nil)

// frame appends c. Without inline the body is left to the caller, who must see to
// it that it follows the header.
func (e *encoder) frame(c *Command, m meta, inline bool) error {
	start := len(e.b)
	e.binary = m.serializer == Binary && c.Code >= math.MinInt16 && c.Code <= math.MaxInt16
	e.fields, e.err = 0, nil
	e.b = append(e.b, 0, 0, 0, 0, 0, 0, 0, 0)
	if e.binary {
		e.binaryHeader(c, m)
	} else {
		e.jsonHeader(c, m)
	}
	n := len(e.b) - start - prefixBytes
	length := int64(n) + lengthBytes + int64(len(c.Body))
	if e.err == nil && (n > maxHeaderBytes || length > math.MaxInt32) {
		e.err = fmt.Errorf("%w: header of %d, body of %d bytes", ErrTooLarge, n, len(c.Body))
	}
	if e.err != nil {
		e.b = e.b[:start]
		return e.err
	}
	word := uint32(n)
	if e.binary {
		word |= uint32(Binary) << 24
	}
	binary.BigEndian.PutUint32(e.b[start:], uint32(length))
	binary.BigEndian.PutUint32(e.b[start+lengthBytes:], word)
	if inline {
		e.b = append(e.b, c.Body...)
	}
	return nil
}

// fieldsOf writes what the command has as extFields.
func (e *encoder) fieldsOf(c *Command) {
	if c.Header != nil {
		c.Header.EncodeFields(e)
	}
	for i := range c.Fields {
		e.rawField(c.Fields[i].Key, c.Fields[i].Value)
	}
}
