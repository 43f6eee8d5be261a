// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
)

func newDLQ() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Count, show and resend dead letters",
		Long: "A dead letter is a message that a consumer group failed on too often. It lies in the group's topic %DLQ%GROUP until\n" +
			"retention removes it (fileReservedTime, 72 hours unless configured otherwise), whatever is done with it here.",
		Args: cobra.NoArgs, RunE: showHelp,
	}
	cmd.AddCommand(newDLQList(), newDLQShow(), newDLQResend())
	return cmd
}

// choiceFlags choose among dead letters.
type choiceFlags struct {
	id      string
	offsets []string
	from    []string
	until   string
}

func (f *choiceFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.id, "id", "", "id of a message: its own, or the one of its place before the first retry or here")
	flags.StringArrayVar(&f.offsets, "offset", nil, "a single one by its place, BROKER:QUEUE@OFFSET; may be given again")
	flags.StringArrayVar(&f.from, "from", nil, "where to begin: a time (2026-01-31T08:00:00, @MILLISECONDS), how long ago (10m), or a place,\n"+
		"BROKER:QUEUE@OFFSET, which may be given again and leaves queues out that are not named")
	flags.StringVar(&f.until, "until", "", "leave out what became a dead letter after this time")
}

// selection reads the flags.
func (f *choiceFlags) selection(now time.Time) (admin.Selection, error) {
	sel := admin.Selection{ID: f.id}
	for _, text := range f.offsets {
		p, ok := parsePlace(text)
		if !ok {
			return sel, fmt.Errorf("--offset %s: want BROKER:QUEUE@OFFSET as 'goddard dlq show' prints it", text)
		}
		sel.Only = append(sel.Only, p)
	}
	for _, text := range f.from {
		if p, ok := parsePlace(text); ok {
			sel.From = append(sel.From, p)
			continue
		}
		at, err := parseTime(text, now)
		if err != nil {
			return sel, fmt.Errorf("--from %s: %w; or a place, BROKER:QUEUE@OFFSET", text, err)
		}
		if !sel.Since.IsZero() {
			return sel, fmt.Errorf("--from %s: there can be one time only", text)
		}
		sel.Since = at
	}
	if f.until != "" {
		at, err := parseTime(f.until, now)
		if err != nil {
			return sel, fmt.Errorf("--until %s: %w", f.until, err)
		}
		sel.Until = at
	}
	if len(sel.Only) > 0 && len(sel.From) > 0 {
		return sel, fmt.Errorf("--offset chooses single dead letters, --from %s all from there on: give one", sel.From[0])
	}
	return sel, nil
}

// parsePlace reads BROKER:QUEUE@OFFSET, or QUEUE@OFFSET.
func parsePlace(text string) (admin.Place, bool) {
	queue, offset, found := strings.Cut(text, "@")
	if !found {
		return admin.Place{}, false
	}
	var p admin.Place
	if i := strings.LastIndexByte(queue, ':'); i >= 0 {
		p.Broker, queue = queue[:i], queue[i+1:]
	}
	id, err := strconv.ParseInt(queue, 10, 32)
	if err != nil || id < 0 {
		return admin.Place{}, false
	}
	p.QueueID = int32(id)
	if p.Offset, err = strconv.ParseInt(offset, 10, 64); err != nil || p.Offset < 0 {
		return admin.Place{}, false
	}
	return p, true
}
