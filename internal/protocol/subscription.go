// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"slices"
	"strings"

	"github.com/goddard-mq/goddard/internal/message"
)

// Kinds of subscription expression (RocketMQ: ExpressionType).
const (
	ExpressionTag   = "TAG"
	ExpressionSQL92 = "SQL92"
)

// SubscribeAll is the expression that every message matches.
const SubscribeAll = "*"

// SubscriptionData is which messages of a topic a group wants.
type SubscriptionData struct {
	ClassFilterMode bool     `json:"classFilterMode"`
	CodeSet         []int32  `json:"codeSet"` // hashes of the tags
	ExpressionType  string   `json:"expressionType,omitempty"`
	SubString       string   `json:"subString,omitempty"`
	SubVersion      int64    `json:"subVersion"` // grows with each change; usually ms, of Go clients ns
	TagsSet         []string `json:"tagsSet"`
	Topic           string   `json:"topic,omitempty"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (s *SubscriptionData) JSONDefaults() {
	*s = SubscriptionData{CodeSet: []int32{}, ExpressionType: ExpressionTag, TagsSet: []string{}}
}

// IsTagExpression tells whether an expression type means tags.
func IsTagExpression(expressionType string) bool {
	return expressionType == "" || expressionType == ExpressionTag
}

// ParseTagExpression makes the subscription of "TagA || TagB" to a topic; "" and "*" subscribe to
// everything (RocketMQ: FilterAPI.buildSubscriptionData). The only error is an expression of nothing
// but bars. SubVersion is the caller's to set.
func ParseTagExpression(topic, expression string) (*SubscriptionData, error) {
	s := &SubscriptionData{CodeSet: []int32{}, ExpressionType: ExpressionTag, SubString: expression, TagsSet: []string{}, Topic: topic}
	if expression == "" || expression == SubscribeAll {
		s.SubString = SubscribeAll
		return s, nil
	}
	if strings.Trim(expression, "|") == "" && len(expression) >= 2 && len(expression)%2 == 0 {
		return nil, &Error{SubscriptionParseFailed, "subString split error"}
	}
	s.parseTags()
	return s, nil
}

// Complete computes the tags and their codes from the expression where the sender left them out
// (C++ clients), and fills in the kind of expression.
func (s *SubscriptionData) Complete() {
	if s.ExpressionType == "" {
		s.ExpressionType = ExpressionTag
	}
	if s.ExpressionType != ExpressionTag || s.ClassFilterMode {
		return
	}
	if s.SubString == "" {
		s.SubString = SubscribeAll
	}
	if s.SubString != SubscribeAll && len(s.CodeSet) == 0 {
		s.CodeSet, s.TagsSet = []int32{}, []string{}
		s.parseTags()
	}
}

func (s *SubscriptionData) parseTags() {
	for tag := range strings.SplitSeq(s.SubString, "||") {
		tag = strings.TrimFunc(tag, func(r rune) bool { return r <= ' ' })
		if tag == "" || slices.Contains(s.TagsSet, tag) {
			continue
		}
		s.TagsSet = append(s.TagsSet, tag)
		if code := message.HashString([]byte(tag)); !slices.Contains(s.CodeSet, code) {
			s.CodeSet = append(s.CodeSet, code)
		}
	}
}

// MatchesCode tells whether a message with this tags code may be wanted: tags with the same hash are
// told apart by the client (RocketMQ: ExpressionMessageFilter.isMatchedByConsumeQueue).
func (s *SubscriptionData) MatchesCode(tagsCode int64) bool {
	return s.SubString == SubscribeAll || int64(int32(tagsCode)) == tagsCode && slices.Contains(s.CodeSet, int32(tagsCode))
}

// Equal compares everything but the version of two subscriptions.
func (s *SubscriptionData) Equal(o *SubscriptionData) bool {
	return s.ClassFilterMode == o.ClassFilterMode && s.ExpressionType == o.ExpressionType && s.SubString == o.SubString &&
		s.Topic == o.Topic && sameSet(s.CodeSet, o.CodeSet) && sameSet(s.TagsSet, o.TagsSet)
}

// Clone copies s with its sets.
func (s *SubscriptionData) Clone() *SubscriptionData {
	d := *s
	d.CodeSet = slices.Clone(s.CodeSet)
	d.TagsSet = slices.Clone(s.TagsSet)
	return &d
}

func sameSet[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return true
}
