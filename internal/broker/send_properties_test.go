// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
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

func TestWhatTheBrokerReadsOfProperties(t *testing.T) {
	var p sentProperties
	var all message.PropertyMap
	p.read([]byte("UNIQ_KEY\x01old\x02WAIT\x01yes\x02TRAN_MSG\x01TRUE\x02INNER_NUM\x01\x02KEYS\x01k\x02TIMER_DELIVER_MS\x015\x02UNIQ_KEY\x01new\x02DELAY\x017"), &all)
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
		p.read(message.AppendProperty(nil, message.PropDelay, bad), &all)
		if _, err := p.delayLevel(); err == nil {
			t.Errorf("level %q is taken", bad)
		}
	}
}
