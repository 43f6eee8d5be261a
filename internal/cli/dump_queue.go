// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/inspect"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func newDumpConsumeQueue() *cobra.Command {
	var f dumpFlags
	var summary bool
	cmd := &cobra.Command{
		Use:   "consumequeue PATH",
		Short: "Print the entries of consume queues",
		Long: "Print the entries of consume queues: where each message lies in the commit log. An entry of\n" +
			"SCHEDULE_TOPIC_XXXX says when its message is due in place of the hash of its tags.",
		Example: "  goddard dump consumequeue goddard-data --summary\n" +
			"  goddard dump consumequeue store --topic orders --queue 0 --from 100 --to 120\n" +
			"  goddard dump consumequeue store/consumequeue/orders/0/00000000000000000000",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDump(cmd, &f, args[0], func(d *dump) error {
				return (&queueDump{dump: d, summary: summary}).run(args[0])
			})
		},
	}
	f.addTo(cmd)
	f.topicFlag(cmd)
	f.queueFlag(cmd)
	f.rangeFlags(cmd, "queue")
	f.maxFlag(cmd, "entries")
	cmd.Flags().BoolVarP(&summary, "summary", "s", false, "print a line per queue, no entries")
	return cmd
}

type queueDump struct {
	*dump
	summary bool
	q       *inspect.Queue
	due     bool // tags codes are times
	first   int64
	end     int64 // behind the last entry
	units   int64
	faults  int64
}

func (d *queueDump) run(path string) error {
	queues, err := inspect.FindQueues(path)
	if err != nil {
		return err
	}
	if d.summary && !d.json {
		if err := d.line("%-48s %5s %14s %14s %14s %6s", "TOPIC", "QUEUE", "FIRST", "NEXT", "MESSAGES", "FILES"); err != nil {
			return err
		}
	}
	for _, q := range queues {
		if d.topic != "" && q.Topic != d.topic || d.queue >= 0 && q.ID != d.queue {
			continue
		}
		if err := d.one(q); err != nil {
			return err
		}
	}
	return nil
}

func (d *queueDump) one(q *inspect.Queue) error {
	d.q, d.due, d.first, d.end, d.units, d.faults = q, q.Topic == protocol.TopicSchedule, -1, q.First(), 0, 0
	if !d.summary && !d.json {
		if err := d.head(); err != nil {
			return err
		}
	}
	if err := q.Walk(d.ctx, d.from, d.until(), d.put); err != nil {
		return err
	}
	if d.summary {
		return d.sum()
	}
	return nil
}

func (d *queueDump) head() error {
	kind := ""
	if d.q.Batch() {
		kind = ", batches"
	}
	fourth := "TAGS CODE"
	if d.due {
		fourth = "DUE"
	}
	return d.line("%s, queue %d%s: %s\n%14s %14s %8s  %s", d.q.Topic, d.q.ID, kind, d.q.Dir, "OFFSET", "PHYSICAL", "SIZE", fourth)
}

// unitLine is an entry, or several of which there is nothing to tell one by one, as JSON.
type unitLine struct {
	Kind     string `json:"kind"`
	Topic    string `json:"topic"`
	Queue    int32  `json:"queue"`
	Offset   int64  `json:"offset"`
	Count    int64  `json:"count,omitempty"`
	Physical *int64 `json:"physicalOffset,omitempty"`
	Bytes    int32  `json:"bytes,omitempty"`
	TagsCode *int64 `json:"tagsCode,omitempty"`
	DueAt    string `json:"dueAt,omitempty"`
	StoredAt string `json:"storedAt,omitempty"` // of a batch, and of what is kept beside the queue
	Beside   *int64 `json:"beside,omitempty"`   // where that lies
	Bits     string `json:"filterBits,omitempty"`
	Number   *int64 `json:"number,omitempty"` // of the entry; offset is the queue offset of its first message
	Messages int32  `json:"messages,omitempty"`
	File     string `json:"file,omitempty"` // of damage
	At       int64  `json:"at,omitempty"`   // in it
	Reason   string `json:"reason,omitempty"`
}

func (d *queueDump) put(u *inspect.Units) error {
	switch u.Kind {
	case inspect.OneUnit:
		return d.unit(u)
	case inspect.Fillers:
		d.end = u.First + u.Count
		return d.many(u, "filler", fmt.Sprintf("filler, no messages: %d entries", u.Count))
	case inspect.UnusedUnits:
		return d.many(u, "unused", fmt.Sprintf("never written: room for %d entries", u.Count))
	case inspect.MissingUnits:
		d.damage++
		d.faults++
		return d.many(u, "missing", fmt.Sprintf("MISSING: %d entries: %s", u.Count, u.Reason))
	}
	d.damage++
	d.faults++
	d.end = u.First + u.Count
	return d.many(u, "damaged", fmt.Sprintf("DAMAGED: %d entries at byte %d of %s: %s", u.Count, u.At, u.Path, u.Reason))
}

