// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/message"
)

func items(b []byte) ([]message.BatchItem, error) {
	var all []message.BatchItem
	err := message.EachBatchItem(b, func(it message.BatchItem) error {
		all = append(all, it)
		return nil
	})
	return all, err
}

func TestBatchIsWhatJavaWrites(t *testing.T) {
	row := goldenMessages(t, "batch items")[0]
	b := row.hex(t)
	got, err := items(b)
	if err != nil || len(got) != row.Count {
		t.Fatalf("%d items, %v", len(got), err)
	}
	var again []byte
	for i, it := range got {
		if it.Flag != int32(i) || string(it.Body) != fmt.Sprintf("item %d", i) {
			t.Errorf("item %d: %+v", i, it)
		}
		if wait, ok := message.FindProperty(it.Properties, message.PropWait); !ok || string(wait) != "true" {
			t.Errorf("item %d: WAIT is %q", i, wait)
		}
		again = message.AppendBatchItem(again, it)
	}
	if !bytes.Equal(again, b) {
		t.Errorf("encoded again\n got %x\nwant %x", again, b)
	}
}

func TestEachBatchItem(t *testing.T) {
	one := message.AppendBatchItem(nil, message.BatchItem{Flag: 1, Body: []byte("body"), Properties: []byte("a\x01b\x02")})
	empty := message.AppendBatchItem(nil, message.BatchItem{})
	set := func(pos int, b ...byte) []byte {
		d := bytes.Clone(one)
		copy(d[pos:], b)
		return d
	}
	tests := map[string]struct {
		in     []byte
		count  int
		reason string
	}{
		"nothing":              {nil, 0, ""},
		"empty items":          {bytes.Repeat(empty, 3), 3, ""},
		"size word is a lie":   {set(0, 0xFF, 0xFF, 0xFF, 0xFF), 1, ""},
		"magic and checksum":   {set(4, 1, 2, 3, 4, 5, 6, 7, 8), 1, ""},
		"a few bytes more":     {append(bytes.Clone(one), 1, 2, 3), 1, "item 1: rest of 3 bytes at byte 30"},
		"one byte missing":     {one[:len(one)-1], 0, "item 0: properties of 4 bytes at byte 24"},
		"properties missing":   {append(bytes.Clone(one), one[:22]...), 1, "item 1: body of 4 bytes at byte 46"},
		"body negative":        {set(16, 0xFF), 0, "item 0: body of -16777212 bytes at byte 16"},
		"body huge":            {set(16, 0x7F), 0, "body of"},
		"properties negative":  {set(24, 0xFF, 0xFF), 0, "properties of -1 bytes at byte 24"},
		"properties too large": {set(24, 0x7F), 0, "properties of"},
		"rubbish":              {[]byte("rubbish that is no batch at all"), 0, "body of"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := items(tt.in)
			if len(got) != tt.count {
				t.Errorf("%d items", len(got))
			}
			if tt.reason == "" && err != nil || tt.reason != "" && (!errors.Is(err, message.ErrBatch) || !strings.Contains(err.Error(), tt.reason)) {
				t.Errorf("error %v, want %q", err, tt.reason)
			}
		})
	}
}

func TestEachBatchItemStopsAtTheCallersError(t *testing.T) {
	b := bytes.Repeat(message.AppendBatchItem(nil, message.BatchItem{}), 3)
	stop := errors.New("enough")
	n := 0
	err := message.EachBatchItem(b, func(message.BatchItem) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	})
	if err != stop || n != 2 {
		t.Errorf("%v after %d", err, n)
	}
}

func TestAppendBatchItemRefusesToGarble(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("written")
		}
	}()
	message.AppendBatchItem(nil, message.BatchItem{Properties: make([]byte, message.MaxProperties+1)})
}
