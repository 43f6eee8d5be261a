// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package remoting

import (
	"strings"

	"github.com/goddard-mq/goddard/internal/header"
)

// Serializer is the form of a frame's header (RocketMQ: SerializeType).
type Serializer uint8

// The two header forms.
const (
	JSON   Serializer = 0
	Binary Serializer = 1 // RocketMQ: ROCKETMQ
)

// String is RocketMQ's name of the form.
func (s Serializer) String() string {
	switch s {
	case JSON:
		return "JSON"
	case Binary:
		return "ROCKETMQ"
	}
	return "UNKNOWN"
}

// Flag bits of a command.
const (
	FlagResponse = 1 // set in answers
	FlagOneway   = 2 // set in requests that want no answer
)

// Command is one frame, received or to be sent (RocketMQ: RemotingCommand).
//
// A received command handed to an inline handler aliases the connection's read
// buffer and is valid only until the handler returns; Clone makes it last.
type Command struct {
	Code       int32
	Opaque     int32
	Flag       int32
	Version    int32    // MQVersion ordinal of the sender
	Language   Language // of the sender
	Serializer Serializer
	Remark     string
	Fields     header.Fields
	// Header, on outgoing commands, writes extFields before Fields. Not set on received ones.
	Header header.Encoder
	// EmptyFields asks for an empty extFields object in JSON when there are no fields
	// (RocketMQ answers with a custom header class do so).
	EmptyFields bool
	Body        []byte
}

// IsResponse tells answers from requests.
func (c *Command) IsResponse() bool { return c.Flag&FlagResponse != 0 }

// IsOneway tells whether the sender wants no answer.
func (c *Command) IsOneway() bool { return c.Flag&FlagOneway != 0 }

// Clone copies c so that it outlives the read buffer. Fields and body share one
// piece of memory of their own.
func (c *Command) Clone() *Command {
	d := *c
	d.Remark = strings.Clone(c.Remark)
	size := len(c.Body)
	for i := range c.Fields {
		size += len(c.Fields[i].Key) + len(c.Fields[i].Value)
	}
	mem := make([]byte, 0, size)
	keep := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		at := len(mem)
		mem = append(mem, b...)
		return mem[at:len(mem):len(mem)]
	}
	d.Fields = nil
	if len(c.Fields) > 0 {
		d.Fields = make(header.Fields, len(c.Fields))
		for i, f := range c.Fields {
			d.Fields[i] = header.Field{Key: keep(f.Key), Value: keep(f.Value)}
		}
	}
	d.Body = keep(c.Body)
	return &d
}

// reset empties c and keeps the memory of its fields, unless a strange request
// made that large.
func (c *Command) reset() {
	fields := c.Fields[:0]
	if cap(fields) > 128 {
		fields = nil
	}
	*c = Command{Fields: fields}
}
