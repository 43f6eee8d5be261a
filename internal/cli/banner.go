// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/node"
)

// banner is what a server says when it serves: what listens where, where the data is, what an acknowledgement means.
type banner struct {
	build build
	took  time.Duration
	lines []line
}

// line has a name of words for people; as a key of a log record its blanks become underscores.
type line struct{ name, value string }

func newBanner(s *settings, a node.Addresses, b build, took time.Duration) *banner {
	out := &banner{build: b, took: took}
	add := func(name, value string) {
		if value != "" {
			out.lines = append(out.lines, line{name, value})
		}
	}
	add("name server", a.NameServer)
	add("broker", a.Broker)
	add("fast port", a.Fast)
	add("http", a.HTTP)
	if c := s.node.Broker; c != nil {
		add("clients connect to", a.Advertised)
		add("registers with", cmp.Or(strings.Join(a.NameServers, ";"), "no name server: clients cannot find this broker, -n names some"))
	}
	add("data", s.data)
	if c := s.node.Broker; c != nil {
		add("acknowledged", acknowledgement(string(c.Store.Flush)))
	}
	return out
}

// acknowledgement says what a producer may count on when its send was answered with SEND_OK.
func acknowledgement(flush string) string {
	if flush == "ASYNC_FLUSH" {
		return "in the page cache of this node: survives a crash of the process, not a power cut (flushDiskType=ASYNC_FLUSH)"
	}
	return "on the disk of this node, which has the only copy (flushDiskType=SYNC_FLUSH)"
}

// print writes a line each: a name in a column of its own, two blanks, the value.
func (b *banner) print(w io.Writer) {
	width := 0
	for _, l := range b.lines {
		width = max(width, len(l.name))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "goddard %s started in %d ms\n", b.build, b.took.Milliseconds())
	for _, l := range b.lines {
		fmt.Fprintf(&text, "  %-*s  %s\n", width, l.name, l.value)
	}
	_, _ = io.WriteString(w, text.String())
}

// log writes one record, for those who collect the output as JSON.
func (b *banner) log(logger *slog.Logger) {
	attrs := []any{"version", b.build.version, "revision", b.build.revision, "took", b.took}
	for _, l := range b.lines {
		attrs = append(attrs, strings.ReplaceAll(l.name, " ", "_"), l.value)
	}
	logger.Info("started", attrs...)
}
