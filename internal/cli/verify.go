// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/inspect"
	"github.com/goddard-mq/goddard/internal/node"
)

// verifyFlags are those of verify.
type verifyFlags struct {
	output     outputFormat
	server     serverFlags // its --config and --set
	logDirs    string
	slots      int32
	max        int
	rebuild    bool
	rebuildAll bool
}

func newVerify() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check a stopped store, and build what is derived from its log again",
		Long: `Check a stopped store, of Goddard or of RocketMQ's Java broker: every record of the log with its checksums, every
entry of the queues against the message it points at, the key index both ways, checkpoint and state files. DIR is the
store's folder or the data folder of a server. The whole log is read once; nothing is changed.

Each finding names file, place and remedy:
  damage   messages or state are lost, or a broker will not start
  derived  of a queue or the index: --rebuild builds it again from the log
  note     the next start mends it, or it is only worth knowing
The exit code is 1 when there is damage or anything derived is wrong.

--rebuild puts the queues and the index that have faults aside, into a folder aside-TIME in the store's, builds them from
the log as a start does, and checks again. Remove that folder when all is well.

Settings are needed only where a broker's differ from the defaults: messageDelayLevel, storePathCommitLog,
mappedFileSizeConsumeQueue, maxHashSlotNum, maxIndexNum and the like, by --config or --set.`,
		Example: "  goddard verify goddard-data\n" +
			"  goddard verify /var/lib/rocketmq/store -c broker.conf -o json\n" +
			"  goddard verify store --rebuild",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.SetNormalizeFunc(rocketMQNames)
	f.output.addTo(cmd, "text", "json")
	flags.BoolVar(&f.rebuild, "rebuild", false, "build queues and index that have faults again from the log")
	flags.BoolVar(&f.rebuildAll, "rebuild-all", false, "build all queues and the index again, whatever their state")
	flags.StringVarP(&f.server.configFile, "config", "c", "", "`file` of the broker's settings")
	flags.StringArrayVar(&f.server.set, "set", nil, "`KEY=VALUE`, any key of the file; may be given again")
	flags.StringVar(&f.logDirs, "commitlog", "", "`folders` of the log, separated by commas, if it lies elsewhere (default: storePathCommitLog, or DIR/commitlog)")
	flags.Int32Var(&f.slots, "slots", 0, "maxHashSlotNum of the broker (default: found out from the files)")
	flags.IntVar(&f.max, "max", 1000, "show at most so `many` findings; all are counted")
	return cmd
}

func (f *verifyFlags) run(cmd *cobra.Command, dir string) error {
	cfg, err := f.settings()
	if err != nil {
		return err
	}
	o := inspect.Options{Slots: f.slots, MaxFindings: f.max, Progress: progressTo(cmd.ErrOrStderr(), "read")}
	if o.Store, err = inspect.FindStore(dir); err != nil {
		return err
	}
	comma := func(r rune) bool { return r == ',' }
	if dirs := cfg.Broker.Store.CommitLogDir; dirs != "" {
		o.Store.LogDirs = strings.FieldsFunc(dirs, comma)
	}
	for _, dir := range strings.FieldsFunc(cfg.Broker.Store.OldLogDirs, comma) {
		if !slices.Contains(o.Store.LogDirs, dir) {
			o.Store.LogDirs = append(o.Store.LogDirs, dir)
		}
	}
	if o.DelayOf, err = cfg.DelayOf(); err != nil {
		return err
	}
	if !f.rebuild && !f.rebuildAll {
		report, err := inspect.Verify(cmd.Context(), o)
		if err != nil {
			return explainInUse(err)
		}
		return f.print(cmd, report)
	}
	return f.build(cmd, o, cfg)
}

// settings are the broker's, from file and flags.
func (f *verifyFlags) settings() (*node.Config, error) {
	cfg := node.Defaults(false, true)
	var layers []config.Layer
	if f.server.configFile != "" {
		file, err := config.File(f.server.configFile)
		if err != nil {
			return nil, err
		}
		layers = append(layers, file)
	}
	set, err := f.server.setLayer()
	if err != nil {
		return nil, err
	}
	if f.logDirs != "" {
		set.Add("--commitlog", "storePathCommitLog", f.logDirs)
	}
	_, err = config.Load(cfg.Targets(), append(layers, set)...)
	return &cfg, err
}

// build rebuilds, and tells what was found before and after.
func (f *verifyFlags) build(cmd *cobra.Command, o inspect.Options, cfg *node.Config) error {
	errOut := cmd.ErrOrStderr()
	logger, err := newLogger(errOut, "warn", "text")
	if err != nil {
		return err
	}
	res, err := inspect.Rebuild(cmd.Context(), o, inspect.RebuildOptions{
		Config: cfg.Broker.Store, Logger: logger, All: f.rebuildAll, Recovering: progressTo(errOut, "built to"),
	})
	if res == nil {
		return explainInUse(err)
	}
	for _, moved := range res.Moved {
		fmt.Fprintf(errOut, "goddard: put aside: %s, now in %s\n", moved, res.Aside)
	}
	for _, left := range res.Left {
		fmt.Fprintf(errOut, "goddard: left as it is: %s; the log has nothing to build it from\n", left)
	}
	report := res.After
	if report == nil {
		report = res.Before
	}
	if perr := f.print(cmd, report); err == nil {
		err = perr
	}
	return explainInUse(err)
}

// explainInUse adds what else can be done.
func explainInUse(err error) error {
	if errors.Is(err, inspect.ErrInUse) {
		return fmt.Errorf("%w. 'goddard dump' shows files of a running store", err)
	}
	return err
}

// print writes findings and summary; the error says that something is wrong.
func (f *verifyFlags) print(cmd *cobra.Command, r *inspect.Report) error {
	print := printReport
	if f.output.value == "json" {
		print = printReportJSON
	}
	if err := print(cmd.OutOrStdout(), r); err != nil {
		return err
	}
	if wrong := r.Counts.Wrong(); wrong > 0 {
		return fmt.Errorf("%s: %s", r.Store, countsText(r.Counts))
	}
	return nil
}

// progressTo tells every few seconds on w how far something is.
func progressTo(w io.Writer, what string) func(done, total int64) {
	told := time.Now()
	return func(done, total int64) {
		if time.Since(told) < 2*time.Second {
			return
		}
		told = time.Now()
		fmt.Fprintf(w, "goddard: %s %d of %d MiB\n", what, done>>20, total>>20)
	}
}
