// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/node"
)

// newRunCommand completes the command that starts a process of the given roles.
func newRunCommand(cmd *cobra.Command, r roles) *cobra.Command {
	f := new(serverFlags)
	f.addTo(cmd, r)
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := f.load(cmd.Flags(), r, os.Environ())
		if err != nil {
			return err
		}
		if f.printConfig {
			return s.print(cmd.OutOrStdout(), cmd.ErrOrStderr())
		}
		return f.run(cmd.Context(), s, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// run starts the node and returns when ctx has ended and it has stopped.
func (f *serverFlags) run(ctx context.Context, s *settings, out, errOut io.Writer) error {
	began := time.Now()
	logger, err := newLogger(errOut, f.logLevel, f.logFormat)
	if err != nil {
		return err
	}
	for _, warning := range s.warnings {
		logger.Warn(warning)
	}
	if limit := node.TuneMemory(); limit > 0 {
		logger.Debug("memory limit taken from the container", "bytes", limit)
	}
	b := thisBuild()
	s.node.Logger, s.node.Version, s.node.Revision = logger, b.version, b.revision
	s.node.Started = func(a node.Addresses) {
		banner := newBanner(s, a, b, time.Since(began))
		if f.logFormat == "json" {
			banner.log(logger)
			return
		}
		banner.print(out)
	}
	if err := node.Run(ctx, s.node); err != nil {
		return hint(err)
	}
	logger.Info("stopped")
	return nil
}

// hint adds the flag that helps.
func hint(err error) error {
	flags := map[string]string{
		node.RoleNameServer: "--nameserver-listen", node.RoleBroker: "--broker-listen", node.RoleHTTP: "--http-listen",
	}
	if port, ok := errors.AsType[*node.ListenError](err); ok {
		return fmt.Errorf("%w; %s chooses another address", err, flags[port.Role])
	}
	return err
}

// print writes all settings of each role, and the warnings about them.
func (s *settings) print(out, errOut io.Writer) error {
	for _, warning := range s.warnings {
		_, _ = fmt.Fprintln(errOut, "goddard:", warning)
	}
	targets := s.node.Targets()
	for _, t := range targets {
		if len(targets) > 1 {
			title := "broker"
			if t.Config == any(s.node.NameServer) {
				title = "name server"
			}
			if _, err := fmt.Fprintf(out, "# --- %s ---\n", title); err != nil {
				return err
			}
		}
		if err := s.loaded.Print(out, t); err != nil {
			return err
		}
	}
	return nil
}
