// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// items makes the body of a batch.
func items(n int, props string) []byte {
	var b []byte
	for i := range n {
		b = message.AppendBatchItem(b, message.BatchItem{Body: fmt.Appendf(nil, "item %d", i), Properties: []byte(props)})
	}
	return b
}

// Clients end the text of the properties with a separator (5.x) or without (4.9). The broker puts its own properties
// behind: the last of the client's, tag or delay level, must stay what it was.
func TestLastPropertyWithAndWithoutSeparator(t *testing.T) {
	t.Parallel()
	const count = 3
	s := start(t, setup{})
	w := dial(t, s.broker)
	for _, closed := range []bool{true, false} {
		for _, batch := range []bool{false, true} {
			topic := fmt.Sprintf("separator_%v_%v", closed, batch)
			t.Run(topic, func(t *testing.T) {
				w.createTopic(topic, 1)
				props := properties(closed, "KEYS", "k", "color", "red", "TAGS", "TagA")
				if batch {
					w.send(outgoing{topic: topic, body: items(count, props), batch: true})
				} else {
					for range count {
						w.send(outgoing{topic: topic, body: []byte("one"), props: props})
					}
				}
				if got := w.pull(pull{topic: topic, tags: "TagB"}); got.code != protocol.PullRetryImmediately || got.NextBeginOffset != count {
					t.Errorf("who wants another tag got %d, next %d", got.code, got.NextBeginOffset)
				}
				got := w.pull(pull{topic: topic, tags: "TagA"}).messages
				if len(got) != count {
					t.Fatalf("who wants TagA got %d messages of %d", len(got), count)
				}
				for i := range got {
					m := &got[i]
					for name, want := range map[string]string{"TAGS": "TagA", "color": "red", "KEYS": "k"} {
						if value := property(m, name); value != want {
							t.Errorf("message %d: %s is %q, want %q", i, name, value, want)
						}
					}
				}
			})
		}
		t.Run(fmt.Sprintf("delay_%v", closed), func(t *testing.T) {
			topic := fmt.Sprintf("delay_%v", closed)
			w.createTopic(topic, 1)
			began := time.Now()
			w.send(outgoing{topic: topic, body: []byte("later"), props: properties(closed, "color", "red", "DELAY", "1")})
			got := w.pull(pull{topic: topic, hold: patience / 2})
			if len(got.messages) != 1 || string(got.messages[0].Body) != "later" || property(&got.messages[0], "color") != "red" {
				t.Fatalf("got %d, %d messages", got.code, len(got.messages))
			}
			if took := time.Since(began); took < 900*time.Millisecond {
				t.Errorf("delivered after %v, want a second", took)
			}
		})
	}
}

// Properties may have 32,767 bytes, counted in bytes and with what the broker adds. One more is refused, nothing of the
// message or its batch is stored, and what comes after is readable.
func TestPropertiesAtTheirLimit(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := dial(t, s.broker)

	w.createTopic("measure", 1)
	const little = "UNIQ_KEY\x01u\x02p\x01v\x02"
	w.send(outgoing{topic: "measure", body: []byte("b"), props: little})
	added := len(w.read("measure", 0)[0].Properties) - len(little)

	const key = "UNIQ_KEY\x01u\x02p\x01"
	filled := func(size int, with string) string {
		text := key + strings.Repeat(with, (size-len(key)-1)/len(with))
		return text + strings.Repeat("x", size-len(text)-1) + "\x02"
	}
	for _, row := range []struct {
		name  string
		with  string
		size  int // stored
		batch bool
		taken bool
	}{
		{"at the limit", "x", message.MaxProperties, false, true},
		{"one above", "x", message.MaxProperties + 1, false, false},
		{"characters of three bytes, at the limit", "鍵", message.MaxProperties, false, true},
		{"characters of three bytes, one above", "鍵", message.MaxProperties + 1, false, false},
		{"characters of four bytes, twice the limit", "\U0001F511", 2 * message.MaxProperties, false, false},
		{"third of a batch, at the limit", "鍵", message.MaxProperties, true, true},
		{"third of a batch, one above", "鍵", message.MaxProperties + 1, true, false},
		{"five thousand keys", "key1 key2 key3 key4 key5 key6 key7 key8 key9 key0 ", 40_000, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			topic := strings.NewReplacer(" ", "_", ",", "").Replace("limit " + row.name)
			w.createTopic(topic, 1)
			m, stores := outgoing{topic: topic, body: []byte("big"), batch: row.batch}, int64(1)
			if row.batch {
				m.body = append(items(2, "a\x01b\x02"), batchItem(filled(row.size, row.with))...)
				stores = 3
			} else {
				m.props = filled(row.size-added, row.with)
			}
			_, err := w.trySend(m)
			want := int64(0)
			if row.taken {
				want = stores
			} else if protocol.CodeOf(err) != protocol.MessageIllegal {
				t.Errorf("answered %v, want code 13", err)
			}
			if row.taken && err != nil {
				t.Errorf("refused: %v", err)
			}
			if n := w.maxOffset(topic, 0); n != want {
				t.Errorf("%d messages stored, want %d", n, want)
			}
			next := w.send(outgoing{topic: topic, body: []byte("next")})
			got := w.read(topic, 0)
			if next.offset != want || int64(len(got)) != want+1 || string(got[want].Body) != "next" {
				t.Fatalf("the next message came to %d, the queue has %d messages", next.offset, len(got))
			}
			if row.taken {
				if stored := got[want-1].Properties; !row.batch && len(stored) != message.MaxProperties {
					t.Errorf("%d bytes of properties stored", len(stored))
				} else if p := property(&got[want-1], "p"); !strings.HasPrefix(p, row.with) {
					t.Errorf("the property became %.40q", p)
				}
			}
		})
	}
}

// batchItem is one item as clients write it, whatever the length of its properties.
func batchItem(props string) []byte {
	b := message.AppendBatchItem(nil, message.BatchItem{Body: []byte("big")})
	b = b[:len(b)-2]
	size := len(b) + 2 + len(props)
	b[0], b[1], b[2], b[3] = byte(size>>24), byte(size>>16), byte(size>>8), byte(size)
	b = append(b, byte(len(props)>>8), byte(len(props)))
	return append(b, props...)
}
