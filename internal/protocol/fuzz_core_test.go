// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// Whatever is read as a body is written as something that reads the same again. A null is left out
// and thus may become a default by that, so the first round does not count.
func FuzzBodies(f *testing.F) {
	codes := []int32{
		protocol.HeartBeat, protocol.RegisterBroker, protocol.GetRouteInfoByTopic, protocol.GetBrokerClusterInfo,
		protocol.GetAllTopicConfig, protocol.GetAllSubscriptionGroupConfig, protocol.GetConsumerConnectionList, protocol.GetProducerConnectionList,
	}
	for _, w := range wireBodies(f) {
		if len(w.Body) < 2000 {
			f.Add(byte(slices.Index(codes, w.Code)), []byte(w.Body))
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, in []byte) {
		code := codes[int(kind)%len(codes)]
		for _, d := range []javajson.Dialect{javajson.Bare, javajson.Standard} {
			var written [3][]byte
			b := in
			for round := range written {
				v := bodyOf(t, code)
				if err := javajson.Unmarshal(b, v); err != nil {
					if round == 0 || strings.Contains(err.Error(), "too much memory") { // the text may have become much shorter
						return
					}
					t.Fatalf("%s: %v", b, err)
				}
				b = javajson.Marshal(v, d)
				written[round] = b
			}
			if string(written[1]) != string(written[2]) {
				t.Errorf("written again\n %s\n %s", written[1], written[2])
			}
		}
	})
}

// A subscription matches messages with its tags, and an expression without tags at all matches none.
func FuzzTagExpression(f *testing.F) {
	for _, s := range []string{"*", "", "TagA || TagB", "||", " ", "a|b", "标签||😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		s, err := protocol.ParseTagExpression("t", expression)
		if err != nil {
			return
		}
		for _, tag := range s.TagsSet {
			if strings.Contains(tag, "||") || strings.TrimSpace(tag) == "" && strings.Trim(tag, " \t\r\n") == "" {
				t.Errorf("%q has the tag %q", expression, tag)
			}
			if !s.MatchesCode(message.TagsCode([]byte(tag))) {
				t.Errorf("%q does not match its tag %q", expression, tag)
			}
		}
		if s.SubString != protocol.SubscribeAll && len(s.TagsSet) == 0 && s.MatchesCode(0) {
			t.Errorf("%q matches", expression)
		}
	})
}
