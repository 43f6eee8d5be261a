// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// What RocketMQ 5.5.0 says to changes of a topic that has cleanup.policy=DELETE, and
// of one that is created (before == nil).
func TestAttributeChanges(t *testing.T) {
	existing := map[string]string{"cleanup.policy": "DELETE"}
	for _, c := range []struct {
		situation string
		before    map[string]string
		text      string
		want      map[string]string
		err       string
	}{
		{"nothing at creation", nil, "", map[string]string{}, ""},
		{"set at creation", nil, "+message.type=FIFO", map[string]string{"message.type": "FIFO"}, ""},
		{"two at creation", nil, "+message.type=FIFO,+queue.type=BatchCQ", map[string]string{"message.type": "FIFO", "queue.type": "BatchCQ"}, ""},
		{"a lite topic", nil, "+lite.topic.expiration=60,+message.type=LITE", map[string]string{"lite.topic.expiration": "60", "message.type": "LITE"}, ""},
		{"unknown key", nil, "+no.such=1", nil, "unsupported key: no.such"},
		{"value not in the set", nil, "+message.type=X", nil, "value is not in set: [UNSPECIFIED, MIXED, TRANSACTION, PRIORITY, FIFO, DELAY, LITE, NORMAL]"},
		{"delete at creation", nil, "-message.type", nil, "only add attribute is supported while creating topic. key: message.type"},
		{"no sign", nil, "message.type=FIFO", nil, "add/alter attribute format is wrong: message.type"},
		{"neither sign nor value", nil, "message.type", nil, "delete attribute format is wrong: message.type"},
		{"twice", nil, "+message.type=FIFO,+message.type=DELAY", nil, "key duplication: +message.type"},
		{"number too small", nil, "+reserve.time=-2", nil, "value is not in range(-1, 9223372036854775807)"},
		{"not a number", nil, "+reserve.time=soon", nil, `value is not a number: "soon"`},
		{"smallest number", nil, "+reserve.time=-1", map[string]string{"reserve.time": "-1"}, ""},
		{"no value", nil, "+message.type=", nil, "add/alter attribute format is wrong: +message.type"},
		{"nothing between commas", nil, "+message.type=FIFO,,", nil, "delete attribute format is wrong: "},
		{"only a sign", nil, "-", nil, "kv string format wrong."},
		{"change what may not be changed", existing, "+cleanup.policy=COMPACTION", nil, "attempt to update an unchangeable attribute. key: cleanup.policy"},
		{"delete what may not be changed", existing, "-cleanup.policy", nil, "attempt to update an unchangeable attribute. key: cleanup.policy"},
		{"delete what is not there", existing, "-message.type", nil, "attempt to delete a nonexistent key: message.type"},
		{"add later", existing, "+message.type=DELAY", map[string]string{"cleanup.policy": "DELETE", "message.type": "DELAY"}, ""},
		{"set and delete", map[string]string{"message.type": "FIFO"}, "+message.type=DELAY,-message.type", nil, "key duplication: message.type"},
		{"delete", map[string]string{"message.type": "FIFO"}, "-message.type", map[string]string{}, ""},
	} {
		t.Run(c.situation, func(t *testing.T) {
			changes, err := ParseChanges(c.text)
			var got map[string]string
			if err == nil {
				got, err = changes.apply(c.before, c.before == nil)
			}
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Fatalf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatal(d)
			}
		})
	}
}

// How long a topic keeps its messages. What Java's tiered store takes for "as long as the others" is that here.
func TestReserved(t *testing.T) {
	table := open(t, options(t, t.TempDir()))
	for _, c := range []struct {
		value string
		want  time.Duration
	}{
		{"1", time.Hour}, {"48", 48 * time.Hour}, {"0", 0}, {"-1", 0}, {"9223372036854775807", mostHours * time.Hour},
		{"soon", 0}, {"", 0}, // only a hand that edits the file can bring these
	} {
		cfg := protocol.NewTopicConfig("T" + c.value)
		cfg.Attributes = map[string]string{"reserve.time": c.value}
		if got := newConfig(cfg).Reserved; got != c.want {
			t.Errorf("reserve.time=%s: %v, want %v", c.value, got, c.want)
		}
	}
	for name, text := range map[string]string{"short": "+reserve.time=1", "long": "+reserve.time=100", "none": "+reserve.time=-1", "other": ""} {
		update(t, table, config(name, 1), text)
	}
	if d := cmp.Diff(map[string]time.Duration{"short": time.Hour, "long": 100 * time.Hour}, table.Reserved()); d != "" {
		t.Error(d)
	}
}

func FuzzParseChanges(f *testing.F) {
	for _, s := range []string{"", "+a=b", "-a", "+message.type=FIFO,-x", "=", "+=,-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := ParseChanges(text)
		if err != nil {
			return
		}
		if len(changes) > strings.Count(text, ",")+1 {
			t.Fatalf("%d changes in %q", len(changes), text)
		}
		after, err := changes.apply(nil, true)
		if err == nil && len(after) != len(changes) {
			t.Fatalf("%q sets %v", text, after)
		}
	})
}
