// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter_test

import (
	"slices"
	"testing"

	"github.com/goddard-mq/goddard/internal/filter"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store"
)

var _ store.Filter = (*filter.Filter)(nil)

// stored is what a store asks a filter about.
type stored struct {
	tag        string
	properties []byte
}

func (m stored) code() int64 {
	if m.tag == "" {
		return 0
	}
	return int64(message.HashString([]byte(m.tag)))
}

func TestFilters(t *testing.T) {
	expr, err := filter.Compile("a > 5")
	if err != nil {
		t.Fatal(err)
	}
	code := func(tags ...string) (codes []int32) {
		for _, tag := range tags {
			codes = append(codes, message.HashString([]byte(tag)))
		}
		return codes
	}
	messages := []stored{
		{"", nil}, {"Aa", message.AppendProperty(nil, "a", "6")}, {"BB", message.AppendProperty(nil, "a", "5")},
		{"polygenelubricants", message.AppendProperty(nil, "a", "x")},
	}
	tests := []struct {
		situation string
		filter    filter.Filter
		all, text bool
		wanted    []bool
	}{
		{"everything", filter.All(), true, false, []bool{true, true, true, true}},
		{"one tag, and one of the same hash", filter.Tags(code("Aa")), false, false, []bool{false, true, true, false}},
		{"a tag whose hash is the smallest integer", filter.Tags(code("x", "polygenelubricants")), false, false, []bool{false, false, false, true}},
		{"no tag", filter.Tags(nil), false, false, []bool{false, false, false, false}},
		{"an expression", filter.SQL(expr), false, true, []bool{false, true, false, false}},
		{"nothing", filter.Filter{}, false, false, []bool{false, false, false, false}},
	}
	for _, tt := range tests {
		var wanted []bool
		for _, m := range messages {
			wanted = append(wanted, tt.filter.MatchTags(m.code()) && (!tt.filter.NeedsProperties() || tt.filter.MatchProperties(m.properties)))
		}
		if !slices.Equal(wanted, tt.wanted) || tt.filter.WantsAll() != tt.all || tt.filter.NeedsProperties() != tt.text {
			t.Errorf("%s: %v, all %t, properties %t", tt.situation, wanted, tt.filter.WantsAll(), tt.filter.NeedsProperties())
		}
	}
	if f := filter.Tags([]int32{7}); !f.MatchTags(1<<32 + 7) {
		t.Error("a code of 64 bits is not cut")
	}
}
