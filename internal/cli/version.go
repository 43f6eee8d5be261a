// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// build is what the toolchain wrote into the binary.
type build struct {
	version  string // of the module: v1.2.3, or (devel)
	revision string // of the working tree, with "+dirty" when it was changed; "" when built outside of one
}

func thisBuild() build {
	b := build{version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	var dirty bool
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty && b.revision != "" {
		b.revision += "+dirty"
	}
	return b
}

func (b build) String() string {
	if b.revision == "" {
		return b.version
	}
	return b.version + " (" + b.revision + ")"
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "goddard %s\n%s %s/%s\nspeaks RocketMQ as version %s (%d)\n", thisBuild(),
				runtime.Version(), runtime.GOOS, runtime.GOARCH, protocol.VersionName(protocol.CurrentVersion), protocol.CurrentVersion)
			return err
		},
	}
}
