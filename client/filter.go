// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"slices"
	"strings"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Filter chooses among the messages of a topic. The zero Filter takes all of them.
type Filter struct {
	kind, text string
}

// Tags takes messages that have one of the tags: "TagA || TagB". "*" and "" take all.
func Tags(expression string) Filter {
	return Filter{kind: protocol.ExpressionTag, text: strings.TrimSpace(expression)}
}

// SQL takes messages whose properties fulfil a condition: "price > 3 AND region IS
// NOT NULL". Brokers must have enablePropertyFilter set.
func SQL(condition string) Filter {
	return Filter{kind: protocol.ExpressionSQL92, text: condition}
}

// subscription is f for a topic, as brokers are told.
func (f Filter) subscription(topic string, version int64) (*protocol.SubscriptionData, error) {
	if f.kind == protocol.ExpressionSQL92 {
		return &protocol.SubscriptionData{
			Topic: topic, ExpressionType: f.kind, SubString: f.text, SubVersion: version,
			TagsSet: []string{}, CodeSet: []int32{},
		}, nil
	}
	s, err := protocol.ParseTagExpression(topic, f.text)
	if err != nil {
		return nil, err
	}
	s.SubVersion = version
	return s, nil
}

// wants tells whether a message that the broker let pass is really wanted: brokers
// compare hashes of tags only.
func wants(s *protocol.SubscriptionData, m *Received) bool {
	if s.ExpressionType != protocol.ExpressionTag || len(s.TagsSet) == 0 {
		return true
	}
	return slices.Contains(s.TagsSet, m.Tag)
}
