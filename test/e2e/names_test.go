// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Names have a length and characters of their own. A name that is refused is refused wherever it comes in, and leaves
// nothing behind.
func TestTopicNamesAtTheirLimits(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	w, names := dial(t, s.broker), dial(t, s.nameServer)
	for _, row := range []struct {
		name  string
		legal bool
	}{
		{strings.Repeat("a", 126), true},
		{strings.Repeat("b", 127), true},
		{strings.Repeat("c", 128), false},
		{strings.Repeat("d", 255), false},
		{"per%cent", true},
		{"bar|and-dash_1", true},
		{"dot.dot", false},
		{"a blank", false},
		{"a/slash", false},
		{"..", false},
		{"umlaut_ä", false},
		{"話題", false},
		{"nul\x00", false},
		{"", false},
	} {
		for _, by := range []string{"created", "sent to"} {
			t.Run(fmt.Sprintf("%.20q %s", row.name, by), func(t *testing.T) {
				topic := row.name
				if row.legal { // each way its own name of the same length
					topic = by[:1] + topic[1:]
				}
				var code int32
				if by == "created" {
					code = w.call(protocol.UpdateAndCreateTopic, topicHeader(topic, 1), nil).Code
				} else {
					_, err := w.trySend(outgoing{topic: topic, body: []byte("b")})
					code = protocol.CodeOf(err)
				}
				if row.legal != (code == 0) || !row.legal && code != protocol.InvalidParameter {
					t.Errorf("answered %d", code)
				}
				if _, there := w.topics()[topic]; there != row.legal {
					t.Errorf("the broker has the topic: %v", there)
				}
				if row.legal { // a first send is answered beside the registration
					eventually(t, "the route of "+topic, func() bool { code, _ := names.route(topic); return code == 0 })
				} else if code, _ := names.route(topic); code == 0 {
					t.Error("the name server knows it")
				}
			})
		}
	}
}

// The longest legal group has a retry topic of 127 characters: a message that its member could not consume comes back.
func TestLongestGroupIsRedelivered(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := dial(t, s.broker)
	group := strings.Repeat("g", 120)
	create := func(name string) int32 {
		config := protocol.NewSubscriptionGroupConfig(name)
		return w.call(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(config)).Code
	}
	if code := create(group + "g"); code != protocol.InvalidParameter {
		t.Errorf("a group of 121 characters was answered %d", code)
	}
	if code := create(group); code != 0 {
		t.Fatalf("a group of 120 characters was answered %d", code)
	}
	w.createTopic("work", 1)
	w.join(member{id: "worker", group: group, topic: "work"})
	sent := w.send(outgoing{topic: "work", body: []byte("hard"), props: properties(true, "TAGS", "t", "color", "red")})
	w.must(protocol.ConsumerSendMsgBack, protocol.SendBackRequest{
		Offset: sent.physical, Group: group, DelayLevel: 1, OriginMessageID: sent.id, OriginTopic: "work",
	}, nil)
	got := w.pull(pull{group: group, topic: "%RETRY%" + group, hold: patience / 2})
	if len(got.messages) != 1 {
		t.Fatalf("the retry topic gave %d, %d messages", got.code, len(got.messages))
	}
	m := &got.messages[0]
	if string(m.Body) != "hard" || m.ReconsumeTimes != 1 || property(m, "color") != "red" || property(m, "RETRY_TOPIC") != "work" {
		t.Errorf("came back as %q, consumed %d times, %q", m.Body, m.ReconsumeTimes, m.Properties)
	}
	// Refused for good it goes to the dead letters, whose topic is as long.
	w.must(protocol.ConsumerSendMsgBack, protocol.SendBackRequest{
		Offset: m.PhysicalOffset, Group: group, DelayLevel: -1, OriginMessageID: sent.id, OriginTopic: "work",
	}, nil)
	eventually(t, "the dead letter", func() bool { return w.maxOffset("%DLQ%"+group, 0) == 1 })
}
