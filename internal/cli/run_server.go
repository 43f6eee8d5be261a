// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import "github.com/spf13/cobra"

func newServer() *cobra.Command {
	return newRunCommand(&cobra.Command{
		Use:   "server",
		Short: "Start a name server and a broker in one process",
		Long: `Start a name server and a broker in one process, with one data folder.

Every setting of RocketMQ's broker and name server can be given in a file (-c), as an environment variable
(flushDiskType is GODDARD_FLUSH_DISK_TYPE; flags have theirs too: --data is GODDARD_DATA) or by --set. Later ones win:
defaults, file, settings changed by requests while running, environment, --set, named flags. listenPort and
bindAddress mean the broker's. NAMESRV_ADDR is left to the commands of clients.

An acknowledged message is on the disk of this node (flushDiskType=SYNC_FLUSH, other than RocketMQ's default).`,
		Example: `  goddard server
  goddard server --data /var/lib/goddard --set brokerIP1=203.0.113.7
  goddard server -c broker.conf --set flushDiskType=ASYNC_FLUSH`,
	}, roles{nameServer: true, broker: true})
}
