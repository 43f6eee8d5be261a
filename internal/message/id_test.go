// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/goddard-mq/goddard/internal/message"
)

func TestHashString(t *testing.T) {
	type row struct {
		String   string
		UTF16    string
		HashCode int32
		TagsCode int64
	}
	tried := 0
	for _, r := range golden[[]row](t, "string_hash.json") {
		units := unhex(t, r.UTF16)
		var u []uint16
		for i := 0; i+1 < len(units); i += 2 {
			u = append(u, uint16(units[i])<<8|uint16(units[i+1]))
		}
		text := string(utf16.Decode(u))
		if strings.ContainsRune(text, '\uFFFD') {
			continue // half a character: UTF-8 cannot say it
		}
		tried++
		if got := message.HashString([]byte(text)); got != r.HashCode {
			t.Errorf("%q: %d, want %d", text, got, r.HashCode)
		}
		if got := message.TagsCode([]byte(text)); got != r.TagsCode {
			t.Errorf("%q: tags code %d, want %d", text, got, r.TagsCode)
		}
	}
	if tried < 20 {
		t.Errorf("only %d rows", tried)
	}
}

func TestOffsetID(t *testing.T) {
	type row struct {
		Host, MsgID, DecodedHost string
		Offset, DecodedOffset    int64
		Decoded                  json.RawMessage
	}
	for _, r := range golden[[]row](t, "message_id.json") {
		if r.Host == "" {
			continue // rows of damaged ids, below
		}
		host := netip.MustParseAddrPort(r.Host)
		if got := message.OffsetID(host, r.Offset); got != r.MsgID {
			t.Errorf("%s %d: %s, want %s", r.Host, r.Offset, got, r.MsgID)
		}
		for _, id := range []string{r.MsgID, strings.ToLower(r.MsgID)} {
			if gotHost, gotOffset, err := message.ParseOffsetID(id); err != nil || gotHost != host || gotOffset != r.DecodedOffset {
				t.Errorf("%s: %v %d, %v", id, gotHost, gotOffset, err)
			}
		}
	}
}

func TestParseOffsetIDRefuses(t *testing.T) {
	for _, id := range []string{
		"", "7F00", "7F00000100002A9F00000000000010", "7F00000100002A9F00000000000010ZZ", "7F00000100002A9F0000000000001000FF",
		strings.Repeat("0", 1000), strings.Repeat("é", 16),
	} {
		if _, _, err := message.ParseOffsetID(id); err == nil {
			t.Errorf("%q is taken", id)
		}
		if _, err := message.ParseUniqueID(id, time.Now()); err == nil {
			t.Errorf("%q is taken for a unique id", id)
		}
	}
}

func TestParseUniqueID(t *testing.T) {
	type row struct {
		ID              string
		CreatedAtMillis int64
		IP              string
		PIDFromID       uint16
		Zone            string
	}
	for _, r := range golden[[]row](t, "unique_id.json") {
		now := time.Now()
		if r.Zone != "" {
			zone, err := time.LoadLocation(r.Zone)
			if err != nil {
				t.Fatal(err)
			}
			now = time.UnixMilli(r.CreatedAtMillis).In(zone)
		}
		info, err := message.ParseUniqueID(r.ID, now)
		if err != nil {
			t.Fatal(err)
		}
		if info.Addr != netip.MustParseAddr(r.IP) || info.PID != r.PIDFromID {
			t.Errorf("%s: %v, process %d", r.ID, info.Addr, info.PID)
		}
		if r.CreatedAtMillis != 0 && info.Time.UnixMilli() != r.CreatedAtMillis {
			t.Errorf("%s: made at %v", r.ID, info.Time)
		}
	}
}

func TestNewUniqueID(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	id := message.NewUniqueID()
	info, err := message.ParseUniqueID(id, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if id != strings.ToUpper(id) {
		t.Errorf("%s has lower-case letters", id)
	}
	if info.PID != uint16(os.Getpid()) {
		t.Errorf("process %d", info.PID)
	}
	if info.Time.Before(before) || info.Time.After(time.Now()) {
		t.Errorf("made at %v, not between %v and now", info.Time, before)
	}
	next, _ := message.ParseUniqueID(string(message.AppendUniqueID([]byte("ab"))[2:]), time.Now())
	if next.Counter != info.Counter+1 {
		t.Errorf("counter %d after %d", next.Counter, info.Counter)
	}
}

func TestUniqueIDsAreUnique(t *testing.T) {
	const makers, each = 8, 2000
	var mu sync.Mutex
	seen := make(map[string]bool)
	var wg sync.WaitGroup
	for range makers {
		wg.Go(func() {
			ids := make([]string, each)
			for i := range ids {
				ids[i] = message.NewUniqueID()
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				seen[id] = true
			}
		})
	}
	wg.Wait()
	if len(seen) != makers*each {
		t.Errorf("%d of %d ids", len(seen), makers*each)
	}
}
