// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// The numbers in a frame that differ from request to request have a fixed width,
// so that they can be overwritten in place. Leading zeros are fine with readers of
// decimal text.
const (
	firstOpaque = 100_000_000 // nine digits, up to the last one of nine
	lastOpaque  = 999_999_999
	queueDigits = 7
	bornDigits  = 13 // ms, until the year 2286
	connDigits  = 4  // of a unique key, hexadecimal
	seqDigits   = 8  // of a unique key or key, hexadecimal
	tagDigits   = 2  // hexadecimal
	maxTags     = 1 << (4 * tagDigits)

	// What stands in the places of the queue and the time until they are found.
	queueMark = 1_234_567
	bornMark  = 1_357_913_579_135
)

// sendFrame is a send request, encoded once and patched for each use.
type sendFrame struct {
	b        []byte
	binary   bool
	opaqueAt int
	queueAt  int
	bornAt   int
	items    []itemPlaces // of each message in it
	keys     int
	tags     int
}

// itemPlaces are where in the frame one message's properties are patched; -1: not there.
type itemPlaces struct{ unique, key, tag int }

// newSendFrame encodes the requests of connection conn.
func newSendFrame(c *ProduceConfig, conn int) (*sendFrame, error) {
	f := &sendFrame{binary: c.Binary, keys: c.Keys, tags: c.Tags}
	prefix := message.NewUniqueID()
	prefix = prefix[:len(prefix)-connDigits-seqDigits] + fmt.Sprintf("%0*X", connDigits, conn&0xFFFF)
	body := filler(c.Size)
	h := &protocol.SendRequest{
		ProducerGroup: []byte(c.Group), Topic: []byte(c.Topic), DefaultTopic: []byte(protocol.TopicDefault), DefaultTopicQueueNums: 4,
		QueueID: queueMark, BornTimestamp: bornMark, Batch: c.Batch > 1,
	}
	cmd := &remoting.Command{Code: protocol.SendMessageV2, Opaque: firstOpaque, Language: remoting.LanguageGo, Version: protocol.CurrentVersion, Header: h}
	if c.Binary {
		cmd.Serializer = remoting.Binary
	}
	uniques := make([]string, c.Batch)
	for i := range uniques {
		uniques[i] = fmt.Sprintf("%s%0*X", prefix, seqDigits, i)
		props := properties(c, uniques[i])
		if c.Batch == 1 {
			h.Properties, cmd.Body = props, body
			break
		}
		cmd.Body = message.AppendBatchItem(cmd.Body, message.BatchItem{Body: body, Properties: props})
	}
	if c.Batch > 1 {
		cmd.Code = protocol.SendBatchMessage
		h.Properties = message.AppendProperty(nil, message.PropWait, strconv.FormatBool(!c.NoWait))
	}
	var err error
	if f.b, err = remoting.AppendFrame(nil, cmd); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return f, f.locate(uniques)
}

// properties of one message, in the order in which locate looks for them.
func properties(c *ProduceConfig, unique string) []byte {
	p := message.AppendProperty(nil, message.PropUniqueKey, unique)
	if c.Keys > 0 {
		p = message.AppendProperty(p, message.PropKeys, "key-"+strings.Repeat("0", seqDigits))
	}
	if c.Tags > 0 {
		p = message.AppendProperty(p, message.PropTags, "tag-"+strings.Repeat("0", tagDigits))
	}
	p = message.AppendProperty(p, message.PropWait, strconv.FormatBool(!c.NoWait))
	for i := range c.Properties {
		p = message.AppendProperty(p, fmt.Sprintf("bench%d", i), fmt.Sprintf("value-%d", i))
	}
	return p
}

// locate finds the places that are patched.
func (f *sendFrame) locate(uniques []string) error {
	if f.binary {
		f.opaqueAt = 8 + 2 + 1 + 2 // length, header word, code, language, version
	} else {
		const key = `"opaque":`
		f.opaqueAt = bytes.Index(f.b, []byte(key+strconv.Itoa(firstOpaque))) + len(key)
	}
	f.queueAt = bytes.Index(f.b, []byte(strconv.Itoa(queueMark)))
	f.bornAt = bytes.Index(f.b, []byte(strconv.Itoa(bornMark)))
	if f.opaqueAt < 8 || f.queueAt < 0 || f.bornAt < 0 {
		return fmt.Errorf("encode the request: a number that is to be patched is not found")
	}
	for _, unique := range uniques {
		p := itemPlaces{key: -1, tag: -1}
		at := bytes.Index(f.b, []byte(unique))
		p.unique = at + len(unique) - seqDigits
		if f.keys > 0 {
			p.key = p.unique + bytes.Index(f.b[p.unique:], []byte("key-")) + len("key-")
		}
		if f.tags > 0 {
			p.tag = p.unique + bytes.Index(f.b[p.unique:], []byte("tag-")) + len("tag-")
		}
		f.items = append(f.items, p)
	}
	return nil
}

// patch makes it the request number seq of its connection.
func (f *sendFrame) patch(opaque int32, queue int, bornMillis, seq int64) {
	if f.binary {
		f.b[f.opaqueAt], f.b[f.opaqueAt+1], f.b[f.opaqueAt+2], f.b[f.opaqueAt+3] = byte(opaque>>24), byte(opaque>>16), byte(opaque>>8), byte(opaque)
	} else {
		putDecimal(f.b[f.opaqueAt:f.opaqueAt+9], int64(opaque))
	}
	putDecimal(f.b[f.queueAt:f.queueAt+queueDigits], int64(queue))
	putDecimal(f.b[f.bornAt:f.bornAt+bornDigits], bornMillis)
	n := uint64(seq) * uint64(len(f.items))
	for i := range f.items {
		p := &f.items[i]
		putHex(f.b[p.unique:p.unique+seqDigits], n)
		if p.key >= 0 {
			putHex(f.b[p.key:p.key+seqDigits], n%uint64(f.keys))
		}
		if p.tag >= 0 {
			putHex(f.b[p.tag:p.tag+tagDigits], n%uint64(f.tags))
		}
		n++
	}
}

func putDecimal(b []byte, v int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
}

func putHex(b []byte, v uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = "0123456789ABCDEF"[v&15]
		v >>= 4
	}
}

// filler makes a body of letters that hardly compresses and holds none of the marks.
func filler(size int) []byte {
	b := make([]byte, size)
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = 'a' + byte(x%26)
	}
	return b
}
