// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"bytes"
	"strconv"

	"github.com/goddard-mq/goddard/internal/message"
)

// sentProperties are the properties of a message as it was sent, read once: those that the broker acts on, and all of them
// in their order. Of doubles the later counts, as in Java's map. Slices alias the text.
type sentProperties struct {
	unique      []byte // UNIQ_KEY
	delay       []byte // DELAY, as text
	keys        []byte // KEYS
	transaction bool   // TRAN_MSG=true
	noWait      bool   // WAIT is there and not true
	timer       bool   // any of the three wishes for a delivery time
	innerNum    bool   // INNER_NUM

	text   []byte
	pieces [24]propertyPiece // usual messages have fewer
	count  int
	odd    bool // there are doubles, or more than fit: pieces do not hold all
}

type propertyPiece struct {
	name, value []byte
	kind        propertyKind
}

// propertyKind tells when a property is left out of what is stored.
type propertyKind uint8

const (
	kindPlain  propertyKind = 1 << iota
	kindBroker              // only the broker may set it, or it sets it anew
	kindDelay               // DELAY
	kindStaged              // what a delayed message gets anew, or loses
)

// The same by name, for odd texts.
var (
	brokerNames = []string{message.PropPopCK, message.PropCluster, message.PropRegion, message.PropTraceOn}
	delayNames  = []string{message.PropDelay}
	stagedNames = []string{
		message.PropRealTopic, message.PropRealQueueID, message.PropTimerDelaySec, message.PropTimerDelayMs, message.PropTimerDeliverMs,
	}
)

func (p *sentProperties) read(text []byte) {
	p.unique, p.delay, p.keys = nil, nil, nil
	p.transaction, p.noWait, p.timer, p.innerNum = false, false, false, false
	p.text, p.count, p.odd = text, 0, false
	message.EachProperty(text, func(name, value []byte) bool {
		p.add(name, value, p.note(name, value))
		return true
	})
}

// forget lets go of the text.
func (p *sentProperties) forget() {
	clear(p.pieces[:p.count])
	p.text, p.unique, p.delay, p.keys, p.count = nil, nil, nil, nil, 0
}

// note remembers what the broker acts on.
func (p *sentProperties) note(name, value []byte) propertyKind {
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
	case message.PropDelay:
		p.delay = value
		return kindDelay
	case message.PropTimerDelaySec, message.PropTimerDelayMs, message.PropTimerDeliverMs:
		p.timer = true
		return kindStaged
	case message.PropRealTopic, message.PropRealQueueID:
		return kindStaged
	case message.PropPopCK, message.PropCluster, message.PropRegion, message.PropTraceOn:
		return kindBroker
	}
	return kindPlain
}

func (p *sentProperties) add(name, value []byte, kind propertyKind) {
	for i := range p.pieces[:p.count] {
		if bytes.Equal(p.pieces[i].name, name) {
			p.odd = true
		}
	}
	if p.count == len(p.pieces) {
		p.odd = true
		return
	}
	p.pieces[p.count] = propertyPiece{name, value, kind}
	p.count++
}

// appendTo appends the well-formed properties but those of the given kinds.
func (p *sentProperties) appendTo(dst []byte, without propertyKind) []byte {
	if p.odd {
		var names []string
		for kind, list := range map[propertyKind][]string{kindBroker: brokerNames, kindDelay: delayNames, kindStaged: stagedNames} {
			if without&kind != 0 {
				names = append(names, list...)
			}
		}
		return message.NormalizeProperties(dst, p.text, names...)
	}
	for i := range p.pieces[:p.count] {
		if piece := &p.pieces[i]; piece.kind&without == 0 {
			dst = appendProperty(dst, piece.name, piece.value)
		}
	}
	return dst
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
