// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/inspect"
)

func newDump() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print the files of a store folder",
		Long: "Print the files of a store folder, of Goddard or of RocketMQ's Java broker, as they lie on the disk.\n" +
			"PATH is a store's folder, the data folder of a server, a folder below, or one file. Nothing is written. A\n" +
			"store should be stopped; of one that is in use the newest part may be missing or half there.\n\n" +
			"What cannot be read is shown in its place with file and reason, and the dump goes on behind it; the\n" +
			"command then ends with exit code 1. What a crash leaves at the end of a log is no fault.\n" +
			"'goddard verify' compares the files with each other. The formats are described in docs/formats.",
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newDumpCommitLog(), newDumpConsumeQueue(), newDumpIndex(), newDumpCheckpoint(), newDumpConfig())
	return cmd
}

// dumpFlags are those of the dumps; each takes the ones that make sense for it.
type dumpFlags struct {
	output   outputFormat
	topic    string
	queue    int32
	from, to int64
	key      string
	max      int
}

func (f *dumpFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	f.output.addTo(cmd, "text", "json")
	f.queue, f.to = -1, -1
}

func (f *dumpFlags) topicFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.topic, "topic", "t", "", "only this `topic`")
}

func (f *dumpFlags) queueFlag(cmd *cobra.Command) {
	cmd.Flags().Int32VarP(&f.queue, "queue", "q", -1, "only the queue of this `id`")
	cmd.Flags().Lookup("queue").DefValue = "0" // not worth showing in the help
}

func (f *dumpFlags) rangeFlags(cmd *cobra.Command, what string) {
	cmd.Flags().Int64Var(&f.from, "from", 0, "first "+what+" `offset`")
	cmd.Flags().Int64Var(&f.to, "to", -1, what+" `offset` behind the last one (default: the end)")
	cmd.Flags().Lookup("to").DefValue = "0"
}

func (f *dumpFlags) keyFlag(cmd *cobra.Command, help string) {
	cmd.Flags().StringVarP(&f.key, "key", "k", "", help)
}

func (f *dumpFlags) maxFlag(cmd *cobra.Command, what string) {
	cmd.Flags().IntVar(&f.max, "max", 0, "end after so `many` "+what+" (default: all)")
}

// until is the offset behind the last one wanted.
func (f *dumpFlags) until() int64 {
	if f.to < 0 {
		return math.MaxInt64
	}
	return f.to
}

// dump is one run of a dump command.
type dump struct {
	*dumpFlags
	ctx  context.Context
	out  *bufio.Writer
	json bool

	shown   int
	damage  int // places that cannot be read
	pending int // of these, those that may be the torn end of a log
}

// errEnough ends a dump that has shown as much as was wanted.
var errEnough = errors.New("enough")

// runDump warns of a store in use, prints, and tells of damage.
func runDump(cmd *cobra.Command, f *dumpFlags, path string, print func(*dump) error) error {
	if pid, running := inspect.Running(path); running {
		by := ""
		if pid > 0 {
			by = fmt.Sprintf(" (process %d)", pid)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "goddard: a broker has this store open%s: what it wrote last may be missing here, or half there\n", by)
	}
	d := &dump{dumpFlags: f, ctx: cmd.Context(), out: bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10), json: f.output.value == "json"}
	err := print(d)
	if errors.Is(err, errEnough) {
		err = nil
	}
	if ferr := d.out.Flush(); err == nil {
		err = ferr
	}
	if err == nil && d.damage > 0 {
		places := "places"
		if d.damage == 1 {
			places = "place"
		}
		return fmt.Errorf("%d damaged %s, marked above", d.damage, places)
	}
	return err
}

// show counts what was shown.
func (d *dump) show() error {
	if d.shown++; d.max > 0 && d.shown >= d.max {
		return errEnough
	}
	return nil
}

func (d *dump) line(format string, args ...any) error {
	_, err := fmt.Fprintf(d.out, format+"\n", args...)
	return err
}

func (d *dump) object(v any) error { return printJSON(d.out, v) }

// msText is a time of a file for people; one that is no time is its number.
func msText(ms int64) string {
	if ms <= 0 || ms > 1<<47 {
		return fmt.Sprint(ms)
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000")
}

// msJSON is a time of a file for machines; "" for what is no time.
func msJSON(ms int64) string {
	if ms <= 0 || ms > 1<<47 {
		return ""
	}
	return jsonTime(time.UnixMilli(ms))
}
