// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/inspect"
	"github.com/goddard-mq/goddard/internal/message"
)

func newDumpCommitLog() *cobra.Command {
	var f dumpFlags
	var long, noBody bool
	cmd := &cobra.Command{
		Use:   "commitlog PATH...",
		Short: "Print the messages of a commit log",
		Long: "Print the messages of a commit log in the order in which they were stored. Several paths are folders, or\n" +
			"files, of one log (storePathCommitLog). Offsets are physical ones: bytes from the log's beginning.",
		Example: "  goddard dump commitlog goddard-data --max 10\n" +
			"  goddard dump commitlog store --topic orders --key A-1001 --long\n" +
			"  goddard dump commitlog store/commitlog/00000000001073741824 -o json | jq .topic",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDump(cmd, &f, args[0], func(d *dump) error {
				return (&logDump{dump: d, long: long, noBody: noBody}).run(args)
			})
		},
	}
	f.addTo(cmd)
	f.topicFlag(cmd)
	f.queueFlag(cmd)
	f.rangeFlags(cmd, "physical")
	f.keyFlag(cmd, "only messages with this `key` or unique id")
	f.maxFlag(cmd, "messages")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "print all fields of a message, and its whole body")
	cmd.Flags().BoolVar(&noBody, "no-body", false, "leave out bodies")
	return cmd
}

type logDump struct {
	*dump
	long, noBody bool
	file         string // whose name was printed last
}

func (d *logDump) run(paths []string) error {
	log, err := inspect.OpenLog(paths...)
	if err != nil {
		return err
	}
	defer log.Close()
	return log.Walk(d.ctx, d.from, d.until(), func(p *inspect.Piece) error {
		if p.Kind != inspect.RecordPiece {
			return d.other(p)
		}
		d.damage += d.pending // something follows
		d.pending = 0
		if len(p.Faults) > 0 {
			d.damage++
		}
		if !d.wants(p.Record) {
			return nil
		}
		if err := d.record(p); err != nil {
			return err
		}
		return d.show()
	})
}

func (d *logDump) wants(r *message.Record) bool {
	return (d.topic == "" || string(r.Topic) == d.topic) && (d.queue < 0 || r.QueueID == d.queue) && (d.key == "" || hasKey(r.Properties, d.key))
}

func hasKey(properties []byte, key string) bool {
	if unique, ok := message.FindProperty(properties, message.PropUniqueKey); ok && string(unique) == key {
		return true
	}
	keys, _ := message.FindProperty(properties, message.PropKeys)
	for one := range bytes.SplitSeq(keys, []byte(message.KeySeparator)) {
		if string(one) == key {
			return true
		}
	}
	return false
}

// pieceLine is a part of a log that is no record, as JSON.
type pieceLine struct {
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Offset int64  `json:"offset"` // physical
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason,omitempty"`
}

// other prints what is no record. Who looks for messages is told of damage only.
func (d *logDump) other(p *inspect.Piece) error {
	kind, text := "", ""
	switch p.Kind {
	case inspect.BlankPiece:
		kind, text = "blank", "blank: filler up to the end of the file"
	case inspect.UnusedPiece:
		kind, text = "unused", "never written: zeros up to the end of the file"
	case inspect.DamagedPiece:
		kind, text = "damaged", "DAMAGED: no record: "+p.Reason
		d.pending++
	default:
		kind, text = "missing", "MISSING: "+p.Reason
		d.pending++
	}
	if filtered := d.topic != "" || d.queue >= 0 || d.key != ""; filtered && (kind == "blank" || kind == "unused") {
		return nil
	}
	if d.json {
		return d.object(pieceLine{kind, p.Path(), p.Offset, p.Size, p.Reason})
	}
	if err := d.head(p); err != nil {
		return err
	}
	return d.line("%14d %8d  %s", p.Offset, p.Size, text)
}

