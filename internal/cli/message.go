// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import "github.com/spf13/cobra"

func newMessage() *cobra.Command {
	cmd := &cobra.Command{Use: "message", Short: "Find, browse and trace messages", Args: cobra.NoArgs, RunE: showHelp}
	cmd.AddCommand(newMessageGet(), newMessageBrowse(), newMessageTrace())
	return cmd
}
