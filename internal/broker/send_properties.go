// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"strconv"

	"github.com/goddard-mq/goddard/internal/message"
)

// sentProperties is what the broker acts on of the properties of a message as it was sent. Of doubles the later counts, as
// in Java's map. Slices alias the text.
type sentProperties struct {
	unique      []byte // UNIQ_KEY
	delay       []byte // DELAY, as text
	keys        []byte // KEYS
	transaction bool   // TRAN_MSG=true
	noWait      bool   // WAIT is there and not true
	timer       bool   // any of the three wishes for a delivery time
	innerNum    bool   // INNER_NUM
	lights      []byte // INNER_MULTI_DISPATCH: names of light queues
}

// read reads text, and puts all of it into all.
func (p *sentProperties) read(text []byte, all *message.PropertyMap) {
	*p = sentProperties{}
	message.EachProperty(text, func(name, value []byte) bool {
		p.note(name, value)
		all.Put(name, value)
		return true
	})
}

func (p *sentProperties) note(name, value []byte) {
	switch string(name) {
	case message.PropUniqueKey:
		p.unique = value
	case message.PropKeys:
		p.keys = value
	case message.PropTransaction:
		p.transaction = isTrue(value)
	case message.PropWait:
		p.noWait = !isTrue(value)
	case message.PropInnerNum:
		p.innerNum = true
	case message.PropMultiDispatch:
		p.lights = value
	case message.PropDelay:
		p.delay = value
	case message.PropTimerDelaySec, message.PropTimerDelayMs, message.PropTimerDeliverMs:
		p.timer = true
	}
}

// notStored tells names that only the broker may set.
func notStored(name []byte) bool { return string(name) == message.PropPopCK }

// notStaged tells names that a message with a delay level loses besides: the level goes before them.
func notStaged(name []byte) bool {
	switch string(name) {
	case message.PropPopCK, message.PropTimerDelaySec, message.PropTimerDelayMs, message.PropTimerDeliverMs:
		return true
	}
	return false
}

// delayLevel gives the wished level, 0 for none.
func (p *sentProperties) delayLevel() (int, error) {
	if p.delay == nil {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(p.delay), 10, 32)
	return int(n), err
}

// isTrue is Java's Boolean.parseBoolean.
func isTrue(b []byte) bool {
	return len(b) == 4 && b[0]|0x20 == 't' && b[1]|0x20 == 'r' && b[2]|0x20 == 'u' && b[3]|0x20 == 'e'
}

// The separators of property text.
const (
	propertyNameEnd  = 0x01
	propertyValueEnd = 0x02
)

func appendProperty[T string | []byte](p []byte, name T, value []byte) []byte {
	p = append(p, name...)
	p = append(p, propertyNameEnd)
	p = append(p, value...)
	return append(p, propertyValueEnd)
}

func appendNumber(p []byte, name string, n int64) []byte {
	p = append(p, name...)
	p = append(p, propertyNameEnd)
	p = strconv.AppendInt(p, n, 10)
	return append(p, propertyValueEnd)
}

// appendTracing adds what tells consumers' clients where a message came in and whether to trace it.
func appendTracing(p []byte, identity *IdentityConfig) []byte {
	p = message.AppendProperty(p, message.PropRegion, identity.RegionID)
	return message.AppendProperty(p, message.PropTraceOn, strconv.FormatBool(identity.TraceOn))
}
