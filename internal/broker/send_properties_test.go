// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

// propertyText writes name=value pairs with blanks between as property text: "a=1 b=2".
func propertyText(pairs string) []byte {
	var p []byte
	for _, pair := range strings.Fields(pairs) {
		name, value, _ := strings.Cut(pair, "=")
		p = message.AppendProperty(p, name, value)
	}
	return p
}

func TestSentProperties(t *testing.T) {
	many := strings.Repeat("x", 40)
	var manyPairs []string
	for i := range many {
		manyPairs = append(manyPairs, many[:i+1]+"=1")
	}
	tests := []struct {
		situation, sent string
		without         propertyKind
		want            string
	}{
		{"nothing", "", kindBroker, ""},
		{"plain ones stay in their order", "b=2 a=1 TAGS=t", kindBroker, "b=2 a=1 TAGS=t"},
		{"the broker's own go", "POP_CK=1 a=1 CLUSTER=c MSG_REGION=r TRACE_ON=t", kindBroker, "a=1"},
		{"a delayed message loses what it gets anew", "DELAY=3 a=1 REAL_TOPIC=t REAL_QID=1 TIMER_DELAY_SEC=1", kindBroker | kindDelay | kindStaged, "a=1"},
		{"a plain one keeps them", "DELAY=0 REAL_TOPIC=t", kindBroker, "DELAY=0 REAL_TOPIC=t"},
		{"of doubles the later", "a=1 b=1 a=2", kindBroker, "b=1 a=2"},
		{"doubles and the broker's own", "a=1 POP_CK=x a=2", kindBroker, "a=2"},
		{"more than fit", strings.Join(manyPairs, " ") + " POP_CK=1", kindBroker, strings.Join(manyPairs, " ")},
	}
	for _, tt := range tests {
		t.Run(tt.situation, func(t *testing.T) {
			var p sentProperties
			p.read(propertyText(tt.sent))
			if got := p.appendTo(nil, tt.without); !bytes.Equal(got, propertyText(tt.want)) {
				t.Errorf("got %q, want %q", got, propertyText(tt.want))
			}
		})
	}
}

func TestWhatTheBrokerReadsOfProperties(t *testing.T) {
	var p sentProperties
	p.read([]byte("UNIQ_KEY\x01old\x02WAIT\x01yes\x02TRAN_MSG\x01TRUE\x02INNER_NUM\x01\x02KEYS\x01k\x02TIMER_DELIVER_MS\x015\x02UNIQ_KEY\x01new\x02DELAY\x017"))
	if string(p.unique) != "new" || string(p.keys) != "k" {
		t.Errorf("unique key %q, keys %q", p.unique, p.keys)
	}
	if !p.noWait || !p.transaction || !p.timer || p.innerNum {
		t.Errorf("noWait %t transaction %t timer %t innerNum %t; want true true true false (empty values count for nothing)",
			p.noWait, p.transaction, p.timer, p.innerNum)
	}
	if level, err := p.delayLevel(); level != 7 || err != nil {
		t.Errorf("level %d, %v", level, err)
	}
	for _, bad := range []string{"x", "2147483648", "1.5", " 1"} {
		p.read(message.AppendProperty(nil, message.PropDelay, bad))
		if _, err := p.delayLevel(); err == nil {
			t.Errorf("level %q is taken", bad)
		}
	}
}

// The quick way and the one of package message leave the same.
func FuzzSentProperties(f *testing.F) {
	f.Add([]byte("a\x01b\x02POP_CK\x01x\x02a\x01c"), byte(kindBroker))
	f.Add([]byte("a\x01\x02\x01b\x02c\x02d\x01e\x01f\x02"), byte(0))
	f.Fuzz(func(t *testing.T, text []byte, kinds byte) {
		without := propertyKind(kinds) & (kindBroker | kindDelay | kindStaged)
		var names []string
		if without&kindBroker != 0 {
			names = append(names, brokerNames...)
		}
		if without&kindDelay != 0 {
			names = append(names, delayNames...)
		}
		if without&kindStaged != 0 {
			names = append(names, stagedNames...)
		}
		var p sentProperties
		p.read(text)
		if got, want := p.appendTo(nil, without), message.NormalizeProperties(nil, text, names...); !bytes.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func BenchmarkSentProperties(b *testing.B) {
	text := propertyText("KEYS=k UNIQ_KEY=FD0000000000000000000000000000020CBF5FFD2B27979F17110000 WAIT=true TAGS=TagA a=1 b=2")
	var p sentProperties
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		p.read(text)
		dst = p.appendTo(dst[:0], kindBroker)
	}
}