// head prints the name of a file when it begins.
func (d *logDump) head(p *inspect.Piece) error {
	if p.Path() == d.file || p.File == nil {
		return nil
	}
	d.file = p.Path()
	if d.long {
		return d.line("%s (%d bytes)", d.file, p.File.Size)
	}
	return d.line("%s (%d bytes)\n%14s %8s  %-23s  %s", d.file, p.File.Size, "OFFSET", "SIZE", "STORED", "TOPIC/QUEUE@NUMBER, PROPERTIES | BODY")
}

func (d *logDump) record(p *inspect.Piece) error {
	if d.json {
		return d.object(d.recordLine(p))
	}
	if err := d.head(p); err != nil {
		return err
	}
	if d.long {
		return d.block(p)
	}
	r := p.Record
	var text strings.Builder
	fmt.Fprintf(&text, "%14d %8d  %-23s  %s/%d@%d", p.Offset, p.Size, msText(r.StoreTimestamp), readable(string(r.Topic)), r.QueueID, r.QueueOffset)
	if flags := sysFlags(r.SysFlag); len(flags) > 0 {
		fmt.Fprintf(&text, " [%s]", strings.Join(flags, " "))
	}
	for _, fault := range p.Faults {
		fmt.Fprintf(&text, "  DAMAGED: %s", fault)
	}
	message.EachProperty(r.Properties, func(name, value []byte) bool {
		fmt.Fprintf(&text, "  %s=%s", readable(string(name)), readable(string(value)))
		return true
	})
	if !d.noBody {
		body, _ := bodyOf(r)
		fmt.Fprintf(&text, "  | %s", preview(body))
	}
	return d.line("%s", text.String())
}

