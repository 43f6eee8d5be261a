// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import "github.com/spf13/cobra"

func newNameServer() *cobra.Command {
	return newRunCommand(&cobra.Command{
		Use:   "nameserver",
		Short: "Start a name server",
		Long: `Start a name server. Several of them work side by side; none needs another, brokers register with all.

Settings come from defaults, a file (-c), requests while running, the environment (listenPort is GODDARD_LISTEN_PORT,
--data is GODDARD_DATA), --set and named flags; later ones win.`,
		Example: `  goddard nameserver --data /var/lib/goddard
  goddard nameserver --nameserver-listen 0.0.0.0:9877 --http-listen ""`,
	}, roles{nameServer: true})
}