func (d *queueDump) many(u *inspect.Units, kind, text string) error {
	switch {
	case d.summary:
		return nil
	case !d.json:
		return d.line("%14d %s", u.First, text)
	}
	line := unitLine{Kind: kind, Topic: d.q.Topic, Queue: d.q.ID, Offset: u.First, Count: u.Count, Reason: u.Reason}
	if u.Reason != "" {
		line.File, line.At = u.Path, u.At
	}
	return d.object(line)
}

func (d *queueDump) unit(u *inspect.Units) error {
	if d.first < 0 {
		d.first = u.First
	}
	d.end = u.First + 1
	d.units++
	if d.summary {
		return nil
	}
	beside, err := d.beside(u)
	if err != nil {
		return err
	}
	if d.json {
		if err := d.object(d.unitLine(u, beside)); err != nil {
			return err
		}
		return d.show()
	}
	code := strconv.FormatInt(u.Unit.TagsCode, 10)
	if d.due {
		code = msText(u.Unit.TagsCode)
	}
	if beside != nil {
		code += "  " + beside.text()
	}
	if d.q.Batch() {
		code += fmt.Sprintf("  messages %d to %d, stored %s", u.Unit.Base, u.Unit.Base+int64(u.Unit.Count)-1, msText(u.Unit.StoreTimestamp))
	}
	if err := d.line("%14d %14d %8d  %s", u.First, u.Unit.PhysicalOffset, u.Unit.Size, code); err != nil {
		return err
	}
	return d.show()
}

// besideQueue is what a unit has the address of.
type besideQueue struct {
	at     int64
	stored int64 // ms
	bits   []byte
	fault  string // why it cannot be read
}

func (b *besideQueue) text() string {
	switch {
	case b.fault != "":
		return fmt.Sprintf("DAMAGED: what is kept beside the queue at %d is lost: %s", b.at, b.fault)
	case len(b.bits) == 0:
		return fmt.Sprintf("stored %s, beside at %d", msText(b.stored), b.at)
	}
	return fmt.Sprintf("stored %s, filter bits %x, beside at %d", msText(b.stored), b.bits, b.at)
}

// beside reads what a unit has the address of, and gives the unit its tags code; nil when it has none.
func (d *queueDump) beside(u *inspect.Units) (*besideQueue, error) {
	if d.q.Batch() || !u.Extended() {
		return nil, nil
	}
	at, x, fault, err := d.q.Beside(u)
	if err != nil {
		return nil, err
	}
	if fault != "" {
		d.damage++
		d.faults++
		return &besideQueue{at: at, fault: fault}, nil
	}
	u.Unit.TagsCode = x.TagsCode
	return &besideQueue{at: at, stored: x.StoreTimestamp, bits: x.Bits}, nil
}

func (d *queueDump) unitLine(u *inspect.Units, beside *besideQueue) unitLine {
	line := unitLine{Kind: "unit", Topic: d.q.Topic, Queue: d.q.ID, Offset: u.First, Physical: &u.Unit.PhysicalOffset, Bytes: u.Unit.Size, TagsCode: &u.Unit.TagsCode}
	if d.due {
		line.DueAt = msJSON(u.Unit.TagsCode)
	}
	if beside != nil {
		line.Beside, line.Reason = &beside.at, beside.fault
		if beside.fault == "" {
			line.StoredAt, line.Bits = msJSON(beside.stored), fmt.Sprintf("%x", beside.bits)
		}
	}
	if d.q.Batch() {
		line.Offset, line.Number = u.Unit.Base, &u.First
		line.StoredAt, line.Messages = msJSON(u.Unit.StoreTimestamp), u.Unit.Count
	}
	return line
}

// queueSum is a queue as JSON.
type queueSum struct {
	Kind     string `json:"kind"`
	Topic    string `json:"topic"`
	Queue    int32  `json:"queue"`
	Batch    bool   `json:"batch,omitempty"`
	First    int64  `json:"first"` // number of the first entry
	Next     int64  `json:"next"`  // and behind the last
	Messages int64  `json:"messages"`
	Files    int    `json:"files"`
	Damaged  int64  `json:"damaged,omitempty"` // places
}

func (d *queueDump) sum() error {
	first := max(d.first, d.q.First())
	if d.first < 0 {
		first = d.end
	}
	if d.json {
		return d.object(queueSum{"queue", d.q.Topic, d.q.ID, d.q.Batch(), first, d.end, d.units, len(d.q.Files), d.faults})
	}
	note := ""
	if d.q.Batch() {
		note = "  batches"
	}
	if d.faults > 0 {
		note += fmt.Sprintf("  %d DAMAGED places", d.faults)
	}
	return d.line("%-48s %5d %14d %14d %14d %6d%s", readable(d.q.Topic), d.q.ID, first, d.end, d.units, len(d.q.Files), note)
}
