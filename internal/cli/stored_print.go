// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/message"
)

// storedLine is a message as JSON, as consume prints it, and what else is known of one that was retried.
type storedLine struct {
	receivedLine
	System        map[string]string `json:"system,omitempty"` // properties that clients and brokers set
	OriginalTopic string            `json:"originalTopic,omitempty"`
	OriginalID    string            `json:"originalId,omitempty"`
	Reason        string            `json:"reason,omitempty"`
	Fault         string            `json:"fault,omitempty"` // why the body is as it was stored
}

func storedLineOf(m *admin.Stored) storedLine {
	line := storedLine{
		receivedLine: receivedLine{
			Topic: string(m.Topic), Broker: m.Broker, Queue: int(m.QueueID), Offset: m.QueueOffset, ID: m.ID(), OffsetID: m.OffsetID(),
			Tag: m.Property(message.PropTags), Keys: m.Keys(), Attempts: int(m.ReconsumeTimes),
			BornAt: msJSON(m.BornTimestamp), StoredAt: msJSON(m.StoreTimestamp), BornHost: hostText(m.BornHost),
		},
		OriginalTopic: m.OriginalTopic(), OriginalID: m.OriginID(), Reason: m.FailureReason(),
	}
	line.Properties, line.System = map[string]string{}, map[string]string{}
	for name, value := range message.ParseProperties(m.Properties) {
		if message.IsReserved(name) {
			line.System[name] = value
		} else {
			line.Properties[name] = value
		}
	}
	body, err := m.Content()
	if err != nil {
		body, line.Fault = m.Body, err.Error()
	}
	if utf8.Valid(body) {
		text := string(body)
		line.Body = &text
	} else {
		line.BodyBase64 = body
	}
	return line
}

// printStored prints a message: text is a block for people, json a line, body the body alone.
func printStored(w io.Writer, format string, m *admin.Stored) error {
	switch format {
	case "json":
		return printJSON(w, storedLineOf(m))
	case "body":
		body, err := m.Content()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", body)
		return err
	}
	_, err := io.WriteString(w, storedText(m))
	return err
}

// storedText is all of a message, a field a line, then its body.
func storedText(m *admin.Stored) string {
	var text strings.Builder
	field := func(name, format string, args ...any) {
		fmt.Fprintf(&text, "  %-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	known := func(name, value string) {
		if value != "" {
			field(name, "%s", readable(value))
		}
	}
	fmt.Fprintf(&text, "%s  %s\n", m.Place(), readable(string(m.Topic)))
	field("id", "%s", readable(m.ID()))
	if m.OffsetID() != m.ID() {
		field("offset id", "%s", m.OffsetID())
	}
	field("stored", "%s at %s", msText(m.StoreTimestamp), m.StoreHost)
	field("sent", "%s from %s", msText(m.BornTimestamp), m.BornHost)
	if topic := m.OriginalTopic(); topic != "" {
		field("origin", "topic %s, id %s", readable(topic), readable(m.OriginID()))
	}
	if m.ReconsumeTimes > 0 {
		field("attempts", "%d failed", m.ReconsumeTimes)
	}
	known("reason", m.FailureReason())
	known("tag", m.Property(message.PropTags))
	known("keys", m.Property(message.PropKeys))
	known("shard key", m.Property(message.PropShardingKey))
	if m.Flag != 0 {
		field("flag", "%d", m.Flag)
	}
	message.EachProperty(m.Properties, func(name, value []byte) bool {
		if !message.IsReserved(string(name)) {
			field("property", "%s=%s", readable(string(name)), readable(string(value)))
		}
		return true
	})
	body, err := m.Content()
	if err != nil {
		body = m.Body
		field("fault", "%v", err)
	}
	field("body", "%d bytes", len(body))
	fmt.Fprintf(&text, "%s\n", readable(string(body)))
	return text.String()
}
