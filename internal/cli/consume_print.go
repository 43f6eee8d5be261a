// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bufio"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goddard-mq/goddard/client"
)

// printer prints messages, at most left of them if limited.
type printer struct {
	out     *bufio.Writer
	format  string
	left    int
	limited bool
}

// print prints one message. more is false when it was the last one wanted.
func (p *printer) print(m *client.Received) (more bool, err error) {
	switch p.format {
	case "json":
		err = printJSON(p.out, messageLine(m))
	case "body":
		if _, err = p.out.Write(m.Body); err == nil {
			err = p.out.WriteByte('\n')
		}
	default:
		_, err = p.out.WriteString(messageText(m))
	}
	p.left--
	return !p.limited || p.left > 0, err
}

// messageText is a message for people: where, when, what it says of itself, its body.
func messageText(m *client.Received) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:%d@%d  %s", m.Queue.Broker, m.Queue.ID, m.Offset, m.StoredAt.Format("2006-01-02 15:04:05.000"))
	if m.Tag != "" {
		fmt.Fprintf(&text, "  tag=%s", readable(m.Tag))
	}
	if len(m.Keys) > 0 {
		fmt.Fprintf(&text, "  keys=%s", readable(strings.Join(m.Keys, ",")))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Properties)) {
		fmt.Fprintf(&text, "  %s=%s", readable(name), readable(m.Properties[name]))
	}
	if m.Attempts > 0 {
		fmt.Fprintf(&text, "  attempt=%d", m.Attempts+1)
	}
	fmt.Fprintf(&text, "  | %s\n", readable(string(m.Body)))
	return text.String()
}

// readable is text as it is, or quoted when it would not stay on its line.
func readable(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
		return strconv.Quote(text)
	}
	return text
}

// receivedLine is a message as JSON. A body that is no text is given as base64.
type receivedLine struct {
	Topic      string            `json:"topic"`
	Broker     string            `json:"broker"`
	Queue      int               `json:"queue"`
	Offset     int64             `json:"offset"`
	ID         string            `json:"id"`
	OffsetID   string            `json:"offsetId"`
	Tag        string            `json:"tag,omitempty"`
	Keys       []string          `json:"keys,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
	Attempts   int               `json:"attempts,omitempty"`
	BornAt     string            `json:"bornAt"`
	StoredAt   string            `json:"storedAt"`
	BornHost   string            `json:"bornHost,omitempty"`
	Body       *string           `json:"body,omitempty"`
	BodyBase64 []byte            `json:"bodyBase64,omitempty"`
}

func messageLine(m *client.Received) receivedLine {
	line := receivedLine{
		Topic: m.Topic, Broker: m.Queue.Broker, Queue: m.Queue.ID, Offset: m.Offset, ID: m.ID, OffsetID: m.OffsetID,
		Tag: m.Tag, Keys: m.Keys, Properties: m.Properties, Attempts: m.Attempts,
		BornAt: jsonTime(m.BornAt), StoredAt: jsonTime(m.StoredAt), BornHost: hostText(m.BornHost),
	}
	if utf8.Valid(m.Body) {
		body := string(m.Body)
		line.Body = &body
	} else {
		line.BodyBase64 = m.Body
	}
	return line
}

func jsonTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func hostText(host netip.AddrPort) string {
	if !host.IsValid() {
		return ""
	}
	return host.String()
}
