// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command ran and failed
	exitUsage  = 2 // it was called wrongly and did nothing
)

// Main runs the command line of this process and gives its exit code.
func Main() int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	return Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Run runs one command line; ctx ends it early. The result is the exit code.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root, began := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitOK
	case *began:
		_, _ = fmt.Fprintf(errOut, "goddard: %v\n", err)
		return exitFailed
	default:
		_, _ = fmt.Fprintf(errOut, "goddard: %v\nSee '%s --help'.\n", err, cmd.CommandPath())
		return exitUsage
	}
}

// Groups of commands in the help.
const (
	groupServers  = "servers"
	groupMessages = "messages"
	groupCluster  = "cluster"
	groupStore    = "store"
)

// newRoot makes the tree of commands. began becomes true when the arguments were understood and a command runs.
func newRoot() (root *cobra.Command, began *bool) {
	began = new(bool)
	root = &cobra.Command{
		Use:   "goddard",
		Short: "A distributed message queue that speaks RocketMQ",
		Long: "Goddard is a distributed message queue that speaks RocketMQ: clients, tools and configuration files of\n" +
			"RocketMQ 4.9 to 5.x work with it as they are. 'goddard server' starts everything in one process.",
		Version:          thisBuild().String(),
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(*cobra.Command, []string) { *began = true },
	}
	root.AddGroup(
		&cobra.Group{ID: groupServers, Title: "Servers:"},
		&cobra.Group{ID: groupMessages, Title: "Messages:"},
		&cobra.Group{ID: groupCluster, Title: "Topics and groups:"},
		&cobra.Group{ID: groupStore, Title: "Files on the disk:"},
	)
	addTo(root, groupServers, newServer(), newNameServer(), newBroker())
	addTo(root, groupMessages, newProduce(), newConsume(), newMessage(), newDLQ(), newBench())
	addTo(root, groupCluster, newTopic(), newGroup())
	addTo(root, groupStore, newDump(), newVerify())
	root.AddCommand(newVersion())
	return root, began
}

func addTo(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}
