// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/admin"
)

// getFlags of the command message get.
type getFlags struct {
	clusterFlags
	topic, key, uniqueKey string
	since, until          string
	limit                 int
}

func newMessageGet() *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get (ID | --key KEY | --unique-key ID) [--topic TOPIC]",
		Short: "Show messages by id or key",
		Long: "Show a message by its id, or those of a topic that have a key.\n\n" +
			"An id is what 'goddard produce' prints, which the sender's client made, or an offset id, which names a place in a\n" +
			"broker's log. Brokers find the former by the topic only: give --topic. Copies that were retried have the same id,\n" +
			"and lie in the topics %RETRY%GROUP and %DLQ%GROUP.",
		Example: "  goddard message get 7F0000010EBB18B4AAC216E8B7B10000 --topic orders\n" +
			"  goddard message get --key 4711 --topic orders --output json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			q, err := f.query(id, time.Now())
			if err != nil {
				return err
			}
			a, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			found, err := f.find(cmd.Context(), a, id, q)
			for _, m := range found {
				if err := printStored(cmd.OutOrStdout(), f.output.value, m); err != nil {
					return err
				}
			}
			return f.explain(err)
		},
	}
	f.addWith(cmd, "text", "json", "body")
	flags := cmd.Flags()
	flags.StringVarP(&f.topic, "topic", "t", "", "the topic to look in")
	flags.StringVarP(&f.key, "key", "k", "", "one of the keys that the sender gave")
	flags.StringVar(&f.uniqueKey, "unique-key", "", "the id that the sender's client made, which is not to be taken for an offset id")
	flags.StringVar(&f.since, "from", "", "leave out what was stored before: a time (2026-01-31T08:00:00, @MILLISECONDS) or how long ago (10m)")
	flags.StringVar(&f.until, "until", "", "leave out what was stored after this time")
	flags.IntVarP(&f.limit, "limit", "m", 0, "at most so many of each broker, the newest (default 64)")
	return cmd
}

func (f *getFlags) query(id string, now time.Time) (admin.KeyQuery, error) {
	q := admin.KeyQuery{Topic: f.topic, Key: f.key, Max: f.limit}
	given := 0
	for _, text := range []string{id, f.key, f.uniqueKey} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return q, errors.New("which message? Give one of ID, --key and --unique-key")
	case id == "" && f.topic == "":
		return q, errors.New("keys are looked up in a topic: give --topic")
	case f.limit < 0:
		return q, fmt.Errorf("--limit=%d: want 0 or more", f.limit)
	case f.key == "":
		q.Key, q.Unique = id+f.uniqueKey, true
	}
	var err error
	q.Since, q.Until, err = parseBounds(f.since, f.until, now)
	return q, err
}

// find looks for an id first at the place that it may name, as that needs no topic; the two kinds look alike.
func (f *getFlags) find(ctx context.Context, a *admin.Admin, id string, q admin.KeyQuery) ([]*admin.Stored, error) {
	if id != "" {
		m, err := a.ByOffsetID(ctx, f.target, id)
		switch {
		case err == nil && (strings.EqualFold(m.OffsetID(), id) || f.target.Broker != ""):
			return []*admin.Stored{m}, nil
		case err == nil:
			err = fmt.Errorf("%s: %w", id, admin.ErrNoMessage)
		case !errors.Is(err, admin.ErrNotAPlace) && !errors.Is(err, admin.ErrNoMessage):
			return nil, err
		}
		if f.topic == "" {
			return nil, fmt.Errorf("%w; if it is the id that the sender's client made, say in which topic to look: --topic", err)
		}
	}
	found, err := a.ByKey(ctx, f.target, q)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s in topic %s: %w", q.Key, q.Topic, admin.ErrNoMessage)
	}
	return found, err
}