// block prints all of a message, a field a line.
func (d *logDump) block(p *inspect.Piece) error {
	r := p.Record
	var text strings.Builder
	field := func(name, format string, args ...any) {
		fmt.Fprintf(&text, "  %-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&text, "%d, %d bytes\n", p.Offset, p.Size)
	for _, fault := range p.Faults {
		field("DAMAGED", "%s", fault)
	}
	field("topic", "%s, queue %d, number %d", readable(string(r.Topic)), r.QueueID, r.QueueOffset)
	field("offset id", "%s", message.OffsetID(r.StoreHost, p.Offset))
	field("stored", "%s at %s", msText(r.StoreTimestamp), r.StoreHost)
	field("born", "%s at %s", msText(r.BornTimestamp), r.BornHost)
	field("flags", "%#x %s; the application's %d", r.SysFlag, strings.Join(sysFlags(r.SysFlag), " "), r.Flag)
	if r.ReconsumeTimes != 0 || r.PreparedOffset != 0 {
		field("retried", "%d times; half message at %d", r.ReconsumeTimes, r.PreparedOffset)
	}
	message.EachProperty(r.Properties, func(name, value []byte) bool {
		field("property", "%s=%s", readable(string(name)), readable(string(value)))
		return true
	})
	body, fault := bodyOf(r)
	field("body", "%d bytes stored, checksum %08x%s", len(r.Body), r.BodyCRC, fault)
	if !d.noBody && len(body) > 0 {
		fmt.Fprintf(&text, "%s\n", readable(string(body)))
	}
	return d.line("%s", text.String())
}

// recordLine is a message as JSON.
type recordLine struct {
	Kind           string            `json:"kind"`
	File           string            `json:"file"`
	Offset         int64             `json:"offset"` // physical
	Bytes          int64             `json:"bytes"`
	Version        int               `json:"version"`
	Topic          string            `json:"topic"`
	Queue          int32             `json:"queue"`
	QueueOffset    int64             `json:"queueOffset"`
	OffsetID       string            `json:"offsetId"`
	StoredAt       string            `json:"storedAt"`
	StoreHost      string            `json:"storeHost"`
	BornAt         string            `json:"bornAt"`
	BornHost       string            `json:"bornHost"`
	Flag           int32             `json:"flag"`
	SysFlag        int32             `json:"sysFlag"`
	SysFlags       []string          `json:"sysFlags,omitempty"`
	ReconsumeTimes int32             `json:"reconsumeTimes"`
	PreparedOffset int64             `json:"preparedOffset"`
	Properties     map[string]string `json:"properties"`
	BodyBytes      int               `json:"bodyBytes"` // as stored
	BodyCRC        uint32            `json:"bodyCRC"`
	Body           *string           `json:"body,omitempty"` // unpacked
	BodyBase64     []byte            `json:"bodyBase64,omitempty"`
	Faults         []string          `json:"faults,omitempty"`
}

func (d *logDump) recordLine(p *inspect.Piece) recordLine {
	r := p.Record
	line := recordLine{
		Kind: "record", File: p.Path(), Offset: p.Offset, Bytes: p.Size, Version: 1, Topic: string(r.Topic), Queue: r.QueueID,
		QueueOffset: r.QueueOffset, OffsetID: message.OffsetID(r.StoreHost, p.Offset), StoredAt: msJSON(r.StoreTimestamp),
		StoreHost: hostText(r.StoreHost), BornAt: msJSON(r.BornTimestamp), BornHost: hostText(r.BornHost), Flag: r.Flag, SysFlag: r.SysFlag,
		SysFlags: sysFlags(r.SysFlag), ReconsumeTimes: r.ReconsumeTimes, PreparedOffset: r.PreparedOffset,
		Properties: message.ParseProperties(r.Properties), BodyBytes: len(r.Body), BodyCRC: r.BodyCRC, Faults: p.Faults,
	}
	if r.Magic == message.MagicV2 {
		line.Version = 2
	}
	if d.noBody {
		return line
	}
	body, _ := bodyOf(r)
	if utf8.Valid(body) {
		text := string(body)
		line.Body = &text
	} else {
		line.BodyBase64 = body
	}
	return line
}

// mostBody bounds what a packed body may become.
const mostBody = 256 << 20

// bodyOf unpacks a body; one that cannot be unpacked stays as it is, with the reason.
func bodyOf(r *message.Record) (body []byte, fault string) {
	body, err := message.Decompress(r.Body, r.SysFlag, mostBody)
	if err != nil {
		return r.Body, ", " + err.Error()
	}
	return body, ""
}

// preview is the beginning of a body.
func preview(body []byte) string {
	const most = 80
	if len(body) <= most {
		return readable(string(body))
	}
	cut := body[:most]
	for len(cut) > most-utf8.UTFMax && !utf8.Valid(cut) { // not through a character
		cut = cut[:len(cut)-1]
	}
	if !utf8.Valid(cut) {
		cut = body[:most]
	}
	return fmt.Sprintf("%s... (%d bytes)", readable(string(cut)), len(body))
}

// sysFlags names the bits of a message's sysFlag that say what it is.
func sysFlags(sysFlag int32) []string {
	var names []string
	switch message.Transaction(sysFlag) {
	case message.TransactionPrepared:
		names = append(names, "prepared")
	case message.TransactionCommit:
		names = append(names, "committed")
	case message.TransactionRollback:
		names = append(names, "rolled-back")
	}
	if sysFlag&message.FlagCompressed != 0 {
		switch sysFlag & message.CompressionMask {
		case 0, message.CompressionZlib:
			names = append(names, "zlib")
		case message.CompressionLZ4:
			names = append(names, "lz4")
		case message.CompressionZstd:
			names = append(names, "zstd")
		default:
			names = append(names, "compressed")
		}
	}
	for _, bit := range []struct {
		bit  int32
		name string
	}{{message.FlagMultiTags, "multi-tags"}, {message.FlagInnerBatch, "batch"}, {message.FlagNeedUnwrap, "unwrap"}} {
		if sysFlag&bit.bit != 0 {
			names = append(names, bit.name)
		}
	}
	return names
}
