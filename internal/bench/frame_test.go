// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"fmt"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// A patched frame must read as if it had been encoded with the patched values.
func TestSendFrame(t *testing.T) {
	for _, batch := range []int{1, 3} {
		for _, binary := range []bool{false, true} {
			t.Run(fmt.Sprintf("batch %d binary %v", batch, binary), func(t *testing.T) {
				c := DefaultProduceConfig()
				c.Topic, c.Size, c.Batch, c.Binary, c.Keys, c.Tags, c.Properties = "T", 100, batch, binary, 5, 2, 1
				f, err := newSendFrame(&c, 3)
				if err != nil {
					t.Fatal(err)
				}
				seen := map[string]bool{}
				for seq := range int64(4) {
					f.patch(firstOpaque+int32(seq)*7_000_001, int(seq)+2, 1_700_000_000_123+seq, seq)
					checkFrame(t, &c, f.b, seq, seen)
				}
				if len(seen) != 4*batch {
					t.Errorf("%d different unique keys in %d messages", len(seen), 4*batch)
				}
				other, err := newSendFrame(&c, 4)
				if err != nil {
					t.Fatal(err)
				}
				other.patch(firstOpaque, 0, 1_700_000_000_123, 0)
				checkFrame(t, &c, other.b, -1, seen)
				if len(seen) != 5*batch {
					t.Error("two connections make the same unique keys")
				}
			})
		}
	}
}

func checkFrame(t *testing.T, c *ProduceConfig, frame []byte, seq int64, seen map[string]bool) {
	t.Helper()
	var cmd remoting.Command
	if err := remoting.DecodeFrame(&cmd, append([]byte(nil), frame[4:]...)); err != nil {
		t.Fatal(err)
	}
	var h protocol.SendRequest
	if err := h.DecodeV2(cmd.Fields); err != nil {
		t.Fatal(err)
	}
	if seq >= 0 && (cmd.Opaque != firstOpaque+int32(seq)*7_000_001 || h.QueueID != int32(seq)+2 || h.BornTimestamp != 1_700_000_000_123+seq) {
		t.Errorf("request %d: opaque %d queue %d born %d", seq, cmd.Opaque, h.QueueID, h.BornTimestamp)
	}
	if string(h.Topic) != "T" || (cmd.Serializer == remoting.Binary) != c.Binary || h.Batch != (c.Batch > 1) {
		t.Errorf("topic %s serializer %d batch %v", h.Topic, cmd.Serializer, h.Batch)
	}
	items := []message.BatchItem{{Body: cmd.Body, Properties: h.Properties}}
	if c.Batch > 1 {
		items = nil
		if err := message.EachBatchItem(cmd.Body, func(it message.BatchItem) error { items = append(items, it); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(items) != c.Batch {
		t.Fatalf("%d messages", len(items))
	}
	for i, it := range items {
		p := message.ParseProperties(it.Properties)
		n := max(seq, 0)*int64(c.Batch) + int64(i)
		if len(it.Body) != c.Size || p[message.PropKeys] != fmt.Sprintf("key-%08X", n%5) || p[message.PropTags] != fmt.Sprintf("tag-%02X", n%2) || p["bench0"] != "value-0" {
			t.Errorf("message %d: %d bytes, properties %v", n, len(it.Body), p)
		}
		seen[p[message.PropUniqueKey]] = true
	}
}

func TestSendFrameWithoutKeysAndTags(t *testing.T) {
	c := DefaultProduceConfig()
	c.Size, c.Keys, c.Tags = 0, 0, 0
	f, err := newSendFrame(&c, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.patch(lastOpaque, 9_999_999, 1, 1<<40)
	var cmd remoting.Command
	if err := remoting.DecodeFrame(&cmd, f.b[4:]); err != nil {
		t.Fatal(err)
	}
	var h protocol.SendRequest
	if err := h.DecodeV2(cmd.Fields); err != nil {
		t.Fatal(err)
	}
	p := message.ParseProperties(h.Properties)
	if cmd.Opaque != lastOpaque || h.QueueID != 9_999_999 || len(p) != 2 {
		t.Errorf("opaque %d queue %d properties %v", cmd.Opaque, h.QueueID, p)
	}
}

func BenchmarkPatch(b *testing.B) {
	c := DefaultProduceConfig()
	f, err := newSendFrame(&c, 0)
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		f.patch(firstOpaque+int32(i%1000), i%8, 1_700_000_000_000, int64(i))
	}
}
