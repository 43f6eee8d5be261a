// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import "github.com/spf13/cobra"

func newBroker() *cobra.Command {
	return newRunCommand(&cobra.Command{
		Use:   "broker",
		Short: "Start a broker",
		Long: `Start a broker that registers with the name servers of -n.

Settings come from defaults, NAMESRV_ADDR, a file (-c), requests while running, the environment (brokerName is
GODDARD_BROKER_NAME, --data is GODDARD_DATA), --set and named flags; later ones win.

An acknowledged message is on the disk of this node (flushDiskType=SYNC_FLUSH, other than RocketMQ's default).`,
		Example: `  goddard broker -n 203.0.113.5:9876 --data /var/lib/goddard
  goddard broker -n "ns1:9876;ns2:9876" -c broker-a.properties`,
	}, roles{broker: true})
}
